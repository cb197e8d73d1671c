"""The types in which tables of any format are read."""

from __future__ import annotations

import pyarrow as pa

from headrace.model.types import is_list, stored_type


def normal_schema(schema: pa.Schema) -> pa.Schema:
    """A table's schema in the types that Headrace stores, nullability apart; what it does not store stays."""
    return pa.schema([pa.field(field.name, _normal_type(field.type)) for field in schema])


def _normal_type(kind: pa.DataType) -> pa.DataType:
    """Times of no zone stay without one."""
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return pa.timestamp("us")
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, _normal_type(f.type)) for f in kind])
    if is_list(kind):
        return pa.list_(pa.field("element", _normal_type(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(_normal_type(kind.key_type), _normal_type(kind.item_type))
    return stored_type(kind) or kind
