"""The brute-force point-in-time join: for every spine row, look at every feature row.

Reads like the rules that users read, in their order, and shares no code with the planner.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Any, Literal

from reference.condition import Condition, Row, columns_of, holds
from reference.table import UNLIMITED, Age, Table

KnownAt = dt.datetime | Literal["event_time"] | None


class Ambiguous(Exception):
    """A spine row picks from rows that differ, and nothing says which is newer."""


@dataclasses.dataclass
class Join:
    table: Table
    columns: list[str] | None = None
    """None: every column that is neither key, time nor partition."""
    on: list[tuple[str, str]] | None = None
    """Pairs (name on the left, key column of the table). None: the whole key, by name."""
    prefix: str = ""
    how: Literal["left", "inner"] = "left"
    max_age: Age = None
    min_age: dt.timedelta | None = None
    point_in_time: bool | None = None
    where: Condition | None = None
    state: int = -1

    @property
    def selected(self) -> list[str]:
        return self.table.features if self.columns is None else self.columns

    @property
    def keys(self) -> list[tuple[str, str]]:
        return [(name, name) for name in self.table.key] if self.on is None else self.on


@dataclasses.dataclass
class Query:
    root: Table
    columns: list[str] | None = None
    """None: all columns of the root."""
    where: Condition | None = None
    joins: list[Join] = dataclasses.field(default_factory=list)
    having: Condition | None = None
    """Drops result rows; names the columns of the result."""
    state: int = -1

    @property
    def names(self) -> list[str]:
        names = list(self.root.columns if self.columns is None else self.columns)
        for join in self.joins:
            names += [join.prefix + column for column in join.selected]
        return names


@dataclasses.dataclass
class Call:
    """What is asked of a query. `spine` and its `spine_columns` replace the rows of the root."""

    spine: list[Row] | None = None
    spine_columns: list[str] = dataclasses.field(default_factory=list)
    event_time: str | None = None
    """Column of the spine's time where it does not have the root's name."""
    start: dt.datetime | None = None
    end: dt.datetime | None = None
    known_at: KnownAt = None
    max_age: Age = None
    min_age: dt.timedelta | None = None
    without: list[str] = dataclasses.field(default_factory=list)
    """Label columns, which batch data has none of."""


@dataclasses.dataclass
class Answer:
    names: list[str]
    rows: list[Row]
    """Those of a spine in its order."""
    doubtful: bool = False
    """Some row that was dropped had several rows to pick from: an error is right too."""


def answer(query: Query, call: Call) -> Answer:
    """Raises Ambiguous if the answer depends on which of several rows a spine row picks."""
    time_column = call.event_time or query.root.event_time
    if call.spine is None:
        spine = [row for row in query.root.states[query.state] if holds(query.where, row)]
        names = query.names
    else:
        spine = call.spine
        names = [*call.spine_columns, *(name for name in query.names if name not in call.spine_columns)]
    found = Answer([name for name in names if name not in call.without], [])
    for given in spine:
        time = given[time_column] if time_column else None
        if not _within(time, call.start, call.end):
            continue
        outcomes = _outcomes(query, call, given, time)
        kept = [row for row, joined in outcomes if joined and holds(query.having, row)]
        if kept and len(outcomes) > 1:
            raise Ambiguous
        found.doubtful = found.doubtful or len(outcomes) > 1
        found.rows += [{name: row[name] for name in found.names} for row in kept]
    return found


def _outcomes(query: Query, call: Call, row: Row, time: Any) -> list[tuple[Row, bool]]:
    """The row with the columns of every joined group, and whether inner joins keep it: for every choice there is."""
    lookups = list(query.joins)
    lacking = [] if call.spine is None else _lacking(query, call)
    if lacking:
        own_key = [(name, name) for name in query.root.key]
        lookups.insert(0, Join(query.root, lacking, own_key, where=query.where, state=query.state))
    has_time = query.root.event_time is not None or call.event_time is not None
    outcomes = [(row, True)]
    for join in lookups:
        widened = []
        for before, kept in outcomes:
            matches = _matches(join, before, time, has_time, call)
            kept = kept and (join.how == "left" or bool(matches))
            for match in matches or [dict.fromkeys(join.table.columns)]:
                widened.append((before | {join.prefix + name: match[name] for name in join.selected}, kept))
        outcomes = widened
    return outcomes


def _lacking(query: Query, call: Call) -> list[str]:
    """Columns of the root that the answer needs and the spine has not."""
    selected = query.root.columns if query.columns is None else query.columns
    needed = [name for name in selected if name not in call.without]
    joined = {join.prefix + column for join in query.joins for column in join.selected}
    asked = [left for join in query.joins for left, _ in join.keys]
    asked += sorted(columns_of(query.having)) if query.having else []
    needed += [name for name in asked if name not in joined]
    return [name for name in dict.fromkeys(needed) if name not in call.spine_columns]


def _matches(join: Join, row: Row, time: Any, spine_has_time: bool, call: Call) -> list[Row]:
    """The rows of the joined group that the spine row may pick from; rows alike in all selected columns are one."""
    table = join.table
    wanted = [(right, row[left]) for left, right in join.keys]
    if any(value is None for _, value in wanted):
        return []
    candidates = [
        other
        for other in table.states[join.state]
        if holds(join.where, other)
        and all(other[column] == value for column, value in wanted)
        and _known(join, other, time, call.known_at)
    ]
    if table.event_time is not None and spine_has_time and join.point_in_time is not False:
        candidates = _newest(join, candidates, time, call)
    different: list[Row] = []
    for other in _untied(table, candidates):
        if not any(all(_same(other[name], one[name]) for name in join.selected) for one in different):
            different.append(other)
    return different


def latest(table: Table, rows: list[Row], columns: list[str]) -> list[Row]:
    """The newest of these rows for each key. Raises Ambiguous where that is not one row in these columns."""
    found = []
    for key in {tuple(row[name] for name in table.key): None for row in rows}:
        newest = [row for row in rows if tuple(row[name] for name in table.key) == key]
        if table.event_time is not None:
            newest = _largest(newest, table.event_time)
        newest = _untied(table, newest)
        if any(not _same(row[name], newest[0][name]) for row in newest for name in columns):
            raise Ambiguous
        found.append(newest[0])
    return found


def _untied(table: Table, rows: list[Row]) -> list[Row]:
    """Of rows with the same event time, the last recorded; of those, the ones with the largest tie breaker."""
    found = []
    for time in {row[table.event_time] if table.event_time else None: None for row in rows}:
        tied = [row for row in rows if table.event_time is None or row[table.event_time] == time]
        if table.created_time is not None:
            tied = _largest(tied, table.created_time)
        if table.tie_breaker is not None:
            tied = _largest(tied, table.tie_breaker)
        found += tied
    return found


def _newest(join: Join, candidates: list[Row], time: Any, call: Call) -> list[Row]:
    """Those with the newest event time at or before the spine's, within the age limits."""
    if time is None:
        return []
    column = join.table.event_time
    min_age = _first_given(call.min_age, join.min_age, join.table.min_age) or dt.timedelta(0)
    max_age = _first_given(call.max_age, join.max_age, join.table.ttl)
    now = instant(time)
    seen = [row for row in candidates if now - instant(row[column]) >= min_age]
    if not seen:
        return []
    newest = max(instant(row[column]) for row in seen)
    if max_age not in (None, UNLIMITED) and now - newest > max_age:
        return []
    return [row for row in seen if instant(row[column]) == newest]


