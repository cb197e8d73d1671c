"""Tables that others wrote, as feature groups: read, and written in place."""

from __future__ import annotations

import datetime as dt
import os
import pathlib

import deltalake
import pyarrow as pa
import pytest

import headrace as hr
from contract.helpers import Unchanged, by_key, rows, values

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def hour(number: int) -> dt.datetime:
    return START + dt.timedelta(hours=number)


@pytest.fixture
def table(tmp_path):
    """A table of weather in two commits, partitioned, that no feature group knows."""
    path = str(tmp_path / "theirs")
    for origin in ("JFK", "EWR"):
        given = pa.table(
            {
                "origin": [origin] * 3,
                "seen": [hour(0), hour(1), None],
                "temp": [1.0, 2.0, 3.0],
                "year": pa.array([2025, 2026, 2026], pa.int32()),
            }
        )
        deltalake.write_deltalake(
            path,
            given,
            mode="append",
            partition_by=["year"],
            configuration={"delta.enableChangeDataFeed": "true"},
        )
    return path


def register(store, path, **options):
    options = {"format": "delta", "primary_key": ["origin"], "event_time": "seen"} | options
    return store.register_feature_group("weather", path, **options)


class TestRead:
    def test_rows(self, store, table):
        group = register(store, table)
        assert (group.location, group.format, group.partition_by) == (table, "delta", ("year",))
        assert group.change_feed
        assert group.schema.names == deltalake.DeltaTable(table).to_pyarrow_table().schema.names
        assert sorted(values(group.read(), "temp")) == [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]
        assert sorted(values(group.read(filter=group["year"] == 2025), "temp")) == [1.0, 1.0]
        assert values(group.read(snapshot=0), "origin") == ["JFK"] * 3

    def test_not_after_the_group_was_deleted(self, store, table, tmp_path):
        prepared = register(store, table).read()
        assert prepared.to_arrow().num_rows == 6
        by_sql = store.sql("SELECT temp FROM weather")
        counted = store.sql("SELECT count(*) AS n FROM weather")
        told = store.get_feature_group("weather").statistics()
        assert told.to_arrow().num_rows == 4
        assert by_sql.to_arrow().num_rows == 6
        assert counted.to_arrow().to_pylist() == [{"n": 6}]
        store.delete_feature_group("weather", 1)
        for result in (prepared, by_sql, counted, told):
            with pytest.raises(hr.NotFound):
                result.to_arrow()
        other = str(tmp_path / "other")
        deltalake.write_deltalake(other, deltalake.DeltaTable(table).to_pyarrow_table())
        store.register_feature_group(
            "weather", other, version=1, format="delta", primary_key=["origin"], event_time="seen"
        )
        for result in (prepared, by_sql, counted):
            with pytest.raises(hr.NotFound, match="made again"):
                result.to_arrow()

    def test_it_is_found_again(self, store, table):
        register(store, table, ttl="1h", description="theirs", tags={"by": "them"})
        (found,) = store.list_feature_groups(tags={"by": "them"})
        assert (found.ttl, found.description) == (dt.timedelta(hours=1), "theirs")
        assert found.read().to_arrow().num_rows == 6

    def test_point_in_time(self, store, table):
        weather = register(store, table)
        flights = store.create_feature_group("flights", primary_key=["id"], event_time="dep")
        flights.insert([{"id": i, "dep": hour(i - 1), "origin": "JFK"} for i in range(4)])
        view = store.create_feature_view("view", flights.join(weather.select("temp"), on="origin"))
        assert by_key(view.training_data(), "id", "temp") == [None, 1.0, 2.0, 2.0]
        assert "2 rows are ignored, whose seen is null" in view.explain()
        dataset = view.create_training_dataset()
        weather.insert([{"origin": "JFK", "seen": hour(1), "temp": 9.0, "year": 2026}])
        weather.vacuum(retention_hours=0, dry_run=False)
        assert dataset.recompute().to_arrow().equals(dataset.read().to_arrow())
        assert by_key(view.training_data(), "id", "temp") == [None, 1.0, 9.0, 9.0]

    def test_what_others_commit_afterwards(self, store, table):
        group = register(store, table)
        more = pa.table(
            {"origin": ["LGA"], "seen": [hour(5)], "temp": [5.0], "year": pa.array([2026], pa.int32())}
        )
        deltalake.write_deltalake(table, more, mode="append")
        assert values(group.read(filter=group["origin"] == "LGA"), "temp") == [5.0]
        deltalake.DeltaTable(table).delete("origin = 'JFK'")
        assert set(values(group.read(), "origin")) == {"EWR", "LGA"}
        assert {r["_change_type"] for r in rows(group.changes(2))} == {"delete"}

    def test_times_without_a_zone(self, store, tmp_path):
        path = str(tmp_path / "naive")
        naive = [hour(i).replace(tzinfo=None) for i in range(3)]
        deltalake.write_deltalake(
            path,
            pa.table(
                {"origin": ["a"] * 3, "seen": pa.array(naive, pa.timestamp("us")), "temp": [0.0, 1.0, 2.0]}
            ),
        )
        group = register(store, path)
        assert group.schema.field("seen").type == pa.timestamp("us")
        assert values(group.read(filter=group["seen"] >= hour(2)), "temp") == [2.0]
        spine = pa.table({"origin": ["a", "a"], "dep": [hour(1), hour(9)]})
        other = store.create_feature_group("root", primary_key=["id"], event_time="dep")
        other.insert([{"id": 1, "origin": "a", "dep": hour(0)}])
        view = store.create_feature_view(
            "view", other.select("origin").join(group.select("temp"), on="origin")
        )
        assert values(view.training_data(spine=spine), "temp") == [1.0, 2.0]
        group.insert(pa.table({"origin": ["a", "b"], "seen": [hour(2), hour(3)], "temp": [7.0, 8.0]}))
        assert values(view.training_data(spine=spine), "temp") == [1.0, 7.0]
        assert group.delete(filter=group["seen"] == hour(3)).rows_deleted == 1
        assert group.read().to_arrow().num_rows == 3


