"""Queries in SQL: groups and views of any project as tables, older snapshots, parameters."""

from __future__ import annotations

import datetime as dt
import decimal

import pyarrow as pa
import pytest

import headrace as hr
from conftest import fresh
from contract.helpers import values

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


@pytest.fixture
def flights(store):
    group = store.create_feature_group("flights", primary_key=["id"], event_time="dep")
    group.insert(
        pa.table(
            {
                "id": range(4),
                "dep": [START + dt.timedelta(hours=i) for i in range(4)],
                "origin": ["JFK", "EWR", "JFK", None],
                "delay": [0.0, 1.0, 2.0, 3.0],
            }
        )
    )
    return group


@pytest.fixture
def delays(store, flights):
    """A view: each flight with the temperature that was known."""
    weather = store.create_feature_group("weather", primary_key=["origin"], event_time="seen")
    weather.insert([{"origin": "JFK", "seen": START + dt.timedelta(hours=1), "temp": 5.0}])
    query = flights.select("id", "delay").join(weather, on="origin")
    return store.create_feature_view("delays", query, labels=["delay"])


def rows(store, sql, params=None):
    return store.sql(sql, params).to_arrow().to_pylist()


class TestTables:
    @pytest.mark.parametrize(
        "name", ["flights", "FLIGHTS", '"flights@v1"', "{project}.flights", 'headrace.{project}."flights@v1"']
    )
    def test_a_group_by_each_of_its_names(self, store, flights, name):
        name = name.format(project=f'"{store.project}"')
        assert rows(store, f"SELECT sum(id) AS n FROM {name}") == [{"n": 6}]

    def test_columns_by_their_whole_names(self, store, flights):
        table = f'"{store.project}".flights'
        found = rows(
            store, f"SELECT {table}.id, flights.delay FROM {table} WHERE {table}.id = 2 ORDER BY {table}.id"
        )
        assert found == [{"id": 2, "delay": 2.0}]

    def test_a_query_of_its_own_goes_before_a_group(self, store, flights):
        assert rows(store, "WITH flights AS (SELECT 7 AS n) SELECT n FROM flights") == [{"n": 7}]
        assert rows(
            store, f'WITH flights AS (SELECT 7 AS n) SELECT count(*) AS n FROM "{store.project}".flights'
        ) == [{"n": 4}]

    def test_a_name_of_its_own_outside_ascii(self, store):
        assert rows(store, "WITH Übersicht AS (SELECT 7 AS n) SELECT n FROM Übersicht") == [{"n": 7}]

    def test_a_name_of_its_own_that_looks_like_another_project(self, store, flights):
        query = f'WITH "{store.project}.flights" AS (SELECT 7 AS n) SELECT count(*) AS n FROM "{store.project}".flights'
        assert rows(store, query) == [{"n": 4}]

    def test_a_view_gives_its_training_data(self, store, delays):
        expected = delays.training_data().to_arrow().sort_by("id")
        assert store.sql("SELECT * FROM delays ORDER BY id").to_arrow().equals(expected)

    def test_a_view_twice_and_with_a_group(self, store, delays):
        query = """
            SELECT a.id, b.temp, f.origin FROM delays a JOIN "delays@v1" b USING (id) JOIN flights f USING (id)
            WHERE a.temp IS NOT NULL"""
        assert rows(store, query) == [{"id": 2, "temp": 5.0, "origin": "JFK"}]

    def test_a_group_goes_before_a_view_of_its_name(self, store, flights):
        store.create_feature_view("flights", flights.select("id"))
        assert len(store.sql("SELECT * FROM flights").schema) == 4

    def test_a_view_that_has_no_training_data(self, store):
        plain = store.create_feature_group("plain", primary_key=["id"])
        plain.insert([{"id": 1}])
        store.create_feature_view("timeless", plain.select("id"))
        with pytest.raises(hr.InvalidArgument, match="table 'timeless'"):
            store.sql("SELECT * FROM timeless")

    def test_a_view_whose_rows_are_ambiguous(self, store, flights):
        log = store.create_feature_group("log", primary_key=["origin"], event_time="at")
        log.insert([{"origin": "JFK", "at": START, "x": x} for x in (1, 2)], mode="append")
        store.create_feature_view("doubled", flights.select("id").join(log, on="origin"))
        with pytest.raises(hr.AmbiguousRows, match="log@v1"):
            store.sql("SELECT * FROM doubled").to_arrow()

    def test_what_is_not_there(self, store, flights):
        for name in ("none", "nowhere.flights", "headrace.nowhere.flights"):
            with pytest.raises(hr.NotFound, match="table"):
                store.sql(f"SELECT * FROM {name}")
        with pytest.raises(hr.SqlRejected):
            store.sql(f"SELECT * FROM elsewhere.{store.project}.flights")

    def test_the_snapshots_that_it_is_of(self, store, delays):
        assert store.sql("SELECT * FROM delays").snapshots == {"flights@v1": 0, "weather@v1": 0}


@pytest.mark.parametrize("depth", [60, 70, 300])
def test_lists_in_lists(store, depth):
    try:
        answer = store.sql(f"SELECT {'[' * depth}1{']' * depth} AS x").to_arrow()
    except hr.SqlRejected:
        assert depth > 60
    else:
        assert answer.num_rows == 1


