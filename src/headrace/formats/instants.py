"""Times that others write: as texts, in the forms of ISO 8601 that people and databases use, and in nanoseconds."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

_ZONE = r"([Zz]|[-+][0-9]{2}(:?[0-9]{2})?)$"


def times(texts: pa.Array, kind: pa.TimestampType) -> pa.Array:
    """The times that texts tell: those without a zone are in UTC, and digits below a microsecond are cut off.

    Args:
        kind: in microseconds, in UTC or without a zone.

    Raises:
        pa.ArrowInvalid: one tells none.
    """
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:  # Arrow wants a zone in all of them or in none
        zoned = _zoned(texts)
    try:
        return zoned.cast(pa.timestamp("us", "UTC")).cast(kind)
    except pa.ArrowInvalid:
        wrong = texts[_first_that_tells_none(zoned)].as_py()
        raise pa.ArrowInvalid(
            f"{wrong!r} is no time, such as 2026-01-02 03:04:05 or 2026-01-02T03:04:05Z"
        ) from None


def _first_that_tells_none(texts: pa.Array) -> int:
    """Of texts that do not all tell times."""
    start, end = 0, len(texts)
    while end - start > 1:
        middle = (start + end) // 2
        try:
            texts.slice(start, middle - start).cast(pa.timestamp("us", "UTC"))
            start = middle
        except pa.ArrowInvalid:
            end = middle
    return start


def _zoned(texts: pa.Array) -> pa.Array:
    texts = pc.replace_substring_regex(texts, r"(\.[0-9]{6})[0-9]+", r"\1")
    texts = pc.replace_substring_regex(texts, r"^([0-9]{4}-[0-9]{2}-[0-9]{2})$", r"\1 00:00")
    zoned = pc.match_substring_regex(texts, rf":[0-9.]+ ?{_ZONE}")
    return pc.if_else(
        zoned,
        pc.replace_substring_regex(texts, rf" ?{_ZONE}", r"\1"),
        pc.binary_join_element_wise(texts, "Z", ""),
    )


def in_microseconds(values: pa.Array) -> pa.Array:
    """Times of nanoseconds, also within lists and the like, cut to microseconds: none is later than it was."""
    kind = values.type
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        whole = values.cast(pa.int64())
        toward_zero = pc.divide(whole, 1000)
        is_later = pc.greater(pc.multiply(toward_zero, 1000), whole).cast(pa.int64())
        return pc.subtract(toward_zero, is_later).cast(pa.timestamp("us", kind.tz))
    if pa.types.is_struct(kind):
        within = [in_microseconds(values.field(i)) for i in range(kind.num_fields)]
        fields = [field.with_type(child.type) for field, child in zip(kind, within, strict=True)]
        return pa.StructArray.from_arrays(within, fields=fields, mask=values.is_null()) if fields else values
    if pa.types.is_map(kind):
        keys, items = in_microseconds(values.keys), in_microseconds(values.items)
        entries = pa.StructArray.from_arrays([keys, items], ["key", "value"])
        return _of(pa.map_(keys.type, items.type), values, entries)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = in_microseconds(values.values)
        make = pa.list_ if pa.types.is_list(kind) else pa.large_list
        return _of(make(kind.value_field.with_type(inner.type)), values, inner)
    return values


def _of(kind: pa.DataType, values: pa.Array, within: pa.Array) -> pa.Array:
    """A list or a map as another one, but for what it holds."""
    offsets = values.buffers()[:2]
    return pa.Array.from_buffers(kind, len(values), offsets, values.null_count, values.offset, [within])