def test_a_change_feed_that_is_set_later_and_unset(store, tmp_path):
    path = str(tmp_path / "theirs")
    deltalake.write_deltalake(path, pa.table({"id": [1], "temp": [1.0]}))
    group = store.register_feature_group("g", path, format="delta", primary_key=["id"])
    assert not group.change_feed
    with pytest.raises(hr.Unsupported, match="g@v1 keeps no change feed") as told:
        group.changes(-1)
    assert "delta.enableChangeDataFeed" in told.value.hint

    def keep(value):
        deltalake.DeltaTable(path).alter.set_table_properties({"delta.enableChangeDataFeed": value})

    keep("true")
    group.insert([{"id": 1, "temp": 2.0}])
    assert store.get_feature_group("g").change_feed
    for since in (0, 1):
        told = [(r["_change_type"], r["temp"]) for r in rows(group.changes(since))]
        assert told == [("update_preimage", 1.0), ("update_postimage", 2.0)]
    with pytest.raises(hr.Unsupported, match=r"snapshot 0 of .* kept no change feed"):
        group.changes(-1)
    keep("false")
    group.insert([{"id": 2, "temp": 2.0}])
    keep("true")
    group.insert([{"id": 3, "temp": 3.0}])
    for since in (0, 2, 3):
        with pytest.raises(hr.Unsupported, match=r"snapshot 4 of .* kept no change feed"):
            group.changes(since)
    assert values(group.changes(4), "id") == [3]


