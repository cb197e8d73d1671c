"""A session of Spark, which runs plans in place of DuckDB."""

from __future__ import annotations

import contextlib
import inspect
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.engine.spark_failure import translated
from headrace.engine.spark_type import spark_type
from headrace.errors import HeadraceError, InvalidArgument, MissingDependency, Unsupported
from headrace.model.expression_sql import spark_name
from headrace.spark_frame import batches_of, is_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

_BATCH_ROWS = 65_536
# What formulas of users mean does not hang on the user's session.
_SETTINGS = {"spark.sql.ansi.enabled": "true", "spark.sql.session.timeZone": "UTC"}
# What a table is read by, where an option of the read is not heard: values by which rows are left out, or get other
# times than files tell, and those to set.
_REFUSED = {
    "spark.sql.files.ignoreCorruptFiles": ("true", "false"),
    "spark.sql.files.ignoreMissingFiles": ("true", "false"),
    "spark.sql.parquet.int96TimestampConversion": ("true", "false"),
    "spark.sql.parquet.datetimeRebaseModeInRead": ("LEGACY", "CORRECTED"),
    "spark.sql.parquet.int96RebaseModeInRead": ("LEGACY", "CORRECTED"),
}


class SparkEngine:
    """Runs statements in one session, by Spark's public interface, so that one of Spark Connect does as well.

    Args:
        own: the session ends with this; else it is the user's.
    """

    def __init__(self, session: SparkSession, *, own: bool = False) -> None:
        self.session = session
        self._own = own
        self._connects = type(session).__module__.startswith("pyspark.sql.connect.")
        if self._connects and "kwargs" not in inspect.signature(session.sql).parameters:
            raise Unsupported(
                "the Spark Connect of this PySpark takes no frames in its SQL",
                hint="take PySpark 4.0 or newer, or a session in this process",
            )

    @classmethod
    def of(cls, given: object) -> SparkEngine:
        """Of a session, or of the address of Spark Connect.

        Raises:
            InvalidArgument: it is neither. MissingDependency: PySpark is not installed, or not its part for Connect.
            Unsupported: PySpark 3.5's part for Connect.
        """
        try:
            from pyspark.sql import SparkSession
        except ImportError:
            raise MissingDependency(
                "spark= needs PySpark", hint='pip install "pyspark==3.5.*", or 4.1.*, as the cluster has'
            ) from None
        if isinstance(given, str):
            if not given.startswith("sc://"):
                raise InvalidArgument(
                    f"spark={given!r} is no session", hint="give a SparkSession, or sc://host:port"
                )
            try:
                with translated():
                    made = SparkSession.builder.remote(given).create()
                    own = {name: value for name, (_, value) in _REFUSED.items()}
                    for name, value in (_SETTINGS | own).items():
                        made.conf.set(name, value)
            except ImportError as error:
                raise MissingDependency(
                    f"Spark Connect needs packages that are not installed: {error}",
                    hint='pip install "pyspark[connect]"',
                ) from None
            return cls(made, own=True)
        if not hasattr(given, "sql") or not hasattr(given, "createDataFrame"):
            raise InvalidArgument(
                f"spark={given!r} is no session", hint="give a SparkSession, or sc://host:port"
            )
        return cls(given)

    def close(self) -> None:
        """Nothing is computed any more, unless the session goes on."""
        if self._own:
            with contextlib.suppress(HeadraceError), translated():
                self.session.stop()

    def check(self) -> None:
        """Raises Unsupported where the session has settings by which tables are read otherwise."""
        with translated():
            found = {name: self.session.conf.get(name) or "" for name in _REFUSED}
        told = [name for name, (bad, _) in _REFUSED.items() if found[name].upper() == bad.upper()]
        if told:
            raise Unsupported(
                "by its settings the session of Spark reads other rows than there are: "
                + ", ".join(f"{name} is {found[name]}" for name in told),
                hint="set " + ", ".join(f"{name} to {_REFUSED[name][1]}" for name in told),
            )

    def frame(
        self, write: Callable[[dict[int, str]], str], relations: Mapping[int, DataFrame], *, computing: bool
    ) -> DataFrame:
        """The rows of a statement over some frames, which nothing has computed yet.

        Args:
            write: gives the statement for the names of its relations.
            computing: it has formulas in it.
        """
        tokens = {side: f"headrace_{uuid.uuid4().hex}" for side in relations}
        with translated():
            if computing and not self._connects:
                return self._understood(write, relations, tokens)
            if computing:
                self._check_settings()
            # The session names the frames itself, by what a format string has in braces.
            statement = write(tokens).replace("{", "{{").replace("}", "}}")
            frames = {}
            for i, (side, token) in enumerate(tokens.items()):
                frames[f"side_{i}"] = relations[side]
                statement = statement.replace(token, f"{{side_{i}}}")
            found = self.session.sql(statement, **frames)
            found.schema  # noqa: B018 — analysed now, by these settings
            return found

    def _understood(
        self,
        write: Callable[[dict[int, str]], str],
        relations: Mapping[int, DataFrame],
        names: Mapping[int, str],
    ) -> DataFrame:
        """A frame of the session, whose statement another one of the same application has understood by our settings:
        those of the session itself are seen by all its threads. Its frames go there, and the result back, as views.
        """
        place = self.session.conf.get("spark.sql.globalTempDatabase")
        other = self.session.newSession()
        for name, value in _SETTINGS.items():
            other.conf.set(name, value)
        made = []
        try:
            for side, name in names.items():
                relations[side].createGlobalTempView(name)
                made.append(name)
            found = other.sql(write({side: f"`{place}`.{name}" for side, name in names.items()}))
            result = f"headrace_{uuid.uuid4().hex}"
            found.createGlobalTempView(result)
            made.append(result)
            return self.session.table(f"`{place}`.{result}")
        finally:
            for name in made:
                self.session.catalog.dropGlobalTempView(name)

    def _check_settings(self) -> None:
        """Raises Unsupported where those of a session of Spark Connect are others, by which its statements are run."""
        before = {name: self.session.conf.get(name, None) for name in _SETTINGS}
        others = {name: value for name, value in before.items() if value != _SETTINGS[name]}
        if others:
            told = ", ".join(f"{name} is {value}" for name, value in others.items())
            raise Unsupported(
                f"formulas need other settings than the given session of Spark Connect has: {told}",
                hint="set " + ", ".join(f"{name} to {_SETTINGS[name]}" for name in others),
            )

    def rows(self, given: pa.Table) -> DataFrame:
        """Rows of the caller's, sent to Spark as Arrow, by the `spark_name`s of their columns.

        Raises Unsupported for a type that Spark does not have.
        """
        from pyspark.sql.types import StructField, StructType

        given = given.rename_columns([*map(spark_name, given.column_names)])
        schema = StructType([StructField(f.name, _type(f)) for f in given.schema])
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


def _type(field: pa.Field) -> DataType:
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