class TestOlderSnapshots:
    def test_of_a_group(self, store, flights):
        then = flights.history(1)[0].timestamp
        flights.insert([{"id": 9, "dep": START, "origin": "JFK", "delay": 9.0}])
        count = "SELECT count(*) AS n FROM flights"
        assert rows(store, f"{count} AT (VERSION => 0)") == [{"n": 4}]
        assert rows(store, f"{count} AT (TIMESTAMP => '{then.isoformat()}')") == [{"n": 4}]
        assert rows(store, f"{count} AT (TIMESTAMP => TIMESTAMPTZ '{then.isoformat()}')") == [{"n": 4}]
        assert rows(store, f"{count} AT (VERSION => ?)", [0]) == [{"n": 4}]
        both = "SELECT count(*) AS n FROM flights LEFT JOIN flights AS old AT (VERSION => 0) USING (id) WHERE old.id IS NULL"
        assert rows(store, both) == [{"n": 1}]

    def test_of_a_view(self, store, flights, delays):
        then = max(group.history(1)[0].timestamp for group in (flights, store.get_feature_group("weather")))
        flights.insert([{"id": 9, "dep": START, "origin": "JFK", "delay": 9.0}])
        assert rows(store, f"SELECT count(*) AS n FROM delays AT (TIMESTAMP => '{then.isoformat()}')") == [
            {"n": 4}
        ]
        with pytest.raises(hr.InvalidArgument, match="is a feature view"):
            store.sql("SELECT * FROM delays AT (VERSION => 0)")

    @pytest.mark.parametrize(
        "at", ["VERSION => 99", "TIMESTAMP => '2020-01-01'"]
    )  # fmt: skip
    def test_that_there_is_none(self, store, flights, at):
        with pytest.raises(hr.SnapshotNotFound):
            store.sql(f"SELECT * FROM flights AT ({at})")

    @pytest.mark.parametrize(
        "at",
        ["VERSION => -1", "VERSION => 1.5", "VERSION => '1'", "VERSION => id", "VERSION => (SELECT 1)", "TIMESTAMP => 1", f"VERSION => {10**30}"],
    )  # fmt: skip
    def test_that_is_none(self, store, flights, at):
        with pytest.raises(hr.SqlRejected):
            store.sql(f"SELECT * FROM flights AT ({at})")

    def test_a_time_that_is_none(self, store, flights):
        with pytest.raises(hr.InvalidArgument, match="yesterday"):
            store.sql("SELECT * FROM flights AT (TIMESTAMP => 'yesterday')")


class TestParameters:
    @pytest.mark.parametrize(
        "value",
        [
            True, 0, -(2**63), 1.5, float("inf"), "", "it's; -- \"q\" \\ ❄", b"", b"\x00'\xff",
            dt.date(1, 1, 1), START, decimal.Decimal("-0.50"), None,
        ],
    )  # fmt: skip
    def test_come_back_as_they_are(self, store, value):
        assert rows(store, "SELECT ? AS x", [value]) == [{"x": value}]

    def test_by_place_number_and_name(self, store, flights):
        assert rows(store, "SELECT id FROM flights WHERE id > ? AND origin = ?", [0, "JFK"]) == [{"id": 2}]
        assert rows(store, "SELECT $2 - $1 AS x", [1, 3]) == [{"x": 2}]
        assert rows(store, "SELECT $low + $low AS x, $high AS y", {"low": 1, "high": 3}) == [{"x": 2, "y": 3}]

    def test_name_their_columns(self, store):
        assert rows(store, "SELECT ?, ?", [1, 1]) == [{"$1": 1, "$2": 1}]

    def test_are_no_sql(self, store, flights):
        assert rows(store, "SELECT count(*) AS n FROM flights WHERE origin = ?", ["x' OR '1' = '1"]) == [
            {"n": 0}
        ]

    def test_where_a_number_is_needed(self, store, flights):
        assert len(rows(store, "SELECT id FROM flights ORDER BY id LIMIT ? OFFSET ?", [2, 1])) == 2

    @pytest.mark.parametrize(
        ("sql", "params"),
        [
            ("SELECT ?", None), ("SELECT ?", []), ("SELECT ?", [1, 2]), ("SELECT 1", [1]), ("SELECT $a", {"b": 1}),
            ("SELECT $a", {}), ("SELECT ?", 5), ("SELECT ?", "text"), ("SELECT ?", [object()]), ("SELECT ?", [[1]]),
            ("SELECT ?", ["a\0b"]), ("SELECT ?", ["\ud800"]), ("SELECT $a", {1: 1}), ("SELECT ?", [2**2000]),
        ],
    )  # fmt: skip
    def test_that_do_not_fit(self, store, sql, params):
        with pytest.raises(hr.InvalidArgument):
            store.sql(sql, params).to_arrow()

    def test_cannot_name_tables(self, store, flights):
        with pytest.raises(hr.HeadraceError):
            store.sql("SELECT * FROM ?", ["flights"])


def test_the_result_stays_as_the_tables_go_on(store, flights):
    result = store.sql("SELECT id FROM flights WHERE id < ? ORDER BY id", [2])
    flights.delete(filter=flights["id"] == 0)
    assert values(result, "id") == [0, 1]


def test_of_another_project(target, store, flights):
    with hr.connect(target, project=fresh("elsewhere")) as other:
        assert rows(other, f'SELECT count(*) AS n FROM "{store.project}".flights') == [{"n": 4}]
        with pytest.raises(hr.NotFound):
            other.sql("SELECT * FROM flights")
