"""Rows taken field by field, and by machine code that is made for their columns: the bytes are the same."""

from __future__ import annotations

import datetime as dt
import gc
import itertools
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any, Literal

import pytest

from headrace import rowcodec
from headrace.errors import InvalidArgument, Unsupported
from rowcodec.samples import Point, Text, Whole, same

pytestmark = pytest.mark.slow

Tier = Literal["program", "machine"]
TIERS: tuple[Tier, Tier] = ("program", "machine")

# One value of each kind of column that code is made for, by its number, and one that is left to others.
KINDS: list[Callable[[int], Any]] = [
    lambda n: n,
    lambda n: n / 8,
    lambda n: f"text {n}",
    lambda n: n % 3 == 0,
    lambda n: f"{n % 5}" * 20,
    lambda n: None,
    lambda n: bytes([n % 256]) * (n % 70),
    lambda n: dt.date(2020, 1, 1) + dt.timedelta(n),
    lambda n: dt.datetime(2020, 1, 1) + dt.timedelta(seconds=n),
    lambda n: [n, n + 1],
    lambda n: (n - 50) * 2**30,
    lambda n: "é日😀"[: n % 4] * (n % 9),
    lambda n: None if n % 3 else n * 2**58,
    lambda n: None if n % 7 else f"{'x' * n}",
]


def rows_of(width: int, count: int, kind: Callable[[Any], Any] = tuple) -> list[Any]:
    kinds = list(itertools.islice(itertools.cycle(KINDS), width))
    return [kind([make(n) for make in kinds]) for n in range(count)]


def machine_rows() -> int:
    return rowcodec.stats()["machine_rows"]


def check(rows: list[Any], *, by_machine: int | None = None) -> None:
    """Both tiers write the same. Args: `by_machine` is how many rows the code takes."""
    for dictionaries in (True, False):
        before = machine_rows()
        expected = rowcodec.dumps(rows, dictionaries=dictionaries, tier="program")
        assert machine_rows() == before
        assert rowcodec.dumps(rows, dictionaries=dictionaries, tier="machine") == expected
        if by_machine is not None:
            assert machine_rows() - before == by_machine
        assert same(rowcodec.loads(expected, allow_pickle=True), rows)


@pytest.mark.parametrize("width", [0, 1, 2, 15, 16, 17, 33, 200])
@pytest.mark.parametrize("kind", [tuple, list])
def test_widths(width: int, kind: Callable[[Any], Any]) -> None:
    check(rows_of(width, 300, kind), by_machine=300)


@pytest.mark.parametrize("make", KINDS)
def test_rows_that_are_values(make: Callable[[int], Any]) -> None:
    check([make(n) for n in range(300)], by_machine=300)


def test_named_tuples() -> None:
    check([Point(n, f"{n}") for n in range(300)], by_machine=300)


def test_rows_that_no_code_is_made_for() -> None:
    check([{"a": n, "b": f"{n}"} for n in range(300)], by_machine=0)


def test_rows_in_a_tuple() -> None:
    rows = tuple(rows_of(9, 600))
    assert rowcodec.dumps(rows, tier="machine") == rowcodec.dumps(rows, tier="program")


def test_ints_at_every_edge() -> None:
    edges = {sign * (1 << bits) + more for bits in range(63) for sign in (1, -1) for more in (-1, 0, 1)}
    numbers = [*sorted(edges), 2**63 - 1, -(2**63)]
    check([(number, n) for n, number in enumerate(numbers)], by_machine=len(numbers))


def test_texts_of_every_length() -> None:
    """Up to the longest that is copied at once, beyond it, and at the ends of pages."""
    texts = ["x" * n for n in range(200)] + ["y" * n for n in range(4000, 4200)]
    check([(n, text, "é" + text) for n, text in enumerate(texts)], by_machine=len(texts))


ODD: list[Any] = [None, 2**70, "\ud800", 1.5, "odd", True, b"odd", Whole(1), Text("a"), [1, {2}], {3}]


@pytest.mark.parametrize("kind", [tuple, list])
@pytest.mark.parametrize("width", [14, 40])
def test_row_that_does_not_fit(width: int, kind: Callable[[Any], Any]) -> None:
    """In the middle of a block, at each column, whatever it is: the rows keep their order."""
    fine = rows_of(width, 60, kind)
    for column in range(width):
        rows = list(fine)
        for n, odd in enumerate(ODD):
            row = list(fine[20 + 3 * n])
            row[column] = odd
            rows[20 + 3 * n] = kind(row)
        check(rows)


@pytest.mark.parametrize("odd", [(), (1,), tuple(range(40)), [1, 2], Point(1, 2), None, 7, {"a": 1}, {1}])
def test_row_of_another_kind(odd: Any) -> None:
    for rows in (rows_of(9, 300), rows_of(9, 300, list), [Point(n, n) for n in range(300)]):
        check([*rows[:130], odd, *rows[130:260], odd, odd, *rows[260:]])


