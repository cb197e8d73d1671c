"""A plan as one statement of Spark's, which its executors run over the tables themselves.

A point-in-time lookup is a merge: the rows of the spine and those that can be found are put together, sorted within
each key by time, and the last row found is carried forward to the rows of the spine. So each key is sorted once,
nothing is paired that does not belong together, and what a key has too much of goes to disk. Lookups by the same
columns share one such sort. Times are compared as integers, as in DuckDB.
"""

from __future__ import annotations

import pyarrow as pa

from headrace.model.duration import to_micros
from headrace.model.expression_sql import identifier, text
from headrace.model.resolved import Place
from headrace.planning.facts import Facts
from headrace.planning.parts import parts_sql
from headrace.planning.plan import Lookup, Plan
from headrace.planning.program import SPINE_ROW, SPINE_TIME, Program, spine_columns
from headrace.planning.rendering import Rendering
from headrace.planning.side_sql import scan_sql, time_sql
from headrace.planning.spark_side_sql import age_of, is_orderable, side_sql

GIVEN = -1
"""In the place of a side's number: the rows of the spine."""


def render_spark(plan: Plan, facts: Facts) -> Program:
    """As `duckdb_sql.render`: columns for whoever puts the rows of the result together."""
    return _Renderer(plan, facts, whole=False).program()


def render_frame(plan: Plan, facts: Facts, refusals: dict[int, str]) -> str:
    """A query whose rows and columns are those of the result, which have no names, and which fails where a row found
    several at once.

    The relation of the spine has the columns `c_…` that are looked at, and here all `g_…` that are shown.

    Args:
        refusals: what to say then, by side.
    """
    return _Renderer(plan, facts, whole=True).query(refusals)


def render_whole(plan: Plan, facts: Facts) -> Program:
    """As `render_spark`, but that the columns of the spine are there, too, so that `outputs` are all, and its row
    numbers are not.
    """
    return _Renderer(plan, facts, whole=True).whole()


def _name(column: str) -> str:
    return identifier(column, "spark")


