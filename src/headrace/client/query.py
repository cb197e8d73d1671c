"""Queries as users build them: immutable, checked at every step, run by `read`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import pyarrow as pa

from headrace.backend import Backend
from headrace.client.options import EngineName, check_engine, known_at_options
from headrace.client.result import Result, prepare
from headrace.errors import InvalidArgument
from headrace.model.definition import Group
from headrace.model.duration import Duration, Time, parse_max_age, parse_min_age, parse_time
from headrace.model.expression import Column, Ref, condition_of
from headrace.model.external import only_now
from headrace.model.query import Compute, Filter, How, Join, Limit, Select, Source, Step
from headrace.model.query import Query as QueryModel
from headrace.model.request import PointInTime, ReadRequest
from headrace.model.resolve import resolve
from headrace.model.resolved import unknown_column
from headrace.model.text import check_text

if TYPE_CHECKING:
    from headrace.client.feature_group import FeatureGroup

On = str | Sequence[str] | Mapping[str, str]


class Query:
    """Rows of a root feature group, with columns of others joined to them.

    Build with `select`, `filter`, `join`, `limit`, `as_of`: each gives a new query. `query["column"]` is a
    column of the result, for filters. Nothing is read before `read`, or before a feature view over it is.
    """

    def __init__(self, backend: Backend, model: QueryModel, groups: Mapping[str, Group]) -> None:
        self._backend = backend
        self._model = model
        self._groups = dict(groups)
        self._resolved = resolve(model, self._groups)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the result."""
        return pa.schema([pa.field(f.name, f.type) for f in self._resolved.fields])

    def __getitem__(self, name: str) -> Column:
        known = [f.name for f in self._resolved.fields]
        if name not in known and name not in self._resolved.root.schema.names:
            raise unknown_column("the query", [name], known)
        return Column(Ref(name))

    def select(self, *columns: str) -> Query:
        """Keep these columns; without arguments, all that there are. Raises UnknownColumn, NameClash."""
        return self._with(Select(check_names(columns) or None))

    def filter(self, condition: Column) -> Query:
        """Keep rows for which the condition is true.

        Before a join this chooses the rows that take part; after it, the rows of the result.
        """
        if not isinstance(condition, Column):
            raise InvalidArgument(
                f"filter takes a condition, not {condition!r}", hint='such as group["column"] > 0'
            )
        return self._with(Filter(condition_of(condition)))

    def with_columns(self, **formulas: str) -> Query:
        """Add columns that are computed from others, by SQL: `with_columns(fahrenheit="temp * 9 / 5 + 32")`.

        A formula reads the columns that the query has by then, also those before it in the same call, and those of
        its root. It knows `+ - * / %`, comparisons, `and or not in like between is null case cast`, and the functions
        that docs/computed-columns.md lists. Numbers are computed as 64-bit integers or doubles; NaN, and what has no
        answer, such as a division by zero, is null.

        Raises:
            SqlRejected: what cannot be read, or has no place in a formula. UnknownColumn, NameClash, InvalidArgument.
        """
        from headrace.client.formula import parse_formula  # its parser takes a while to load

        query = self
        for name, sql in formulas.items():
            known = dict.fromkeys(
                [*(f.name for f in query._resolved.fields), *query._resolved.root.schema.names]
            )
            query = query._with(Compute(check_text("name", name), parse_formula(name, sql, list(known))))
        return query

    def limit(self, n: int) -> Query:
        """At most `n` rows; which ones is not said. Must be the last step."""
        return self._with(Limit(check_limit(n)))

    def join(
        self,
        other: FeatureGroup | Query,
        *,
        on: On | None = None,
        how: How = "left",
        prefix: str = "",
        max_age: Duration | None = None,
        min_age: Duration | None = None,
        point_in_time: bool | None = None,
    ) -> Query:
        """Add columns of another group to each row: point in time if both have an event time, else by key.

        Args:
            other: a group (all its features) or a query on one (what it selects and filters).
            on: its whole primary key, as columns of this query: a name, names, or {left: right}.
            how: "left" keeps rows without a match; "inner" drops them.
            prefix: put before the names of the added columns.
            max_age: a match older than this gives nulls; "unlimited" lifts the group's ttl.
            min_age: matches younger than this are skipped.
            point_in_time: False ignores time (for labels); None decides by the event times.

        Raises:
            NameClash, KeyMismatch, Leakage, InvalidArgument.
        """
        right = other if isinstance(other, Query) else _selected(other)
        check_text("prefix", prefix)
        if point_in_time not in (None, True, False):
            raise InvalidArgument(
                f"point_in_time={point_in_time!r} is refused", hint="use True, False or None"
            )
        step = Join(
            right=right._model,
            on=_pairs(on),
            how=how,
            prefix=prefix,
            max_age=parse_max_age("max_age", max_age),
            min_age=parse_min_age(min_age),
            point_in_time=point_in_time,
        )
        return Query(
            self._backend,
            QueryModel(self._model.source, (*self._model.steps, step)),
            self._groups | right._groups,
        )

    def as_of(self, *, snapshot: int | None = None, timestamp: Time | None = None) -> Query:
        """Read the tables as they were; a joined query takes a timestamp, for tables not yet pinned.

        Raises:
            Unsupported: one is in another database, which keeps no snapshots.
        """
        time = pin("as_of", snapshot, timestamp)
        for ref, group in self._groups.items():
            if group.definition.external is not None:
                raise only_now(ref)
        joined = any(isinstance(step, Join) for step in self._model.steps)
        if snapshot is not None and joined:
            raise InvalidArgument(
                "a query over several tables has no single snapshot",
                hint="give a timestamp, or pin each group",
            )
        return Query(self._backend, _pinned(self._model, snapshot, time), self._groups)

    def read(
        self,
        *,
        known_at: Literal["event_time"] | Time | None = None,
        engine: EngineName | None = None,
    ) -> Result:
        """The rows, lazily.

        Args:
            known_at: leave out what was recorded later: than this time, or than each row's own event time.
            engine: "duckdb", "spark", or "auto", which is what None means; see `headrace.connect`.
        """
        check_engine(engine)
        instant, by_row = known_at_options(known_at)
        options = PointInTime(known_at=instant, known_at_event_time=by_row, engine=engine)
        return prepare(
            self._backend, ReadRequest(kind="query", query=self._model, point_in_time=options), None
        )

    def explain(self) -> str:
        """How it would be run: per group point in time or plain, ages in force, snapshot, files kept."""
        return self._backend.explain(ReadRequest(kind="query", query=self._model))

    def _with(self, step: Step) -> Query:
        return Query(self._backend, QueryModel(self._model.source, (*self._model.steps, step)), self._groups)

    def __repr__(self) -> str:
        return f"Query({self._model.source.group}: {', '.join(f.name for f in self._resolved.fields)})"


