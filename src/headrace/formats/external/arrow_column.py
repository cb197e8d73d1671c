"""Columns of databases whose drivers tell of them by Arrow's types alone."""

from __future__ import annotations

import pyarrow as pa

from headrace.formats.duckdb_type import is_readable
from headrace.formats.external.column import Comparison, ExternalColumn
from headrace.formats.external.dialect import Dialect
from headrace.formats.normal_schema import normal_schema
from headrace.model.types import extension

_WHOLE_DIGITS = 38
"""Those of a database's whole numbers, of which hardly any has more than fit into eight bytes."""


def arrow_column(field: pa.Field, dialect: Dialect) -> ExternalColumn:
    """What no type is read for is read as text."""
    kind = normal_schema(pa.schema([field])).field(0).type
    if (
        pa.types.is_decimal(field.type)
        and field.type.scale == 0
        and field.type.precision in (19, _WHOLE_DIGITS)
    ):
        kind = pa.int64()
    if not is_readable(kind) or extension(field) is not None:
        return ExternalColumn(field.name, pa.string(), dialect.as_text(field.name))
    return ExternalColumn(field.name, kind, dialect.name(field.name), field.type, _compared(kind))


def _compared(kind: pa.DataType) -> Comparison | None:
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_float64(kind):
        return "float"
    if pa.types.is_decimal(kind):
        return "decimal"
    if pa.types.is_boolean(kind):
        return "bool"
    if pa.types.is_date(kind):
        return "date"
    if pa.types.is_timestamp(kind):
        return "time" if kind.tz is None else "instant"
    return "text" if pa.types.is_string(kind) else None
