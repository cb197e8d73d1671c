"""What will be asked next, by what was asked before: pure reckoning, of one template.

Only first asks count: of a read that is asked again before anything has changed, the result is kept anyway.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from headrace.cache.moving import MICROS_PER_DAY, Hole

_LOOKED_AT = 16
"""First asks, the last ones: what was usual once need not be so now."""
_USUAL = 0.6
"""The share of steps that must be alike for the next one to be expected."""
_LONGEST_FIRST_STEP = {"day": 7, "week": 4, "month": 3, "number": 1, "time": 7 * MICROS_PER_DAY}
"""After two asks, one step is all that is known, and a longer one is taken for chance."""
_SATURDAY = 5
_STEPS_AHEAD = 3
"""Where names of tables move: that one is missing, as on a holiday, does not mean that the next one is."""


@dataclasses.dataclass(frozen=True)
class First:
    """A first ask of a template.

    Args:
        values: what stood in its holes.
        versions: of its tables, the root first.
        at: when; no matter where asks are compared.
    """

    values: tuple[int, ...]
    versions: tuple[int, ...]
    at: dt.datetime = dataclasses.field(compare=False)


Step = Callable[[int], int]


def firsts(asks: Iterable[First]) -> list[First]:
    """Of asks in their order those that are the first of their kind."""
    return list(dict.fromkeys(asks))


def foreseen(asked: Sequence[First], holes: Sequence[Hole], now: dt.datetime) -> list[tuple[int, ...]]:
    """What may stand in the holes next, the likeliest first; nothing where there is no telling.

    Args:
        asked: first asks, the last one last.
        now: the time, by which what moves with it is reckoned.
    """
    recent = asked[-_LOOKED_AT:]
    if len(recent) < 2:
        return []
    found = []
    if any(one.values == other.values for one, other in itertools.pairwise(recent)):
        found.append(recent[-1].values)  # asked again when a table has changed
    news = _news(recent)
    if len(news) > 1:
        was = {first.values for first in asked}
        found += [values for values in _next(news, holes, now) if values not in was]
    return list(dict.fromkeys(found))


def _news(asked: Sequence[First]) -> list[First]:
    """The first ask of each values."""
    return list({first.values: first for first in reversed(asked)}.values())[::-1]


def _next(news: Sequence[First], holes: Sequence[Hole], now: dt.datetime) -> list[tuple[int, ...]]:
    """What comes after the last of different values."""
    timely = [_with_time(hole, i, news, now) for i, hole in enumerate(holes)]
    if all(value is not None for value in timely):
        return [tuple(value for value in timely if value is not None)]
    steps = _steps([first.values for first in news], holes)
    values, found = news[-1].values, []
    if steps is not None:
        for _ in range(_STEPS_AHEAD if any(hole.of_group for hole in holes) else 1):
            values = tuple(step(value) for step, value in zip(steps, values, strict=True))
            found.append(values)
    return found


def _with_time(hole: Hole, index: int, news: Sequence[First], now: dt.datetime) -> int | None:
    """What stands in a hole now, if it was always as far from the day, week or month of the ask, or never moved."""
    values = [first.values[index] for first in news]
    if len({*values}) == 1:
        return values[0]
    away = {value - _clock(hole, first.at) for value, first in zip(values, news, strict=True)}
    return _clock(hole, now) + away.pop() if hole.unit != "number" and len(away) == 1 else None


def _clock(hole: Hole, time: dt.datetime) -> int:
    """The number of the day, week or month of a time, as it would stand in a hole."""
    day = (time.astimezone(dt.UTC).date() - dt.date(1970, 1, 1)).days
    match hole.unit:
        case "day":
            return day
        case "week":
            return (day + 3) // 7
        case "month":
            return time.year * 12 + time.month - 1
    return day * MICROS_PER_DAY


def is_day_off(asked: Sequence[First], now: dt.datetime) -> bool:
    """Whether it is a weekend, and what was asked over one before came on workdays alone."""
    times = [first.at for first in asked[-_LOOKED_AT:]]
    if now.weekday() < _SATURDAY or not times or times[-1] - times[0] < dt.timedelta(days=3):
        return False
    return (
        all(time.weekday() < _SATURDAY for time in times)
        and times[0].isocalendar()[:2] != times[-1].isocalendar()[:2]
    )


def is_due(asked: Sequence[First], values: tuple[int, ...], versions: tuple[int, ...]) -> bool:
    """Whether the tables are as far as they usually are when somebody asks.

    Args:
        asked: first asks, the last one last.
        values: in the holes of what may be asked next.
        versions: of its tables now.
    """
    recent = [first for first in asked[-_LOOKED_AT:] if len(first.versions) == len(versions)]
    if not recent:
        return False
    if values == recent[-1].values:
        pairs = [(a, b) for a, b in itertools.pairwise(recent) if a.values == b.values]
        return any(now > past for now, past in zip(versions, recent[-1].versions, strict=True)) and all(
            now - recent[-1].versions[i] >= _usual([b.versions[i] - a.versions[i] for a, b in pairs])
            for i, now in enumerate(versions)
        )
    news = _news(recent)
    return all(_is_far([first.versions[i] for first in news], now) for i, now in enumerate(versions))


def _is_far(past: Sequence[int], now: int) -> bool:
    """Whether a table has as many commits as usual: since it was made, or since something new was asked for."""
    (usual, number), *_ = Counter(past).most_common(1)
    if number >= _USUAL * len(past):
        return now >= usual
    return now - past[-1] >= _usual([b - a for a, b in itertools.pairwise(past)])


def _usual(steps: Sequence[int]) -> int:
    """How many commits come between two asks; one at least where that varies."""
    if not steps:
        return 0
    (usual, number), *_ = Counter(steps).most_common(1)
    return usual if number >= _USUAL * len(steps) else 1


def _steps(moved: Sequence[tuple[int, ...]], holes: Sequence[Hole]) -> tuple[Step, ...] | None:
    """How what stands in each hole goes on, all of them in the way that has been right most often."""
    series = [[values[i] for values in moved] for i in range(len(holes))]
    ways = []
    for kind in (_weekly, _on_workdays, _evenly):
        found = [kind(h, s) or _still(s) for h, s in zip(holes, series, strict=True)]
        known = [way for way in found if way is not None]
        if len(known) == len(holes):
            ways.append((min(share for share, _ in known), tuple(step for _, step in known)))
    best = max(ways, key=lambda way: way[0], default=None)  # of equals the first
    return None if best is None or best[0] < _USUAL else best[1]


def _still(values: Sequence[int]) -> tuple[float, Step] | None:
    return (1.0, lambda value: value) if len({*values}) == 1 else None


def _evenly(hole: Hole, values: Sequence[int]) -> tuple[float, Step] | None:
    """By one step each time; with the share of the steps that were so."""
    steps = [b - a for a, b in itertools.pairwise(values)]
    (usual, number), *_ = Counter(steps).most_common(1)
    if usual <= 0 or (len(steps) == 1 and usual > _LONGEST_FIRST_STEP[hole.unit]):
        return None
    return number / len(steps), lambda value: value + usual


def _on_workdays(hole: Hole, values: Sequence[int]) -> tuple[float, Step] | None:
    """From one workday to the next, with the share of the steps that were so."""
    unit = _day(hole, values)
    if unit is None or not all(_is_workday(value // unit) for value in values):
        return None

    def step(value: int) -> int:
        day = value // unit + 1
        while not _is_workday(day):
            day += 1
        return day * unit + value % unit

    steps = list(itertools.pairwise(values))
    return sum(b == step(a) for a, b in steps) / len(steps), step


def _weekly(hole: Hole, values: Sequence[int]) -> tuple[float, Step] | None:
    """By the step that came last on the same day of the week, with the share of the steps that were so.

    None unless that day was seen.
    """
    unit = _day(hole, values)
    if unit is None:
        return None
    last: dict[int, int] = {}
    right = told = 0
    for a, b in itertools.pairwise(values):
        weekday = a // unit % 7
        if weekday in last:
            told += 1
            right += last[weekday] == b - a
        last[weekday] = b - a
    if not told or values[-1] // unit % 7 not in last:
        return None
    return right / told, lambda value: value + last.get(value // unit % 7, unit)


def _day(hole: Hole, values: Sequence[int]) -> int | None:
    """What a day is in a hole; None where it is no matter of days."""
    unit = {"day": 1, "time": MICROS_PER_DAY}.get(hole.unit)
    return unit if unit is not None and len({value % unit for value in values}) == 1 else None


def _is_workday(day: int) -> bool:
    return (day + 3) % 7 < 5  # 1970-01-01 was a Thursday