class TestWritten:
    def test_in_place(self, store, table):
        group = register(store, table)
        done = group.insert(
            [
                {"origin": "JFK", "seen": hour(1), "temp": 9.0, "year": 2026},
                {"origin": "LGA", "seen": hour(1), "temp": 4.0, "year": 2026},
            ]
        )
        assert (done.snapshot, done.rows_inserted, done.rows_updated) == (2, 1, 1)
        theirs = deltalake.DeltaTable(table).to_pyarrow_table()
        assert theirs.num_rows == 7
        assert sorted(values(group.read(), "temp")) == sorted(theirs["temp"].to_pylist())
        group.delete(filter=group["origin"] == "EWR")
        group.add_features({"wind": pa.float64()})
        group.compact()
        group.restore(2)
        assert deltalake.DeltaTable(table).to_pyarrow_table().num_rows == 7

    def test_duplicates_that_others_left_become_one(self, store, table):
        more = pa.table(
            {
                "origin": ["JFK"] * 2,
                "seen": [hour(1)] * 2,
                "temp": [6.0, 7.0],
                "year": pa.array([2026] * 2, pa.int32()),
            }
        )
        deltalake.write_deltalake(table, more, mode="append")
        group = register(store, table)
        group.insert([{"origin": "JFK", "seen": hour(1), "temp": 9.0, "year": 2026}])
        assert sorted(values(group.read(filter=group["origin"] == "JFK"), "temp")) == [1.0, 3.0, 9.0]

    def test_what_they_require_holds(self, store, tmp_path):
        path = str(tmp_path / "checked")
        deltalake.write_deltalake(path, pa.table({"id": [1], "temp": [1.0]}))
        deltalake.DeltaTable(path).alter.add_constraint({"cold": "temp < 10"})
        group = store.register_feature_group("checked", path, format="delta", primary_key=["id"])
        with Unchanged(group, hr.HeadraceError):
            group.insert([{"id": 2, "temp": 11.0}])
        group.insert([{"id": 2, "temp": 9.0}])
        assert sorted(values(group.read(), "temp")) == [1.0, 9.0]

    @pytest.mark.parametrize("how", ["delete", "overwrite"])
    def test_rows_without_a_key_or_a_time_go_with_the_others(self, store, tmp_path, how):
        path = str(tmp_path / "loose")
        times = pa.array([None, hour(1), None, hour(1)], pa.timestamp("us", "UTC"))
        deltalake.write_deltalake(
            path, pa.table({"k": ["a", "b", None, None], "t": times, "v": [1, 2, 3, -1]})
        )
        group = store.register_feature_group("loose", path, format="delta", primary_key=["k"], event_time="t")
        if how == "delete":
            assert group.delete(filter=group["v"] > 1).rows_deleted == 2
            assert sorted(values(group.read(), "v")) == [-1, 1]
            assert group.delete(filter=group["t"].is_null()).rows_deleted == 1
            assert values(group.read(), "v") == [-1]
        else:
            row = {"k": "z", "t": hour(2), "v": 9}
            assert group.insert([row], mode="overwrite", filter=group["v"] > 0).rows_deleted == 3
            assert sorted(values(group.read(), "v")) == [-1, 9]

    def test_a_wider_type_drops_nothing_that_they_require(self, store, tmp_path):
        path = str(tmp_path / "required")
        schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("x", pa.float32())])
        deltalake.write_deltalake(path, pa.table({"id": [1], "x": [0.5]}, schema=schema))
        group = store.register_feature_group("required", path, format="delta", primary_key=["id"])
        before = deltalake.DeltaTable(path).schema().to_json()
        with Unchanged(group, hr.Unsupported):
            group.add_features({"x": pa.float64()})
        assert deltalake.DeltaTable(path).schema().to_json() == before

    def test_a_vacuum_leaves_what_is_not_of_the_table(self, store, table):
        group = register(store, table)
        (pathlib.Path(table) / "notes.parquet").write_text("mine")
        os.utime(pathlib.Path(table) / "notes.parquet", (0, 0))
        group.insert([{"origin": "X", "seen": hour(1), "temp": 9.0, "year": 2026}], mode="overwrite")
        assert group.vacuum(retention_hours=0, dry_run=False)
        assert (pathlib.Path(table) / "notes.parquet").exists()


def test_a_vacuum_keeps_what_a_dataset_of_another_group_of_the_table_needs(store, table):
    weather = register(store, table)
    other = store.register_feature_group(
        "other", table, format="delta", primary_key=["origin"], event_time="seen"
    )
    dataset = store.create_feature_view("view", other.select()).create_training_dataset(START)
    weather.insert([{"origin": "X", "seen": hour(1), "temp": 9.0, "year": 2026}], mode="overwrite")
    assert weather.vacuum(retention_hours=0) == []
    store.delete_feature_view("view", 1, force=True)
    assert len(weather.vacuum(retention_hours=0)) == 4
    assert dataset.snapshots == {"other@v1": 1}


