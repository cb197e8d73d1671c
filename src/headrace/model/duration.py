"""Durations and times as users write them, as integers of microseconds inside."""

from __future__ import annotations

import datetime as dt
import re
from typing import Literal

from headrace.errors import InvalidArgument

Duration = dt.timedelta | str
Time = dt.datetime | str

UNLIMITED = -1
"""The age limit that lifts every other."""

_UNITS = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
    "w": 604_800_000_000,
}
_PART = re.compile(r"([0-9]{1,18})(us|ms|s|m|h|d|w)")
_BELOW_MICROS = re.compile(r"[.,][0-9]{6}0*[1-9]")
_MOST = 10_000 * 366 * _UNITS["d"]


def parse_duration(what: str, value: Duration) -> int:
    """A `timedelta`, or text such as `"90s"`, `"1h30m"`, as microseconds.

    Raises:
        InvalidArgument: other text or types, negative, or longer than 10,000 years.
    """
    if isinstance(value, dt.timedelta) and not getattr(value, "nanoseconds", 0):
        micros = (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds
    elif isinstance(value, str) and value and not _PART.sub("", value):
        micros = sum(int(n) * _UNITS[unit] for n, unit in _PART.findall(value))
    else:
        raise InvalidArgument(
            f"{what}={value!r} is no duration",
            hint='write a timedelta, or text such as "90s", "10m", "2h", "7d"',
        )
    if not 0 <= micros <= _MOST:
        raise InvalidArgument(f"{what}={value!r} is negative or longer than 10,000 years")
    return micros


def parse_max_age(what: Literal["ttl", "max_age"], value: Duration | None) -> int | None:
    """An age limit as microseconds; `None` inherits; `"unlimited"` is `UNLIMITED`.

    Zero is refused because Feast reads it as forever and SQL as never.
    """
    if value is None:
        return None
    if value == "unlimited":
        return UNLIMITED
    micros = parse_duration(what, value)
    if micros == 0:
        raise InvalidArgument(
            f"{what} of zero is refused: it could mean forever or never",
            hint='write "unlimited" for no limit, "1us" for rows of the same instant only',
        )
    return micros


def parse_min_age(value: Duration | None) -> int | None:
    return None if value is None else parse_duration("min_age", value)


def format_duration(micros: int | None) -> str:
    """The shortest text that `parse_duration` reads back: `5400000000` → `"90m"`."""
    if micros is None:
        return "none"
    if micros == UNLIMITED:
        return "unlimited"
    for unit in ("d", "h", "m", "s", "ms"):
        if micros % _UNITS[unit] == 0 and (micros or unit == "s"):
            return f"{micros // _UNITS[unit]}{unit}"
    return f"{micros}us"


def parse_time(what: str, value: Time | dt.date) -> dt.datetime:
    """A `datetime`, `date` or ISO 8601 text as an instant; naive means UTC.

    Raises:
        InvalidArgument: other text or types, or digits below a microsecond.
    """
    if isinstance(value, str):
        if _BELOW_MICROS.search(value):
            raise InvalidArgument(f"{what}={value!r} has digits below a microsecond")
        try:
            value = dt.datetime.fromisoformat(value)
        except ValueError:
            raise InvalidArgument(
                f"{what}={value!r} is no time",
                hint='write a datetime or ISO 8601 text such as "2013-01-31T06:00Z"',
            ) from None
    elif not isinstance(value, dt.datetime) and isinstance(value, dt.date):
        value = dt.datetime(value.year, value.month, value.day)
    if not isinstance(value, dt.datetime) or value != value:  # pandas' NaT is a datetime
        raise InvalidArgument(f"{what}={value!r} is no time", hint="write a datetime or ISO 8601 text")
    if getattr(value, "nanosecond", 0):
        raise InvalidArgument(f"{what}={value!r} has digits below a microsecond")
    try:
        t = value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)
    except OverflowError:
        raise InvalidArgument(f"{what}={value!r} is outside the years 1 to 9999 in UTC") from None
    # Times of other libraries are datetimes, and cannot be sent as such.
    return dt.datetime(t.year, t.month, t.day, t.hour, t.minute, t.second, t.microsecond, dt.UTC)


def to_micros(time: dt.datetime) -> int:
    """Microseconds since 1970-01-01T00:00Z, exactly."""
    delta = time - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def from_micros(micros: int) -> dt.datetime:
    return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=micros)
