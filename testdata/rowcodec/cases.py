"""The rows of each vector, and how they are written."""

from __future__ import annotations

import datetime as dt
import decimal
import inspect
import pstats
import uuid
import zoneinfo
from typing import Any

import numpy as np

BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
UTC = dt.timezone.utc  # noqa: UP017
HALF_PAST = dt.timezone(dt.timedelta(hours=-5, minutes=-30))
NOON = dt.datetime(2021, 6, 1, 12, 30, 15, 250)

ROWS: dict[str, list[Any]] = {
    "empty": [],
    "empty_tuples": [(), ()],
    "tuples": [(1, 0.5, "a"), (2, -0.0, "bc"), (3, float("inf"), "")],
    "nulls": [(1, None, None), (None, None, "b"), (None, None, None)],
    "lists": [[1, "a"], [2, None]],
    "dicts": [{"b": 1, "a": "x"}, {"b": None, "a": "y"}],
    "values": ["a", None, "c"],
    "named_tuples": [inspect.ArgInfo(["a"], "b", None, {"c": 1})],
    "dataclasses": [pstats.FunctionProfile("1", 0.5, 0.25, 1.5, 0.75, "file", 12)],
    "ints": [(n, 2**7 - n, 2**15 - n, 2**31 - n, -(2**63) + n) for n in (1, 2)],
    "texts": [("é",), ("日本語",), ("😀",), ("a\0b",)],
    "dictionary": [(n, "abc"[n % 3] * 3, None if n % 5 == 0 else f"text {n % 4}") for n in range(70)],
    "dictionary_grows": [(f"text {n // 1000}",) for n in range(20_000)],
    "bytes": [(b"", bytearray(b"\0")), (b"\xff\0", bytearray())],
    "bools": [(n % 3 == 0, None if n % 2 else True) for n in range(11)],
    "dates": [(dt.date(1, 1, 1),), (dt.date(1969, 12, 31),), (dt.date(9999, 12, 31),)],
    "datetimes": [(dt.datetime.min,), (NOON,), (dt.datetime.max,)],
    "zones": [
        (NOON.replace(tzinfo=UTC), NOON.replace(tzinfo=BERLIN), NOON.replace(tzinfo=HALF_PAST)),
        (NOON.replace(tzinfo=UTC), dt.datetime(2020, 10, 25, 2, 30, tzinfo=BERLIN, fold=1), None),
    ],
    "timedeltas": [(dt.timedelta(1, 2, 3),), (dt.timedelta(microseconds=-1),)],
    "decimals": [(decimal.Decimal("1.00"), decimal.Decimal(7)), (decimal.Decimal("-12345678.90"), None)],
    "uuids": [(uuid.UUID(int=1),), (uuid.UUID(int=2**128 - 2),), (None,)],
    "numpy": [
        tuple(np.dtype(code).type(n) for code in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"))
        for n in (0, 1)
    ],
    "nested": [
        ([1, None], (2, "a"), {"k": [0.5]}, [[], [None, [3]]], [{"x": 1}]),
        ([], (None, "b"), None, None, []),
    ],
    "maps": [({1: "a", 2: None},), ({3: "c"},), (None,)],
    "tuples_of_any_length": [((1, 2),), ((),), ((3,),)],
    "rest": [(n, "a") for n in range(40)] + [("odd", n) for n in (1,)] + [(n, None) for n in range(3)],
    "kinds_of_rows": [(1, "a"), [2], {"k": 3}, None],
    "variants": [
        (value,)
        for value in (
            None, True, False, 0, -1, 127, 128, 2**63, -(2**100), 1.5, "a", "\ud800", b"\0", bytearray(b"b"),
            dt.date(2020, 2, 29), NOON, NOON.replace(fold=1), NOON.replace(tzinfo=BERLIN), NOON.replace(tzinfo=HALF_PAST),
            NOON.replace(tzinfo=dt.timezone(dt.timedelta(seconds=90), "odd")), dt.timedelta(-1, 2, 3), dt.timedelta.max,
            decimal.Decimal("1E+5"), decimal.Decimal("-NaN"), uuid.UUID(int=3), np.float32(0.5), [1, [2]], (1, ()),
            {"a": 1, 2: None}, inspect.ArgInfo(1, 2, 3, 4),
        )
    ],
    "segments": [(1, "a")] * 16_384 + [(2**40, "b")],
}  # fmt: skip

COMPRESSED = ("lz4", "zstd")
"""Vectors of `dictionary` again."""