def test_column_that_changes_in_a_row_that_does_not_fit() -> None:
    """The first value of a column of nothing, and the same row has no place: the code is outdated all the same."""
    rows: list[Any] = [(None, n, "a") for n in range(400)]
    for late in ("text", 5, 0.5, [1], Whole(3)):
        odd = [*rows[:150], (late, 2**70, "a"), *rows[150:]]
        check(odd)
        check([*odd, *((late, n, "b") for n in range(300)), *rows])


def test_dictionary_that_is_given_up() -> None:
    rows = [(n, f"{n % 3}" if n < 700 else f"unique {n}", f"{n % 7}") for n in range(3000)]
    check(rows, by_machine=3000)
    check(rows + [(n, f"unique {n}", None) for n in range(17_000)])


def test_batches() -> None:
    """More rows than a batch has, and than its bytes allow."""
    check([(n, f"{n % 100}") for n in range(40_000)], by_machine=40_000)
    check([(n, "x" * 100_000) for n in range(700)], by_machine=700)


def test_refused_row() -> None:
    rows = [(n, "a", n / 2) for n in range(300)]
    rows[200] = (200, {1}, 0.5)  # type: ignore[assignment]
    found = []
    for tier in TIERS:
        with pytest.raises(Unsupported) as error:
            rowcodec.dumps(rows, allow_pickle=False, tier=tier)
        found.append(str(error.value))
    assert found[0] == found[1]
    check(rows)


class Meddler:
    """Runs code while it is written."""

    def __init__(self, meddle: Callable[[], object]) -> None:
        self.meddle = meddle

    def __reduce__(self) -> Any:
        self.meddle()
        return (int, ())


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("kind", [tuple, list])
def test_rows_change_while_they_are_written(tier: Tier, kind: Callable[[Any], Any]) -> None:
    """The list of rows is emptied, or grows; the row itself is: what is written is whole."""
    for place, meddle in itertools.product(range(3), ("clear", "clear row", "grow", "replace")):
        rows: list[Any] = []

        def change(rows: list[Any] = rows, meddle: str = meddle) -> None:
            if meddle == "clear row" and kind is list:
                rows[150].clear()
            elif meddle == "replace":
                rows[:] = [kind([n, [float(n)], "new" * 30]) for n in range(10)]
            elif meddle == "grow":
                rows.extend(kind([n, [n], f"{n}"]) for n in range(10))
            else:
                rows.clear()
            gc.collect()

        rows.extend(kind([n + 2**40, [n], f"text {n}" * 10]) for n in range(300))
        values = [2**41, [1], "t" * 60]
        values[place] = [Meddler(change)] if place == 1 else Meddler(change)
        rows[150] = kind(values)
        found = rowcodec.loads(rowcodec.dumps(rows, tier=tier), allow_pickle=True)
        assert found[:150] == [kind([n + 2**40, [n], f"text {n}" * 10]) for n in range(150)]
        assert all(type(row) is kind for row in found)


def test_class_that_lies() -> None:
    class Liar:
        @property
        def __class__(self) -> Any:  # type: ignore[override]
            return int

        def __reduce__(self) -> Any:
            return (int, (5,))

    class LiarTuple(tuple):  # type: ignore[type-arg]
        __slots__ = ()

        @property
        def __class__(self) -> Any:  # type: ignore[override]
            return tuple

        def __reduce__(self) -> Any:
            return (tuple, ((1, 2.0, "a"),))

    rows: list[Any] = [(n, n / 2, "a") for n in range(200)]
    rows[70], rows[71], rows[72] = (Liar(), 0.5, "a"), (1, Liar(), "a"), (1, 0.5, Liar())
    rows[140] = LiarTuple((1, 2.0, "a"))
    data = [rowcodec.dumps(rows, tier=tier) for tier in TIERS]
    assert data[0] == data[1]
    found = rowcodec.loads(data[0], allow_pickle=True)
    assert found[70:73] == [(5, 0.5, "a"), (1, 5, "a"), (1, 0.5, 5)]
    assert found[140] == (1, 2.0, "a")


def test_any_rows() -> None:
    """Columns by chance, and among many rows that fit some that do not."""
    rng = random.Random(4711)
    for _ in range(150):
        kinds = [rng.choice(KINDS) for _ in range(rng.choice([1, 3, 9, 16, 20]))]
        count, wrong = rng.choice([5, 70, 300, 700]), rng.choice([0, 0.01, 0.2])
        kind: Callable[[Any], Any] = rng.choice([tuple, tuple, list])
        rows = []
        for n in range(count):
            row = [make(n) for make in kinds]
            while rng.random() < wrong:
                row[rng.randrange(len(row))] = rng.choice(ODD)
            rows.append(kind(row if rng.random() >= wrong / 4 else row[1:]))
        check(rows)


