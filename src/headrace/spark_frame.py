"""Spark data frames as Arrow, made where the rows are."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeGuard

import pyarrow as pa

from headrace.errors import InvalidArgument, NameClash, SchemaMismatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CLASSES = (("pyspark.sql", "DataFrame"), ("pyspark.sql.connect.dataframe", "DataFrame"))


def is_spark(frame: object) -> TypeGuard[DataFrame]:
    """Whether it is a data frame of Spark, or of Spark Connect."""
    found = [getattr(sys.modules.get(module), name, None) for module, name in _CLASSES]
    return isinstance(frame, tuple(kind for kind in found if kind is not None))


def from_spark(frame: DataFrame) -> pa.RecordBatchReader:
    """The rows as Spark computes them, partition by partition; two are held at most.

    Raises:
        InvalidArgument: a streaming frame. NameClash: columns of one name. SchemaMismatch: columns of types that Arrow
            does not have.
    """
    schema = schema_of(frame)
    return pa.RecordBatchReader.from_batches(schema, _batches(frame, schema))


def schema_of(frame: DataFrame) -> pa.Schema:
    """The columns as Arrow has them. Raises as `from_spark`."""
    from pyspark.errors import PySparkException, PySparkValueError
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    if frame.isStreaming:
        raise InvalidArgument(
            "a streaming Spark frame has no end", hint="write its batches, with foreachBatch and insert"
        )
    try:
        given = frame.schema
    except PySparkValueError as error:
        # PySpark has no class for intervals of months, days and times together, and does not say which column it is.
        raise SchemaMismatch(
            f"a column of a Spark frame has a type that PySpark does not read: {error}",
            hint="cast it to INTERVAL DAY TO SECOND or to a string, or leave it out",
        ) from None
    if len(set(given.names)) < len(given.names):
        raise NameClash("two columns of a Spark frame have the same name", hint="rename one of them")
    fields = []
    for field in given:
        try:
            fields += to_arrow_schema(StructType([field]))
        except PySparkException as error:
            raise SchemaMismatch(
                f"column {field.name!r} of a Spark frame is {field.dataType.simpleString()}, which has no Arrow type:"
                f" {error}",
                hint="cast it, for example to a string, or leave it out",
                details={"column": field.name},
            ) from None
    return pa.schema(fields)


def _batches(frame: DataFrame, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    # The zone of times is that of the session, and their instants are the same.
    return (batch.cast(schema) for batch in batches_of(frame))


def batches_of(frame: DataFrame) -> Iterator[pa.RecordBatch]:
    """The rows as Spark's workers give them, in its order; two partitions are held at most."""
    for row in frame.mapInArrow(_serialised(), "batch binary").toLocalIterator(prefetchPartitions=True):
        with pa.ipc.open_stream(row.batch) as stream:
            yield from stream


def _serialised() -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    # A function in a function is sent to Spark's workers itself, and not as a name in a package that they may not have.
    def serialised(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as stream:
                stream.write_batch(batch)
            yield pa.record_batch([pa.array([sink.getvalue().to_pybytes()], pa.binary())], ["batch"])

    return serialised
