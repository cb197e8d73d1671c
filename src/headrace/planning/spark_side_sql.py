"""The rows of one side of a plan that can be found, as Spark SQL. See `side_sql` for the rules."""

from __future__ import annotations

import pyarrow as pa

from headrace.errors import Unsupported
from headrace.model.expression_sql import identifier
from headrace.planning.facts import Facts
from headrace.planning.plan import Lookup, Plan
from headrace.planning.side_sql import (
    chosen,
    findable_tests,
    is_reduced,
    newest_usable,
    scan_sql,
    shifted,
    time_sql,
)

_LONGEST = 400_000_000_000_000_000
"""Microseconds: more than there are between any two times, and few enough to be added to one."""


def age_of(lookup_age: int, facts: Facts) -> int:
    """An age in the unit in which times are compared."""
    return min(lookup_age, _LONGEST) * facts.scale


def side_sql(plan: Plan, lookup: Lookup, facts: Facts) -> str:
    """The rows of a side that can be found: keys `k0` and so on, a struct `j` of the columns `c_`, and, where it is by
    time, `t`, from which on each is the one to be found.

    The struct has `e`, the event time, where there is a greatest age; and `a`, which is true for a row that stands for
    several different ones, where the side is reduced.
    """
    side = plan.resolved.sides[lookup.side]
    d = side.definition
    keys = [f"k{i}" for i in range(len(lookup.on))]
    columns = [identifier("c_" + c, "spark") for c in lookup.columns]
    select = [f"{identifier(key, 'spark')} AS k{i}" for i, (_, key) in enumerate(lookup.on)]
    event = time_sql(side, d.event_time, facts) if d.event_time else f"CAST(NULL AS {facts.number})"
    tests = findable_tests(side, lookup, facts)
    tests += [f"{identifier(key, 'spark')} IS NOT NULL" for _, key in lookup.on]
    aged = ["e"] if lookup.max_age is not None else []
    later = shifted("e", age_of(lookup.min_age, facts))
    if not is_reduced(lookup, facts):
        select += [
            f"{identifier(c, 'spark')} AS {name}" for c, name in zip(lookup.columns, columns, strict=True)
        ]
        select += [f"{event} AS e"]
        base = scan_sql(plan, facts, lookup.side, select, tests)
        times = [f"{later} AS t"] if lookup.by_time else []
        found = ", ".join([*keys, *times, f"struct({', '.join([*columns, *aged]) or 'true AS m'}) AS j"])
        return f"SELECT {found} FROM ({base})"

    held = {c: side.type_of(c) for c in lookup.columns}
    for column, kind in held.items():
        if not pa.types.is_map(kind) and not is_orderable(kind):
            raise Unsupported(
                f"{d.ref}: Spark cannot compare the values of {column!r}, in which there are maps",
                hint="leave the column out, or take engine='duckdb'",
            )
    for column, name in zip(lookup.columns, columns, strict=True):
        value = identifier(column, "spark")
        select.append(f"{f'map_entries({value})' if pa.types.is_map(held[column]) else value} AS {name}")
    select += [f"{event} AS e"]
    order = []
    if d.created_time is not None:
        select.append(f"{time_sql(side, d.created_time, facts)} AS created")
        order.append("created DESC NULLS LAST")
    if d.tie_breaker is not None:
        select.append(f"{identifier(d.tie_breaker, 'spark')} AS tie")
        order.append("tie DESC NULLS LAST")
    base = scan_sql(plan, facts, lookup.side, select, tests)
    if lookup.cut == "spine time" and lookup.kind == "point in time":
        base = f"SELECT * FROM ({newest_usable(base, keys, later)}) WHERE e = newest"
    elif lookup.cut == "spine time":
        base = f"SELECT *, created AS t FROM ({base})"
    elif lookup.kind == "point in time":
        base = f"SELECT *, {later} AS t FROM ({base})"
    time = ["t"] if lookup.by_time else []
    identity = [*keys, "t" if lookup.by_time else "e"]
    kept = [*keys, *columns, *(["t", "e"] if lookup.by_time else [])]
    signed = [name for c, name in zip(lookup.columns, columns, strict=True) if _has_floats(held[c])]
    picked = chosen(base, identity, order, kept, [*keys, *time], "spark", signed)
    made = [
        f"map_from_entries({name}) AS {name}" if pa.types.is_map(held[c]) else name
        for c, name in zip(lookup.columns, columns, strict=True)
    ]
    found = ", ".join([*keys, *time, f"struct({', '.join([*made, *aged, 'ambiguous AS a'])}) AS j"])
    return f"SELECT {found} FROM ({picked}) WHERE pick = 1"


def _has_floats(kind: pa.DataType) -> bool:
    fields = (kind.field(i).type for i in range(kind.num_fields))
    return pa.types.is_floating(kind) or any(map(_has_floats, fields))


def is_orderable(kind: pa.DataType) -> bool:
    """Whether Spark can compare and order values of the type: all but maps, and what has some in it."""
    if pa.types.is_map(kind):
        return False
    return all(is_orderable(kind.field(i).type) for i in range(kind.num_fields))
