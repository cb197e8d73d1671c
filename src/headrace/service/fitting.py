"""Values of the types that were given, as the types that are stored."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from headrace.model.types import TIMESTAMP, decoded, is_list


def to_stored(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast without loss, but that floats are rounded. Raises ArrowInvalid if a value does not fit."""
    column = decoded(column)
    if column.type.equals(kind):
        return column
    if pa.types.is_struct(kind) and pa.types.is_struct(column.type):
        return _stored_struct(column, kind)
    if is_list(kind) and is_list(column.type):
        ends = pc.cumulative_sum(pc.list_value_length(column).fill_null(0).cast(pa.int32()))
        offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
        items = to_stored(column.flatten(), kind.value_type)
        return pa.ListArray.from_arrays(offsets, items, kind, mask=column.is_null())
    if pa.types.is_timestamp(kind) and pa.types.is_timestamp(column.type):
        column = _in_zone(column, kind.tz)
    elif pa.types.is_decimal(kind) and pa.types.is_integer(column.type):
        # Arrow asks for room for the largest integer there is, so values are checked one by one after that.
        column = column.cast(pa.decimal256(76, kind.scale))
    stored = column.cast(kind)
    if pa.types.is_float32(kind) and pa.types.is_floating(column.type):
        lost = pc.and_(pc.is_inf(stored), pc.is_finite(column))
        if pc.any(lost).as_py():
            raise pa.ArrowInvalid(f"{column.filter(lost)[0]} is too large")
    return stored


def _in_zone(column: pa.Array, zone: str | None) -> pa.Array:
    """The same instants: times without a zone are of UTC."""
    if column.type.tz is None and zone is not None:
        return pc.assume_timezone(column.cast(pa.timestamp("us")), "UTC")
    if column.type.tz is not None and zone is None:
        return column.cast(TIMESTAMP).cast(pa.timestamp("us"))
    return column


def _stored_struct(column: pa.StructArray, kind: pa.StructType) -> pa.StructArray:
    """Field by field, by name; those that are not given are null."""
    given = {field.name: inner for field, inner in zip(column.type, column.flatten(), strict=True)}
    fields = [
        to_stored(given[f.name], f.type) if f.name in given else pa.nulls(len(column), f.type) for f in kind
    ]
    return pa.StructArray.from_arrays(fields, fields=list(kind), mask=column.is_null())


def misfit(column: pa.Array, kind: pa.DataType) -> tuple[int, str]:
    """The first row whose value does not fit, and why; the first of all where no value is to blame."""
    first, rows, reason = 0, len(column), ""
    while rows > 0:
        part = max(rows // 2, 1)
        try:
            to_stored(column.slice(first, part), kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            rows, reason = (0, str(error)) if part == 1 else (part, "")
        else:
            first, rows = first + part, rows - part
    return first, reason