class TestKeys:
    """Of one table there may be groups of several keys; what is known of one is not of another."""

    @pytest.fixture
    def groups(self, store, tmp_path):
        path = str(tmp_path / "orders")
        rows = pa.table({"id": [1, 2, 3], "cust": ["a", "a", "b"], "v": [1.0, 2.0, 3.0]})
        deltalake.write_deltalake(path, rows)
        made = [
            store.register_feature_group(key, path, format="delta", primary_key=[key])
            for key in ("id", "cust")
        ]
        made[0].insert(rows, mode="overwrite")
        return made

    def test_a_join_by_what_is_not_unique(self, store, groups):
        _, by_customer = groups
        orders = store.create_feature_group("orders", primary_key=["o"])
        orders.insert([{"o": 1, "cust": "a"}, {"o": 2, "cust": "b"}])
        with pytest.raises(hr.AmbiguousRows, match="cust@v1 has several different rows"):
            orders.select().join(by_customer.select("v"), on="cust").read().to_arrow()

    def test_an_upsert_makes_one_row_of_several(self, groups):
        by_id, by_customer = groups
        done = by_customer.insert(
            [{"id": 7, "cust": "a", "v": 9.0}]
            + [{"id": 100 + i, "cust": f"c{i}", "v": 0.0} for i in range(40)]
        )
        assert (done.rows_inserted, done.rows_updated, done.rows_deleted) == (40, 1, 1)
        found = [row for row in rows(by_id.read()) if row["cust"] == "a"]
        assert found == [{"id": 7, "cust": "a", "v": 9.0}]

    def test_a_table_of_two_names(self, store, table, tmp_path):
        (tmp_path / "link").symlink_to(table)
        first = register(store, table)
        second = store.register_feature_group(
            "again", str(tmp_path / "link"), format="delta", primary_key=["origin"]
        )
        assert second.location == first.location


@pytest.fixture(params=["dropped", "retyped", "a key dropped"])
def broken(request, store, table):
    """A group with a view of it, whose table others then made anew without what the group is declared with."""
    weather = register(store, table)
    flights = store.create_feature_group("flights", primary_key=["id"], event_time="dep")
    flights.insert([{"id": 1, "dep": hour(1), "origin": "JFK"}])
    store.create_feature_view("view", flights.join(weather.select("temp"), on="origin"))
    given = {"origin": ["JFK"], "seen": [hour(0)], "temp": [1.0], "year": pa.array([2025], pa.int32())}
    if request.param == "retyped":
        given["seen"] = ["noon"]
    else:
        del given["seen" if request.param == "dropped" else "origin"]
    deltalake.write_deltalake(table, pa.table(given), mode="overwrite", schema_mode="overwrite")
    return weather


class TestChangedByOthers:
    """A table that no longer does for its group."""

    @pytest.mark.parametrize(
        "call",
        [
            lambda store, group: group.read(),
            lambda store, group: group.read(["temp"]),
            lambda store, group: group.read(latest=True),
            lambda store, group: group.statistics(),
            lambda store, group: group.changes(0),
            lambda store, group: store.get_feature_view("view").training_data(),
            lambda store, group: store.get_feature_view("view").explain(),
            lambda store, group: store.create_feature_view("again", group.select("temp")),
            lambda store, group: store.get_historical_features("select * from weather", ["flights:id"]),
            lambda store, group: group.insert(
                [{"origin": "JFK", "seen": hour(1), "temp": 9.0, "year": 2026}]
            ),
            lambda store, group: group.delete(filter=group["temp"] > 0),
            lambda store, group: group.delete(keys=[{"origin": "JFK"}]),
        ],
    )
    def test_use_is_refused(self, store, broken, call):
        for group in (broken, store.get_feature_group("weather")):
            with pytest.raises(
                hr.SchemaMismatch, match=r"^weather@v1: .* others changed the table at"
            ) as told:
                call(store, group)
            assert broken.location in told.value.message
            assert told.value.details["problems"][0]["column"] in ("seen", "origin")
            assert "restore" in told.value.hint

    def test_it_is_listed_and_mended(self, store, broken):
        assert [g.name for g in store.list_feature_groups()] == ["flights", "weather"]
        broken.restore(1)
        assert broken.read().to_arrow().num_rows == 6


