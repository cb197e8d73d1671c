"""Every kind of frame that users have, as Arrow."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import pyarrow as pa

from headrace.errors import InvalidArgument, NameClash, SchemaMismatch

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Frame: TypeAlias = (
    "pd.DataFrame | pl.DataFrame | pl.LazyFrame | pa.Table | pa.RecordBatch | pa.RecordBatchReader"
    " | Sequence[Mapping[str, Any]] | Any"
)
"""A pandas or polars frame, Arrow data, anything with `__arrow_c_stream__`, or a list of dicts."""

_BATCH_ROWS = 65_536


def to_reader(frame: Frame) -> pa.RecordBatchReader:
    """The frame as batches, read once. A reader is passed through and never held.

    Raises:
        InvalidArgument: no frame. SchemaMismatch: rows of a list, or a pandas column, that have no Arrow type.
    """
    if isinstance(frame, pa.RecordBatchReader):
        return frame
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if isinstance(frame, pa.Table):
        return frame.to_reader(_BATCH_ROWS)
    if _is_pandas(frame):
        return _from_pandas(frame).to_reader(_BATCH_ROWS)
    if _is_lazy_polars(frame):
        return pa.RecordBatchReader.from_stream(cast("pl.LazyFrame", frame).collect())
    if hasattr(frame, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(frame)
    if isinstance(frame, Sequence) and not isinstance(frame, str | bytes):
        return _from_rows(frame).to_reader(_BATCH_ROWS)
    raise InvalidArgument(
        f"a {type(frame).__name__} is no frame",
        hint="give pandas, polars, Arrow data, anything with __arrow_c_stream__, or a list of dicts",
    )


def to_table(frame: Frame) -> pa.Table:
    """The frame in memory, to be read more than once."""
    return frame if isinstance(frame, pa.Table) else to_reader(frame).read_all()


def _is_pandas(frame: object) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(frame, pandas.DataFrame)


def _is_lazy_polars(frame: object) -> bool:
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(frame, polars.LazyFrame)


def _from_pandas(frame: pd.DataFrame) -> pa.Table:
    """Named index levels become columns; an index without a name is dropped."""
    if not all(isinstance(name, str) for name in frame.columns):
        raise InvalidArgument("a pandas frame has column names that are not text", hint="rename its columns")
    if len(set(frame.columns)) < len(frame.columns) or set(frame.columns) & set(frame.index.names):
        raise NameClash("two columns of a pandas frame, or a column and its index, have the same name")
    named = [name for name in frame.index.names if name is not None]
    if named:
        frame = frame.reset_index(level=named)
    try:
        return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, UnicodeError) as error:
        raise SchemaMismatch(f"a pandas column has no Arrow type: {error.args[0]}") from None


def _from_rows(rows: Sequence[Any]) -> pa.Table:
    if not all(isinstance(row, Mapping) for row in rows):
        raise InvalidArgument("a list of rows must hold dicts, each from column name to value")
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not all(isinstance(name, str) for name in names):
        raise InvalidArgument("a list of rows must hold dicts, each from column name to value")
    if not names:
        raise InvalidArgument("there are no columns: the list of rows is empty, or its dicts are")
    columns = {}
    for name in names:
        try:
            columns[name] = pa.array([_plain(row.get(name)) for row in rows])
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeError) as error:
            raise SchemaMismatch(
                f"column {name!r} holds values of different types: {error}",
                details={"problems": [{"code": "SCHEMA_MISMATCH", "column": name, "message": str(error)}]},
            ) from None
    return pa.table(columns)


def _plain(value: Any) -> Any:
    """Times of one column may name different zones; Arrow has one zone a column."""
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC)
    return value
