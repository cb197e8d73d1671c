"""Texts of a file's column as values of a type. Whatever is no such value is refused by name, row and text."""

from __future__ import annotations

import contextlib

import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import BadData

TIME = pa.timestamp("us", "UTC")

_ZONE = r"[T ].*(Z|[+-][0-9]{2}(:?[0-9]{2})?)$"
_LARGEST = {pa.float32(): "3.4e38", pa.float64(): "1.8e308"}


def is_found_out(kind: pa.DataType) -> bool:
    """Types that the readers of texts find out by themselves, or not at all."""
    return bool(pa.types.is_nested(kind) or pa.types.is_timestamp(kind) or pa.types.is_binary(kind))


def parsed(path: str, name: str, texts: pa.Array, kind: pa.DataType, row: int, null: str) -> pa.Array:
    """Texts as values of a type.

    Args:
        row: the number of the first text, from 0.
        null: says in a hint what is null in such a file.

    Raises:
        BadData: a text is no such value.
    """
    try:
        return _times(texts) if kind == TIME else pc.utf8_trim_whitespace(texts).cast(kind)
    except pa.ArrowInvalid:
        if len(texts) == 1:
            what = f"no {kind}"
            hint = "a column has the type that is stored, and in a new group that of the file's first values"
            if pa.types.is_timestamp(kind):
                what = "no time of at most microseconds"
                hint = "write times as 2024-01-31 or 2024-01-31T08:00:00, with +02:00 or Z if not in UTC"
            elif pa.types.is_date(kind):
                hint = "write dates as 2024-01-31"
            raise BadData(
                f"{path}: column {name!r}, row {row}: {texts[0].as_py()!r} is {what}",
                hint=f"{hint}; {null}",
                details={"file": path, "column": name, "row": row},
            ) from None
        half = len(texts) // 2
        first = parsed(path, name, texts[:half], kind, row, null)
        return pa.concat_arrays([first, parsed(path, name, texts[half:], kind, row + half, null)])


def _times(texts: pa.Array) -> pa.Array:
    """Times or dates, with a zone or in UTC."""
    with contextlib.suppress(pa.ArrowInvalid):  # mostly none has a zone, or all have
        return pc.assume_timezone(texts.cast(pa.timestamp("us")), "UTC")
    with contextlib.suppress(pa.ArrowInvalid):
        return texts.cast(TIME)
    zoned = pc.match_substring_regex(texts, _ZONE)
    none = pa.scalar(None, pa.string())
    local = pc.if_else(zoned, none, texts).cast(pa.timestamp("us"))
    return pc.coalesce(pc.if_else(zoned, texts, none).cast(TIME), pc.assume_timezone(local, "UTC"))


def is_infinite(column: pa.Array) -> bool:
    """True if a number of a column is infinite, however deep it is."""
    if pa.types.is_struct(column.type):
        return any(map(is_infinite, column.flatten()))
    if pa.types.is_list(column.type):
        return is_infinite(column.flatten())
    return pa.types.is_floating(column.type) and bool(pc.any(pc.is_inf(column)).as_py())


def too_large(path: str, name: str, text: str, kind: pa.DataType, row: int) -> BadData:
    """The error of a number that a type of floats does not hold."""
    return BadData(
        f"{path}: column {name!r}, row {row}: {text} is too large for a {kind}",
        hint=f"the largest is about {_LARGEST[kind]}",
        details={"file": path, "column": name, "row": row},
    )
