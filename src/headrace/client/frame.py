"""Every kind of frame that users have, as Arrow."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import pyarrow as pa

from headrace.backend import Spine
from headrace.client.learned import learned_array
from headrace.errors import InvalidArgument, NameClash, SchemaMismatch
from headrace.model.definition import write_schema
from headrace.model.request import Engine
from headrace.spark_frame import from_spark, is_spark, schema_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyspark.sql

Frame: TypeAlias = (
    "pd.DataFrame | pl.DataFrame | pl.LazyFrame | pyspark.sql.DataFrame | pa.Table | pa.RecordBatch"
    " | pa.RecordBatchReader | Sequence[Mapping[str, Any]] | Any"
)
"""A pandas, polars or Spark frame, Arrow data, anything with `__arrow_c_stream__`, or a list of dicts."""

_Values = TypeVar("_Values")
_BATCH_ROWS = 65_536
_FRAMES = "give pandas, polars, Spark, Arrow data, anything with __arrow_c_stream__, or a list of dicts"
_UNTYPED = (ValueError, TypeError, NotImplementedError, OverflowError)  # Arrow's own are among them


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
    if is_spark(frame):
        return from_spark(frame)
    frame = frame if (collected := _polars(frame)) is None else collected
    if hasattr(frame, "__arrow_c_stream__"):
        try:
            return pa.RecordBatchReader.from_stream(frame)
        except pa.ArrowException as error:
            raise InvalidArgument(f"a {type(frame).__name__} is no frame: {error}", hint=_FRAMES) from None
    if isinstance(frame, Sequence) and not isinstance(frame, str | bytes):
        return _from_rows(frame).to_reader(_BATCH_ROWS)
    raise InvalidArgument(f"a {type(frame).__name__} is no frame", hint=_FRAMES)


def to_table(frame: Frame) -> pa.Table:
    """The frame in memory, to be read more than once."""
    return frame if isinstance(frame, pa.Table) else to_reader(frame).read_all()


def to_spine(frame: Frame | None, engine: Engine | None = None) -> tuple[Spine | None, bytes | None]:
    """Rows to enrich, and their columns, as they are sent; no rows give neither.

    A frame of Spark's stays one where Spark is asked to enrich it.
    """
    if frame is None:
        return None, None
    if engine == "spark" and is_spark(frame):
        return frame, write_schema(schema_of(frame).remove_metadata())
    table = to_table(frame).replace_schema_metadata(None)
    return table, write_schema(table.schema)


def _is_pandas(frame: object) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(frame, pandas.DataFrame)


def _polars(frame: object) -> pl.DataFrame | None:
    """The frame, collected where it is lazy; None if it is none of polars."""
    polars = sys.modules.get("polars")
    if polars is None or not isinstance(frame, polars.DataFrame | polars.LazyFrame):
        return None
    collected: pl.DataFrame = frame.lazy().collect()
    # Polars would hand Python's objects on as the numbers of their places in memory.
    objects = [name for name, kind in collected.schema.items() if kind == polars.Object]
    if objects:
        raise _untyped(dict.fromkeys(objects, "it holds Python objects, whose type polars does not tell"))
    return collected


def _from_pandas(frame: pd.DataFrame) -> pa.Table:
    """Named index levels become columns; an index without a name is dropped."""
    named = [i for i, name in enumerate(frame.index.names) if name is not None]
    frame = frame.rename_axis([None if name is None else str(name) for name in frame.index.names])
    names = [*(name for name in frame.index.names if name is not None), *frame.columns]
    if not all(isinstance(name, str) for name in names):
        raise InvalidArgument("a pandas frame has column names that are not text", hint="rename its columns")
    if len(set(names)) < len(names):
        raise NameClash("two columns of a pandas frame, or a column and its index, have the same name")
    if named:
        frame = frame.reset_index(level=named)
    objects = [name for name in frame.columns if _holds_objects(frame[name])]
    learned = _learned(_from_objects, {name: frame[name] for name in objects})
    rest = frame.drop(columns=objects)
    try:
        table = pa.Table.from_pandas(rest, preserve_index=False).replace_schema_metadata(None)
    except _UNTYPED:
        raise _untyped({name: _failure(rest[name]) for name in rest.columns}) from None
    return pa.table({name: learned[name] if name in learned else table[name] for name in frame.columns})


def _from_rows(rows: Sequence[Any]) -> pa.Table:
    if not all(isinstance(row, Mapping) for row in rows):
        raise InvalidArgument("a list of rows must hold dicts, each from column name to value")
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not all(isinstance(name, str) for name in names):
        raise InvalidArgument("a list of rows must hold dicts, each from column name to value")
    if not names:
        raise InvalidArgument(
            "there are no columns: the list of rows is empty, or its dicts are",
            hint="to replace rows by none, use delete(filter=...)",
        )
    columns = {name: [row.get(name) for row in rows] for name in names}
    return pa.table(_learned(lambda values: learned_array(values, nan_is_null=False), columns))


def _holds_objects(column: pd.Series[Any]) -> bool:
    """True if the values, or the categories, become Python's own before Arrow learns their type."""
    if hasattr(column.dtype, "categories"):
        return str(column.dtype.categories.dtype.kind) in ("O", "M")
    return bool(column.dtype == object)


def _from_objects(column: pd.Series[Any]) -> pa.Array:
    if not hasattr(column.dtype, "categories"):
        return learned_array(list(column), nan_is_null=True)
    codes = column.cat.codes.to_numpy()
    categories = learned_array(list(column.cat.categories), nan_is_null=True)
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), categories)


def _learned(learn: Callable[[_Values], pa.Array], columns: Mapping[str, _Values]) -> dict[str, pa.Array]:
    found, failures = {}, {}
    for name, values in columns.items():
        try:
            found[name] = learn(values)
        except _UNTYPED as error:
            failures[name] = str(error)
    if failures:
        raise _untyped(failures)
    return found


def _failure(column: pd.Series[Any]) -> str | None:
    """Why a pandas column has no Arrow type; None if it has one."""
    try:
        pa.array(column, from_pandas=True)
    except _UNTYPED as error:
        return str(error)
    return None


def _untyped(failures: Mapping[str, str | None]) -> SchemaMismatch:
    found = {name: failure for name, failure in failures.items() if failure is not None}
    told = "; ".join(f"column {name!r} has no Arrow type: {failure}" for name, failure in found.items())
    return SchemaMismatch(
        told or "a column has no Arrow type",
        hint="the values of a column must be alike, and integers less than 2**63",
        details={
            "problems": [
                {"code": SchemaMismatch.code, "column": name, "message": failure}
                for name, failure in found.items()
            ]
        },
    )
