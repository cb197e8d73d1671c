"""Python values without a declared type, as Arrow arrays.

Arrow takes the type of a column from the values and then bends what does not fit: a time among dates loses its hour,
a truth value among numbers becomes one. Here a column holds values of one kind, or is refused.
"""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
from collections.abc import Iterable, Mapping
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
    ((list, tuple, set, frozenset, np.ndarray), "lists"),
    ((Mapping,), "dicts"),
)
_TOGETHER = ({"integers", "floats"}, {"integers", "decimals"})
_MISSING = ("NoneType", "NaTType", "NAType")


def learned_array(values: list[Any], *, nan_is_null: bool) -> pa.Array:
    """The values in the one type that holds them all as they are; None, and pandas' marks for it, are null.

    Args:
        nan_is_null: pandas has one mark for null and NaN where a column holds objects.

    Raises:
        ValueError, TypeError, OverflowError, NotImplementedError: there is no such type, as Arrow says it or as:
            values of several kinds, or times with digits below a microsecond.
    """
    classes = _check("", values, set(), nan_is_null)
    if any(c.__name__ in _MISSING[1:] for c in classes):
        values = [None if type(v).__name__ in _MISSING else v for v in values]
    if any(issubclass(c, dt.datetime | np.datetime64) for c in classes):
        values = [_time(v) for v in values]
    return pa.array(values, from_pandas=nan_is_null)


def _check(path: str, values: list[Any], classes: set[type], nan_is_null: bool) -> set[type]:
    """Check values that share a place in all rows; `classes` are those of more of them. Gives all their classes.

    Place by place, since a look at each value of itself would take longer than all that comes after.
    """
    classes = classes | set(map(type, values))
    found = {_kind(c) for c in classes if c.__name__ not in _MISSING}
    if nan_is_null and len(found) > 1 and _are_nan(values):
        found -= {"floats"}
    inside = f" in {path}" if path else ""
    if len(found) > 1 and found not in _TOGETHER:
        raise TypeError(f"it holds {' and '.join(sorted(found))}{inside}")
    if found == {"integers", "floats"} and _are_bent(classes):
        raise TypeError(f"it holds integers and floats of widths that no type has room for{inside}")
    if any(hasattr(c, "nanosecond") for c in classes):
        fine = next((v for v in values if getattr(v, "nanosecond", 0) > 0), None)
        if fine is not None:
            raise ValueError(f"{fine} has digits below a microsecond{inside}")
    if "lists" in found:
        _check_lists(f"{path}[]", [v for v in values if type(v).__name__ not in _MISSING], nan_is_null)
    if "dicts" in found:
        dicts = [v for v in values if isinstance(v, Mapping)]
        for name in dict.fromkeys(itertools.chain.from_iterable(dicts)):
            _check(f"{path}.{name}".removeprefix("."), [d.get(name) for d in dicts], set(), nan_is_null)
    return classes


def _check_lists(path: str, lists: Iterable[Any], nan_is_null: bool) -> None:
    items: list[Any] = []
    classes: set[type] = set()
    for values in lists:
        if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype != object:
            classes.add(values.dtype.type)
        elif isinstance(values, Iterable):
            items.extend(values)
    _check(path, items, classes, nan_is_null)


def _kind(kind: type) -> str:
    return next((name for classes, name in _KINDS if issubclass(kind, classes)), kind.__name__)


def _are_nan(values: list[Any]) -> bool:
    """True if the floats among the values are NaN."""
    return all(v != v for v in values if isinstance(v, float | np.floating))


def _are_bent(classes: set[type]) -> bool:
    """True if Arrow puts integers and floats of these classes into a type that does not hold them all."""
    narrow = any(issubclass(c, np.float16 | np.float32) for c in classes)
    return (
        np.float16 in classes
        or np.uint64 in classes
        or (narrow and any(issubclass(c, np.integer) for c in classes))
    )


def _time(value: Any) -> Any:
    """Times of one column may name different zones; Arrow has one zone a column, and takes no days of NumPy's."""
    if isinstance(value, np.datetime64) and np.datetime_data(value.dtype)[0] in ("Y", "M", "W", "D"):
        day = value.astype("datetime64[D]").item()
        return value if isinstance(day, int) else day  # a number is outside the years that Python has
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC)
    return value