def test_switch_over() -> None:
    """By itself code is made once, when so many rows of a kind were taken that it repays; and kept."""
    rows = [(n, 0.5, n, f"{n % 9}", 0.25, True, n, None, 0.5) for n in range(16_000)]
    before = rowcodec.stats()
    taken = []
    for _ in range(9):
        rowcodec.dumps(rows)
        taken.append(machine_rows() - before["machine_rows"])
    assert taken == [0] * 6 + [16_000, 32_000, 48_000]
    rowcodec.dumps(rows[:100])
    assert machine_rows() - before["machine_rows"] == 48_100
    assert rowcodec.stats()["machine_made"] - before["machine_made"] == 1
    rowcodec.dumps(rows, tier="program")
    assert machine_rows() - before["machine_rows"] == 48_100


def test_within_one_call() -> None:
    rows = [(n, True, 0.5, False, 0.5, True, None) for n in range(1000)] * 120
    before = machine_rows()
    data = rowcodec.dumps(rows)
    assert machine_rows() - before == 120_000 - 6 * 16_384
    assert data == rowcodec.dumps(rows, tier="program")


def test_not_by_itself_where_most_is_left_to_others() -> None:
    rows = [(n, [], {}, ()) for n in range(16_000)]
    before = machine_rows()
    for _ in range(8):
        rowcodec.dumps(rows)
    assert machine_rows() == before


def test_code_is_freed() -> None:
    """However many kinds of rows there are; and made anew."""
    before = rowcodec.stats()["machine_made"]
    rng = random.Random(7)
    kinds: list[Any] = [1, 0.5, "a", None, True, b"a", dt.date(2020, 1, 1)]
    rows = [tuple(rng.choice(kinds) for _ in range(200)) for _ in range(30)]
    for row in rows:
        rowcodec.dumps([row], tier="machine")
        assert 0 < rowcodec.stats()["machine_bytes"] <= 1 << 20
    assert rowcodec.stats()["machine_made"] - before == 30
    rowcodec.dumps([rows[-1]], tier="machine")
    assert rowcodec.stats()["machine_made"] - before == 30
    rowcodec.dumps([rows[0]], tier="machine")
    assert rowcodec.stats()["machine_made"] - before == 31


def test_tier_that_is_none() -> None:
    with pytest.raises(InvalidArgument, match='tier is "fast"'):
        rowcodec.dumps([], tier="fast")  # type: ignore[arg-type]


def test_threads() -> None:
    """Each writes rows of its own and of all, while code is made, dropped and run by the others."""
    shared = rows_of(9, 500)
    expected = rowcodec.dumps(shared, tier="program")
    wrong: list[int] = []

    def write(n: int) -> None:
        rng = random.Random(n)
        for _ in range(40):
            own = [tuple(rng.choice([1, "a", 0.5, None, b"x"]) for _ in range(5))] * 100
            if rowcodec.dumps(shared, tier="machine") != expected:
                wrong.append(n)
            if rowcodec.loads(rowcodec.dumps(own, tier="machine")) != own:
                wrong.append(n)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def run(script: str) -> None:
    """In a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_forks() -> None:
    """Children run the code that their parent has made, and make their own."""
    run("""
import os
from headrace import rowcodec
rows, other = [(n, f"{n}") for n in range(300)], [(n, 0.5, None) for n in range(300)]
expected = rowcodec.dumps(rows, tier="machine")
children = []
for _ in range(4):
    child = os.fork()
    if child == 0:
        same = rowcodec.dumps(rows, tier="machine") == expected
        same &= rowcodec.dumps(other, tier="machine") == rowcodec.dumps(other, tier="program")
        same &= rowcodec.stats()["machine_made"] == 2 + 1
        os._exit(0 if same else 1)
    children.append(child)
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
assert rowcodec.dumps(rows, tier="machine") == expected
""")


def test_where_no_memory_may_be_executable() -> None:
    run("""
import ctypes
from headrace import rowcodec
MDWE, REFUSE_EXEC_GAIN = 65, 1
assert ctypes.CDLL(None).prctl(MDWE, REFUSE_EXEC_GAIN, 0, 0, 0) == 0
rows = [(n, f"{n}") for n in range(300)]
assert rowcodec.dumps(rows, tier="machine") == rowcodec.dumps(rows, tier="program")
stats = rowcodec.stats()
assert (stats["machine_rows"], stats["machine_made"], stats["machine_bytes"]) == (0, 0, 0)
""")


def test_objects_of_many_rows_lie_in_memory_that_is_given_back() -> None:
    """What is mapped ahead for them is let go of with them."""
    code = """
import resource
from headrace import rowcodec
data = rowcodec.dumps([(n, str(n), n / 3) for n in range(400_000)])
rowcodec.loads(data)
with open("/proc/self/statm") as file:
    before = int(file.read().split()[1]) * resource.getpagesize()
for _ in range(5):
    rowcodec.loads(data)
with open("/proc/self/statm") as file:
    after = int(file.read().split()[1]) * resource.getpagesize()
assert after - before < 8 << 20, (before, after)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
