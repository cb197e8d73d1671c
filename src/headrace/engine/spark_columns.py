"""Columns of frames of Spark's, in the types of a table, whatever the settings of the session are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.engine.spark_type import is_read_as, spark_type
from headrace.errors import Unsupported
from headrace.model.definition import GroupDefinition
from headrace.model.expression import to_value
from headrace.model.expression_sql import identifier, literal, spark_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

_DAYS = "CAST(unix_date({}) AS BIGINT) * 86400000000"
_FLOAT_DIGITS = 15


def fitted(
    found: DataFrame, definition: GroupDefinition, schema: pa.Schema, told: Mapping[str, object]
) -> DataFrame:
    """The columns of a schema in its types, by their `spark_name`s. What the frame does not have is null.

    Args:
        told: the values of columns that have one in all rows, whether the frame has such a column or not.

    Raises:
        Unsupported: Spark has no such type; or files have another one, of which it would make other values.
    """
    from pyspark.sql import types

    held = {field.name: field.dataType for field in found.schema.fields}
    found = plainly_named(found)
    columns, kinds = [], []
    for field in schema:
        name, kind = identifier(field.name, "spark"), spark_type(field.type)
        if kind is None:
            raise Unsupported(
                f"{definition.ref}: column {field.name!r} is {field.type}, which Spark does not have",
                hint="take engine='duckdb'",
            )
        if field.name in told:
            value = told[field.name]
            columns.append(f"{'NULL' if value is None else literal(to_value(value), 'spark')} AS {name}")
        elif field.name not in held:
            columns.append(f"NULL AS {name}")
        elif isinstance(kind, types.TimestampType) and isinstance(held[field.name], types.DateType):
            columns.append(f"timestamp_micros({_DAYS.format(name)}) AS {name}")
        elif (
            isinstance(kind, types.DecimalType)
            and kind.precision > _FLOAT_DIGITS
            and kind == held[field.name]
        ):
            # Delta's logs have the least and the greatest as floats, by which its reader would leave files out.
            columns.append(f"-(-{name}) AS {name}")
        elif is_read_as(kind, held[field.name]):
            columns.append(f"{utc_sql(name, held[field.name])} AS {name}")
        else:
            raise Unsupported(
                f"{definition.ref}: column {field.name!r} is {field.type}, and in files"
                f" {held[field.name].simpleString()}, of which Spark may make other values",
                hint="take engine='duckdb', or write these files anew",
            )
        kinds.append(kind)
    shown = found.selectExpr(*columns)
    return shown.select(
        *(shown[name].cast(kind).alias(name) for name, kind in zip(shown.columns, kinds, strict=True))
    )


def plainly_named(frame: DataFrame) -> DataFrame:
    """The frame with its columns by their `spark_name`s, and so the fields of structs in columns with naive times."""
    kinds = [field.dataType for field in frame.schema.fields]
    named = frame.toDF(*map(spark_name, frame.columns))
    if not any(map(is_naive, kinds)):
        return named
    return named.select(
        *(
            named[name].cast(_plain(kind)).alias(name) if is_naive(kind) else named[name]
            for name, kind in zip(named.columns, kinds, strict=True)
        )
    )


def _plain(kind: DataType) -> DataType:
    """The type with the fields of structs by their `spark_name`s."""
    from pyspark.sql import types

    match kind:
        case types.ArrayType():
            return types.ArrayType(_plain(kind.elementType))
        case types.MapType():
            return types.MapType(_plain(kind.keyType), _plain(kind.valueType))
        case types.StructType():
            return types.StructType([types.StructField(spark_name(f.name), _plain(f.dataType)) for f in kind])
    return kind


def is_naive(kind: DataType) -> bool:
    """Whether there are times of no zone in values of a type."""
    from pyspark.sql import types

    match kind:
        case types.ArrayType():
            return is_naive(kind.elementType)
        case types.MapType():
            return is_naive(kind.keyType) or is_naive(kind.valueType)
        case types.StructType():
            return any(is_naive(field.dataType) for field in kind)
    return isinstance(kind, types.TimestampNTZType)


def utc_sql(value: str, kind: DataType, depth: int = 0) -> str:
    """A value of a `plainly_named` frame whose naive times are instants in UTC: in no session's zone, as by a cast."""
    from pyspark.sql import types

    if not is_naive(kind):
        return value
    item = f"x{depth}"
    match kind:
        case types.ArrayType():
            return f"transform({value}, {item} -> {utc_sql(item, kind.elementType, depth + 1)})"
        case types.MapType():
            pair = (("key", kind.keyType), ("value", kind.valueType))
            made = ", ".join(f"'{n}', {utc_sql(f'{item}.{n}', of, depth + 1)}" for n, of in pair)
            return f"map_from_entries(transform(map_entries({value}), {item} -> named_struct({made})))"
        case types.StructType():
            fields = [(spark_name(f.name), f.dataType) for f in kind]
            made = ", ".join(f"'{n}', {utc_sql(f'{value}.`{n}`', of, depth)}" for n, of in fields)
            return f"if({value} IS NULL, NULL, named_struct({made}))"
    days = _DAYS.format(f"CAST({value} AS DATE)")
    clock = f"CAST((hour({value}) * 3600 + minute({value}) * 60) AS BIGINT) * 1000000"
    return f"timestamp_micros({days} + {clock} + CAST(extract(SECOND FROM {value}) * 1000000 AS BIGINT))"
