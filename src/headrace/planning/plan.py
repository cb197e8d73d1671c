"""A read after planning: which rows are the spine, what is looked up for each, and what comes out."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterable
from typing import Literal

import pyarrow as pa

from headrace.errors import InvalidArgument, NameClash, UnknownColumn
from headrace.model.age import check_ages
from headrace.model.duration import UNLIMITED, from_micros, to_micros
from headrace.model.expression import And, Compare, Condition, Ref, Value, columns_of
from headrace.model.feed import CHANGE_TYPE, COMMIT_VERSION
from headrace.model.query import How
from headrace.model.request import Part, PointInTime, ReadRequest
from headrace.model.resolve import check_key_types
from headrace.model.resolved import Bound, Origin, Place, Resolved, Side, places_of, refit
from headrace.model.types import TIMESTAMP
from headrace.planning.parts import checked_parts
from headrace.planning.spine import ENTITY_TIME, Spine, make_spine

Kind = Literal["point in time", "plain"]
Cut = Literal["spine time"] | dt.datetime


@dataclasses.dataclass(frozen=True)
class Lookup:
    """One side looked up for every spine row.

    `on` pairs a place on the left with a key column. Ages are microseconds, `max_age=None` without limit.
    `cut` leaves out rows recorded later; `uncut` says that a cut was asked for and the group cannot be cut.
    """

    side: int
    kind: Kind
    on: tuple[tuple[Place, str], ...]
    columns: tuple[str, ...]
    how: How
    max_age: int | None
    min_age: int
    cut: Cut | None = None
    uncut: bool = False

    @property
    def by_time(self) -> bool:
        """What is found hangs on the time of the spine row: that of the event, or of when it was recorded."""
        return self.kind == "point in time" or self.cut == "spine time"

    @property
    def hopeless(self) -> bool:
        """No row can be old enough and young enough at once: limits set in different places may be so."""
        return self.max_age is not None and self.min_age > self.max_age


@dataclasses.dataclass(frozen=True)
class Output:
    """A column of the result: from a place, or computed, or as the spine gave it, or the time of the call."""

    name: str
    type: pa.DataType
    place: Origin | None
    call_time: bool = False
    metadata: dict[bytes, bytes] | None = None
    """As the spine gave it: where nobody knows an extension type, its name is here."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """`scans` names the stored columns that each side needs, `conditions` what chooses its files and rows.

    `timed` says that the spine rows have an event time; `now` is it, where they have none of their own.
    """

    resolved: Resolved
    lookups: tuple[Lookup, ...]
    outputs: tuple[Output, ...]
    scans: dict[int, tuple[str, ...]]
    conditions: dict[int, tuple[Condition, ...]]
    filters: tuple[Bound, ...]
    limit: int | None
    spine: Spine | None = None
    timed: bool = False
    now: dt.datetime | None = None
    start: dt.datetime | None = None
    end: dt.datetime | None = None
    latest: bool = False
    parts: tuple[Part, ...] = ()
    ordered: bool = False

    @property
    def feed(self) -> bool:
        """True for the changes of a table, which come in the order of their commits."""
        return self.spine is None and self.resolved.root.source.since is not None

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([pa.field(o.name, o.type, metadata=o.metadata) for o in self.outputs])

    @property
    def stored_columns(self) -> list[str] | None:
        """The columns of the root that are the outputs, one for each; None where some are something else."""
        places = [o.place for o in self.outputs]
        columns = [p.column for p in places if isinstance(p, Place) and p.side == 0]
        return columns if len(columns) == len(places) else None

    def from_spine(self, place: Place) -> bool:
        return self.spine is not None and place.side == 0 and place.column in self.spine.schema.names


def make_plan(request: ReadRequest, resolved: Resolved, spine_schema: pa.Schema | None) -> Plan:
    """Plan a read.

    Raises:
        InvalidArgument: options that contradict the query, or a spine without a time where one is needed.
        KeyMismatch, NameClash, SchemaMismatch, UnknownColumn: a spine that does not fit the query.
    """
    options = request.point_in_time
    check_ages("the call", "max_age", options.max_age, options.min_age)
    if options.start is not None and options.end is not None and options.start > options.end:
        raise InvalidArgument(f"start={options.start.isoformat()} is after end={options.end.isoformat()}")
    if spine_schema is None and options.event_time is not None:
        raise InvalidArgument(
            f"event_time={options.event_time!r} names the time of a spine, and none is given",
            hint="leave it out: the time of a feature group's rows is its own",
        )
    spine = None if spine_schema is None else make_spine(request, resolved, spine_schema)
    if spine is not None:
        resolved = refit(resolved, spine.schema)
    timed = request.kind != "query" or resolved.root.definition.event_time is not None
    now = None
    if spine is None and resolved.root.definition.event_time is None:
        if request.kind == "training":
            raise InvalidArgument(
                f"{resolved.root.definition.ref} has no event time, so its rows have no time to look back from",
                hint="pass a spine with an event time; or take batch_data(), which looks back from now",
            )
        if options.start is not None or options.end is not None:
            raise InvalidArgument(
                f"{resolved.root.definition.ref} has no event time for start and end to bound"
            )
        now = request.now if request.kind == "batch" else None
    if spine is not None and spine.time is None:
        now = request.now
        if options.start is not None or options.end is not None:
            raise InvalidArgument("the spine has no event time for start and end to bound")

    if options.known_at_event_time and not timed:
        raise InvalidArgument(
            f"known_at='event_time' needs an event time, and {resolved.root.definition.ref} has none"
        )
    outputs = _outputs(request, resolved, spine)
    if now is not None:
        outputs = _show_call_time(outputs, resolved)
    needed = _needed(resolved, outputs)
    if (request.parts or request.ordered) and spine is None:
        needed += [Place(0, column) for column in resolved.root.definition.identity]
    if request.latest and any(not isinstance(o.place, Place) for o in outputs):
        raise InvalidArgument("the newest rows are told with their stored columns alone")
    lookups = tuple(_lookups(request, resolved, spine, needed, timed))
    used = {lookup.side for lookup in lookups}
    scans = {
        side: tuple(dict.fromkeys((*_technical(resolved.sides[side]), *_columns(needed, side))))
        for side in ([0] if spine is None else []) + sorted(used)
    }
    if spine is None:
        time = resolved.root.definition.event_time
        scans[0] = tuple(dict.fromkeys((*([time] if time and timed else []), *_columns(needed, 0))))
        if resolved.root.source.since is not None:
            scans[0] = tuple(dict.fromkeys((COMMIT_VERSION, CHANGE_TYPE, *scans[0])))
        if request.latest:
            scans[0] = tuple(dict.fromkeys((*_technical(resolved.root), *scans[0])))
    conditions = {side: tuple(f.condition for f in resolved.sides[side].filters) for side in scans}
    for side, bounds in _bounds(options, resolved, lookups, spine).items():
        conditions[side] = (*conditions[side], *bounds)
    for side, found in conditions.items():
        extra = [ref.name for condition in found for ref in columns_of(condition)]
        scans[side] = tuple(dict.fromkeys((*scans[side], *extra)))
    limits = [n for n in (request.limit, resolved.limit) if n is not None]
    if limits and not 0 <= min(limits) <= max(limits) < 1 << 63:
        raise InvalidArgument(
            f"a limit of {limits} rows is refused", hint="it is at least 0, and below 2**63"
        )
    return Plan(
        resolved=resolved,
        lookups=lookups,
        outputs=outputs,
        scans=scans,
        conditions=conditions,
        filters=resolved.filters,
        limit=min(limits) if limits else None,
        spine=spine,
        timed=timed,
        now=now,
        start=options.start,
        end=options.end,
        latest=request.latest,
        parts=checked_parts(request, resolved, {o.name: o.type for o in outputs}, timed),
        ordered=request.ordered,
    )


def _outputs(request: ReadRequest, resolved: Resolved, spine: Spine | None) -> tuple[Output, ...]:
    dropped = set(request.labels) if request.kind == "batch" else set()
    fields = [f for f in resolved.fields if f.name not in dropped]
    if spine is None:
        return tuple(Output(f.name, f.type, f.place) for f in fields)
    given = [f for f in spine.schema if f.name not in dropped]
    held = {f.name for f in given}
    folded = {f.name.casefold(): f.name for f in given}
    clash = [
        folded[f.name.casefold()]
        for f in fields
        if f.name.casefold() in folded
        and not (
            isinstance(f.place, Place) and f.place.side == 0 and f.name == f.place.column and f.name in held
        )
    ]
    if clash:
        raise NameClash(
            f"spine brings {', '.join(map(repr, clash))}, which the query looks up in another group, or computes",
            hint="rename or drop the spine's columns",
            details={"columns": clash},
        )
    looked_up = [Output(f.name, f.type, f.place) for f in fields if f.name not in held]
    return (*(Output(f.name, f.type, None, metadata=f.metadata) for f in given), *looked_up)


def _show_call_time(outputs: tuple[Output, ...], resolved: Resolved) -> tuple[Output, ...]:
    """The outputs with the time of the call in the place of the root's event time, or behind them."""
    time = resolved.root.definition.event_time
    kept = [o for o in outputs if o.place is None or o.place != Place(0, time or "")]
    name = next((o.name for o in outputs if o not in kept), time or ENTITY_TIME)
    if name.casefold() in [o.name.casefold() for o in kept]:
        raise NameClash(f"column {name!r} stands where the time of the call is shown", hint="rename it")
    return (*kept, Output(name, TIMESTAMP, None, call_time=True))


