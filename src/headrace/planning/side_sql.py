"""The rows of one side of a plan that can be found, as DuckDB statements.

Of rows that are alike in what they are found by, the rules for ties choose one: the last recorded, and of these the one
with the greatest tie breaker. What they cannot choose between is flagged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pyarrow as pa

from headrace.model.duration import to_micros
from headrace.model.expression_sql import Dialect, condition_sql, identifier
from headrace.model.resolved import Side
from headrace.planning.facts import Facts
from headrace.planning.plan import Lookup, Plan


def side_sql(plan: Plan, lookup: Lookup, facts: Facts) -> str:
    """The rows of a side that can be found: keys `k_`, columns `c_`, `m` (always true), and for ASOF `t`.

    Where the side is reduced, `ambiguous` is true for a row that stands for several different ones.
    """
    side = plan.resolved.sides[lookup.side]
    d, scale = side.definition, facts.scale
    keys = [identifier("k_" + key) for _, key in lookup.on]
    columns = [identifier("c_" + c) for c in lookup.columns]
    select = [f"{identifier(key)} AS {identifier('k_' + key)}" for _, key in lookup.on]
    select += [f"{identifier(c)} AS {identifier('c_' + c)}" for c in lookup.columns]
    event = time_sql(side, d.event_time, facts) if d.event_time else None
    findable = findable_tests(side, lookup, facts)
    if not is_reduced(lookup, facts):
        times = [f"{event} AS t"] if lookup.kind == "point in time" else []
        return scan_sql(plan, facts, lookup.side, [*select, *times, "true AS m"], findable)

    select.append(f"{event or 'NULL::BIGINT'} AS e")
    order = []
    if d.created_time is not None:
        select.append(f"{time_sql(side, d.created_time, facts)} AS created")
        order.append("created DESC NULLS LAST")
    if d.tie_breaker is not None:
        select.append(f"{identifier(d.tie_breaker)} AS tie")
        order.append("tie DESC NULLS LAST")
    base = scan_sql(plan, facts, lookup.side, select, findable)
    if lookup.cut == "spine time":
        base = _usable(base, keys, lookup, scale)
    elif lookup.kind == "point in time":
        base = f"SELECT *, e AS t FROM ({base})"
    identity = [*keys, "t" if lookup.by_time else "e"]
    final = [*keys, *(["t"] if lookup.by_time else [])]
    apart = bool(keys) and lookup.cut != "spine time"
    source = f"SELECT b.* FROM b SEMI JOIN d USING ({', '.join(final)})" if apart else base
    kept = [*keys, *columns, *(["t", "e"] if lookup.by_time else [])]
    picks = chosen(source, identity, order, kept, final)
    picked = f"SELECT * EXCLUDE (pick), true AS m FROM ({picks}) WHERE pick = 1"
    if not apart:
        return picked
    # Windows sort all rows to decide about a few: only what is there more than once goes through them.
    several = f"SELECT {', '.join(final)} FROM b GROUP BY {', '.join(final)} HAVING count(*) > 1"
    single = f"SELECT {', '.join(kept)}, false AS ambiguous, true AS m FROM b ANTI JOIN d USING ({', '.join(final)})"
    return f"WITH b AS MATERIALIZED ({base}), d AS MATERIALIZED ({several}) {single} UNION ALL {picked}"


def latest_sql(plan: Plan, facts: Facts) -> str:
    """One row per key of the root: the newest, by the same rules for ties as in a join. Its last column flags it."""
    d = plan.resolved.root.definition
    keys = [identifier("k_" + k) for k in d.primary_key]
    columns = [identifier("c_" + c) for c in plan.stored_columns or ()]
    select = [f"{identifier(k)} AS {identifier('k_' + k)}" for k in d.primary_key]
    select += [f"{identifier(c)} AS {identifier('c_' + c)}" for c in plan.stored_columns or ()]
    order = []
    for name, column in (("t", d.event_time), ("created", d.created_time), ("tie", d.tie_breaker)):
        if column is not None:
            select.append(f"{identifier(column)} AS {name}")
            order.append(f"{name} DESC NULLS LAST")
    picks = chosen(scan_sql(plan, facts, 0, select), keys, order, [*keys, *columns], keys)
    query = f"SELECT {', '.join([*columns, 'ambiguous'])} FROM ({picks}) WHERE pick = 1"
    return query if plan.limit is None else f"{query} LIMIT {plan.limit}"


def scan_sql(plan: Plan, facts: Facts, side: int, select: list[str], tests: Iterable[str] = ()) -> str:
    """The rows of a side's table that its conditions choose, and that pass the other tests."""
    conditions = [
        condition_sql(c, lambda ref: identifier(ref.name, facts.dialect), facts.dialect)
        for c in plan.conditions[side]
    ]
    where = " AND ".join([*conditions, *tests])
    query = f"SELECT {', '.join(select)} FROM {facts.relations[side]}"
    return f"{query} WHERE {where}" if where else query


def is_reduced(lookup: Lookup, facts: Facts) -> bool:
    """True if the side is reduced to one row per key and time before it is joined."""
    return lookup.side not in facts.unique or lookup.cut == "spine time"


