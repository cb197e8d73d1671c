"""Breaks the planner on purpose, in ways that planners do break, and expects the reference to notice.

Each mutation rewrites the statements, or the plan, of an embedded store as it is read. One that no example
tells from the real thing would mean that the property test proves nothing about it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import hypothesis
import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

from contract.cases import Case, cases
from contract.driver import compare_answers, set_up
from headrace.planning.duckdb_sql import SPINE_ROW, Program
from headrace.planning.plan import Plan
from headrace.service import reading, running, scanning

pytestmark = pytest.mark.filterwarnings("ignore:.*min_age:UserWarning", "ignore:.*can match:UserWarning")

Rewrite = Callable[[exp.Expression], exp.Expression]


def rewrite_sql(patch: pytest.MonkeyPatch, rewrite: Rewrite) -> None:
    """Every statement of every read goes through `rewrite`, node by node."""
    real = running.render

    def change(sql: str) -> str:
        return sqlglot.parse_one(sql, dialect="duckdb").transform(rewrite).sql(dialect="duckdb")

    def render(*arguments: Any) -> Program:
        program = real(*arguments)
        return dataclasses.replace(
            program, stages=tuple(map(change, program.stages)), query=change(program.query)
        )

    patch.setattr(running, "render", render)


def rewrite_lookups(patch: pytest.MonkeyPatch, **changes: Any) -> None:
    real = reading.make_plan

    def make_plan(*arguments: Any) -> Plan:
        plan = real(*arguments)
        return dataclasses.replace(
            plan, lookups=tuple(dataclasses.replace(x, **changes) for x in plan.lookups)
        )

    patch.setattr(reading, "make_plan", make_plan)


def nothing(patch: pytest.MonkeyPatch) -> None:
    """The rewriting alone."""
    rewrite_sql(patch, lambda node: node)


def at_or_before_made_before(patch: pytest.MonkeyPatch) -> None:
    def rewrite(node: exp.Expression) -> exp.Expression:
        in_asof = isinstance(node, exp.GTE) and isinstance(node.find_ancestor(exp.Join, exp.Select), exp.Join)
        return exp.GT(this=node.this, expression=node.expression) if in_asof else node

    rewrite_sql(patch, rewrite)


def age_limit_made_exclusive(patch: pytest.MonkeyPatch) -> None:
    def rewrite(node: exp.Expression) -> exp.Expression:
        of_an_age = isinstance(node, exp.GTE) and isinstance(node.expression, exp.Sub)
        return exp.GT(this=node.this, expression=node.expression) if of_an_age else node

    rewrite_sql(patch, rewrite)


def keys_concatenated(patch: pytest.MonkeyPatch) -> None:
    def rewrite(node: exp.Expression) -> exp.Expression:
        on = node.args.get("on") if isinstance(node, exp.Join) else None
        parts = list(on.flatten()) if isinstance(on, exp.And) else [on]
        keys = [part for part in parts if isinstance(part, exp.EQ) and "k_" in part.expression.name]
        if len(keys) < 2:
            return node
        sides = [
            exp.Concat(expressions=[getattr(key, side).copy() for key in keys])
            for side in ("this", "expression")
        ]
        rest = [part.copy() for part in parts if part not in keys]
        node.set("on", exp.and_(exp.EQ(this=sides[0], expression=sides[1]), *rest))
        return node

    rewrite_sql(patch, rewrite)


def rows_identified_by_their_keys(patch: pytest.MonkeyPatch) -> None:
    real = running.engine_spine

    def engine_spine(*arguments: Any) -> tuple[pa.Table, bool]:
        spine, nanos = real(*arguments)
        keys = ["".join(map(str, row.values())) for row in spine.drop_columns([SPINE_ROW]).to_pylist()]
        different = list(dict.fromkeys(keys))
        rows = pa.array([different.index(key) for key in keys], spine.schema.field(SPINE_ROW).type)
        return spine.set_column(spine.schema.get_field_index(SPINE_ROW), SPINE_ROW, rows), nanos

    patch.setattr(running, "engine_spine", engine_spine)


def nothing_deduplicated(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(scanning.Scanner, "_is_unique", lambda *_: True)


def ties_decided_the_wrong_way(patch: pytest.MonkeyPatch) -> None:
    def rewrite(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Ordered) and node.args.get("desc"):
            node.set("desc", False)
        return node

    rewrite_sql(patch, rewrite)


def order_lost(patch: pytest.MonkeyPatch) -> None:
    def rewrite(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Select) and node.args.get("order"):
            node.set(
                "order", exp.Order(expressions=[exp.Ordered(this=exp.column("n", table="r"), desc=True)])
            )
        return node

    rewrite_sql(patch, rewrite)


def no_ttl(patch: pytest.MonkeyPatch) -> None:
    rewrite_lookups(patch, max_age=None)


def no_min_age(patch: pytest.MonkeyPatch) -> None:
    rewrite_lookups(patch, min_age=0)


def known_at_ignored(patch: pytest.MonkeyPatch) -> None:
    rewrite_lookups(patch, cut=None)


def inner_made_left(patch: pytest.MonkeyPatch) -> None:
    rewrite_lookups(patch, how="left")


MUTATIONS = [
    at_or_before_made_before,
    age_limit_made_exclusive,
    keys_concatenated,
    rows_identified_by_their_keys,
    nothing_deduplicated,
    ties_decided_the_wrong_way,
    order_lost,
    no_ttl,
    no_min_age,
    known_at_ignored,
    inner_made_left,
]


@pytest.mark.slow
@pytest.mark.soak
def test_the_reference_notices_each(embedded_store):
    unnoticed = list(MUTATIONS)

    @hypothesis.settings(
        max_examples=250, phases=[hypothesis.Phase.generate], derandomize=True, database=None
    )
    @hypothesis.given(cases())
    def run(case: Case) -> None:
        if not unnoticed:
            return
        asked = set_up(embedded_store, case)
        noticed = [mutation for mutation in unnoticed if not agree(mutation, case, asked)]
        if noticed:
            assert agree(nothing, case, asked)
        unnoticed[:] = [mutation for mutation in unnoticed if mutation not in noticed]

    run()
    assert [mutation.__name__ for mutation in unnoticed] == []


def agree(mutation: Callable[[pytest.MonkeyPatch], None], case: Case, asked: tuple[Any, Any]) -> bool:
    """Whether store and reference still agree. Errors of the store are no difference, and come out."""
    with pytest.MonkeyPatch.context() as patch:
        mutation(patch)
        try:
            compare_answers(case, *asked)
        except AssertionError:
            return False
    return True
