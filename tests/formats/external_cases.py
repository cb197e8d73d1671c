"""Rows and conditions by chance: a database finds what a group of Headrace finds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import hypothesis
import pyarrow as pa
from hypothesis import strategies as st

import headrace as hr

NOON = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)
VALUES = {
    "id": st.integers(-3, 3),
    "f": st.none() | st.sampled_from([-1.5, 0.0, 0.1, 2.0, float("nan"), float("inf")]),
    "s": st.none() | st.sampled_from(["", "a", "A", "a ", "ä", "it's", "b\\n"]),
    "b": st.none() | st.booleans(),
    "at": st.none() | st.sampled_from([NOON, NOON + dt.timedelta(microseconds=1)]),
    "day": st.none() | st.sampled_from([dt.date(2026, 1, 2), dt.date(1969, 12, 31)]),
    "m": st.none() | st.sampled_from([Decimal("-1.10"), Decimal("0.00"), Decimal("1.10")]),
}
SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "f": pa.float64(),
        "s": pa.string(),
        "b": pa.bool_(),
        "at": pa.timestamp("us", "UTC"),
        "day": pa.date32(),
        "m": pa.decimal128(10, 2),
    }
)


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2):
    """Gives what makes a condition of a group."""
    kind = draw(st.sampled_from(["compare", "in", "null", "not", "and", "or"][: 6 if depth else 3]))
    name = draw(st.sampled_from(list(VALUES)))
    if kind in ("and", "or"):
        left, right = draw(conditions(depth - 1)), draw(conditions(depth - 1))
        return lambda g: left(g) & right(g) if kind == "and" else left(g) | right(g)
    if kind == "not":
        inner = draw(conditions(depth - 1))
        return lambda g: ~inner(g)
    if kind == "null":
        return lambda g: g[name].is_null()
    given = VALUES[name].filter(lambda value: value is not None)
    if kind == "in":
        several = draw(st.lists(given, max_size=3))
        return lambda g: g[name].isin(several)
    op = draw(st.sampled_from(["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"]))
    value = draw(given)
    return lambda g: getattr(g[name], op)(value)


def check(
    store: hr.FeatureStore,
    theirs: hr.FeatureGroup,
    fill: Callable[[list[dict[str, Any]]], None],
    *,
    nan: bool = True,
) -> None:
    """Random conditions give the rows that they give of the same rows in a group of Headrace.

    Args:
        fill: has the database hold these rows, and no others.
        nan: it knows NaN.
    """
    ours = store.create_feature_group("ours", primary_key=[], schema=SCHEMA)

    @hypothesis.settings(max_examples=hypothesis.settings.default.max_examples // 4)
    @hypothesis.given(
        rows=st.lists(st.fixed_dictionaries(VALUES), min_size=3, max_size=8),
        filters=st.lists(conditions(), min_size=4, max_size=4),
    )
    def agree(rows: list[dict[str, Any]], filters: list[Callable[[hr.FeatureGroup], hr.Column]]) -> None:
        if not nan:
            rows = [row | {"f": None} if row["f"] != row["f"] else row for row in rows]
        ours.insert(pa.Table.from_pylist(rows, SCHEMA), mode="overwrite")
        fill(rows)
        for make in filters:
            found = [
                sorted(map(repr, group.read(filter=make(group)).to_arrow().to_pylist()))
                for group in (ours, theirs)
            ]
            assert found[0] == found[1]

    agree()
