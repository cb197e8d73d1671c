"""Whether values are the same, types and all."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any


def assert_same(found: Any, expected: Any, where: str = "") -> None:
    assert type(found) is type(expected), f"{where}: {found!r} is no {type(expected).__name__}"
    if isinstance(expected, (list, tuple)):
        assert getattr(found, "__fields__", None) == getattr(expected, "__fields__", None), where
        assert len(found) == len(expected), f"{where}: {len(found)} instead of {len(expected)}"
        for place, (mine, theirs) in enumerate(zip(found, expected, strict=True)):
            assert_same(mine, theirs, f"{where}[{place}]")
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys(), where
        for key, value in expected.items():
            assert_same(found[key], value, f"{where}[{key!r}]")
    elif isinstance(expected, dt.datetime):
        assert (found, found.tzinfo, found.fold) == (expected, expected.tzinfo, expected.fold), where
    elif isinstance(expected, (float, Decimal)):
        assert repr(found) == repr(expected), f"{where}: {found!r} instead of {expected!r}"
    else:
        assert found == expected, f"{where}: {found!r} instead of {expected!r}"
