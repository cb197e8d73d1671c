"""A plan as DuckDB statements.

A point-in-time lookup is an ASOF join: for each spine row the feature row with the greatest time at or before
it, then nulled where that row is too old. Times are compared as integers (microseconds; nanoseconds where the
spine or a table has them), so units and zones cannot differ. ASOF picks any row among ties, so a table that is
not known to be unique is first reduced to one row per key and time.

A few lookups are chained in one statement, which streams; many are staged, each in a temporary table of its
own, because the sorts of all joins of one statement are in memory together.
"""

from __future__ import annotations

import dataclasses

import pyarrow as pa

from headrace.model.duration import to_micros
from headrace.model.expression_sql import condition_sql, identifier, text
from headrace.model.feed import CHANGE_TYPE, COMMIT_VERSION
from headrace.model.formula_sql import formula_sql
from headrace.model.request import Share, Span
from headrace.model.resolved import Computed, Origin, Place, places_of
from headrace.planning.facts import Facts
from headrace.planning.parts import parts_sql, shares_of
from headrace.planning.plan import Lookup, Plan
from headrace.planning.side_sql import is_reduced, latest_sql, scan_sql, shifted, side_sql, time_sql

CHAINED_LOOKUPS = 4
"""Up to this many lookups run in one statement."""

SPINE = "__headrace_spine"
SPINE_ROW = "__headrace_row"
SPINE_TIME = "__headrace_time"


@dataclasses.dataclass(frozen=True)
class Program:
    """`stages` are run in order, then `query` is streamed.

    Its columns are: the spine's row number if there is a spine; one for each of `outputs` (positions in the
    plan's outputs); one boolean for each of `ambiguous` (sides), true where the row found is one of several; the
    number of its part, where the plan has several.
    """

    stages: tuple[str, ...]
    query: str
    outputs: tuple[int, ...]
    ambiguous: tuple[int, ...]


def spine_columns(plan: Plan) -> list[str]:
    """The spine's columns that the engine must see: keys, and what filters and computed columns read."""
    places = [left for lookup in plan.lookups for left, _ in lookup.on]
    origins = [origin for bound in plan.filters for origin in bound.places.values()]
    origins += [output.place for output in plan.outputs if isinstance(output.place, Computed)]
    places += [place for origin in origins for place in places_of(origin)]
    if plan.parts or plan.ordered:
        strata = [share.stratify for share in shares_of(plan.parts) if share.stratify is not None]
        places += [Place(0, name) for name in (*plan.resolved.root.definition.primary_key, *strata)]
    return list(dict.fromkeys(p.column for p in places if plan.from_spine(p)))


def render(plan: Plan, facts: Facts) -> Program:
    if plan.latest:
        outputs = tuple(range(len(plan.stored_columns or ())))
        return Program((), latest_sql(plan, facts), outputs, ambiguous=(0,))
    return _Renderer(plan, facts).program()


