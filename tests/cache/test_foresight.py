"""What is foreseen of what was asked, in series that people could have asked in."""

from __future__ import annotations

import datetime as dt
import random

import pytest

from headrace.cache.foresight import First, foreseen, is_day_off, is_due
from headrace.cache.moving import MICROS_PER_DAY, Hole

DAY, TIME, NUMBER = Hole("day", True), Hole("time", False), Hole("number", True, width=2)
WEEK, MONTH = Hole("week", True, "w"), Hole("month", True)
MONDAY = dt.datetime(2026, 8, 3, 9, tzinfo=dt.UTC)
NUMBERED = (MONDAY.date() - dt.date(1970, 1, 1)).days


def asked(*series: tuple[tuple[int, ...], tuple[int, ...], float]) -> list[First]:
    """Values, versions, and days after a Monday."""
    return [First(values, versions, MONDAY + dt.timedelta(days=days)) for values, versions, days in series]


def at(days: float) -> dt.datetime:
    return MONDAY + dt.timedelta(days=days)


def test_nothing_after_one() -> None:
    assert foreseen(asked(((NUMBERED,), (1,), 0)), [DAY], at(1)) == []


def test_the_day_of_the_ask() -> None:
    """As far from it as it always was, whatever lies between."""
    found = asked(((NUMBERED - 2,), (1,), 0), ((NUMBERED - 1,), (1,), 1))
    for days in (2, 5, 7):
        assert foreseen(found, [DAY], at(days)) == [(NUMBERED - 2 + days,)]
        assert foreseen([*found], [DAY], at(1)) == []  # which was asked


def test_times_of_the_day_of_the_ask() -> None:
    series = [((((NUMBERED - 3 + d) * MICROS_PER_DAY),), (d,), d) for d in (0, 1, 4)]
    assert foreseen(asked(*series), [TIME], at(8)) == [((NUMBERED + 5) * MICROS_PER_DAY,)]


@pytest.mark.parametrize(("hole", "step"), [(DAY, 1), (DAY, 7), (WEEK, 1), (MONTH, 1), (NUMBER, 1)])
def test_even_steps_whenever_it_is_asked(hole: Hole, step: int) -> None:
    series = [((100 + i * step,), (1,), i * i / 7) for i in range(3)]
    found = foreseen(asked(*series), [hole], at(3))
    assert found == [(100 + (3 + i) * step,) for i in range(3)]


def test_a_long_first_step_is_chance() -> None:
    assert foreseen(asked(((10,), (1,), 0), ((55,), (1,), 0.1)), [NUMBER], at(1)) == []
    assert foreseen(asked(((10,), (1,), 0), ((9,), (1,), 0.1)), [NUMBER], at(1)) == []


def test_workdays_and_weeks() -> None:
    """By nothing but the values: all is asked on one day."""
    thursday = NUMBERED + 3
    workdays = [thursday, thursday + 1, thursday + 4, thursday + 5, thursday + 6, thursday + 7, thursday + 8]
    series = [((day,), (1,), 0.01 * i) for i, day in enumerate(workdays)]
    assert foreseen(asked(*series), [DAY], at(0.5))[0] == (thursday + 11,)
    shifted = [((day - 2,), (1,), 0.01 * i) for i, day in enumerate(workdays)]
    assert foreseen(asked(*shifted), [DAY], at(0.5))[0] == (thursday + 9,)


def test_several_holes_move_together_or_not_at_all() -> None:
    series = [((5 + i, 7, 20 + 2 * i), (1, 1), 0.1 * i) for i in range(4)]
    assert foreseen(asked(*series), [NUMBER] * 3, at(1))[0] == (9, 7, 28)
    broken = [*series, ((99, 7, 3), (1, 1), 0.5), ((1, 7, 77), (1, 1), 0.6), ((50, 7, 6), (1, 1), 0.7)]
    assert foreseen(asked(*broken), [NUMBER] * 3, at(1)) == []


def test_shuffled_asks_tell_nothing() -> None:
    rng = random.Random(3)
    told = 0
    for _ in range(100):
        days = [*range(40)]
        rng.shuffle(days)
        series = [((NUMBERED + day,), (1,), i) for i, day in enumerate(days)]
        told += bool(foreseen(asked(*series), [DAY], at(41)))
    assert told <= 5


def test_the_same_again_after_commits() -> None:
    series = asked(((), (3, 1), 0), ((), (5, 1), 1), ((), (7, 1), 2))
    assert foreseen(series, [], at(3)) == [()]
    assert not is_due(series, (), (7, 1))
    assert not is_due(series, (), (8, 1)), "two commits come between asks"
    assert is_due(series, (), (9, 1))
    assert not is_due(series, (), (7,)), "it has other tables now"


def test_after_any_commit_where_their_number_varies() -> None:
    series = asked(((), (1,), 0), ((), (4,), 1), ((), (5,), 2), ((), (9,), 3), ((), (11,), 4))
    assert is_due(series, (), (12,))
    assert not is_due(series, (), (11,))


def test_new_tables_are_due_when_they_are_as_full_as_usual() -> None:
    series = asked(((1,), (2, 40), 0), ((2,), (2, 41), 1), ((3,), (2, 42), 2))
    assert not is_due(series, (4,), (1, 43))
    assert is_due(series, (4,), (2, 43))
    assert not is_due(series, (4,), (2, 42)), "the other table has a commit a day"


def test_both_new_and_again() -> None:
    """A table of a week that is asked for after each of its commits."""
    series = asked(*(((30 + i // 5,), (i % 5,), i // 5 * 7 + i % 5) for i in range(12)))
    assert foreseen(series, [WEEK], at(16))[0] == (32,)
    assert is_due(series, (32,), (2,))
    assert not is_due(series, (32,), (1,))
    assert is_due(series, (33,), (0,))


def test_days_off() -> None:
    workdays = asked(*(((i,), (1,), day) for i, day in enumerate([3, 4, 7, 8])))
    assert is_day_off(workdays, at(5))
    assert not is_day_off(workdays, at(9))
    assert not is_day_off(workdays[:2], at(5)), "no weekend has passed yet"
    every_day = asked(*(((i,), (1,), i) for i in range(9)))
    assert not is_day_off(every_day, at(12))
