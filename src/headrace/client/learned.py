"""Python values without a declared type, as Arrow arrays.

Arrow takes the type of a column from the values and then bends what does not fit: a time among dates loses its hour,
a truth value among numbers becomes one, NumPy's units of time are left out. Here the values of a place, such as a
column, or a field of all structs of one, are of one kind, or are refused; and Arrow is given Python's own.
"""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

# Kinds, by the first class that a value is of. What else there is, Arrow takes or refuses as it is.
_KINDS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((bool, np.bool_), "truth values"),
    ((np.timedelta64, dt.timedelta), "durations"),  # NumPy has its durations among the integers
    ((int, np.integer), "integers"),
    ((float, np.floating), "floats"),
    ((decimal.Decimal,), "decimals"),
    ((str,), "texts"),
    ((bytes, bytearray, memoryview), "bytes"),
    ((dt.datetime, np.datetime64), "times"),
    ((dt.date,), "dates"),
    ((dt.time,), "times of day"),
    ((list, tuple, set, frozenset, np.ndarray), "lists"),
    ((Mapping,), "dicts"),
)
_TOGETHER = ({"integers", "floats"}, {"integers", "decimals"})
_DAYS = ("Y", "M", "W", "D")
_MISSING = ("NoneType", "NaTType", "NAType")
_MOST_LEVELS = 64


def learned_array(values: list[Any], *, nan_is_null: bool) -> pa.Array:
    """The values in the one type that holds them all as they are; None, and pandas' marks for it, are null.

    Args:
        nan_is_null: pandas has one mark for null and NaN where a column holds objects.

    Raises:
        ValueError, TypeError, OverflowError, NotImplementedError: there is no such type, as Arrow says it or as:
            values of several kinds, or times with digits below a microsecond.
    """
    return _array("", 0, values, nan_is_null)


def _array(path: str, level: int, values: list[Any], nan_is_null: bool) -> pa.Array:
    """The values that share a place in all rows, in so many lists and dicts.

    Place by place, since a look at each value of itself would take longer than all that comes after.
    """
    classes = set(map(type, values))
    if any(c.__name__ in _MISSING[1:] or issubclass(c, np.datetime64 | np.timedelta64) for c in classes):
        values = [None if _is_missing(v) else v for v in values]
        classes = set(map(type, values))
    found = {_kind(c) for c in classes if c is not type(None)}
    if np.datetime64 in classes:
        found = {_kind_of(v) for v in values if v is not None}
    if nan_is_null and len(found) > 1 and "floats" in found and _are_nan(values):
        found -= {"floats"}
        values = [None if isinstance(v, float | np.floating) else v for v in values]
    inside = f" in {path}" if path else ""
    if len(found) > 1 and found not in _TOGETHER:
        raise TypeError(f"it holds {' and '.join(sorted(found))}{inside}: {_examples(values, path)}")
    if level > _MOST_LEVELS:
        raise ValueError(f"it is nested in more than {_MOST_LEVELS} levels")
    if found == {"lists"}:
        return _lists(path, level + 1, values, nan_is_null)
    if found == {"dicts"}:
        return _structs(path, level + 1, values, nan_is_null)
    try:
        return _plain_array(found, classes - {type(None)}, values, nan_is_null)
    except (ValueError, TypeError, OverflowError, NotImplementedError) as error:
        integers = (v for v in values if _kind(type(v)) == "integers")
        large = next((v for v in integers if not -(1 << 63) <= v < 1 << 63), None)
        raise ValueError(f"{error if large is None else f'{large} has more than 64 bits'}{inside}") from None


def _plain_array(found: set[str], classes: set[type], values: list[Any], nan_is_null: bool) -> pa.Array:
    numpys = [c for c in classes if issubclass(c, np.generic)]
    if found == {"times"}:
        times = _each(_time, values)
        # Naive times are of UTC, and those of one column may name different zones.
        zone = "UTC" if any(t is not None and t.tzinfo is not None for t in times) else None
        return pa.array(times, pa.timestamp("us", zone))
    if found == {"dates"} and numpys:
        return pa.array(_each(_day, values), pa.date32())
    if found == {"durations"}:
        return pa.array(_each(_duration, values), pa.duration("us"))
    if found == {"times of day"} and any(v is not None and v.tzinfo is not None for v in values):
        raise TypeError("it holds times of day with a zone, which no type keeps")
    if found in ({"integers"}, {"floats"}, {"truth values"}) and len(classes) == len(numpys) == 1:
        kind = pa.from_numpy_dtype(np.dtype(numpys[0]))
        return pa.array(_each(lambda v: v.item(), values), kind, from_pandas=nan_is_null)
    if found == {"integers", "decimals"}:
        values = _each(lambda v: v if isinstance(v, decimal.Decimal) else decimal.Decimal(int(v)), values)
    elif numpys and found <= {"integers", "floats", "truth values"}:
        values = _each(lambda v: v.item() if isinstance(v, np.generic) else v, values)
    array = pa.array(values, from_pandas=nan_is_null)
    # Digits were counted in the values at hand: larger ones will come.
    roomy = pa.types.is_decimal128(array.type)
    return array.cast(pa.decimal128(38, array.type.scale)) if roomy else array