class TestDeleted:
    def test_the_table_stays(self, store, table):
        group = register(store, table)
        store.delete_feature_group("weather", 1)
        with pytest.raises(hr.NotFound):
            group.read()
        assert deltalake.DeltaTable(table).to_pyarrow_table().num_rows == 6
        assert register(store, table, version=1).read().to_arrow().num_rows == 6

    def test_a_table_that_went_away(self, store, table):
        group = register(store, table)
        os.rename(table, f"{table}.gone")
        with pytest.raises(hr.CorruptTable, match="is lost"):
            group.read()


class TestRefused:
    def check(self, store, error, *arguments, **options):
        with pytest.raises(error):
            register(store, *arguments, **options)
        assert store.list_feature_groups() == []

    def test_no_table(self, store, tmp_path):
        for path in (tmp_path, tmp_path / "none", "/dev/null"):
            self.check(store, hr.NotFound, str(path))

    @pytest.mark.parametrize(
        "location",
        [
            "theirs",
            "./theirs",
            "",
            "s3://",
            "s3://bucket/../x",
            "ftp://host/x",
            "file:///tmp/x",
            3,
            None,
            "/a#b",
            "/a\0b",
        ],
    )
    def test_locations(self, store, location):
        self.check(store, hr.InvalidArgument, location)

    @pytest.mark.parametrize(
        ("location", "hint"),
        [("ftp://host/x", "known are hdfs, hopsfs, s3"), ("file:///tmp/x", "give the path: /tmp/x")],
    )
    def test_uris_are_named(self, store, location, hint):
        with pytest.raises(hr.InvalidArgument, match="is a URI") as told:
            register(store, location)
        assert hint in told.value.hint

    def test_a_table_of_the_store(self, store, table):
        own = store.create_feature_group("own", primary_key=["id"])
        own.insert([{"id": 1}])
        for path in (own.location, f"{own.location}/../{pathlib.Path(own.location).name}"):
            with pytest.raises(hr.InvalidArgument, match="inside the store"):
                register(store, path, primary_key=["id"], event_time=None)

    @pytest.mark.parametrize(
        ("options", "error"),
        [
            ({"primary_key": ["none"]}, hr.SchemaMismatch),
            ({"primary_key": ["temp"]}, hr.SchemaMismatch),
            ({"event_time": "temp"}, hr.SchemaMismatch),
            ({"event_time": "year"}, hr.SchemaMismatch),
            ({"event_time": "none"}, hr.SchemaMismatch),
            ({"created_time": "temp"}, hr.SchemaMismatch),
            ({"tie_breaker": "none"}, hr.SchemaMismatch),
            ({"event_time_unit": "ms"}, hr.SchemaMismatch),
            ({"format": "orc"}, hr.InvalidArgument),
            ({"format": None}, hr.InvalidArgument),
            ({"primary_key": "origin"}, hr.InvalidArgument),
            ({"ttl": "0s"}, hr.InvalidArgument),
        ],
    )
    def test_definitions(self, store, table, options, error):
        self.check(store, error, table, **options)

    def test_a_name_that_is_taken(self, store, table):
        register(store, table, version=1)
        with pytest.raises(hr.AlreadyExists):
            register(store, table, version=1)

    def test_columns_that_no_group_has(self, store, tmp_path):
        path = str(tmp_path / "odd")
        deltalake.write_deltalake(path, pa.table({"id": [1], "file_index": [2]}))
        with pytest.raises(hr.InvalidName, match="file_index"):
            store.register_feature_group("odd", path, format="delta", primary_key=["id"])
