"""Whatever was kept before, a read gives what it would give without a cache."""

from __future__ import annotations

import datetime as dt
import decimal
import random
from collections.abc import Iterator
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import given, settings

import headrace as hr
from headrace.client import remote
from headrace.config import store_config
from headrace.wiring import Service

ROWS = 200
START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
FEATURES = ["number", "real", "text", "moment", "day", "price", "flag", "several"]


def table(seed: int, key: str) -> pa.Table:
    rng = random.Random(seed)

    def some(values: list[Any]) -> list[Any]:
        return [None if rng.random() < 0.1 else rng.choice(values) for _ in range(ROWS)]

    return pa.table(
        {
            key: pa.array([rng.randrange(20) for _ in range(ROWS)] if key == "who" else [*range(ROWS)], pa.int64()),
            "at": pa.array([START + dt.timedelta(minutes=7 * i) for i in range(ROWS)], pa.timestamp("us", "UTC")),
            "number": pa.array(some([*range(10)]), pa.int32()),
            "real": pa.array(some([0.5, -1.0, float("nan"), float("inf")]), pa.float64()),
            "text": pa.array(some(["a", "b", "", "ä\n"]), pa.string()),
            "moment": pa.array(some([START, START + dt.timedelta(days=1)]), pa.timestamp("us", "UTC")),
            "day": pa.array(some([dt.date(2026, 1, 1), dt.date(2026, 1, 2)]), pa.date32()),
            "price": pa.array(some([decimal.Decimal("1.50"), decimal.Decimal("-2.25")]), pa.decimal128(10, 2)),
            "flag": pa.array(some([True, False]), pa.bool_()),
            "several": pa.array(some([[1, 2], [], [None]]), pa.list_(pa.int64())),
        }
    )  # fmt: skip


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[hr.FeatureStore, hr.FeatureStore]]:
    """One with a cache, which is asked first for what is wide, and one without."""
    root = tmp_path_factory.mktemp("cached") / "lake"
    with hr.connect(root) as plain:
        rows = table(1, "id").append_column("who", pa.array([i % 25 for i in range(ROWS)]))
        plain.create_feature_group("root", primary_key=["id"], event_time="at").insert(rows)
        plain.create_feature_group("side", primary_key=["who"], event_time="at").insert(table(2, "who"))
        plain.create_feature_group("other", primary_key=["who"]).insert(
            table(3, "id").rename_columns(["who", *table(3, "id").schema.names[1:]]).slice(0, 15)
        )
        service = Service(
            store_config(str(root)), ["grpc://127.0.0.1:0"], cache_bytes=3_000_000, predicts=False
        )
        assert service._store.cache is not None
        service._store.cache.least_seconds = 0
        with hr.connect(service.listening[0], timeout=60) as cached:
            yield cached, plain
            assert cached.cache.stats().hits > 20
        service.stop()


Condition = tuple[str, str, str, Any]


def condition(query: hr.Query, told: Condition) -> Any:
    side, column, op, value = told
    found = query[f"{side}{column}"]
    match op:
        case "null":
            return found.is_null()
        case "known":
            return found.is_not_null()
        case "<":
            return found < value
        case ">=":
            return found >= value
        case "in":
            return found.isin([value])
    return found == value


VALUES = {
    "number": st.integers(-1, 11),
    "real": st.sampled_from([0.5, -1.0, 3.25]),
    "text": st.sampled_from(["a", "b", "", "ä\n", "z"]),
    "moment": st.sampled_from([START, START + dt.timedelta(hours=30)]),
    "day": st.sampled_from([dt.date(2026, 1, 1), dt.date(2026, 1, 3)]),
    "price": st.sampled_from([decimal.Decimal("1.50"), decimal.Decimal("0")]),
}


@st.composite
def conditions(draw: st.DrawFn) -> Condition:
    column = draw(st.sampled_from([*VALUES]))
    op = draw(st.sampled_from(["=", "<", ">=", "in", "null", "known"]))
    return draw(st.sampled_from(["", "s_", "o_"])), column, op, draw(VALUES[column])


CASES = st.fixed_dictionaries(
    {
        "columns": st.lists(st.sampled_from(FEATURES), min_size=1, max_size=5, unique=True),
        "side": st.lists(st.sampled_from(FEATURES), min_size=1, max_size=5, unique=True),
        "other": st.lists(st.sampled_from(FEATURES), max_size=4, unique=True),
        "inner": st.booleans(),
        "max_age": st.sampled_from([None, "2h"]),
        "conditions": st.lists(conditions(), max_size=3),
        "start": st.sampled_from([None, 100, 400]),
        "computed": st.booleans(),
        "mapped": st.booleans(),
    }
)