def _needed(resolved: Resolved, outputs: Iterable[Output]) -> list[Place]:
    """Every place that the outputs, the filters and, in turn, the keys of the sides used read."""
    origins = [o.place for o in outputs if o.place is not None]
    origins += [origin for bound in resolved.filters for origin in bound.places.values()]
    places = [place for origin in origins for place in places_of(origin)]
    for index in range(len(resolved.sides) - 1, 0, -1):
        side = resolved.sides[index]
        if side.how == "inner" or any(p.side == index for p in places):
            places += [left for left, _ in side.on]
    return list(dict.fromkeys(places))


def _columns(places: Iterable[Place], side: int) -> list[str]:
    return [p.column for p in places if p.side == side]


def _technical(side: Side) -> list[str]:
    d = side.definition
    return [c for c in (*d.primary_key, d.event_time, d.created_time, d.tie_breaker) if c is not None]


def _lookups(
    request: ReadRequest, resolved: Resolved, spine: Spine | None, needed: list[Place], timed: bool
) -> Iterable[Lookup]:
    if spine is not None:
        missing = [c for c in _columns(needed, 0) if c not in spine.schema.names]
        if missing:
            yield _lookup(
                request.point_in_time, 0, resolved.root, _root_keys(resolved, spine, missing), missing, timed
            )
    for index, side in enumerate(resolved.sides[1:], start=1):
        columns = _columns(needed, index)
        if columns or side.how == "inner":
            if spine is not None:
                _check_spine_keys(spine, side)
            yield _lookup(request.point_in_time, index, side, side.on, columns, timed)