class _Renderer:
    def __init__(self, plan: Plan, facts: Facts) -> None:
        self.plan = plan
        self.facts = facts
        self.staged = len(plan.lookups) > CHAINED_LOOKUPS
        self.lookups = {lookup.side: lookup for lookup in plan.lookups}
        self.ambiguous = tuple(i for i in self.lookups if is_reduced(self.lookups[i], facts))

    def program(self) -> Program:
        stages: list[str] = []
        root = f"({self._root()}) AS r"
        if self.staged:
            stages.append(f"CREATE TEMP TABLE root AS {self._root()}")
            root = "root AS r"
            stages += [self._stage(lookup) for lookup in self.plan.lookups]
            joins = "".join(f" JOIN stage{i} AS j{i} ON r.n = j{i}.n" for i in self.lookups)
        else:
            joins = "".join(self._join(lookup) for lookup in self.plan.lookups)
        outputs = [i for i, o in enumerate(self.plan.outputs) if o.place is not None]
        columns = ["r.n"] if self.plan.spine else []
        columns += [self._value(place) for o in self.plan.outputs if (place := o.place) is not None]
        columns += [self._ambiguity(i) for i in self.ambiguous]
        where = self._where()
        names = [f"c{i}" for i in range(len(columns))]
        order = self._order(columns) if self.plan.ordered else ["c0"] if self.plan.spine else []
        if self.plan.ordered:
            columns, order = [*columns, *order], [f"c{len(names) + i}" for i in range(len(order))]
        named = [f"{c} AS c{i}" for i, c in enumerate(columns)] + self._part_columns()
        query = f"SELECT {', '.join(named)} FROM {root}{joins}"
        if where:
            query += f" WHERE {' AND '.join(where)}"
        if self.plan.parts:
            query = parts_sql(
                self.plan.parts, query, [*names, *(c for c in order if c not in names)], self._span
            )
        if len(self.plan.parts) > 1:
            names, order = [*names, "part"], ["part", *order]
        if self.plan.parts or self.plan.ordered:
            query = f"SELECT {', '.join(names)} FROM ({query})"
        if order:
            query += f" ORDER BY {', '.join(order)}"
        if self.plan.feed:
            # Of one commit first what it takes away: applied in this order, a row replaced is there afterwards.
            version, change = (self._value(Place(0, name)) for name in (COMMIT_VERSION, CHANGE_TYPE))
            query += f" ORDER BY {version}, {change} IN ('insert', 'update_postimage')"
        if self.plan.limit is not None:
            query += f" LIMIT {self.plan.limit}"
        return Program(tuple(stages), query, tuple(outputs), self.ambiguous)

    def _order(self, columns: list[str]) -> list[str]:
        """What the rows are in the order of; where it identifies a row, the other columns would change nothing."""
        order = (["r.t"] if self.plan.timed else []) + [self._value(place) for place in self._keys()]
        if self.plan.spine is not None:
            return [*order, "r.n"]
        return order if 0 in self.facts.unique else [*order, *columns]

    def _keys(self) -> list[Place]:
        """The primary key of the root, as far as the rows have it."""
        keys = [Place(0, key) for key in self.plan.resolved.root.definition.primary_key]
        return keys if self.plan.spine is None else [place for place in keys if self.plan.from_spine(place)]

    def _part_columns(self) -> list[str]:
        """What tells to which part a row belongs."""
        for share in shares_of(self.plan.parts):
            return [f"{self._draw(share)} AS draw", f"{self._stratum(share)} AS stratum"]
        return ["r.t AS time"] if self.plan.parts and self.plan.timed else []

    def _span(self, span: Span) -> tuple[int | None, int | None]:
        start, end = (
            None if time is None else to_micros(time) * self.facts.scale for time in (span.start, span.end)
        )
        return start, end

    def _draw(self, share: Share) -> str:
        """A text that puts the rows in random order: of what identifies a row, each part with its length before it."""
        keys = self._keys()
        texts = [self._text(place) for place in keys] + (["r.t::VARCHAR"] if self.plan.timed else [])
        if self.plan.spine is not None and not keys:
            texts.append("r.n::VARCHAR")
        parts = [f"coalesce(length({t}) || ':' || {t}, '-')" for t in texts]
        return f"md5(concat({', '.join([text(f'{share.seed}/'), *parts])}))"

    def _stratum(self, share: Share) -> str:
        if share.stratify is None:
            return "true"
        output = next(o for o in self.plan.outputs if o.name == share.stratify)
        return self._value(Place(0, output.name) if output.place is None else output.place)

    def _text(self, place: Place) -> str:
        value, kind = self._value(place), self.plan.resolved.type_of(place)
        if pa.types.is_timestamp(kind):
            return f"epoch_us({value})::VARCHAR"
        return f"hex({value})" if pa.types.is_binary(kind) else f"{value}::VARCHAR"

    def _where(self) -> list[str]:
        """What drops rows of the result.

        A row that found several rows at once stays, to be refused: whether it would be dropped may hang on
        which of them the engine picked.
        """
        sure: list[str] = []
        found = [self._matched(x) for x in self.plan.lookups if x.how == "inner"]
        for bound in self.plan.filters:
            places = bound.places
            test = condition_sql(bound.condition, lambda ref, places=places: self._value(places[ref]))  # type: ignore[misc]
            looked_up = any(
                p.side in self.lookups and not self.plan.from_spine(p)
                for origin in places.values()
                for p in places_of(origin)
            )
            (found if looked_up else sure).append(test)
        if found and self.ambiguous:
            flags = " OR ".join(self._ambiguity(i) for i in self.ambiguous)
            found = [f"((({' AND '.join(found)}) IS TRUE) OR {flags})"]
        return sure + found

    def _root(self) -> str:
        plan = self.plan
        if plan.spine is not None:
            factor = f"::HUGEINT * {self.facts.spine_scale}" if self.facts.spine_scale > 1 else ""
            columns = [f"{identifier(SPINE_ROW)} AS n", f"{identifier(SPINE_TIME)}{factor} AS t"]
            columns += [f"{identifier(c)} AS {identifier('c_' + c)}" for c in spine_columns(plan)]
            where = self._bounds("t")
            return f"SELECT * FROM (SELECT {', '.join(columns)} FROM {SPINE}){where}"
        side = plan.resolved.root
        columns = [f"{identifier(c)} AS {identifier('c_' + c)}" for c in plan.scans[0]]
        if plan.timed:
            time = side.definition.event_time
            at = str(to_micros(plan.now) * self.facts.scale) if plan.now else "NULL"
            columns.append(f"{time_sql(side, time, self.facts.scale) if time else at + '::BIGINT'} AS t")
        if self.staged:
            columns.append("row_number() OVER () AS n")
        inner = scan_sql(plan, self.facts, 0, columns or ["1 AS one"])
        where = self._bounds("t")
        return f"SELECT * FROM ({inner}){where}" if where else inner

    def _bounds(self, time: str) -> str:
        tests = []
        if self.plan.start is not None:
            tests.append(f"{time} >= {to_micros(self.plan.start) * self.facts.scale}")
        if self.plan.end is not None:
            tests.append(f"{time} < {to_micros(self.plan.end) * self.facts.scale}")
        return f" WHERE {' AND '.join(tests)}" if tests else ""

    def _stage(self, lookup: Lookup) -> str:
        """A temporary table with, for each row of the root, what this lookup finds."""
        needed = {left.side for left, _ in lookup.on} & self.lookups.keys() - {lookup.side}
        others = "".join(f" JOIN stage{i} AS j{i} ON r.n = j{i}.n" for i in sorted(needed))
        columns = [f"r.n, {self._found(lookup)} AS m"]
        columns += [f"{self._fresh(lookup, c)} AS {identifier('c_' + c)}" for c in lookup.columns]
        if lookup.side in self.ambiguous:
            columns.append(f"s{lookup.side}.ambiguous AND {self._found(lookup)} AS a")
        join = self._join(lookup)
        return f"CREATE TEMP TABLE stage{lookup.side} AS SELECT {', '.join(columns)} FROM root AS r{others}{join}"

    def _join(self, lookup: Lookup) -> str:
        i = lookup.side
        on = [f"{self._value(left)} = s{i}.{identifier('k_' + key)}" for left, key in lookup.on]
        relation = f" ({side_sql(self.plan, lookup, self.facts)}) AS s{i}"
        if lookup.by_time:
            on.append(f"{shifted('r.t', -lookup.min_age * self.facts.scale)} >= s{i}.t")
            return f" ASOF LEFT JOIN{relation} ON {' AND '.join(on)}"
        return f" LEFT JOIN{relation} ON {' AND '.join(on) if on else 'true'}"

    def _value(self, place: Origin) -> str:
        """SQL for a place, seen from the final select or from the ON of a later join; or for what is computed."""
        if isinstance(place, Computed):
            places, types = dict(place.places), dict(place.types)
            return formula_sql(place.formula, lambda ref: self._value(places[ref]), types.__getitem__)
        column = identifier("c_" + place.column)
        lookup = self.lookups.get(place.side)
        if self.plan.from_spine(place) or lookup is None:
            return f"r.{column}"
        return f"j{place.side}.{column}" if self.staged else self._fresh(lookup, place.column)

    def _fresh(self, lookup: Lookup, column: str) -> str:
        """A looked-up column, null where the row found is too old."""
        value = f"s{lookup.side}.{identifier('c_' + column)}"
        return value if lookup.max_age is None else f"CASE WHEN {self._found(lookup)} THEN {value} END"

    def _found(self, lookup: Lookup) -> str:
        i = lookup.side
        if lookup.max_age is None:
            return f"coalesce(s{i}.m, false)"
        event = f"s{i}.e" if lookup.cut == "spine time" else f"s{i}.t"
        return f"coalesce({event} >= r.t - {lookup.max_age * self.facts.scale}, false)"

    def _matched(self, lookup: Lookup) -> str:
        return f"j{lookup.side}.m" if self.staged else self._found(lookup)

    def _ambiguity(self, side: int) -> str:
        if self.staged:
            return f"coalesce(j{side}.a, false)"
        return f"coalesce(s{side}.ambiguous AND {self._found(self.lookups[side])}, false)"
