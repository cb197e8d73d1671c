"""Python values without a declared type, as Arrow arrays.

Arrow takes the type of a column from the values and then bends what does not fit: a time among dates loses its hour,
a truth value among numbers becomes one. Here a column holds values of one kind, or is refused.
"""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

# Kinds, by the first class that a value is of. Arrow's own refusal is clear for whatever else there is.
_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "truth values"),
    (int, "integers"),
    (float, "floats"),
    (decimal.Decimal, "decimals"),
    (str, "texts"),
    ((bytes, bytearray, memoryview), "bytes"),
    (dt.datetime, "times"),
    (dt.date, "dates"),
    ((list, tuple, np.ndarray), "lists"),
    (Mapping, "dicts"),
)
_TOGETHER = ({"integers", "floats"}, {"integers", "decimals"})
_SIMPLE = frozenset({bool, int, float, decimal.Decimal, str, bytes, dt.date, type(None)})

_Path = tuple[str, ...]
_Seen = Callable[[_Path, str], None]


def learned_array(values: Collection[Any]) -> pa.Array:
    """The values in the one type that holds them all as they are; None, and pandas' marks for it, are null.

    Raises:
        ValueError, TypeError, OverflowError, NotImplementedError: there is no such type, as Arrow says it or as:
            values of several kinds, or times with digits below a microsecond.
    """
    kinds: dict[_Path, set[str]] = {}

    def seen(path: _Path, kind: str) -> None:
        kinds.setdefault(path, set()).add(kind)

    classes = set(map(type, values))
    if classes <= _SIMPLE:
        kinds[()] = {_kind(kind) for kind in classes if kind is not type(None)}
    elif not _alike_arrays(values):
        values = [_plain(value, (), seen) for value in values]
    for path, found in kinds.items():
        if len(found) > 1 and found not in _TOGETHER:
            inside = f" in {'.'.join(path)}" if path else ""
            raise TypeError(f"it holds {' and '.join(sorted(found))}{inside}")
    return pa.array(values)


def _kind(kind: type) -> str:
    return next((name for classes, name in _KINDS if issubclass(kind, classes)), kind.__name__)


def _alike_arrays(values: Collection[Any]) -> bool:
    """NumPy's arrays, as of embeddings, have a type that Arrow keeps."""
    arrays = [value for value in values if value is not None]
    return all(isinstance(a, np.ndarray) and a.ndim == 1 and a.dtype.kind in "biuf" for a in arrays) and (
        len({a.dtype for a in arrays}) == 1
    )


def _plain(value: Any, path: _Path, seen: _Seen) -> Any:
    """The value in Python's own types, for what Arrow makes of those is known; its kind is told to `seen`."""
    if value is None or _is_missing(value):
        return None
    if isinstance(value, np.datetime64):
        value = _datetime(value)
    elif isinstance(value, np.generic):
        value = value.item()
    elif isinstance(value, np.ndarray):
        value = list(value)
    kind = _kind(type(value))
    seen(path, kind)
    if kind == "times":
        return _instant(value)
    if kind == "lists":
        return [_plain(item, (*path, "[]"), seen) for item in value]
    if kind == "dicts":
        return {name: _plain(item, (*path, str(name)), seen) for name, item in value.items()}
    return value


def _is_missing(value: Any) -> bool:
    """NumPy's and pandas' NaT, and pandas' NA."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return type(value).__name__ in ("NaTType", "NAType")


def _datetime(value: np.datetime64) -> dt.date:
    unit, _ = np.datetime_data(value.dtype)
    kept = value.astype("datetime64[D]" if unit in ("Y", "M", "W", "D") else "datetime64[us]")
    if kept.astype(value.dtype) != value or unit in ("ps", "fs", "as"):
        raise ValueError(f"{value} has digits below a microsecond")
    found = kept.item()
    if not isinstance(found, dt.date):  # NumPy gives a number
        raise ValueError(f"{value} is outside the years 1 to 9999")
    return found


def _instant(value: dt.datetime) -> dt.datetime:
    """Times of one column may name different zones; Arrow has one zone a column."""
    if getattr(value, "nanosecond", 0):
        raise ValueError(f"{value} has digits below a microsecond")
    return value if value.tzinfo is None else value.astimezone(dt.UTC)
