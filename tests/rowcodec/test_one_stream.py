"""Rows that are given at once are one stream of Arrow, which any reader reads to its end, whatever the rows need later."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from headrace import rowcodec

pytestmark = pytest.mark.slow

ROWS = 50_000  # of four batches
DICE = random.Random(11)

CASES: dict[str, Callable[[int], Any]] = {
    "numbers that rise": lambda n: (n, -n * n),
    "a number that is larger": lambda n: (40_000 if n == 33_333 else 5,),
    "many columns, each with larger numbers somewhere": lambda n: tuple(
        1 << 40 if DICE.random() < 1e-5 else 3 for _ in range(60)
    ),
    "numbers within lists and dicts": lambda n: ([n] * (n % 3), {"k": n, "m": {"l": (n, n % 7)}}),
    "a column that is null at first": lambda n: (None if n < 40_000 else n / 2, n),
    "a column of one value": lambda n: (None if n != 33_333 else "x",),
    "texts that stop repeating": lambda n: (f"text {n}" if n > 20_000 else "a", n % 300),
    "more texts than a dictionary has": lambda n: (f"text {n % 35_000}",),
    "a dictionary that grows": lambda n: (f"text {n // 200}",),
    "a row that does not fit": lambda n: (n % 9,) if n != 33_333 else ("a", 2),
    "rows of a row less": lambda n: {"a": n} if n % 20_000 else {"a": n, "b": None},
}


@pytest.mark.parametrize("name", CASES)
def test_rows_are_one_stream(name: str) -> None:
    rows = [CASES[name](n) for n in range(ROWS)]
    for options in ({}, {"dictionaries": False}, {"compression": "lz4"}):
        data = rowcodec.dumps(rows, **options)
        table = pa.ipc.open_stream(data).read_all()
        table.validate(full=True)
        assert table.num_rows == ROWS
        assert rowcodec.loads(data, allow_pickle=True) == rows
    assert rowcodec.dumps(rows, tier="machine") == rowcodec.dumps(rows, tier="program")
    assert rowcodec.dumps(iter(rows)) == rowcodec.dumps(rows)
    assert len({batch.schema for batch in rowcodec.to_batches(rows)}) == 1


def test_narrow_columns_stay_narrow() -> None:
    """What one column needs late, the others do not get."""
    rows = [(n % 100, 40_000 if n == 33_333 else 5, n) for n in range(ROWS)]
    schema = pa.ipc.open_stream(rowcodec.dumps(rows)).schema
    assert schema.types == [pa.int8(), pa.int32(), pa.int32()]


def test_what_a_row_says_of_itself_is_counted_once() -> None:
    before = rowcodec.stats()
    rows = [(40_000 if n == 33_333 else 5,) for n in range(ROWS)]
    rows[17_000] = ("odd",)
    rowcodec.dumps(rows, tier="machine")
    after = rowcodec.stats()
    assert after["rows_written"] - before["rows_written"] == ROWS
    assert after["rest_rows"] - before["rest_rows"] == 1
    assert after["machine_rows"] - before["machine_rows"] <= ROWS


def test_a_first_batch_that_is_larger_than_the_others() -> None:
    """Room for what follows is a guess, which must not ask for more than there is."""
    rows = [("x" * (33 << 20),)] + [("a",)] * 3_000_000
    assert rowcodec.loads(rowcodec.dumps(rows)) == rows


class Once:
    """Can be pickled so often."""

    left = 0

    def __reduce__(self) -> Any:
        Once.left -= 1
        if Once.left < 0:
            raise RuntimeError("no more")
        return (int, ())


def test_a_row_that_fails_when_it_is_taken_again_fails_all() -> None:
    rows: list[Any] = [(1, None) for _ in range(ROWS)]
    rows[100] = (1, Once())
    rows[33_333] = (40_000, None)
    Once.left = 1_000
    taken = pa.ipc.open_stream(rowcodec.dumps(rows)).read_all()
    assert taken.num_rows == ROWS
    assert Once.left < 999
    Once.left = 1
    with pytest.raises(RuntimeError, match="no more"):
        rowcodec.dumps(rows)
    assert rowcodec.loads(rowcodec.dumps(rows[:100])) == rows[:100]


class Emptying:
    """Empties the list that it is in when it is taken for the second time."""

    def __init__(self, rows: list[Any]) -> None:
        self.rows, self.taken = rows, 0

    def __reduce__(self) -> Any:
        self.taken += 1
        if self.taken > 1:
            self.rows.clear()
        return (int, ())


def test_rows_that_change_while_they_are_taken_again() -> None:
    rows: list[Any] = [(1,) for _ in range(ROWS)]
    rows[10] = (Emptying(rows),)
    rows[33_333] = (40_000,)
    assert rowcodec.loads(rowcodec.dumps(rows), allow_pickle=True) in ([], [(1,)] * 10 + [(0,)])


def test_long_texts_that_repeat_do_not_grow_a_batch_without_end() -> None:
    """Written out, what a dictionary tells in few bytes may be more than a batch can hold."""
    rows = [(f"{n // 10}" + 150_000 * "x",) for n in range(1_200)]
    data = rowcodec.dumps(rows)
    assert rowcodec.loads(data) == rows
    sizes = [sum(map(len, batch.column(0).to_pylist())) for batch in pa.ipc.open_stream(data)]
    assert max(sizes) < 100 << 20
    assert len(sizes) > 1
