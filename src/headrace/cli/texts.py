"""Texts of a file's column as values of a type. Whatever is no such value is refused by name, row and text."""

from __future__ import annotations

import contextlib
import decimal
import math

import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import BadData

TIME = pa.timestamp("us", "UTC")

_ZONE = r"[T ].*(Z|[+-][0-9]{2}(:?[0-9]{2})?)$"
_INFINITE = r"(?i)^[+-]?inf(inity)?$"
_WHOLE = r"^[+-]?[0-9]+$"
_LARGE = 2.0**53
_LARGEST = {pa.float32(): "3.4e38", pa.float64(): "1.8e308"}


def is_found_out(kind: pa.DataType) -> bool:
    """Types that the readers of texts find out by themselves, or not at all."""
    return bool(pa.types.is_nested(kind) or pa.types.is_timestamp(kind) or pa.types.is_binary(kind))


def parsed(path: str, name: str, texts: pa.Array, kind: pa.DataType, row: int, null: str) -> pa.Array:
    """Texts, or the bytes of texts, as values of a type.

    Args:
        row: the number of the first text, from 0.
        null: says in a hint what is null in such a file.

    Raises:
        BadData: a text is no such value.
    """
    try:
        return _values(texts, kind)
    except pa.ArrowInvalid:
        if len(texts) == 1:
            raise _no_value(path, name, texts[0].as_py(), kind, row, null) from None
        half = len(texts) // 2
        first = parsed(path, name, texts[:half], kind, row, null)
        return pa.concat_arrays([first, parsed(path, name, texts[half:], kind, row + half, null)])


def _values(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Raises ArrowInvalid if a text is no value of the type, or a number that the type does not hold."""
    texts = texts.cast(pa.string())
    if pa.types.is_string(kind):
        return texts
    if kind == TIME:
        return _times(texts)
    if pa.types.is_null(kind):
        if texts.null_count < len(texts):
            raise pa.ArrowInvalid("a value")
        return pa.nulls(len(texts))
    texts = pc.ascii_trim(texts, " \t")
    values = texts.cast(kind)
    if pa.types.is_integer(kind) and pc.any(pc.match_substring(texts, "0x", ignore_case=True)).as_py():
        raise pa.ArrowInvalid("hexadecimal, of which Arrow takes the first bit for the sign")
    if is_large(values):
        large = pc.greater_equal(pc.abs(values), _LARGE)
        _check_large(texts.filter(large), values.filter(large))
    return values


def _check_large(texts: pa.Array, values: pa.Array) -> None:
    infinite = pc.match_substring_regex(texts, _INFINITE)
    if pc.any(pc.and_not(pc.is_inf(values), infinite)).as_py():
        raise pa.ArrowInvalid("a number became infinite")
    whole = pc.match_substring_regex(texts, _WHOLE)
    if any(map(is_rounded, texts.filter(whole).unique().to_pylist())):
        raise pa.ArrowInvalid("a number was rounded")


def _no_value(path: str, name: str, text: str | bytes, kind: pa.DataType, row: int, null: str) -> BadData:
    """The error of a text that is no value of the type."""
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError:
            return bad_value(path, name, row, f"{text!r} is not UTF-8", "save the file as UTF-8")
    what = f"no {kind}"
    hint = "a column has the type that is stored, and in a new group that of the file's first values"
    if pa.types.is_timestamp(kind):
        what = "no time of at most microseconds"
        hint = "write times as 2024-01-31 or 2024-01-31T08:00:00, with +02:00 or Z if not in UTC"
    elif pa.types.is_date(kind):
        hint = "write dates as 2024-01-31"
    elif pa.types.is_null(kind):
        what = "the first value, after so many rows without one that the column has no type"
        hint = "begin with a row that has a value, or create the group from Python with schema="
    elif pa.types.is_integer(kind):
        hint = f"write digits only; {hint}"
    elif pa.types.is_floating(kind):
        number = text.strip(" \t")
        with contextlib.suppress(pa.ArrowInvalid):
            value = pa.scalar(number).cast(kind)
            return lost_number(path, name, number, value, row)
    return bad_value(path, name, row, f"{text!r} is {what}", f"{hint}; {null}")


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


def is_large(column: pa.Array) -> bool:
    """True if a float of a column, however deep it is, is one at which whole numbers are rounded, or infinite."""
    if pa.types.is_struct(column.type):
        return any(map(is_large, column.flatten()))
    if pa.types.is_list(column.type):
        return is_large(column.flatten())
    if not pa.types.is_floating(column.type):
        return False
    bounds = pc.min_max(column).as_py()
    return bounds["max"] is not None and max(-bounds["min"], bounds["max"]) >= _LARGE


def is_rounded(text: str) -> bool:
    """True if a double does not hold a whole number exactly."""
    number = float(text)
    return math.isfinite(number) and decimal.Decimal(text) != decimal.Decimal(number)


def lost_number(path: str, name: str, text: str, value: pa.Scalar, row: int) -> BadData:
    """The error of a number that became another value."""
    if math.isinf(value.as_py()):
        what, hint = f"too large for a {value.type}", f"the largest is about {_LARGEST[value.type]}"
    else:
        what = f"not exact as a {value.type}"
        hint = "declare the column as decimal or, if all are below 2**63, int64: from Python, with schema="
    return bad_value(path, name, row, f"{text} is {what}", hint)


def bad_value(path: str, name: str, row: int, what: str, hint: str) -> BadData:
    """The error of a value of a file."""
    return BadData(
        f"{path}: column {name!r}, row {row}: {what}",
        hint=hint,
        details={"file": path, "column": name, "row": row},
    )
