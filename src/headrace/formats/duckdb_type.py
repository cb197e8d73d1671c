"""The types of DuckDB."""

from __future__ import annotations

import pyarrow as pa

from headrace.model.expression_sql import identifier
from headrace.model.types import is_list

_NAMES = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.float32(): "REAL",
    pa.float64(): "DOUBLE",
    pa.string(): "VARCHAR",
    pa.binary(): "BLOB",
    pa.date32(): "DATE",
    pa.timestamp("us"): "TIMESTAMP",
    pa.timestamp("us", "UTC"): "TIMESTAMPTZ",
    pa.timestamp("ns"): "TIMESTAMP_NS",
    pa.timestamp("ns", "UTC"): "TIMESTAMPTZ_NS",
}


def is_readable(kind: pa.DataType) -> bool:
    """Whether there is a DuckDB type for an Arrow type."""
    try:
        duckdb_type(kind)
    except TypeError:
        return False
    return True


def duckdb_type(kind: pa.DataType) -> str:
    """The DuckDB type that reads a stored Arrow type."""
    if kind in _NAMES:
        return _NAMES[kind]
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if is_list(kind):
        return f"{duckdb_type(kind.value_type)}[]"
    if pa.types.is_map(kind):
        return f"MAP({duckdb_type(kind.key_type)}, {duckdb_type(kind.item_type)})"
    if pa.types.is_struct(kind):
        return f"STRUCT({', '.join(f'{identifier(f.name)} {duckdb_type(f.type)}' for f in kind)})"
    raise TypeError(f"{kind} is not a stored type")
