"""Queries in SQL that are reads of one group: planned as such, with the answers of SQL."""

from __future__ import annotations

import datetime as dt
import decimal

import pyarrow as pa
import pytest

import headrace as hr

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3, 4], pa.int64()),
        "Small": pa.array([-1, None, 127, 0], pa.int8()),
        "at": pa.array([START, None, START, START], pa.timestamp("us", "UTC")),
        "name": ["a", "A", None, "a'b"],
        "x": [0.5, float("nan"), None, -0.0],
        "price": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("-2.25"), decimal.Decimal(0)]),
        "is_open": [True, False, None, True],
        "tags": pa.array([["a"], [], None, ["b", None]], pa.list_(pa.string())),
    }
)


@pytest.fixture
def group(store: hr.FeatureStore) -> hr.FeatureGroup:
    group = store.create_feature_group("simple", primary_key=["id"])
    group.insert(ROWS)
    return group


def asked(store: hr.FeatureStore, sql: str, params: object = None) -> tuple[pa.Table, bool]:
    """The rows, and whether they were planned as a read."""
    result = store.sql(sql, params)
    return result.to_arrow(), result._prepared.request.sql is None


@pytest.mark.parametrize(
    ("sql", "params"),
    [
        ("SELECT * FROM simple", None),
        ("FROM simple", None),
        ('SELECT * FROM "simple@v1" AS t', None),
        ("SELECT NAME, small, Id FROM SIMPLE", None),
        ("SELECT * FROM simple WHERE id = 2", None),
        ("SELECT x FROM simple WHERE small = -1", None),
        ("SELECT x FROM simple WHERE small = 1000", None),
        ("SELECT id FROM simple WHERE name = 'a'", None),
        ("SELECT id FROM simple WHERE name = 'a''b' AND id = 4 AND small = 0", None),
        ("SELECT id FROM simple WHERE name = 'a' AND name = 'A'", None),
        ("SELECT id, tags FROM simple WHERE id = ? AND name = ?", [1, "a"]),
        ("SELECT * FROM simple AT (VERSION => 0) WHERE id = 3", None),
    ],
)
def test_what_is_a_read(store, group, sql, params) -> None:
    found, is_read = asked(store, sql, params)
    assert is_read
    # The same, said so that it is no simple query any more.
    expected, is_read = asked(store, f"SELECT * FROM ({sql}) WHERE true ORDER BY ALL", params)
    assert not is_read
    assert found.schema.equals(expected.schema)
    order = [(name, "ascending") for name in found.schema.names if name != "tags"]
    assert repr(found.sort_by(order).to_pylist()) == repr(expected.sort_by(order).to_pylist())


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id AS n FROM simple",
        "SELECT id + 1 AS n FROM simple",
        "SELECT DISTINCT name FROM simple",
        "SELECT id FROM simple LIMIT 1",
        "SELECT id FROM simple ORDER BY id",
        "SELECT * EXCLUDE (id) FROM simple",
        "SELECT * REPLACE (id + 1 AS id) FROM simple",
        "SELECT t.* FROM simple t",
        "SELECT COLUMNS(*) FROM simple",
        "SELECT count(*) AS n FROM simple",
        "SELECT id FROM simple WHERE id = 1 OR id = 2",
        "SELECT id FROM simple WHERE id > 1",
        "SELECT id FROM simple WHERE x = 0.5",
        "SELECT id FROM simple WHERE x = 0",
        "SELECT id FROM simple WHERE price = 1.5",
        "SELECT id FROM simple WHERE at = '2026-01-01'",
        "SELECT id FROM simple WHERE id = '2'",
        "SELECT id FROM simple WHERE 2 = id",
        "SELECT id FROM simple WHERE id = 99999999999999999999",
        "SELECT id FROM simple WHERE is_open = true",
        "SELECT id FROM simple WHERE name = NULL",
        "SELECT id FROM simple QUALIFY row_number() OVER (ORDER BY id) = 1",
        "SELECT id FROM simple GROUP BY id",
        "SELECT id FROM simple t(a, b) WHERE id = 3",
        "SELECT a FROM simple t(a)",
        "WITH simple AS (SELECT 1 AS id) SELECT id FROM simple",
        "SELECT a.id FROM simple a, simple b WHERE a.id = b.id",
    ],
)
def test_what_is_more(store, group, sql) -> None:
    try:
        _, is_read = asked(store, sql)
    except hr.SqlRejected:
        return
    assert not is_read


class TestAskedAgain:
    SQL = "SELECT count(*) AS n, sum(id) AS s FROM simple"

    def test_it_sees_every_commit(self, store, group) -> None:
        assert asked(store, self.SQL)[0]["n"].to_pylist() == [4]
        for number in range(3):
            group.insert(ROWS.slice(0, 1).set_column(0, "id", pa.array([10 + number], pa.int64())))
            assert asked(store, self.SQL)[0]["n"].to_pylist() == [5 + number]
            assert asked(store, "SELECT * FROM simple")[0].num_rows == 5 + number

    def test_of_another_version(self, store, group) -> None:
        assert asked(store, self.SQL)[0]["n"].to_pylist() == [4]
        store.create_feature_group("simple", primary_key=["id"], version=2).insert(ROWS.slice(0, 1))
        assert asked(store, self.SQL)[0]["n"].to_pylist() == [1]
        assert asked(store, 'SELECT count(*) AS n FROM "simple@v1"')[0]["n"].to_pylist() == [4]

    def test_of_a_group_that_has_gone_and_come_back(self, store, group) -> None:
        assert asked(store, self.SQL)[0]["n"].to_pylist() == [4]
        store.delete_feature_group("simple", 1)
        with pytest.raises(hr.NotFound):
            store.sql(self.SQL)
        store.create_feature_group("simple", primary_key=["other"], version=1).insert(
            pa.table({"other": [1]})
        )
        with pytest.raises(hr.SqlRejected):
            store.sql(self.SQL)
        assert asked(store, "SELECT count(*) AS n FROM simple")[0]["n"].to_pylist() == [1]

    def test_of_a_view_and_of_what_takes_its_name(self, store, group) -> None:
        timed = store.create_feature_group("timed", primary_key=["id"], event_time="at")
        timed.insert(ROWS.filter(pa.array([True, False, True, True])))
        store.create_feature_view("one", timed.select("id"))
        sql = "SELECT count(*) AS n FROM one"
        assert asked(store, sql)[0]["n"].to_pylist() == [3]
        timed.insert(ROWS.slice(0, 1).set_column(0, "id", pa.array([9], pa.int64())))
        assert asked(store, sql)[0]["n"].to_pylist() == [4]
        store.create_feature_group("one", primary_key=["id"]).insert(ROWS)
        store.create_feature_group("one", primary_key=["id"]).insert(ROWS.slice(0, 2))
        assert asked(store, sql)[0]["n"].to_pylist() == [2]

    def test_with_other_values(self, store, group) -> None:
        sql = "SELECT name FROM simple WHERE id = ? AND small IS NOT NULL"
        assert [asked(store, sql, [n])[0]["name"].to_pylist() for n in (1, 4, 1)] == [["a"], ["a'b"], ["a"]]