def time_sql(side: Side, column: str, facts: Facts) -> str:
    """A stored time as an integer of microseconds (scale 1) or nanoseconds (scale 1000) since 1970."""
    if facts.dialect == "spark":
        return _spark_time(side, column, facts)
    name, kind, scale = identifier(column), side.type_of(column), facts.scale
    if pa.types.is_integer(kind):
        if side.definition.event_time_unit == "ns":
            return f"{name}::BIGINT"
        factor = _micros_in(side) * scale
        return f"{name}::HUGEINT * {factor}" if factor > 1 else f"{name}::BIGINT"
    micros = f"epoch_us({name}::TIMESTAMP)" if pa.types.is_date(kind) else f"epoch_us({name})"
    return micros if scale == 1 else f"{micros}::HUGEINT * {scale}"


def _spark_time(side: Side, column: str, facts: Facts) -> str:
    name, kind, scale = identifier(column, "spark"), side.type_of(column), facts.scale
    if pa.types.is_integer(kind):
        factor = 1 if side.definition.event_time_unit == "ns" else _micros_in(side) * scale
        return f"CAST(CAST({name} AS {facts.number}) * {factor} AS {facts.number})"
    # To make a time of a date takes the zone of the session.
    micros = spark_micros(name, kind)
    return micros if not facts.wide else f"CAST(CAST({micros} AS {facts.number}) * {scale} AS {facts.number})"


def spark_micros(value: str, kind: pa.DataType) -> str:
    """The microseconds since 1970 of a time, or of the start of a date, in UTC: of no session's zone."""
    return (
        f"(CAST(unix_date({value}) AS BIGINT) * 86400000000)"
        if pa.types.is_date(kind)
        else f"unix_micros({value})"
    )


def _micros_in(side: Side) -> int:
    """Microseconds in the unit of an integer event time that is none of nanoseconds."""
    return {"s": 1_000_000, "ms": 1_000}.get(side.definition.event_time_unit or "us", 1)


def shifted(time: str, by: int) -> str:
    """A time in SQL, and that much later."""
    return f"{time} {'-' if by < 0 else '+'} {abs(by)}" if by else time


def findable_tests(side: Side, lookup: Lookup, facts: Facts) -> list[str]:
    """What keeps the rows that have the times by which they are found, and were recorded before the cut."""
    d, tests = side.definition, []
    if lookup.cut is not None and d.created_time is not None:
        if lookup.cut == "spine time":
            tests.append(f"{identifier(d.created_time, facts.dialect)} IS NOT NULL")
        else:
            tests.append(f"{time_sql(side, d.created_time, facts)} <= {to_micros(lookup.cut) * facts.scale}")
    if d.event_time and lookup.kind == "point in time":
        tests.append(f"{identifier(d.event_time, facts.dialect)} IS NOT NULL")
    return tests


def _usable(base: str, keys: list[str], lookup: Lookup, scale: int) -> str:
    """The rows with the time `t` from which each is the one to be found, counted as the join looks for it."""
    if lookup.kind != "point in time":
        return f"SELECT *, created AS t FROM ({base})"
    min_age = lookup.min_age * scale
    beaten = newest_usable(base, keys, shifted("e", min_age))
    # `t` counts from the spine time itself: take off here what the join adds for min_age.
    return f"SELECT * REPLACE ({shifted('t', -min_age)} AS t) FROM ({beaten}) WHERE e = newest"


def newest_usable(base: str, keys: list[str], later: str) -> str:
    """Rows with `t`, from which on each is usable, and `newest`, the greatest event time of those usable by then.

    Of the rows usable at any moment the one with the greatest event time wins, so a row that an earlier usable one
    already beats can never be found: what is left rises in both times, and the last by `t` is the winner.
    """
    usable = f"SELECT *, greatest({later}, created) AS t FROM ({base})"
    window = f"OVER ({_partition(keys)} ORDER BY t RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    return f"SELECT *, max(e) {window} AS newest FROM ({usable})"


def chosen(
    source: str,
    identity: list[str],
    order: list[str],
    kept: list[str],
    final: list[str],
    dialect: Dialect = "duckdb",
    signed: Collection[str] = (),
) -> str:
    """The different rows of `kept` that come first in `order` among those of one `identity`.

    For each `final`, `pick` is 1 in one of them, and `ambiguous` true where there are others.

    Args:
        signed: those of `kept` in whose values Spark's DISTINCT would make zeros of negative ones.
    """
    first = source
    if order:
        ranked = f"SELECT *, rank() OVER ({_partition(identity)}{_order(order)}) AS place FROM ({source})"
        first = f"SELECT * FROM ({ranked}) WHERE place = 1"
    alike = f"SELECT DISTINCT {', '.join(kept) or 'true AS found'} FROM ({first})"
    if signed:
        values = [f"first({c}) AS {c}" if c in signed else c for c in kept]
        alike = f"SELECT {', '.join(values)} FROM ({first}) GROUP BY {', '.join(kept)}"
    window = _partition(final)
    any_order = _order(["1"]) if dialect == "spark" else ""
    return (
        f"SELECT *, count(*) OVER ({window}) > 1 AS ambiguous, row_number() OVER ({window}{any_order}) AS pick"
        f" FROM ({alike})"
    )


def _partition(columns: list[str]) -> str:
    return f"PARTITION BY {', '.join(columns)}" if columns else ""


def _order(terms: list[str]) -> str:
    return f" ORDER BY {', '.join(terms)}" if terms else ""