class _Renderer(Rendering):
    """Columns on their way: `n` and `t` of the spine, `c_…` of the root, `g_…` as the spine gave them, and a struct
    `j…` of what each lookup found.
    """

    def __init__(self, plan: Plan, facts: Facts, whole: bool) -> None:
        super().__init__(plan, facts, row="n", time="t")
        self._whole = whole
        self._steps: list[str] = []
        self._carried: list[str] = []

    def program(self) -> Program:
        self._join_all()
        outputs = [i for i, o in enumerate(self.plan.outputs) if o.place is not None]
        columns = ["n"] if self.plan.spine else []
        columns += [self.value(place) for o in self.plan.outputs if (place := o.place) is not None]
        kinds = [o.type for o in self.plan.outputs if o.place is not None]
        orderable = [bool(self.plan.spine)] * bool(self.plan.spine) + [*map(is_orderable, kinds)]
        columns += [self.ambiguity(i) for i in self.ambiguous]
        orderable += [True] * len(self.ambiguous)
        query = self._rows(columns, orderable, self.where(), "c0" if self.plan.spine else None)
        return Program((), query, tuple(outputs), self.ambiguous)

    def whole(self) -> Program:
        self._join_all()
        columns = [*self._outputs(), *(self.ambiguity(i) for i in self.ambiguous)]
        orderable = [is_orderable(o.type) for o in self.plan.outputs] + [True] * len(self.ambiguous)
        order = "n" if self.plan.spine and not self.plan.ordered else None
        query = self._rows(columns, orderable, self.where(), order)
        return Program((), query, tuple(range(len(self.plan.outputs))), self.ambiguous)

    def _outputs(self) -> list[str]:
        columns = []
        for output in self.plan.outputs:
            if output.place is not None:
                columns.append(self.value(output.place))
            elif output.call_time:
                assert self.plan.now is not None
                columns.append(f"timestamp_micros({to_micros(self.plan.now)})")
            else:
                columns.append(_name("g_" + output.name))
        return columns

    def query(self, refusals: dict[int, str]) -> str:
        self._join_all()
        columns = self._outputs()
        where = self.where()
        for side, said in refusals.items():
            if side in self.ambiguous:
                # After all others, in one expression: Spark may take the tests of a filter in any order.
                test = f"assert_true(NOT {self.ambiguity(side)}, {text(said, 'spark')}) IS NULL"
                where = [f"if({' AND '.join(where) or 'true'}, {test}, false)"]
        return self._rows(columns, [is_orderable(o.type) for o in self.plan.outputs], where, None)

    def _rows(self, columns: list[str], orderable: list[bool], where: list[str], order: str | None) -> str:
        """The last select: what of the rows put together is kept, as `c0` and so on."""
        orders = [order] if order else []
        inner = [f"{c} AS c{i}" for i, c in enumerate(columns)]
        held = [f"c{i}" for i in range(len(columns))]
        if self.plan.ordered:
            by = self.order([c for c, fine in zip(columns, orderable, strict=True) if fine])
            inner += [f"{value} AS o{i}" for i, value in enumerate(by)]
            orders = [f"o{i}" for i in range(len(by))]
        elif order is not None and order not in held:
            inner.append(order)
        query = f"SELECT {', '.join(inner + self.part_columns()) or '1 AS one'} FROM r{len(self._steps) - 1}"
        if where:
            query += f" WHERE {' AND '.join(where)}"
        kept = [*held, *(o for o in orders if o not in held)]
        if self.plan.parts:
            by = [c for c, fine in zip(held, orderable, strict=True) if fine]
            by += [o for o in orders if o not in held]
            query = parts_sql(self.plan.parts, query, kept, self.span, by, "spark")
        several = len(self.plan.parts) > 1
        if several:
            orders = ["part", *orders]
        shown = held + ["part"] * several
        query = f"SELECT {', '.join(shown)} FROM ({query})"
        if orders:
            query += f" ORDER BY {', '.join(f'{o} ASC NULLS LAST' for o in orders)}"
        if self.plan.limit is not None:
            query += f" LIMIT {self.plan.limit}"
        steps = ", ".join(f"r{i} AS ({step})" for i, step in enumerate(self._steps))
        return f"WITH {steps} {query}"

    def _join_all(self) -> None:
        self._steps.append(self._root())
        for bundle in bundles(self.plan):
            if bundle[0].by_time:
                self._steps.append(self._merge(bundle))
            else:
                (lookup,) = bundle
                self._steps.append(self._join(lookup))
            self._carried += [f"j{lookup.side}" for lookup in bundle]

    def _root(self) -> str:
        plan, facts = self.plan, self.facts
        if plan.spine is not None:
            time = f"CAST({_name(SPINE_TIME)} AS {facts.number})"
            if facts.spine_scale > 1:
                time = f"CAST({time} * {facts.spine_scale} AS {facts.number})"
            columns = {"n": _name(SPINE_ROW), "t": time}
            columns |= {_name("c_" + c): _name("c_" + c) for c in spine_columns(plan)}
            if self._whole:
                given = [o.name for o in plan.outputs if o.place is None and not o.call_time]
                columns |= {_name("g_" + c): _name("g_" + c) for c in given}
            inner = f"SELECT {_as(columns)} FROM {facts.relations[GIVEN]}"
        else:
            side = plan.resolved.root
            columns = {_name("c_" + c): _name(c) for c in plan.scans[0]}
            if plan.timed:
                at = "NULL" if plan.now is None else str(to_micros(plan.now) * facts.scale)
                event = side.definition.event_time
                columns["t"] = time_sql(side, event, facts) if event else f"CAST({at} AS {facts.number})"
            inner = scan_sql(plan, facts, 0, [_as(columns) or "1 AS one"])
        self._carried = list(columns) or ["one"]
        where = self.bounds("t")
        return f"SELECT * FROM ({inner}){where}" if where else inner

    def _merge(self, bundle: list[Lookup]) -> str:
        """One sort for lookups by the same columns."""
        keys = [f"k{i}" for i in range(len(bundle[0].on))]
        found = [f"j{lookup.side}" for lookup in bundle]
        asked = [f"{self.place(left)} AS {key}" for key, (left, _) in zip(keys, bundle[0].on, strict=True)]
        # At one time, what can be found comes before who looks for it.
        columns = [*self._carried, *asked, "t AS at", "1 AS o", *(f"NULL AS {j}" for j in found)]
        rows = [f"SELECT {', '.join(columns)} FROM r{len(self._steps) - 1}"]
        for lookup, found_here in zip(bundle, found, strict=True):
            columns = [f"NULL AS {c}" for c in self._carried]
            columns += [*keys, "t AS at", "0 AS o"]
            columns += [f"j AS {j}" if j == found_here else f"NULL AS {j}" for j in found]
            rows.append(f"SELECT {', '.join(columns)} FROM ({side_sql(self.plan, lookup, self.facts)})")
        partition = f"PARTITION BY {', '.join(keys)} " if keys else ""
        carried = [f"last({j}, true) OVER w AS {j}" for j in found]
        merged = (
            f"SELECT {', '.join([*self._carried, 'o', *carried])} FROM ({' UNION ALL '.join(rows)})"
            f" WINDOW w AS ({partition}ORDER BY at, o ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
        )
        fresh = [self._fresh(lookup) for lookup in bundle]
        return f"SELECT {', '.join([*self._carried, *fresh])} FROM ({merged}) WHERE o = 1"

    def _fresh(self, lookup: Lookup) -> str:
        """What was found; null where it is too old."""
        j = f"j{lookup.side}"
        if lookup.max_age is None:
            return j
        return f"if({j}.e >= t - {age_of(lookup.max_age, self.facts)}, {j}, NULL) AS {j}"

    def _join(self, lookup: Lookup) -> str:
        on = [f"{self.place(left)} = s.k{i}" for i, (left, _) in enumerate(lookup.on)]
        return (
            f"SELECT r.*, s.j AS j{lookup.side} FROM r{len(self._steps) - 1} AS r"
            f" LEFT JOIN ({side_sql(self.plan, lookup, self.facts)}) AS s ON {' AND '.join(on) or 'true'}"
        )

    def place(self, place: Place) -> str:
        column = _name("c_" + place.column)
        if self.plan.from_spine(place) or place.side not in self.lookups:
            return column
        return f"j{place.side}.{column}"

    def matched(self, lookup: Lookup) -> str:
        return f"(j{lookup.side} IS NOT NULL)"

    def ambiguity(self, side: int) -> str:
        return f"coalesce(j{side}.a, false)"

    def varchar(self, value: str) -> str:
        return f"CAST({value} AS STRING)"

    def decimal_text(self, value: str, kind: pa.Decimal128Type) -> str:
        # A cast writes small ones with an exponent, or not, as the session is set.
        plain = f"replace(format_number({value}, {kind.scale}), ',', '')"
        return f"replace({plain}, '0.', '.')" if kind.scale == kind.precision else plain

    def bits(self, value: str) -> str:
        return f"java_method('java.lang.Double', 'doubleToLongBits', {value})"

    def micros(self, value: str) -> str:
        return f"unix_micros({value})"


def bundles(plan: Plan) -> list[list[Lookup]]:
    """Lookups in an order in which each finds its keys; those by the same columns, and by time, in one bundle."""
    found: dict[object, list[Lookup]] = {}
    for lookup in plan.lookups:
        lefts = tuple(left for left, _ in lookup.on)
        found.setdefault(lefts if lookup.by_time else lookup.side, []).append(lookup)
    return list(found.values())


def _as(columns: dict[str, str]) -> str:
    return ", ".join(f"{value} AS {name}" for name, value in columns.items())