def _selected(other: object) -> Query:
    query = other.select() if hasattr(other, "select") else None
    if not isinstance(query, Query):
        raise InvalidArgument(f"join takes a feature group or a query, not a {type(other).__name__}")
    return query


def check_names(columns: Sequence[Any]) -> tuple[str, ...]:
    return tuple(check_text("column", column, hint='select("a", "b")') for column in columns)


def column_names(columns: Sequence[str]) -> tuple[str, ...]:
    if isinstance(columns, Column):
        raise InvalidArgument("columns takes names, not a condition", hint="give it as filter=")
    if isinstance(columns, str) or not isinstance(columns, Sequence):
        raise InvalidArgument(
            f"columns takes several names, not {columns!r}", hint="put the name into a list"
        )
    names = check_names(columns)
    if not names:
        raise InvalidArgument("columns is empty", hint="leave it out for all columns")
    return names


def check_limit(n: int) -> int:
    if not isinstance(n, int) or isinstance(n, bool) or not 0 <= n < 1 << 63:
        raise InvalidArgument(f"a limit is a number of rows, not {n!r}")
    return n


def check_snapshot(snapshot: int, least: int = 0) -> int:
    if not isinstance(snapshot, int) or isinstance(snapshot, bool) or not least <= snapshot < 1 << 63:
        raise InvalidArgument(f"a snapshot is a number from {least}, not {snapshot!r}")
    return snapshot


def pin(call: str, snapshot: int | None, timestamp: Time | None) -> dt.datetime | None:
    """The instant of `timestamp`. Raises InvalidArgument unless exactly one of both is given to the call."""
    if (snapshot is None) == (timestamp is None):
        raise InvalidArgument(f"{call} takes a snapshot or a timestamp: exactly one of them")
    if snapshot is not None:
        check_snapshot(snapshot)
    return None if timestamp is None else parse_time("timestamp", timestamp)


def _pinned(query: QueryModel, snapshot: int | None, time: dt.datetime | None) -> QueryModel:
    source = query.source
    if source.snapshot is None and source.timestamp is None:
        source = Source(source.group, snapshot, time)
    steps = tuple(
        msgspec.structs.replace(step, right=_pinned(step.right, snapshot, time))
        if isinstance(step, Join)
        else step
        for step in query.steps
    )
    return QueryModel(source, steps)


def _pairs(on: On | None) -> tuple[tuple[str, str], ...] | None:
    if on is None:
        return None
    if isinstance(on, str):
        return ((on, on),)
    if isinstance(on, Mapping):
        return tuple((str(left), str(right)) for left, right in on.items())
    if not isinstance(on, Sequence):
        raise InvalidArgument(f"on={on!r} is refused", hint="name a column, several, or {left: right}")
    return tuple((name, name) for name in check_names(on))
