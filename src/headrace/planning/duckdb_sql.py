"""A plan as DuckDB statements.

A point-in-time lookup is an ASOF join: for each spine row the feature row with the greatest time at or before
it, then nulled where that row is too old. Times are compared as integers (microseconds; nanoseconds where the
spine or a table has them), so units and zones cannot differ. ASOF picks any row among ties, so a table that is
not known to be unique is first reduced to one row per key and time.

A few lookups are chained in one statement, which streams; many are staged, each in a temporary table of its
own, because the sorts of all joins of one statement are in memory together.
"""

from __future__ import annotations

import pyarrow as pa

from headrace.model.duration import to_micros
from headrace.model.expression_sql import identifier
from headrace.model.feed import CHANGE_TYPE, COMMIT_VERSION
from headrace.model.resolved import Place
from headrace.planning.facts import Facts
from headrace.planning.parts import parts_sql
from headrace.planning.plan import Lookup, Plan
from headrace.planning.program import SPINE, SPINE_ROW, SPINE_TIME, Program, spine_columns
from headrace.planning.rendering import Rendering
from headrace.planning.side_sql import latest_sql, scan_sql, shifted, side_sql, time_sql

CHAINED_LOOKUPS = 4
"""Up to this many lookups run in one statement."""


def render(plan: Plan, facts: Facts) -> Program:
    if plan.latest:
        outputs = tuple(range(len(plan.stored_columns or ())))
        return Program((), latest_sql(plan, facts), outputs, ambiguous=(0,))
    return _Renderer(plan, facts).program()


class _Renderer(Rendering):
    def __init__(self, plan: Plan, facts: Facts) -> None:
        super().__init__(plan, facts, row="r.n", time="r.t")
        self.staged = len(plan.lookups) > CHAINED_LOOKUPS

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
        columns += [self.value(place) for o in self.plan.outputs if (place := o.place) is not None]
        columns += [self.ambiguity(i) for i in self.ambiguous]
        where = self.where()
        names = [f"c{i}" for i in range(len(columns))]
        order = self.order(columns) if self.plan.ordered else ["c0"] if self.plan.spine else []
        if self.plan.ordered:
            columns, order = [*columns, *order], [f"c{len(names) + i}" for i in range(len(order))]
        named = [f"{c} AS c{i}" for i, c in enumerate(columns)] + self.part_columns()
        query = f"SELECT {', '.join(named)} FROM {root}{joins}"
        if where:
            query += f" WHERE {' AND '.join(where)}"
        if self.plan.parts:
            query = parts_sql(
                self.plan.parts, query, [*names, *(c for c in order if c not in names)], self.span
            )
        if len(self.plan.parts) > 1:
            names, order = [*names, "part"], ["part", *order]
        if self.plan.parts or self.plan.ordered:
            query = f"SELECT {', '.join(names)} FROM ({query})"
        if order:
            query += f" ORDER BY {', '.join(order)}"
        if self.plan.feed:
            # Of one commit first what it takes away: applied in this order, a row replaced is there afterwards.
            version, change = (self.value(Place(0, name)) for name in (COMMIT_VERSION, CHANGE_TYPE))
            query += f" ORDER BY {version}, {change} IN ('insert', 'update_postimage')"
        if self.plan.limit is not None:
            query += f" LIMIT {self.plan.limit}"
        return Program(tuple(stages), query, tuple(outputs), self.ambiguous)

    def _root(self) -> str:
        plan = self.plan
        if plan.spine is not None:
            factor = f"::HUGEINT * {self.facts.spine_scale}" if self.facts.spine_scale > 1 else ""
            columns = [f"{identifier(SPINE_ROW)} AS n", f"{identifier(SPINE_TIME)}{factor} AS t"]
            columns += [f"{identifier(c)} AS {identifier('c_' + c)}" for c in spine_columns(plan)]
            where = self.bounds("t")
            return f"SELECT * FROM (SELECT {', '.join(columns)} FROM {SPINE}){where}"
        side = plan.resolved.root
        columns = [f"{identifier(c)} AS {identifier('c_' + c)}" for c in plan.scans[0]]
        if plan.timed:
            time = side.definition.event_time
            at = str(to_micros(plan.now) * self.facts.scale) if plan.now else "NULL"
            columns.append(f"{time_sql(side, time, self.facts) if time else at + '::BIGINT'} AS t")
        if self.staged:
            columns.append("row_number() OVER () AS n")
        inner = scan_sql(plan, self.facts, 0, columns or ["1 AS one"])
        where = self.bounds("t")
        return f"SELECT * FROM ({inner}){where}" if where else inner

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
        on = [f"{self.value(left)} = s{i}.{identifier('k_' + key)}" for left, key in lookup.on]
        relation = f" ({side_sql(self.plan, lookup, self.facts)}) AS s{i}"
        if lookup.by_time:
            on.append(f"{shifted('r.t', -lookup.min_age * self.facts.scale)} >= s{i}.t")
            return f" ASOF LEFT JOIN{relation} ON {' AND '.join(on)}"
        return f" LEFT JOIN{relation} ON {' AND '.join(on) if on else 'true'}"

    def place(self, place: Place) -> str:
        """Seen from the final select or from the ON of a later join."""
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

    def matched(self, lookup: Lookup) -> str:
        return f"j{lookup.side}.m" if self.staged else self._found(lookup)

    def ambiguity(self, side: int) -> str:
        if self.staged:
            return f"coalesce(j{side}.a, false)"
        return f"coalesce(s{side}.ambiguous AND {self._found(self.lookups[side])}, false)"

    def varchar(self, value: str) -> str:
        return f"{value}::VARCHAR"

    def decimal_text(self, value: str, kind: pa.Decimal128Type) -> str:
        return self.varchar(value)

    def bits(self, value: str) -> str:
        return f"{value}::BIT::BIGINT::VARCHAR"

    def micros(self, value: str) -> str:
        return f"epoch_us({value})"
