"""A session of Spark, which runs plans in place of DuckDB."""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.engine.spark_failure import translated
from headrace.engine.spark_tables import spark_type
from headrace.errors import InvalidArgument, MissingDependency, Unsupported
from headrace.model.expression_sql import identifier
from headrace.spark_frame import batches_of, is_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_BATCH_ROWS = 65_536
# What formulas of users mean does not hang on the user's session.
_SETTINGS = {"spark.sql.ansi.enabled": "true", "spark.sql.session.timeZone": "UTC"}
_setting = threading.Lock()


class SparkEngine:
    """Runs statements in one session, which is the user's, and is never stopped here.

    All of it goes by Spark's public interface, so that a session of Spark Connect does as well.
    """

    def __init__(self, session: SparkSession) -> None:
        self.session = session

    @classmethod
    def of(cls, given: object) -> SparkEngine:
        """Of a session, or of the address of Spark Connect.

        Raises:
            InvalidArgument: it is neither. MissingDependency: PySpark is not installed, or not its part for Connect.
        """
        try:
            from pyspark.sql import SparkSession
        except ImportError:
            raise MissingDependency("spark= needs PySpark", hint='pip install "pyspark==3.5.*"') from None
        if isinstance(given, str):
            if not given.startswith("sc://"):
                raise InvalidArgument(
                    f"spark={given!r} is no session", hint="give a SparkSession, or sc://host:port"
                )
            try:
                with translated():
                    return cls(SparkSession.builder.remote(given).getOrCreate())
            except ImportError as error:
                raise MissingDependency(
                    f"Spark Connect needs packages that are not installed: {error}",
                    hint='pip install "pyspark[connect]"',
                ) from None
        if not hasattr(given, "sql") or not hasattr(given, "createDataFrame"):
            raise InvalidArgument(
                f"spark={given!r} is no session", hint="give a SparkSession, or sc://host:port"
            )
        return cls(given)

    def frame(
        self, write: Callable[[dict[int, str]], str], relations: Mapping[int, DataFrame], *, computing: bool
    ) -> DataFrame:
        """The rows of a statement over some frames, which nothing has computed yet.

        Args:
            write: gives the statement for the names of its relations.
            computing: it has formulas in it.
        """
        prefix = f"headrace_{uuid.uuid4().hex}"
        names = {side: f"{prefix}_{i}" for i, side in enumerate(relations)}
        with translated(), self._settings() if computing else contextlib.nullcontext():
            try:
                for side, name in names.items():
                    relations[side].createOrReplaceTempView(name)
                found = self.session.sql(write(names))
                found.schema  # noqa: B018 — analysed now, while its relations have their names
                return found
            finally:
                for name in names.values():
                    self.session.catalog.dropTempView(name)

    @contextlib.contextmanager
    def _settings(self) -> Iterator[None]:
        """What a statement is understood by; its meaning stays when the session has its own again."""
        with _setting:
            before = {name: self.session.conf.get(name, None) for name in _SETTINGS}
            try:
                for name, value in _SETTINGS.items():
                    self.session.conf.set(name, value)
                yield
            finally:
                for name, value in before.items():
                    if value is None:
                        self.session.conf.unset(name)
                    else:
                        self.session.conf.set(name, value)

    def rows(self, given: pa.Table) -> DataFrame:
        """Rows of the caller's, sent to Spark as Arrow. Raises Unsupported for a type that Spark does not have."""
        schema = ", ".join(f"{identifier(f.name, 'spark')} {_type(f)}" for f in given.schema)
        sent = [(bytearray(_serialised(batch)),) for batch in given.to_batches(_BATCH_ROWS)]
        with translated():
            packed = self.session.createDataFrame(sent, "batch binary")
            return packed.mapInArrow(_unpacked(), schema)

    def batches(self, frame: DataFrame) -> Iterator[pa.RecordBatch]:
        """The rows in order, a few batches at a time. Closing it stops the work."""
        with translated(), contextlib.closing(batches_of(frame)) as batches:  # type: ignore[type-var]
            yield from batches


def as_spark(frame: object) -> DataFrame | None:
    """The frame, if it is one of Spark's."""
    return frame if is_spark(frame) else None


def _type(field: pa.Field) -> str:
    kind = spark_type(field.type)
    if kind is None:
        raise Unsupported(
            f"spine: column {field.name!r} is {field.type}, which Spark does not have",
            hint="cast it, leave it out, or take engine='duckdb'",
        )
    return kind


def _serialised(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def _unpacked() -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    # As in `spark_frame`: what is sent to Spark's workers needs none of our packages there.
    def unpacked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for packed in batch.column(0):
                with pa.ipc.open_stream(packed.as_buffer()) as stream:
                    yield from stream

    return unpacked
