"""How a read is run, as text for people."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping

import pyarrow as pa

from headrace.formats.base import Snapshot
from headrace.formats.streamed import StreamedSnapshot
from headrace.model.duration import format_duration
from headrace.model.expression import describe
from headrace.model.request import Part, Prepared, Share
from headrace.planning.duckdb_sql import CHAINED_LOOKUPS
from headrace.planning.plan import Lookup, Plan
from headrace.planning.spark_sql import bundles
from headrace.service.spark_choice import Choice


def explain(
    prepared: Prepared,
    plan: Plan,
    snapshots: dict[int, Snapshot],
    timeless: Mapping[int, int],
    choice: Choice,
) -> str:
    """`timeless` says how many rows of a side have no event time."""
    lines = [_root(plan, snapshots)]
    lines += [f"  {line}" for line in _conditions(plan, 0)] if plan.spine is None else []
    for lookup in plan.lookups:
        lines.append(_lookup(plan, lookup, snapshots[lookup.side]))
        if timeless.get(lookup.side):
            time = plan.resolved.sides[lookup.side].definition.event_time
            ignored = "1 row is" if timeless[lookup.side] == 1 else f"{timeless[lookup.side]} rows are"
            lines.append(f"  {ignored} ignored, whose {time} is null")
        lines += [f"  {line}" for line in _conditions(plan, lookup.side)]
    lines += [f"then keep rows where {describe(f.condition)}" for f in plan.filters]
    if plan.latest:
        lines.append("newest row of each key")
    lines += [_part(part) for part in plan.parts]
    if plan.ordered:
        lines.append("in the order of event time, primary key, other columns")
    if plan.limit is not None:
        lines.append(f"at most {_count(plan.limit, 'row')}")
    lines.append(f"on {choice.shown}")
    if choice.engine == "spark" and plan.lookups:
        sorts = sum(bundle[0].by_time for bundle in bundles(plan))
        lines.append(f"in {_count(sorts, 'sort')} by key and time, {_count(len(plan.lookups), 'lookup')}")
    elif len(plan.lookups) > CHAINED_LOOKUPS:
        lines.append(f"in {len(plan.lookups)} stages, one temporary table each")
    if prepared.labels:
        lines.append(f"labels {', '.join(prepared.labels)}")
    lines.append(f"columns {', '.join(plan.schema.names)}")
    return "\n".join(lines)


def warnings_of(plan: Plan) -> tuple[str, ...]:
    """What is right by the rules, and hardly what anybody wants."""
    hopeless = [
        f"no row of {plan.resolved.sides[lookup.side].definition.ref} can match: "
        f"min age {format_duration(lookup.min_age)} is above max age {format_duration(lookup.max_age or 0)}"
        for lookup in plan.lookups
        if lookup.kind == "point in time" and lookup.hopeless
    ]
    return (*_unused_times(plan), *hopeless)


def _unused_times(plan: Plan) -> Iterable[str]:
    root = plan.resolved.root.definition
    if plan.spine is not None and plan.spine.time is None and root.event_time is not None:
        times = [field.name for field in plan.spine.schema if pa.types.is_timestamp(field.type)]
        if times:
            yield (
                f"the spine has no {root.event_time!r}, the event time of {root.ref}, so its rows are of now: "
                f"if their time is {' or '.join(map(repr, times))}, name it with event_time="
            )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _part(part: Part) -> str:
    if isinstance(part, Share):
        of = f" of each {part.stratify}" if part.stratify is not None else ""
        return f"of the rows{of}, drawn by seed {part.seed}, from {part.low:.0%} to {part.high:.0%}"
    return f"of the rows, {_period(part.start, part.end)}"


def _period(start: dt.datetime | None, end: dt.datetime | None) -> str:
    return (
        f"from {'…' if start is None else start.isoformat()} until {'…' if end is None else end.isoformat()}"
    )


def _root(plan: Plan, snapshots: dict[int, Snapshot]) -> str:
    if plan.spine is not None:
        at = (
            f"event time {plan.spine.time}"
            if plan.spine.time
            else f"event time {plan.now and plan.now.isoformat()}"
        )
        text = f"rows of the spine given, {at}"
    else:
        since = plan.resolved.root.source.since
        what = "rows" if since is None else f"changes after snapshot {since}"
        text = f"{what} of {_table(plan, 0, snapshots[0])}"
        if plan.timed and plan.now is not None:
            text += f", event time {plan.now.isoformat()}"
    if plan.start or plan.end:
        text += f", {_period(plan.start, plan.end)}"
    return text


def _lookup(plan: Plan, lookup: Lookup, snapshot: Snapshot) -> str:
    definition = plan.resolved.sides[lookup.side].definition
    on = ", ".join(f"{left.column} = {key}" if left.column != key else key for left, key in lookup.on)
    parts = [f"{lookup.how} join {lookup.kind} {_table(plan, lookup.side, snapshot)}", f"on {on or 'no key'}"]
    if lookup.kind == "point in time":
        parts.append(f"newest {definition.event_time} at or before the row's time")
        parts.append(f"max age {format_duration(lookup.max_age) if lookup.max_age else 'unlimited'}")
        parts.append(f"min age {format_duration(lookup.min_age)}")
        if lookup.hopeless:
            parts.append("nothing can match: min age is above max age")
    if lookup.cut is not None:
        by = "the row's time" if lookup.cut == "spine time" else lookup.cut.isoformat()
        parts.append(f"recorded ({definition.created_time}) by {by}")
    if lookup.uncut:
        parts.append("known_at does not cut it: it has no created_time")
    return ", ".join(parts)


def _table(plan: Plan, side: int, snapshot: Snapshot) -> str:
    ref = plan.resolved.sides[side].definition.ref
    if isinstance(snapshot, StreamedSnapshot):
        return f"{ref} {snapshot.shown(plan.scans[side], plan.conditions[side])}"
    kept = snapshot.prune(plan.conditions[side]).num_rows
    return f"{ref} at snapshot {snapshot.version} ({kept} of {snapshot.files.num_rows} files)"


def _conditions(plan: Plan, side: int) -> Iterable[str]:
    return [f"where {describe(c)}" for c in plan.conditions[side]]