def _known(join: Join, row: Row, time: Any, known_at: KnownAt) -> bool:
    """Whether the row had been recorded by then.

    Groups that record no times know everything. A join that ignores time brings labels, which are recorded
    after the spine time: only a cut-off at an instant applies to it.
    """
    if known_at is None or join.table.created_time is None:
        return True
    if known_at == "event_time" and join.point_in_time is False:
        return True
    created = row[join.table.created_time]
    by = time if known_at == "event_time" else known_at
    return created is not None and by is not None and instant(created) <= instant(by)


def _largest(rows: list[Row], column: str) -> list[Row]:
    """The rows with the largest value; null is smaller than any."""
    known = [row for row in rows if row[column] is not None]
    if not known:
        return rows
    most = max(row[column] for row in known)
    return [row for row in known if row[column] == most]


def _first_given(*ages: Age) -> Any:
    return next((age for age in ages if age is not None), None)


def _within(time: Any, start: dt.datetime | None, end: dt.datetime | None) -> bool:
    if start is None and end is None:
        return True
    if time is None:
        return False
    return (start is None or instant(time) >= start) and (end is None or instant(time) < end)


def instant(time: dt.datetime | dt.date) -> dt.datetime:
    """A date is the start of that day, UTC; a naive time is UTC."""
    if not isinstance(time, dt.datetime):
        time = dt.datetime(time.year, time.month, time.day)
    return time.replace(tzinfo=dt.UTC) if time.tzinfo is None else time


def _same(left: Any, right: Any) -> bool:
    return left == right or (left != left and right != right)  # NaN is alike to NaN
