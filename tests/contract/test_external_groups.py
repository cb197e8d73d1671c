"""Tables of other databases as feature groups: a real PostgreSQL and SQLite."""

from __future__ import annotations

import dataclasses
import datetime as dt
import sqlite3
from collections.abc import Callable
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest

import headrace as hr
from contract.helpers import rows, values
from postgres import postgres_database, postgres_url

__all__ = ["postgres_database", "postgres_url"]

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def hour(number: int) -> dt.datetime:
    return START + dt.timedelta(hours=number)


@dataclasses.dataclass
class Database:
    """One to make tables in, and how a feature group names it."""

    driver: str
    uri: str
    execute: Callable[[str], None]


@pytest.fixture(params=["postgresql", "sqlite"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    if request.param == "sqlite":
        path = tmp_path / "theirs.db"

        def lightly(sql: str) -> None:
            with sqlite3.connect(path) as connection:
                connection.executescript(sql)

        return Database("sqlite", f"file:{path}", lightly)
    url = request.getfixturevalue("postgres_database")
    holder = tmp_path / "uri"
    holder.write_text(f"{url}\n")

    def execute(sql: str) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(sql)

    return Database("postgresql", f"file:{holder}", execute)


@pytest.fixture
def planes(database: Database) -> Database:
    database.execute(
        "CREATE TABLE planes (tailnum varchar(10) PRIMARY KEY, seats int, price decimal(10, 2), built date);"
        "INSERT INTO planes VALUES ('N1', 100, 1.25, '2001-02-03'), ('N2', NULL, NULL, NULL), ('N3', 300, 99999999.99, '1999-12-31')"
    )
    return database


def create(store: hr.FeatureStore, database: Database, name: str = "planes", **options: object):
    options = {"table": "planes", "primary_key": ["tailnum"]} | options
    return store.create_external_feature_group(name, driver=database.driver, uri=database.uri, **options)


class TestRead:
    def test_rows(self, store, planes):
        group = create(store, planes)
        assert group.format == "external"
        assert planes.uri in group.location
        assert group.schema.names == ["tailnum", "seats", "price", "built"]
        assert group.schema.field("price").type == pa.decimal128(10, 2)
        found = rows(group.read())
        assert sorted(found, key=lambda row: row["tailnum"])[0] == {
            "tailnum": "N1",
            "seats": 100,
            "price": pytest.approx(1.25),
            "built": dt.date(2001, 2, 3),
        }
        assert sorted(values(group.read(), "tailnum")) == ["N1", "N2", "N3"]
        assert store.get_feature_group("planes").location == group.location

    def test_columns_filters_limits(self, store, planes):
        group = create(store, planes)
        assert group.read(["seats"]).to_arrow().column_names == ["seats"]
        assert values(group.read(["tailnum"], group["seats"] > 100), "tailnum") == ["N3"]
        assert values(group.read(["tailnum"], group["seats"].is_null()), "tailnum") == ["N2"]
        assert values(group.read(["seats"], group["tailnum"].isin(["N1", "no"])), "seats") == [100]
        assert group.read(limit=2).to_arrow().num_rows == 2
        assert group.read(limit=0).to_arrow().schema == group.schema
        assert values(
            group.read(latest=True, columns=["tailnum"], filter=group["seats"] == 300), "tailnum"
        ) == ["N3"]

    def test_what_is_passed_on_is_told(self, store, planes):
        group = create(store, planes)
        told = group.read(["price"], (group["seats"] > 100) & (group["tailnum"] == "N3")).explain()
        quoted = {"postgresql": '"{}"', "sqlite": "`{}`"}[planes.driver].format
        assert quoted("price") in told
        assert f"{quoted('seats')} > 100" in told
        assert f"{quoted('tailnum')} = 'N3'" in told
        assert "built" not in told

    def test_each_read_is_of_now(self, store, planes):
        group = create(store, planes)
        assert group.read().to_arrow().num_rows == 3
        planes.execute("INSERT INTO planes VALUES ('N4', 1, 1, NULL)")
        assert group.read().to_arrow().num_rows == 4
        planes.execute("ALTER TABLE planes ADD COLUMN engines int")
        assert "engines" in group.read().to_arrow().column_names

    def test_a_query(self, store, planes):
        query = "SELECT tailnum, seats * 2 AS twice FROM planes WHERE seats > 0 -- no ghosts"
        group = create(store, planes, table=None, query=query)
        assert sorted(values(group.read(), "twice")) == [200, 600]
        assert values(group.read(filter=group["twice"] < 300), "tailnum") == ["N1"]

    def test_sql_over_it(self, store, planes):
        create(store, planes)
        weather = store.create_feature_group("weather", primary_key=["tailnum"], event_time="at")
        weather.insert(pa.table({"tailnum": ["N1", "N3"], "at": [hour(0)] * 2, "t": [1.0, 3.0]}))
        spine = "SELECT tailnum, TIMESTAMPTZ '2026-01-02' AS event_timestamp FROM planes WHERE seats > 100"
        assert rows(store.get_historical_features(spine, ["weather:t"]))[0]["t"] == 3.0

    def test_statistics(self, store, planes):
        group = create(store, planes)
        (first,) = rows(group.statistics(["seats"]))
        assert (first["count"], first["nulls"], first["max"]) == (2, 1, "300")
        planes.execute("INSERT INTO planes VALUES ('N4', 400, 1, NULL)")
        (then,) = rows(group.statistics(["seats"]))
        assert (then["count"], then["max"]) == (3, "400")

    def test_an_empty_table(self, store, planes):
        planes.execute("DELETE FROM planes")
        group = create(store, planes)
        assert group.read().to_arrow().num_rows == 0
        assert group.read(filter=group["seats"] > 1).to_arrow().schema == group.schema


class TestJoins:
    @pytest.fixture
    def flights(self, store):
        group = store.create_feature_group("flights", primary_key=["id"], event_time="dep")
        group.insert(
            pa.table({"id": [1, 2, 3], "dep": [hour(1), hour(5), hour(9)], "tailnum": ["N1", "N1", "N9"]})
        )
        return group

    @pytest.fixture
    def prices(self, store, database):
        time = "timestamptz" if database.driver == "postgresql" else "timestamp"
        database.execute(
            f"CREATE TABLE prices (tailnum varchar(10), seen {time}, price float);"
            "INSERT INTO prices VALUES ('N1', '2026-01-01 00:00:00', 1), ('N1', '2026-01-01 05:00:00', 5), "
            "('N1', '2026-01-01 05:00:00.000001', 6), ('N1', NULL, 7), ('N9', '2026-01-01 10:00:00', 9)"
        )
        return create(store, database, "prices", table="prices", event_time="seen")

    def test_plain(self, store, planes, flights):
        group = create(store, planes)
        query = flights.select("id", "tailnum").join(group.select("seats"), on="tailnum")
        found = {row["id"]: row["seats"] for row in rows(query.read())}
        assert found == {1: 100, 2: 100, 3: None}
        assert "join plain planes@v1" in query.explain()

    def test_point_in_time(self, flights, prices):
        query = flights.select("id", "tailnum").join(prices.select("price"), on="tailnum")
        found = {row["id"]: row["price"] for row in rows(query.read())}
        assert found == {1: 1.0, 2: 5.0, 3: None}
        assert "1 row is ignored, whose seen is null" in query.explain()

    def test_ties(self, database, flights, prices):
        database.execute("INSERT INTO prices VALUES ('N1', '2026-01-01 05:00:00', 50)")
        query = flights.select("id", "tailnum").join(prices.select("price"), on="tailnum")
        with pytest.raises(hr.AmbiguousRows, match="prices@v1"):
            query.read().to_arrow()

    def test_views_and_datasets(self, store, planes, flights):
        group = create(store, planes)
        query = flights.select("id", "dep", "tailnum").join(group.select("seats"), on="tailnum")
        view = store.create_feature_view("seats", query)
        dataset = view.create_training_dataset()
        assert [*dataset.snapshots] == ["flights@v1"]
        planes.execute("UPDATE planes SET seats = 1")
        assert sorted(filter(None, values(dataset.read(), "seats"))) == [100, 100]
        assert sorted(filter(None, values(view.training_data(), "seats"))) == [1, 1]
        with pytest.raises(hr.Unsupported, match="planes@v1"):
            dataset.recompute().to_arrow()


class TestRefused:
    def test_what_is_not_kept(self, store, planes):
        group = create(store, planes)
        assert group.history() == []
        assert (group.detail().snapshot, group.detail().rows) == (-1, None)
        assert group.read().snapshots == {}
        for refused in (
            lambda: group.read(snapshot=0),
            lambda: group.read(timestamp=hour(0)),
            lambda: group.changes(since=-1),
        ):
            with pytest.raises(hr.Unsupported, match="planes@v1"):
                refused().to_arrow()
        for refused in (
            lambda: group.as_of(snapshot=0),
            lambda: group.select("seats").as_of(timestamp=hour(0)),
        ):
            with pytest.raises(hr.Unsupported, match="planes@v1"):
                refused()

    def test_writes(self, store, planes):
        group = create(store, planes)
        for refused in (
            lambda: group.insert([{"tailnum": "N5", "seats": 1}]),
            lambda: group.delete(filter=group["seats"] > 1),
            lambda: group.compact(),
            lambda: group.vacuum(),
            lambda: group.restore(snapshot=0),
        ):
            with pytest.raises(hr.Unsupported, match="planes@v1"):
                refused()

    def test_what_is_not_there(self, store, planes):
        with pytest.raises(hr.NotFound, match="feature group ghosts"):
            create(store, planes, "ghosts", table="ghosts")
        with pytest.raises(hr.SchemaMismatch, match="wings"):
            create(store, planes, primary_key=["wings"])
        with pytest.raises(hr.InvalidArgument, match="a query in"):
            create(store, planes, table=None, query="SELECT FROM WHERE")
        assert store.list_feature_groups() == []

    @pytest.mark.parametrize(
        "query", ["DELETE FROM planes", "SELECT 1 AS tailnum) AS q; DELETE FROM planes; --"]
    )
    def test_queries_that_write(self, store, planes, query):
        with pytest.raises(hr.HeadraceError):
            create(store, planes, table=None, query=query)
        assert create(store, planes).read().to_arrow().num_rows == 3

    def test_references(self, store, planes):
        for uri in ("postgresql://me:hush@host/db", "env:", "file:", "file:relative", "env:A B", ""):
            with pytest.raises(hr.InvalidArgument) as caught:
                store.create_external_feature_group(
                    "planes", driver=planes.driver, uri=uri, table="planes", primary_key=["tailnum"]
                )
            assert "hush" not in str(caught.value)
        with pytest.raises(hr.NotFound):
            store.create_external_feature_group(
                "planes", driver=planes.driver, uri="env:NOT_SET_HERE", table="t", primary_key=["a"]
            )
        with pytest.raises(hr.InvalidArgument, match="Headrace's own"):
            store.create_external_feature_group(
                "planes", driver="postgresql", uri="env:HEADRACE_REGISTRY", table="t", primary_key=["a"]
            )

    def test_tables_and_queries(self, store, planes):
        for options in ({}, {"table": "a", "query": "b"}, {"table": " "}, {"query": "\0"}, {"table": "a..b"}):
            with pytest.raises(hr.InvalidArgument):
                store.create_external_feature_group(
                    "planes", driver=planes.driver, uri=planes.uri, primary_key=["tailnum"], **options
                )
        with pytest.raises(hr.InvalidArgument, match="mysql"):
            store.create_external_feature_group(
                "planes", driver="mysql", uri=planes.uri, table="planes", primary_key=["tailnum"]
            )


class TestOthersChangeIt:
    def test_a_key_is_dropped(self, store, planes):
        group = create(store, planes)
        planes.execute("DROP TABLE planes; CREATE TABLE planes (seats int)")
        with pytest.raises(hr.SchemaMismatch, match="tailnum"):
            group.read().to_arrow()
        assert [(g.name, g.schema) for g in store.list_feature_groups()] == [
            ("planes", pa.schema({"seats": group.schema.field("seats").type}))
        ]

    def test_the_table_is_dropped(self, store, planes):
        group = create(store, planes)
        planes.execute("DROP TABLE planes")
        with pytest.raises(hr.NotFound, match="planes"):
            group.read().to_arrow()
        assert [listed.name for listed in store.list_feature_groups()] == ["planes"]
        store.delete_feature_group("planes", 1)
        assert store.list_feature_groups() == []

    def test_a_column_gets_another_type_as_it_is_read(self, store, planes):
        group = create(store, planes)
        read = group.read()
        planes.execute(
            "DROP TABLE planes; CREATE TABLE planes (tailnum varchar(10), seats text, price text, built text);"
            "INSERT INTO planes VALUES ('N1', 'many', 'x', 'y')"
        )
        with pytest.raises((hr.Conflict, hr.BadData), match="planes"):
            read.to_arrow()
        assert values(group.read(), "seats") == ["many"]

    @pytest.mark.parametrize("change", ["RENAME COLUMN seats TO places", "DROP COLUMN seats"])
    def test_a_column_goes_as_it_is_read(self, store, planes, change):
        group = create(store, planes)
        flights = store.create_feature_group("flights", primary_key=["tailnum"])
        flights.insert([{"tailnum": "N1"}])
        reads = [
            group.read(),
            group.read(["tailnum"], group["seats"] == 100),
            flights.select("tailnum").join(group.select("seats"), on="tailnum").read(),
        ]
        planes.execute(f"ALTER TABLE planes {change}")
        for read in reads:
            with pytest.raises(hr.Conflict, match=r"planes@v1.*'seats'"):
                read.to_arrow()
        assert "seats" not in group.read().to_arrow().column_names

    def test_the_table_goes_as_it_is_read(self, store, planes):
        read = create(store, planes).read()
        planes.execute("DROP TABLE planes")
        with pytest.raises(hr.NotFound, match=r"planes@v1"):
            read.to_arrow()

    def test_a_delete_leaves_the_table(self, store, planes):
        create(store, planes)
        store.delete_feature_group("planes", 1)
        again = create(store, planes)
        assert again.read().to_arrow().num_rows == 3
