"""Rows that are written only if they are of a kind, and rows read by columns."""

from __future__ import annotations

import copy
import dataclasses
import datetime as dt
import uuid
from collections import namedtuple
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from headrace import rowcodec
from headrace.rowcodec.native import headrace_native

pytestmark = pytest.mark.slow

Point = namedtuple("Point", "x")


@dataclasses.dataclass
class Part:
    x: int


PLAIN: list[Any] = [None, True, 1, 1.5, "text", b"bytes", bytearray(b"x"), Decimal("1.50"), [1, None], {1: 2}]
ALIKE: list[Any] = [
    *PLAIN, dt.date(2024, 1, 1), dt.datetime(2024, 1, 1), dt.timedelta(1), uuid.UUID(int=1), {"a": 1}, (1, "a"), [[(1,)]]
]  # fmt: skip
OTHERS: list[Any] = [{1}, Point(1), Part(1), 10**30, object, [Point(1)], (Part(1),), {"a": {1}}, "\ud800"]


def written(rows: list[Any], only: Any) -> bytes | None:
    try:
        made: bytes = headrace_native.dump_rows(rows, False, only=only)
    except headrace_native.RowError as error:
        return None if error.kind == "refused" else b""
    assert rowcodec.loads(made, allow_pickle=True) == rows
    return made


@pytest.mark.parametrize("value", [*ALIKE, *OTHERS], ids=repr)
def test_rows_of_one_value(value: Any) -> None:
    for rows in (
        [copy.deepcopy(value) for _ in range(20)],
        [(n, copy.deepcopy(value)) for n in range(20)],
        [(n, None if n % 2 else copy.deepcopy(value)) for n in range(20)],
    ):
        assert (written(rows, "alike") is not None) == any(value is known for known in ALIKE)
        # Containers that are rows by themselves have other rules.
        if rows[0] != value or not isinstance(value, (list, dict, tuple)):
            plain = any(value is known for known in PLAIN)
            assert (written(rows, "plain") is not None) == plain


def test_columns_of_several_types() -> None:
    mixed = [(n if n % 2 else str(n),) for n in range(100)]
    assert written(mixed, "alike") is None
    assert written(mixed, "plain") is None
    late = [(n, None) for n in range(900)] + [(n, {n}) for n in range(100)]
    assert written(late, "alike") is None


def test_an_odd_row_stands_beside_the_others() -> None:
    rows = [(n if n != 70 else 10**30,) for n in range(100)]
    assert written(rows, "alike") is not None
    assert written(rows, "plain") is None
    named = [(n if n != 70 else Point(1),) for n in range(100)]
    assert written(named, "alike") is None


def test_an_unknown_word_is_an_error() -> None:
    with pytest.raises(headrace_native.RowError, match="alike"):
        headrace_native.dump_rows([1], only="others")


@pytest.mark.parametrize("count", [0, 1, 500, 40_000])
def test_columns(count: int) -> None:
    rows = [(n, f"text {n % 9}", None if n % 3 else n / 2, [n]) for n in range(count)]
    columns, found = headrace_native.load_columns(rowcodec.dumps(rows))
    assert found == count
    assert list(zip(*columns, strict=True)) == rows
    values, found = headrace_native.load_columns(rowcodec.dumps(list(range(count))))
    assert (values, found) == ([list(range(count))] if count else [], count)


def test_columns_of_several_streams() -> None:
    one, two = [(1, "a")] * 300, [(2**40, "b")] * 300
    columns, count = headrace_native.load_columns(rowcodec.dumps(one) + rowcodec.dumps(two))
    assert (list(zip(*columns, strict=True)), count) == (one + two, 600)
    with pytest.raises(headrace_native.RowError, match="same columns"):
        headrace_native.load_columns(rowcodec.dumps(one) + rowcodec.dumps([(1,)] * 300))


def test_rows_that_do_not_fit_have_no_columns() -> None:
    rows: list[Any] = [(n, n) for n in range(200)]
    rows[100] = "odd"
    with pytest.raises(headrace_native.RowError, match="do not fit"):
        headrace_native.load_columns(rowcodec.dumps(rows))


def test_columns_are_checked() -> None:
    data = rowcodec.dumps([(n, "text") for n in range(100)])
    with pytest.raises(headrace_native.RowError):
        headrace_native.load_columns(data[:-20])
    with pytest.raises(headrace_native.RowError):
        headrace_native.load_columns("text")
    assert pa.ipc.open_stream(data).read_all().num_rows == 100


@pytest.mark.parametrize("value", [[1], {"a": 1}, bytearray(b"x"), [], (1, [2])], ids=repr)
def test_what_can_be_changed_stands_in_one_place(value: Any) -> None:
    several = [copy.deepcopy(value) for _ in range(300)]
    shared = [*several[:200], several[100], *several[201:]]
    for made in (
        lambda value: value,
        lambda value: (1, value),
        lambda value: [value],
        lambda value: {"a": value},
    ):
        assert written(list(map(made, several)), "alike") is not None
        assert written(list(map(made, shared)), "alike") is None
        assert written(list(map(made, shared)), None) is not None
    assert written([(each, each) for each in several], "alike") is None
    row = [1, 2]
    assert written([row] * 100, "alike") is None
    # In a row that does not fit the others, too.
    assert written([(n, n) for n in range(500)] + [(n, value, value) for n in range(2)], "alike") is None
    # And where rows before it had None there, which has no type.
    late = [(n, value if n in (1_001, 1_003) else None) for n in range(5_000)]
    assert written(late, "alike") is None
    assert written([(n, copy.deepcopy(v)) for n, v in late], "alike") is not None