def read(store: hr.FeatureStore, case: dict[str, Any], *, wide: bool = False) -> pa.Table:
    """`wide` asks for the columns alone that conditions may be on, and for all rows."""
    root, side, other = (store.get_feature_group(name) for name in ("root", "side", "other"))
    query = root.select("id", "at", *(FEATURES if wide else case["columns"]))
    query = query.join(
        side.select(*(FEATURES if wide else case["side"])), on="who", prefix="s_",
        how="inner" if case["inner"] else "left", max_age=case["max_age"],
    )  # fmt: skip
    if wide or case["other"]:
        query = query.join(other.select(*(FEATURES if wide else case["other"])), on="who", prefix="o_")
    if case["computed"]:
        query = query.with_columns(more="id * 2")
    if not wide:
        for told in case["conditions"]:
            if f"{told[0]}{told[1]}" in query.schema.names:
                query = query.filter(condition(query, told))
    name = f"v{abs(hash((repr(case), wide)))}"
    view = store.get_or_create_feature_view(name, query)
    start = None if wide or case["start"] is None else START + dt.timedelta(minutes=case["start"])
    return view.training_data(start).to_arrow()


def shown(rows: pa.Table) -> list[str]:
    return sorted(map(repr, rows.to_pylist()))


@pytest.mark.hypothesis
@settings(max_examples=60)
@given(case=CASES)
def test_as_without_a_cache(stores: tuple[hr.FeatureStore, hr.FeatureStore], case: dict[str, Any]) -> None:
    cached, plain = stores
    with pytest.MonkeyPatch.context() as patch:
        if not case["mapped"]:
            patch.setattr(remote, "mapped_rows", lambda _: None)
        read(cached, case, wide=True)
        expected = read(plain, case)
        for _ in range(2):
            found = read(cached, case)
            assert found.schema == expected.schema
            assert shown(found) == shown(expected)


NAMES = ["a", "b", "root", "side", "number", "text", "v", "s"]
"""Of tables within a query: some are names of columns, too, or of other tables."""
QUERIES = st.fixed_dictionaries(
    {
        "names": st.lists(st.sampled_from(NAMES), min_size=2, max_size=2, unique=True),
        "columns": st.lists(
            st.sampled_from(
                ["{0}.id", "{1}.number", "{0}.number AS n", "{1}.text AS number", "{0}.number + {1}.number AS v", "{0}.text"]
            ),
            min_size=1, max_size=4, unique=True,
        ),
        "wheres": st.lists(
            st.sampled_from(
                ["{0}.number > 3", "3 < {0}.number", "{1}.text = 'a'", "'a' <> {1}.text", "{0}.number = {1}.number",
                 "({0}.flag OR {1}.flag)", "({1}.flag OR {0}.flag)", "{0}.number >= 3",
                 "EXISTS (SELECT 1 FROM other {1} WHERE {1}.number = {0}.number)"]
            ),
            max_size=4, unique=True,
        ),
        "outer": st.booleans(),
        "way": st.sampled_from(["{}", "{}", "SELECT DISTINCT * FROM ({}) q", "SELECT count(*) AS c FROM ({}) AS number", "{} ORDER BY 1", "{} ORDER BY ALL LIMIT 7"]),
    }
)  # fmt: skip


def written(case: dict[str, Any]) -> str:
    columns, join = ", ".join(case["columns"]), "LEFT JOIN" if case["outer"] else "JOIN"
    wheres = " WHERE " + " AND ".join(case["wheres"]) if case["wheres"] else ""
    sql = f"SELECT {columns} FROM root AS {{0}} {join} side AS {{1}} ON {{0}}.who = {{1}}.who{wheres}"
    return str(case["way"].format(sql.format(*case["names"])))


@pytest.mark.hypothesis
@settings(max_examples=100)
@given(case=QUERIES)
def test_sql_as_without_a_cache(
    stores: tuple[hr.FeatureStore, hr.FeatureStore], case: dict[str, Any]
) -> None:
    cached, plain = stores
    sql = written(case)
    try:
        expected = plain.sql(sql).to_arrow()
    except hr.HeadraceError as error:
        with pytest.raises(type(error)):
            cached.sql(sql).to_arrow()
        return
    for _ in range(2):
        found = cached.sql(sql).to_arrow()
        assert found.schema == expected.schema
        assert shown(found) == shown(expected)
