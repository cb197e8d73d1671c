"""Frames of rows that the driver has.

PySpark looks at each value for the types of columns, at each again whether it is of its type, makes tuples of what
the JVM is to get, and pickles them. Where the row format's own types say all of this, they say it once for each column:

    list of rows ── the row format, a part for each partition ── the types of its columns ──> the same frame

All else is left to PySpark, with its errors.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.rdd import RDD
from pyspark.serializers import AutoBatchedSerializer, NoOpSerializer
from pyspark.sql import SparkSession
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from headrace.rowcodec.native import headrace_native
from headrace.spark.frames import DataFrame
from headrace.spark.rows import is_installed, jvm_rows
from headrace.spark.serializer import RowSerializer, pickled

# Rows of a piece, and its bytes: JVMs have each as an array.
_PIECE = 1 << 14
_LARGEST = 1 << 26
_TYPES: tuple[tuple[Callable[[pa.DataType], bool], type[DataType]], ...] = (
    (pa.types.is_null, NullType),
    (pa.types.is_boolean, BooleanType),
    (pa.types.is_signed_integer, LongType),
    (pa.types.is_float64, DoubleType),
    (pa.types.is_string, StringType),
    (pa.types.is_binary, BinaryType),
    (pa.types.is_date32, DateType),
)
_BITS = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}


class Part(NamedTuple):
    """What rows turned out to be."""

    bytes: bytes
    kind: str
    names: list[str]
    types: list[pa.DataType]
    marks: list[str | None]
    has_nulls: list[bool]


def _part(rows: list[Any]) -> Part | None:
    """None if they are no rows alike."""
    try:
        written: bytes = headrace_native.dump_rows(rows, False, only="alike")
    except headrace_native.RowError:
        return None
    source = pa.BufferReader(written)
    with pa.ipc.open_stream(source) as stream:
        batches, schema = list(stream), stream.schema
    if source.tell() != source.size():
        return None
    told = schema.metadata or {}
    return Part(
        written,
        told.get(b"headrace.py", b"dict").decode(),
        schema.names,
        schema.types,
        [(field.metadata or {}).get(b"headrace.py", b"").decode() or None for field in schema],
        [any(batch.column(n).null_count for batch in batches) for n in range(len(schema))],
    )


def _inferred(of: pa.DataType, mark: str | None) -> DataType | None:
    """What PySpark makes of the values of a column; None where that depends on them."""
    if mark is not None and not (mark == "bytearray" and pa.types.is_binary(of)):
        return None
    values = of.value_type if pa.types.is_dictionary(of) else of
    return next((make() for is_of, make in _TYPES if is_of(values)), None)


def _is_of(of: pa.DataType, mark: str | None, asked: DataType) -> bool:
    """Whether PySpark takes the values of a column for a type, and leaves them as they are."""
    found = _inferred(of, mark)
    if isinstance(found, NullType):
        return True
    if isinstance(found, LongType):
        return int(of.bit_width) <= _BITS.get(asked.__class__, 0)
    if isinstance(asked, DecimalType):
        # For fewer digits Spark has to look whether a value has no more.
        return (
            mark is None
            and pa.types.is_decimal128(of)
            and (of.precision, of.scale) == (asked.precision, asked.scale)
        )
    return found is not None and found == asked


def _struct(parts: Sequence[Part], schema: StructType | Sequence[str] | None) -> StructType | None:
    """The columns of a frame of these rows; None where PySpark has to find them, or to say what is wrong."""
    first = parts[0]
    width = len(first.types)
    if (
        not width
        or first.kind not in ("tuple", "list", "row")
        or any((part.kind, part.names) != (first.kind, first.names) for part in parts)
    ):
        return None
    # A JVM finds the columns of rows with names by these.
    named = first.kind == "row"
    if named and len(set(first.names)) < width:
        return None
    if isinstance(schema, StructType):
        if len(schema) != width or (named and schema.names != first.names):
            return None
        fits = all(
            _is_of(part.types[n], part.marks[n], field.dataType) and (field.nullable or not part.has_nulls[n])
            for part in parts
            for n, field in enumerate(schema)
        )
        return schema if fits else None
    names = first.names if schema is None else list(schema)
    if len(names) != width or not all(isinstance(name, str) for name in names):
        return None
    # PySpark puts the types of rows together by names.
    if len(set(names)) < width or (named and names != first.names):
        return None
    fields = []
    for n, name in enumerate(names):
        found = {
            inferred
            for part in parts
            if not isinstance(inferred := _inferred(part.types[n], part.marks[n]), NullType)
        }
        if len(found) != 1 or None in found:
            return None
        fields.append(StructField(name, found.pop(), True))
    return StructType(fields)


def _slices(count: int, slices: int, batch_size: int | None) -> list[tuple[int, int]]:
    """From where to where the rows of each partition are, as `SparkContext.parallelize` puts them."""
    batch = max(1, min(count // slices, batch_size or 1024))
    batches = -(-count // batch)
    ends = [min(count, (n * batches // slices) * batch) for n in range(slices + 1)]
    return list(itertools.pairwise(ends))


def _frame(session: SparkSession, data: list[Any], schema: Any) -> Any:
    """None where the rows, or their types, are left to PySpark."""
    context = session.sparkContext
    if not (schema is None or isinstance(schema, (list, tuple, StructType))) or not data:
        return None
    slices = _slices(len(data), context.defaultParallelism, context._batchSize)
    pieces = max(1, -(-max(end - begin for begin, end in slices) // _PIECE))
    parts: list[Part] = []
    pickles: list[bytes] = []
    for begin, end in slices:
        for n in range(pieces):
            some = data[begin + (end - begin) * n // pieces : begin + (end - begin) * (n + 1) // pieces]
            part = _part(some) if some else None
            if some and (part is None or len(part.bytes) > _LARGEST):
                return None
            if part is not None:
                parts.append(part)
            pickles.append(pickled(part.bytes) if part is not None else RowSerializer().dumps(some))
    struct = _struct(parts, schema)
    if struct is None:
        return None
    jvm = context._jvm
    assert jvm is not None
    sent = context._serialize_to_jvm(
        pickles,
        NoOpSerializer(),
        lambda path: jvm.PythonRDD.readRDDFromFile(context._jsc, path, len(slices)),
        lambda: jvm.PythonParallelizeServer(context._jsc.sc(), len(slices)),
    )
    return jvm_rows(context).frame(session._jsparkSession, sent, struct.json()), struct


def created(before: Callable[..., Any]) -> Callable[..., Any]:
    """`SparkSession._create_dataframe`, with another way for rows that are alike."""

    @functools.wraps(before)
    def _create_dataframe(
        self: SparkSession,
        data: Any,
        schema: Any,
        samplingRatio: Any,  # noqa: N803
        verifySchema: bool,  # noqa: N803
    ) -> Any:
        if type(data) is list and is_installed(self.sparkContext):
            made = _frame(self, data, schema)
            if made is not None:
                frame = DataFrame(made[0], self)
                frame._schema = made[1]
                return frame
        return before(self, data, schema, samplingRatio, verifySchema)

    return _create_dataframe


def moved(before: Callable[[RDD[Any]], Any]) -> Callable[[RDD[Any]], Any]:
    """`RDD._to_java_object_rdd`, which gives rows to the JVM as far as it makes the same of them."""

    @functools.wraps(before)
    def _to_java_object_rdd(self: RDD[Any]) -> Any:
        if not is_installed(self.ctx):
            return before(self)
        plain = self._reserialize(AutoBatchedSerializer(RowSerializer.plain()))
        return jvm_rows(self.ctx).values(plain._jrdd)

    return _to_java_object_rdd
