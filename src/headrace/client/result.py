"""Results: what a read will give, before and when it is run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import pyarrow as pa

from headrace.backend import Backend, Spine
from headrace.client.warning import warn
from headrace.errors import InvalidArgument, MissingDependency
from headrace.model.definition import read_schema
from headrace.model.request import Prepared, ReadRequest
from headrace.protocol import BATCH_ROWS

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from pyspark.sql import DataFrame

DtypeBackend = Literal["pyarrow", "numpy_nullable", "numpy"]


class Result:
    """A read whose snapshots are fixed, and which is run again by each call that gives rows.

    So two calls give the same rows, whatever is committed in between, but in any order, unless a spine gives one, and
    with a limit any of them: take what belongs together from one call, as `xy` does. It is itself a stream of Arrow
    data (`__arrow_c_stream__`), so `polars.DataFrame(result)` or `duckdb.sql("FROM result")` read it directly.
    """

    def __init__(self, backend: Backend, prepared: Prepared, spine: Spine | None) -> None:
        self._backend = backend
        self._prepared = prepared
        self._spine = spine

    @property
    def schema(self) -> pa.Schema:
        """The columns of the result."""
        return read_schema(self._prepared.schema_ipc)

    @property
    def snapshots(self) -> dict[str, int]:
        """The snapshot read of each group that keeps any: `{"weather@v1": 12}`."""
        return {ref: snapshot for ref, snapshot in self._prepared.snapshots.items() if snapshot >= 0}

    def to_arrow(self) -> pa.Table:
        """All rows, in memory."""
        return self._backend.read(self._prepared, self._spine)

    def to_reader(self, batch_size: int = BATCH_ROWS) -> pa.RecordBatchReader:
        """The rows in batches of at most `batch_size` rows, as they come, never all in memory.

        The work for a reader that is left early stops when nothing refers to it any more.
        """
        if not isinstance(batch_size, int) or not 0 < batch_size < 1 << 63:
            raise InvalidArgument(f"a batch is a number of rows from 1, not {batch_size!r}")
        batches = _sliced(self._backend.stream(self._prepared, self._spine), batch_size)
        return pa.RecordBatchReader.from_batches(self.schema, batches)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def to_pandas(self, dtype_backend: DtypeBackend = "pyarrow") -> pd.DataFrame:
        """A pandas frame: Arrow types by default, which keep nulls, decimals and dates at no cost."""
        with self._backend.calls.one():
            return _to_pandas(self.to_arrow(), dtype_backend)

    def to_df(self) -> pd.DataFrame:
        """`to_pandas` by Feast's name."""
        return self.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """A polars frame."""
        with self._backend.calls.one():
            return _to_polars(self.to_arrow())

    def to_spark(self) -> DataFrame:
        """A frame of Spark's, in the session that the store was opened with; nothing is computed yet.

        Its rows come from the tables, and pass through no other process than Spark's. A row that has found several at
        once makes the action fail that computes it. Whichever engine the read is planned for, this takes Spark.

        Raises:
            Unsupported: the store has no session, or Spark does not read such a table or type.
        """
        return self._backend.frame(self._prepared, self._spine)

    def head(self, n: int = 10) -> Result:
        """The same read, of at most `n` rows."""
        if not isinstance(n, int) or not 0 <= n < 1 << 63:
            raise InvalidArgument(f"head takes a number of rows, not {n!r}")
        limit = self._prepared.request.limit
        request = msgspec.structs.replace(self._prepared.request, limit=n if limit is None else min(n, limit))
        return prepare(self._backend, request, self._spine)

    def xy(self, to: Literal["pandas", "polars", "arrow"] = "pandas") -> tuple[Any, Any]:
        """Features and labels of one run, in the same row order.

        Features are the feature view's, in its order, whatever else a spine brought along. One label is a
        series; several are a frame.

        Raises:
            InvalidArgument: the read is not of a feature view with labels.
        """
        stored = self._prepared.request.stored
        if not self._prepared.labels and stored is not None and stored.columns is not None:
            raise InvalidArgument(
                "there are no labels to split off: columns= names none",
                hint="name the labels in columns=, too, or leave it out",
            )
        if not self._prepared.labels:
            raise InvalidArgument(
                "there are no labels to split off",
                hint="create the feature view with labels=[…], and take its training_data",
            )
        if to not in ("pandas", "polars", "arrow"):
            raise InvalidArgument(f"to={to!r} is refused", hint='use "pandas", "polars" or "arrow"')
        with self._backend.calls.one():
            table = self.to_arrow()
            x, y = table.select(list(self._prepared.features)), table.select(list(self._prepared.labels))
            if to == "arrow":
                return x, y.column(0) if y.num_columns == 1 else y
            if to == "polars":
                features, labels = _to_polars(x), _to_polars(y)
                return features, labels.to_series(0) if labels.width == 1 else labels
            frame = _to_pandas(y, "pyarrow")
            return _to_pandas(x, "pyarrow"), frame.iloc[:, 0] if y.num_columns == 1 else frame

    def explain(self) -> str:
        """How it is run, for people."""
        return self._backend.explain(self._prepared.request)

    def __repr__(self) -> str:
        pinned = ", ".join(f"{ref} at snapshot {n}" for ref, n in self.snapshots.items())
        return f"Result({pinned}: {', '.join(self.schema.names)})"


def prepare(backend: Backend, request: ReadRequest, spine: Spine | None) -> Result:
    """Check a read and pin it."""
    prepared = backend.prepare(request)
    for warning in prepared.warnings:
        warn(warning)
    return Result(backend, prepared, spine)


def _sliced(batches: pa.RecordBatchReader, rows: int) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)


def _to_pandas(table: pa.Table, dtype_backend: DtypeBackend) -> pd.DataFrame:
    try:
        import pandas as pd
    except ImportError:
        raise MissingDependency("pandas is not installed", hint="pip install pandas") from None
    if dtype_backend == "pyarrow":
        return table.to_pandas(types_mapper=pd.ArrowDtype)
    if dtype_backend == "numpy_nullable":
        return table.to_pandas(types_mapper=_nullable)
    if dtype_backend == "numpy":
        return table.to_pandas()
    raise InvalidArgument(
        f"dtype_backend={dtype_backend!r} is refused", hint='use "pyarrow", "numpy_nullable" or "numpy"'
    )


def _nullable(kind: pa.DataType) -> Any:
    """The pandas type with its own null for an Arrow type; None where pandas has no such type."""
    import pandas as pd

    if pa.types.is_boolean(kind):
        return pd.BooleanDtype()
    if pa.types.is_string(kind):
        return pd.StringDtype()
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return pd.array([], dtype=f"{'Float' if pa.types.is_floating(kind) else 'Int'}{kind.bit_width}").dtype
    return None


def _to_polars(table: pa.Table) -> pl.DataFrame:
    try:
        import polars as pl
    except ImportError:
        raise MissingDependency("polars is not installed", hint="pip install polars") from None
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame
