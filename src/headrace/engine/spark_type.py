"""Types of Spark's, and those that files are read in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.model.types import is_wider

if TYPE_CHECKING:
    from pyspark.sql.types import DataType


def spark_type(kind: pa.DataType) -> DataType | None:
    """The type of Spark's that holds all values of a type; None if there is none.

    Naive times are UTC, and become instants.
    """
    from pyspark.sql import types

    plain = {
        pa.int8(): types.ByteType,
        pa.int16(): types.ShortType,
        pa.int32(): types.IntegerType,
        pa.int64(): types.LongType,
        pa.float32(): types.FloatType,
        pa.float64(): types.DoubleType,
        pa.bool_(): types.BooleanType,
        pa.string(): types.StringType,
        pa.binary(): types.BinaryType,
        pa.date32(): types.DateType,
        pa.duration("us"): types.DayTimeIntervalType,
    }
    if kind in plain:
        return plain[kind]()
    if pa.types.is_timestamp(kind):
        return None if kind.unit == "ns" else types.TimestampType()
    if pa.types.is_decimal128(kind):
        return types.DecimalType(kind.precision, kind.scale) if kind.scale >= 0 else None
    inner = [spark_type(kind.field(i).type) for i in range(kind.num_fields)]
    if pa.types.is_map(kind):
        inner = [spark_type(kind.key_type), spark_type(kind.item_type)]
    known = [of for of in inner if of is not None]
    if not known or len(known) < len(inner):
        return None
    if pa.types.is_list(kind):
        return types.ArrayType(known[0])
    if pa.types.is_map(kind):
        return types.MapType(*known)
    if pa.types.is_struct(kind):
        return types.StructType([types.StructField(f.name, of) for f, of in zip(kind, known, strict=True)])
    return None


def read_type(wanted: DataType, told: DataType) -> DataType:
    """As what Spark reads a column of a file in which it is of one type, and wanted in another.

    The fields of structs are those that are wanted, in their order, for Spark finds them by their names.
    """
    from pyspark.sql import types

    match wanted, told:
        case types.StructType(), types.StructType():
            held = {field.name: field.dataType for field in told}
            fields = [(f.name, read_type(f.dataType, held.get(f.name, f.dataType))) for f in wanted]
            return types.StructType([types.StructField(name, kind) for name, kind in fields])
        case types.ArrayType(), types.ArrayType():
            return types.ArrayType(read_type(wanted.elementType, told.elementType))
        case types.MapType(), types.MapType():
            return types.MapType(
                read_type(wanted.keyType, told.keyType), read_type(wanted.valueType, told.valueType)
            )
    return told


def is_read_as(wanted: DataType, told: DataType) -> bool:
    """Whether a cast to one type from the other gives the same values, if naive times are instants before."""
    from pyspark.sql import types
    from pyspark.sql.pandas.types import to_arrow_type

    match wanted, told:
        case types.StructType(), types.StructType():
            return wanted.names == told.names and all(
                is_read_as(one.dataType, other.dataType) for one, other in zip(wanted, told, strict=True)
            )
        case types.ArrayType(), types.ArrayType():
            return is_read_as(wanted.elementType, told.elementType)
        case types.MapType(), types.MapType():
            return is_read_as(wanted.keyType, told.keyType) and is_read_as(wanted.valueType, told.valueType)
        case types.NumericType(), types.NumericType():
            return wanted == told or is_wider(to_arrow_type(wanted), to_arrow_type(told))
        case (types.StringType(), types.IntegralType()) | (types.TimestampType(), types.TimestampNTZType()):
            return True
    return wanted == told or isinstance(told, types.NullType)
