"""Asks Headrace what a case asks of the reference, and compares the two answers."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from typing import Any

import pyarrow as pa

import headrace as hr
from conftest import fresh
from contract.cases import Case, Stored
from reference.condition import Condition
from reference.point_in_time import Ambiguous, Answer, Call, Join, Query, answer

OPERATORS = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def check(store: hr.FeatureStore, case: Case) -> None:
    """Write the case's groups, ask its query in each of its ways, and compare with the reference."""
    compare_answers(case, *set_up(store, case))


def set_up(store: hr.FeatureStore, case: Case) -> tuple[hr.Query, hr.FeatureView | None]:
    """The case's query over its groups, which are written, and a view of it where one is asked."""
    made = {group.table.name: write(store, group) for group in case.groups}
    query = build(case.query, made)
    views = any(kind != "read" for kind, _ in case.calls)
    return query, store.create_feature_view(fresh("view"), query, labels=case.labels) if views else None


def compare_answers(case: Case, query: hr.Query, view: hr.FeatureView | None) -> None:
    for kind, call in case.calls:
        try:
            expected = answer(case.query, call)
        except Ambiguous:
            expected = None
        compare(ask(query, view, kind, call, case), expected, ordered=call.spine is not None)


def write(store: hr.FeatureStore, group: Stored) -> tuple[hr.FeatureGroup, list[hr.Commit]]:
    """The group, and the commit of each write."""
    table = group.table
    made = store.create_feature_group(
        fresh(table.name), primary_key=table.key, event_time=table.event_time, created_time=table.created_time,
        partition_by=table.partition_by, tie_breaker=table.tie_breaker, ttl=table.ttl, min_age=table.min_age,
        schema=group.schema,
    )  # fmt: skip
    commits = []
    for mode, rows in group.writes:
        given = pa.Table.from_pylist(rows, group.schema)
        # A reader of two batches, because a table of one hides what is done batch by batch.
        batches = [*given.slice(0, 2).to_batches(), *given.slice(2).to_batches()]
        commits.append(made.insert(pa.RecordBatchReader.from_batches(group.schema, batches), mode=mode))
    return made, commits


def build(query: Query, made: dict[str, tuple[hr.FeatureGroup, list[hr.Commit]]]) -> hr.Query:
    root, _ = made[query.root.name]
    asked = root.filter(column_of(query.where, root)) if query.where else root
    asked = asked.select(*query.columns) if query.columns else asked
    for join in query.joins:
        asked = asked.join(
            right_side(join, *made[join.table.name]),
            on=None if join.on is None else dict(join.on),
            how=join.how, prefix=join.prefix, max_age=join.max_age, min_age=join.min_age,
            point_in_time=join.point_in_time,
        )  # fmt: skip
    return asked.filter(column_of(query.having, asked)) if query.having else asked


def right_side(join: Join, group: hr.FeatureGroup, commits: list[hr.Commit]) -> hr.FeatureGroup | hr.Query:
    side: hr.FeatureGroup | hr.Query = (
        group if join.state == -1 else group.as_of(snapshot=commits[join.state - 1].snapshot)
    )
    if join.where:
        side = side.filter(column_of(join.where, group))
    return side if join.columns is None else side.select(*join.columns)


def column_of(condition: Condition, names: Any) -> hr.Column:
    """The condition, with columns taken from `names["…"]`: a group or a query."""
    match condition:
        case ("compare", op, name, value):
            return OPERATORS[op](names[name], value)
        case ("in", name, values):
            return names[name].isin(values)
        case ("like", name, pattern):
            return names[name].like(pattern)
        case ("nan", name):
            return names[name].is_nan()
        case ("null", name):
            return names[name].is_null()
        case ("not", inner):
            return ~column_of(inner, names)
        case ("and", first, second):
            return column_of(first, names) & column_of(second, names)
        case ("or", first, second):
            return column_of(first, names) | column_of(second, names)
    raise ValueError(condition)


def ask(query: hr.Query, view: hr.FeatureView | None, kind: str, call: Call, case: Case) -> hr.Result:
    if view is None or kind == "read":
        return query.read(known_at=call.known_at)
    options: dict[str, Any] = {"start": call.start, "end": call.end, "known_at": call.known_at}
    options |= {"max_age": call.max_age, "min_age": call.min_age, "event_time": call.event_time}
    if call.spine is not None:
        schema = pa.schema([(name, case.spine_types[name]) for name in call.spine_columns])
        options["spine"] = pa.Table.from_pylist(call.spine, schema)
    return view.training_data(**options) if kind == "training" else view.batch_data(**options)


def compare(result: hr.Result, expected: Answer | None, *, ordered: bool) -> None:
    """None is expected where rows cannot be told apart."""
    try:
        table = result.to_arrow()
    except hr.AmbiguousRows:
        assert expected is None or expected.doubtful, "ambiguous, where the reference has an answer"
        return
    assert expected is not None, f"the reference finds rows ambiguous, here are {table.to_pylist()}"
    assert table.schema.names == expected.names
    assert table.schema == result.schema
    found = [tuple(map(plain, row.values())) for row in table.to_pylist()]
    wanted = [tuple(map(plain, row.values())) for row in expected.rows]
    if not ordered:
        found, wanted = sorted(found, key=repr), sorted(wanted, key=repr)
    assert found == wanted


def plain(value: Any) -> Any:
    """The value in a form in which equal values are equal: NaN, times of any zone, decimals of any scale."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC)
    if isinstance(value, decimal.Decimal):
        return value.normalize()
    return tuple(map(plain, value)) if isinstance(value, list) else value
