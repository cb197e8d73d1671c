"""Times that are written as texts, in the forms of ISO 8601 that people and databases use."""

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
        return _zoned(texts).cast(pa.timestamp("us", "UTC")).cast(kind)


def _zoned(texts: pa.Array) -> pa.Array:
    texts = pc.replace_substring_regex(texts, r"(\.[0-9]{6})[0-9]+", r"\1")
    texts = pc.replace_substring_regex(texts, r"^([0-9]{4}-[0-9]{2}-[0-9]{2})$", r"\1 00:00")
    zoned = pc.match_substring_regex(texts, rf":[0-9.]+ ?{_ZONE}")
    return pc.if_else(
        zoned,
        pc.replace_substring_regex(texts, rf" ?{_ZONE}", r"\1"),
        pc.binary_join_element_wise(texts, "Z", ""),
    )