def _lists(path: str, level: int, values: list[Any], nan_is_null: bool) -> pa.Array:
    given = [v for v in values if v is not None]
    kinds = {v.dtype if type(v) is np.ndarray and v.ndim == 1 else None for v in given}
    (kind, *more) = kinds
    if not more and kind is not None and kind.kind in "biuf":
        items = pa.array(np.concatenate(given), from_pandas=nan_is_null)
    else:
        # A masked array tells its masked values by `tolist` alone.
        masked = (v.tolist() if isinstance(v, np.ma.MaskedArray) else v for v in given)
        items = _array(f"{path}[]", level, list(itertools.chain.from_iterable(masked)), nan_is_null)
    ends = np.cumsum([0, *(0 if v is None else len(v) for v in values)])
    if ends[-1] >= 1 << 31:
        raise ValueError("its lists hold more values than one frame can: insert it in parts")
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), items, mask=_nulls(values))


def _structs(path: str, level: int, values: list[Any], nan_is_null: bool) -> pa.Array:
    names = dict.fromkeys(itertools.chain.from_iterable(v for v in values if v is not None))
    strange = next((name for name in names if not isinstance(name, str)), None)
    if strange is not None:
        raise TypeError(
            f"it holds a dict with a key that is no text{f' in {path}' if path else ''}: {strange!r}"
        )
    if not names:
        return pa.array(values, pa.struct([]))
    fields = [
        _array(
            f"{path}.{name}".removeprefix("."),
            level,
            [None if v is None else v.get(name) for v in values],
            nan_is_null,
        )
        for name in names
    ]
    return pa.StructArray.from_arrays(fields, list(names), mask=_nulls(values))


def _nulls(values: list[Any]) -> pa.Array:
    return pa.array([v is None for v in values], pa.bool_())


def _each(convert: Callable[[Any], Any], values: Iterable[Any]) -> list[Any]:
    return [None if v is None else convert(v) for v in values]


def _kind(kind: type) -> str:
    return next((name for classes, name in _KINDS if issubclass(kind, classes)), kind.__name__)


def _kind_of(value: Any) -> str:
    """Days of NumPy are of the same class as its times."""
    if isinstance(value, np.datetime64) and np.datetime_data(value.dtype)[0] in _DAYS:
        return "dates"
    return _kind(type(value))


def _is_missing(value: Any) -> bool:
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return type(value).__name__ in _MISSING


def _are_nan(values: list[Any]) -> bool:
    """True if the floats among the values are NaN."""
    return all(v != v for v in values if isinstance(v, float | np.floating))


def _examples(values: list[Any], path: str) -> str:
    """The first value of each kind; rows are told where the place has one value a row."""
    first: dict[str, str] = {}
    for row, value in enumerate(values):
        if value is not None:
            told = textwrap.shorten(repr(value), 60, placeholder=" …")
            first.setdefault(_kind_of(value), told if "[]" in path else f"{told} in row {row}")
    return ", ".join(first[kind] for kind in sorted(first))


def _time(value: Any) -> dt.datetime:
    """A time in Python's own class; in UTC where it has a zone."""
    if isinstance(value, np.datetime64):
        micros = value.astype("M8[us]")
        if micros.astype(value.dtype) != value:
            raise ValueError(f"{value} has digits below a microsecond, or is outside the years 1 to 9999")
        value = micros.item()
        if isinstance(value, int):
            raise ValueError(f"{micros} is outside the years 1 to 9999")
    elif getattr(value, "nanosecond", 0) > 0:
        raise ValueError(f"{value} has digits below a microsecond")
    elif hasattr(value, "to_pydatetime"):
        value = value.to_pydatetime()
    time: dt.datetime = value
    return time if time.tzinfo is None else time.astimezone(dt.UTC)


def _day(value: Any) -> dt.date:
    day: dt.date | int = value.astype("M8[D]").item() if isinstance(value, np.datetime64) else value
    if isinstance(day, int):
        raise ValueError(f"{value} is outside the years 1 to 9999")
    return day


def _duration(value: Any) -> dt.timedelta:
    if isinstance(value, np.timedelta64):
        micros = value.astype("m8[us]")
        if micros.astype(value.dtype) != value or np.datetime_data(value.dtype)[0] in ("Y", "M"):
            raise ValueError(f"{value!r} is no whole number of microseconds")
        value = micros.item()
    elif getattr(value, "nanoseconds", 0) > 0:
        raise ValueError(f"{value} has digits below a microsecond")
    duration: dt.timedelta = value
    return duration