def _root_keys(resolved: Resolved, spine: Spine, missing: list[str]) -> tuple[tuple[Place, str], ...]:
    root = resolved.root
    absent = [key for key in root.definition.primary_key if key not in spine.schema.names]
    if absent:
        named = list(dict.fromkeys((*missing, *absent)))
        raise UnknownColumn(
            f"spine has no column {', '.join(map(repr, named))}",
            hint=f"other columns of {root.definition.ref} are looked up by {', '.join(root.definition.primary_key)}",
            details={"columns": named},
        )
    for key in root.definition.primary_key:
        check_key_types(
            f"spine and {root.definition.ref}", key, spine.schema.field(key).type, key, root.type_of(key)
        )
    return tuple((Place(0, key), key) for key in root.definition.primary_key)


def _check_spine_keys(spine: Spine, side: Side) -> None:
    for place, key in side.on:
        if place.side == 0 and place.column in spine.schema.names:
            given = spine.schema.field(place.column).type
            check_key_types(f"spine and {side.definition.ref}", place.column, given, key, side.type_of(key))


def _lookup(
    options: PointInTime,
    index: int,
    side: Side,
    on: tuple[tuple[Place, str], ...],
    columns: list[str],
    timed: bool,
) -> Lookup:
    definition = side.definition
    exact = timed and side.compares_times
    if side.point_in_time and not timed:
        raise InvalidArgument(f"join with {definition.ref}: the root has no event time to look back from")
    if not exact and (side.max_age is not None or side.min_age is not None):
        raise InvalidArgument(
            f"join with {definition.ref} is plain, so max_age and min_age mean nothing",
            hint="both sides need an event time",
        )
    max_age = _first(options.max_age, side.max_age, definition.ttl)
    cut: Cut | None = options.known_at
    if options.known_at_event_time and timed and side.point_in_time is not False:
        cut = "spine time"
    return Lookup(
        side=index,
        kind="point in time" if exact else "plain",
        on=on,
        columns=tuple(columns),
        how=side.how,
        max_age=None if not exact or max_age in (None, UNLIMITED) else max_age,
        min_age=(_first(options.min_age, side.min_age, definition.min_age) or 0) if exact else 0,
        cut=cut if definition.created_time else None,
        uncut=cut is not None and definition.created_time is None,
    )


def _first(*values: int | None) -> int | None:
    return next((v for v in values if v is not None), None)


def _bounds(
    options: PointInTime, resolved: Resolved, lookups: Iterable[Lookup], spine: Spine | None
) -> dict[int, tuple[Condition, ...]]:
    """The times in which rows can matter, so that files outside are never opened."""
    found: dict[int, tuple[Condition, ...]] = {}
    if spine is None and resolved.root.definition.event_time:
        found[0] = _between(resolved.root, options.start, options.end)
    for lookup in lookups:
        if lookup.kind == "point in time":
            low = None
            if options.start is not None and lookup.max_age is not None:
                low = _shift(options.start, -lookup.max_age)
            high = None if options.end is None else _shift(options.end, -lookup.min_age)
            found[lookup.side] = _between(resolved.sides[lookup.side], low, high)
    return {side: conditions for side, conditions in found.items() if conditions}


def _shift(time: dt.datetime, micros: int) -> dt.datetime | None:
    try:
        return from_micros(to_micros(time) + micros)
    except OverflowError:
        return None


def _between(side: Side, low: dt.datetime | None, high: dt.datetime | None) -> tuple[Condition, ...]:
    """`[low, high)` on the event time as stored, where that is a timestamp and so can be compared as it is."""
    name = side.definition.event_time
    if name is None:
        return ()
    if not pa.types.is_timestamp(side.type_of(name)):
        return ()
    conditions: list[Condition] = []
    if low is not None:
        conditions.append(Compare(">=", Ref(name), Value("timestamp", low.isoformat())))
    if high is not None:
        conditions.append(Compare("<", Ref(name), Value("timestamp", high.isoformat())))
    return tuple(conditions)


def all_of(conditions: Iterable[Condition]) -> Condition | None:
    """One condition for several, None for none."""
    found = tuple(conditions)
    return found[0] if len(found) == 1 else And(found) if found else None
