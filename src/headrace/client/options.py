"""The options of point-in-time reads, from what users write to what is sent."""

from __future__ import annotations

import datetime as dt
from typing import Literal, get_args

from headrace.errors import InvalidArgument
from headrace.model.duration import Duration, Time, parse_max_age, parse_min_age, parse_time
from headrace.model.request import Engine, PointInTime
from headrace.model.text import check_text

KnownAt = Literal["event_time"] | Time | None
EngineName = Engine


def known_at_options(known_at: KnownAt) -> tuple[dt.datetime | None, bool]:
    """The instant of a fixed cut, and whether to cut at each row's own event time."""
    if known_at is None:
        return None, False
    if known_at == "event_time":
        return None, True
    return parse_time("known_at", known_at), False


def check_engine(engine: EngineName | None) -> None:
    if engine is not None and engine not in get_args(Engine):
        raise InvalidArgument(f"engine={engine!r} is refused", hint='use "duckdb", "spark" or "auto"')


def point_in_time(
    *,
    start: Time | None,
    end: Time | None,
    event_time: str | None,
    as_of: Time | None,
    known_at: KnownAt,
    max_age: Duration | None,
    min_age: Duration | None,
    engine: EngineName | None,
) -> PointInTime:
    check_engine(engine)
    if event_time is not None:
        check_text("event_time", event_time)
    instant, by_row = known_at_options(known_at)
    return PointInTime(
        start=None if start is None else parse_time("start", start),
        end=None if end is None else parse_time("end", end),
        event_time=event_time,
        as_of=None if as_of is None else parse_time("as_of", as_of),
        known_at=instant,
        known_at_event_time=by_row,
        max_age=parse_max_age("max_age", max_age),
        min_age=parse_min_age(min_age),
        engine=engine,
    )
