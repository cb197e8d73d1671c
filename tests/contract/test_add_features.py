"""Columns that are added or widened: nothing that was written before is lost, or reads otherwise."""

from __future__ import annotations

import datetime as dt
import decimal
import pathlib

import deltalake
import pyarrow as pa
import pytest

import headrace as hr
from contract.helpers import Unchanged, by_key, rows, snapshot, values
from headrace.model.types import is_wider

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
SCHEMA = pa.schema({"id": pa.int32(), "part": pa.string(), "x": pa.float32()})


def frame(*given, schema=SCHEMA) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in given], schema)


@pytest.fixture(params=[(), ("part",)], ids=["whole", "partitioned"])
def group(store, request):
    made = store.create_feature_group("numbers", primary_key=["id"], partition_by=request.param)
    made.insert(frame((1, "a", 1.5), (2, "b", 2.5), (3, "a", 3.5)))
    return made


def held(group, *columns, **read):
    found = rows(group.read(**read))
    return [tuple(row[c] for c in columns) for row in sorted(found, key=lambda row: row["id"])]


class TestNewColumn:
    def test_is_null_in_what_was_written_before(self, group):
        commit = group.add_features({"y": pa.string()})
        assert (commit.snapshot, commit.rows_inserted, commit.rows_updated, commit.rows_deleted) == (
            1,
            0,
            0,
            0,
        )
        assert group.schema.names == ["id", "part", "x", "y"]
        assert held(group, "id", "y") == [(1, None), (2, None), (3, None)]
        assert values(group.read(["y"]), "y") == [None] * 3

    def test_takes_values_from_then_on(self, group):
        group.add_features({"y": pa.string()})
        group.insert(frame((3, "a", 9.0, "new"), (4, "b", 4.5, "n4"), schema=group.schema))
        assert held(group, "id", "x", "y") == [
            (1, 1.5, None),
            (2, 2.5, None),
            (3, 9.0, "new"),
            (4, 4.5, "n4"),
        ]
        assert held(group, "id", filter=group["y"] == "new") == [(3,)]
        assert held(group, "id", filter=group["y"].is_null()) == [(1,), (2,)]
        assert held(group, "id", filter=(group["y"] == "n4") | (group["x"] < 2)) == [(1,), (4,)]

    @pytest.mark.parametrize("mode", ["upsert", "append", "overwrite"])
    def test_every_mode(self, group, mode):
        group.add_features({"y": pa.int64(), "z": pa.list_(pa.string())})
        group.insert(frame((9, "a", 1.0, 7, ["q"]), schema=group.schema), mode=mode)
        assert held(group, "id", "y", "z")[-1] == (9, 7, ["q"])
        assert group.read().to_arrow().num_rows == (1 if mode == "overwrite" else 4)

    def test_many_rows_are_upserted(self, group):
        group.add_features({"y": pa.int64()})
        many = pa.table(
            {"id": pa.array(range(100), pa.int32()), "part": ["a"] * 100, "x": [0.0] * 100, "y": range(100)}
        )
        group.insert(many.slice(0, 50))
        group.insert(many)
        assert held(group, "id", "y")[-1] == (99, 99)

    def test_old_snapshots_have_it_as_null(self, group):
        group.add_features({"y": pa.string()})
        group.insert(frame((4, "b", 4.5, "n4"), schema=group.schema))
        assert held(group, "id", "y", snapshot=0) == [(1, None), (2, None), (3, None)]
        assert values(group.as_of(snapshot=0).select("y").read(), "y") == [None] * 3
        assert values(group.as_of(snapshot=0).filter(group["y"] == "n4").read(), "id") == []

    def test_delete_by_it(self, group):
        group.add_features({"y": pa.string()})
        group.insert(frame((4, "b", 4.5, "n4"), schema=group.schema))
        assert group.delete(filter=group["y"] == "n4").rows_deleted == 1
        assert group.delete(filter=group["y"].is_null() & (group["id"] < 3)).rows_deleted == 2
        assert held(group, "id", "y") == [(3, None)]

    def test_compact_and_restore(self, group):
        group.add_features({"y": pa.string()})
        group.insert(frame((4, "a", 4.5, "n4"), schema=group.schema), mode="append")
        group.compact()
        assert held(group, "id", "y") == [(1, None), (2, None), (3, None), (4, "n4")]
        group.restore(0)
        assert group.schema.names == ["id", "part", "x"]
        assert held(group, "id", "y", snapshot=2)[-1] == (4, "n4")
        group.add_features({"y": pa.int64()})
        assert held(group, "id", "y")[-1] == (3, None)

    def test_changes_across_it(self, group):
        group.add_features({"y": pa.string()})
        group.insert(frame((3, "a", 9.0, "new"), (4, "b", 4.5, "n4"), schema=group.schema))
        found = rows(group.changes(-1))
        told = [(r["_commit_version"], r["id"], r["_change_type"], r["y"]) for r in found if r["id"] > 2]
        assert sorted(told, key=str) == [
            (0, 3, "insert", None),
            (2, 3, "update_postimage", "new"),
            (2, 3, "update_preimage", None),
            (2, 4, "insert", "n4"),
        ]
        assert rows(group.changes(0, 1)) == []
        assert values(group.changes(-1, 0, columns=["y"]), "y") == [None] * 3

    def test_every_stored_type(self, group):
        kinds = {
            "bool": pa.bool_(), "tiny": pa.int8(), "unsigned": pa.uint16(), "half": pa.float16(),
            "text": pa.large_string(), "bytes": pa.binary(), "day": pa.date32(), "time": pa.timestamp("ns"),
            "decimal": pa.decimal128(10, 2), "list": pa.list_(pa.struct({"a": pa.int64()})),
            "map": pa.map_(pa.string(), pa.float64()), "coded": pa.dictionary(pa.int8(), pa.string()),
        }  # fmt: skip
        group.add_features(kinds)
        assert set(group.schema.names) == {"id", "part", "x", *kinds}
        assert group.schema.field("unsigned").type == pa.int32()
        assert group.schema.field("time").type == pa.timestamp("us", "UTC")
        found = group.read().to_arrow()
        assert all(found[name].null_count == 3 for name in kinds)
        assert found.schema == group.schema

    @pytest.mark.parametrize("name", ["a.b", "two words", 'dou"ble', "it's", "名前", "order"])
    def test_odd_names(self, group, name):
        group.add_features({name: pa.int64()})
        assert values(group.read([name]), name) == [None] * 3
        group.insert(frame((4, "b", 4.5, 7), schema=group.schema))
        assert held(group, name) == [(None,), (None,), (None,), (7,)]

    def test_beside_a_struct_with_a_field_of_its_name(self, store):
        group = store.create_feature_group("deep", primary_key=["id"])
        group.insert([{"id": 1, "a": {"b": 5}}])
        group.add_features({"a.b": pa.int64()})
        assert rows(group.read()) == [{"id": 1, "a": {"b": 5}, "a.b": None}]

    def test_other_handles_see_it(self, store, group):
        other = store.get_feature_group("numbers")
        assert other.schema.names == ["id", "part", "x"]
        group.add_features({"y": pa.string()})
        assert values(other.select("y").read(), "y") == [None] * 3
        assert values(other.filter(other["y"].is_null()).read(), "id")
        assert other.y is not None
        assert other.schema.names[-1] == "y"

    def test_before_the_first_row(self, store):
        group = store.create_feature_group("empty", primary_key=["id"], schema=pa.schema({"id": pa.int64()}))
        group.add_features({"y": pa.string()})
        group.insert([{"id": 1, "y": "a"}])
        assert rows(group.read()) == [{"id": 1, "y": "a"}]

    def test_what_is_there_already_commits_nothing(self, group):
        before = snapshot(group)
        commit = group.add_features({"x": pa.float32(), "id": pa.int32()})
        assert commit.operation == "NONE"
        assert snapshot(group) == before

    def test_by_another_writer(self, group):
        more = pa.table(
            {
                "id": pa.array([7], pa.int32()),
                "part": ["b"],
                "x": pa.array([7.5], pa.float32()),
                "z": ["theirs"],
            }
        )
        deltalake.write_deltalake(group.location, more, mode="append", schema_mode="merge")
        assert held(group, "id", "z") == [(1, None), (2, None), (3, None), (7, "theirs")]
        group.insert([{"id": 1, "part": "a", "x": 0.0, "z": "ours"}])
        assert held(group, "id", "z")[0] == (1, "ours")


class TestPointInTime:
    def test_views_go_on_and_new_ones_have_it(self, store):
        flights = store.create_feature_group("flights", primary_key=["id"], event_time="dep")
        flights.insert([{"id": i, "dep": START + dt.timedelta(hours=i), "origin": "JFK"} for i in range(4)])
        weather = store.create_feature_group("weather", primary_key=["origin"], event_time="seen")
        weather.insert([{"origin": "JFK", "seen": START, "temp": 1.0}])
        old = store.create_feature_view("old", flights.select("id").join(weather.select("temp"), on="origin"))
        every = store.create_feature_view("every", flights.select("id").join(weather, on="origin"))
        dataset = every.create_training_dataset()
        weather.add_features({"wind": pa.float64()})
        weather.insert([{"origin": "JFK", "seen": START + dt.timedelta(hours=2), "temp": 2.0, "wind": 9.0}])
        new = store.create_feature_view(
            "new", flights.select("id").join(weather.select("temp", "wind"), on="origin")
        )
        assert by_key(old.training_data(), "id", "temp") == [1.0, 1.0, 2.0, 2.0]
        assert by_key(new.training_data(), "id", "wind") == [None, None, 9.0, 9.0]
        assert by_key(every.training_data(), "id", "wind") == [None, None, 9.0, 9.0]
        then = weather.history()[-1].timestamp
        flew = flights.history()[-1].timestamp
        assert by_key(new.training_data(as_of=max(then, flew)), "id", "wind") == [None] * 4
        again = dataset.recompute()
        assert again.to_arrow().equals(dataset.read().to_arrow())
        assert again.schema.names == ["id", "temp"]


class TestWidened:
    def test_all_values_stay(self, group):
        group.insert(frame((4, "b", 4.5)))
        commit = group.add_features({"id": pa.int64(), "x": pa.float64(), "y": pa.string()})
        assert (commit.operation, commit.rows_inserted, commit.rows_deleted) == ("CHANGE COLUMN", 0, 0)
        assert group.schema == pa.schema(
            {"id": pa.int64(), "part": pa.string(), "x": pa.float64(), "y": pa.string()}
        )
        assert held(group, "id", "part", "x", "y") == [
            (1, "a", 1.5, None),
            (2, "b", 2.5, None),
            (3, "a", 3.5, None),
            (4, "b", 4.5, None),
        ]
        group.insert(frame((1 << 40, "b", 1e300, "big"), (1, "a", 0.1, None), schema=group.schema))
        assert held(group, "id", "x")[0] == (1, 0.1)
        assert held(group, "id", "x")[-1] == (1 << 40, 1e300)

    def test_old_snapshots_read_in_the_wider_type(self, group):
        group.add_features({"id": pa.int64()})
        found = group.read(snapshot=0).to_arrow()
        assert found.schema == group.schema
        assert sorted(found["id"].to_pylist()) == [1, 2, 3]

    def test_it_is_no_change(self, group):
        group.add_features({"id": pa.int64()})
        assert rows(group.changes(0)) == []
        assert {r["_change_type"] for r in rows(group.changes(-1))} == {"insert"}

    def test_the_layout_stays(self, group):
        group.add_features({"x": pa.float64()})
        metadata = deltalake.DeltaTable(group.location).metadata()
        assert tuple(metadata.partition_columns) == group.partition_by
        assert metadata.configuration["delta.enableChangeDataFeed"] == "true"

    def test_restored_to_the_narrower(self, group):
        group.add_features({"id": pa.int64()})
        group.insert(frame((1 << 40, "b", 1.0), schema=group.schema))
        group.restore(0)
        assert group.schema.field("id").type == pa.int32()
        assert held(group, "id", snapshot=2)[-1] == (1 << 40,)

    def test_look_ups_by_key(self, store):
        group = store.create_feature_group("many", primary_key=["id"])
        for start in range(0, 100, 10):
            group.insert(pa.table({"id": pa.array(range(start, start + 10), pa.int16())}), mode="append")
        assert values(group.read(filter=group["id"] == 42), "id") == [42]
        group.add_features({"id": pa.int64()})
        assert values(group.read(filter=group["id"] == 42), "id") == [42]
        assert values(group.read(filter=group["id"] == 1 << 40), "id") == []

    @pytest.mark.parametrize(
        ("narrow", "wide", "given"),
        [
            (pa.int8(), pa.int16(), [-128, 127]),
            (pa.int16(), pa.float32(), [-32768, 32767]),
            (pa.int32(), pa.float64(), [-(1 << 31), (1 << 31) - 1]),
            (pa.int64(), pa.decimal128(19, 0), [-(1 << 63), (1 << 63) - 1]),
            (pa.int32(), pa.decimal128(12, 2), [-(1 << 31), (1 << 31) - 1]),
            (pa.float32(), pa.float64(), [0.1, float("inf")]),
            (pa.decimal128(5, 2), pa.decimal128(7, 3), [decimal.Decimal("-999.99"), decimal.Decimal("0.01")]),
        ],
    )
    def test_what_is_wider(self, store, narrow, wide, given):
        group = store.create_feature_group("wide", primary_key=["n"])
        table = pa.table({"n": [0, 1], "v": pa.array(given, narrow)})
        group.insert(table)
        group.add_features({"v": wide})
        found = group.read().to_arrow().sort_by("n")
        assert found["v"].combine_chunks().equals(table["v"].cast(wide).combine_chunks())


class TestRefused:
    @pytest.mark.parametrize(
        ("features", "error"),
        [
            ({"x": pa.int64()}, hr.SchemaMismatch),
            ({"x": pa.string()}, hr.SchemaMismatch),
            ({"id": pa.int16()}, hr.SchemaMismatch),
            ({"id": pa.float64()}, hr.SchemaMismatch),
            ({"id": pa.decimal128(20, 0)}, hr.SchemaMismatch),
            ({"part": pa.int64()}, hr.SchemaMismatch),
            ({"y": pa.null()}, hr.SchemaMismatch),
            ({"y": pa.uint64()}, hr.SchemaMismatch),
            ({"y": pa.duration("us")}, hr.SchemaMismatch),
            ({"y": pa.struct([])}, hr.SchemaMismatch),
            ({"y": pa.uuid()}, hr.SchemaMismatch),
            ({"X": pa.float64()}, hr.NameClash),
            ({"y": pa.int64(), "Y": pa.int64()}, hr.NameClash),
            ({"": pa.int64()}, hr.InvalidName),
            ({"file_index": pa.int64()}, hr.InvalidName),
            ({"_change_type": pa.string()}, hr.InvalidName),
            ({"b`tick": pa.string()}, hr.InvalidName),
            ({"s": pa.struct({"a": pa.int64(), "A": pa.int64()})}, hr.NameClash),
            ({}, hr.InvalidArgument),
            (["y"], hr.InvalidArgument),
            ({"y": "int64"}, hr.InvalidArgument),
            ({3: pa.int64()}, hr.InvalidArgument),
        ],
    )
    def test_what_cannot_be(self, group, features, error):
        with Unchanged(group, error):
            group.add_features(features)
        with Unchanged(group, error):
            group.add_features(
                {"fine": pa.int64(), **features} if isinstance(features, dict) and features else features
            )

    def test_every_problem_is_told(self, group):
        with pytest.raises(hr.SchemaMismatch) as caught:
            group.add_features({"x": pa.int8(), "y": pa.uint64(), "id": pa.int64()})
        assert [p["column"] for p in caught.value.details["problems"]] == ["x", "y"]
        assert "'x' is float, which int8 does not hold safely" in caught.value.message

    def test_before_there_are_columns(self, store):
        group = store.create_feature_group("empty", primary_key=["id"])
        with pytest.raises(hr.InvalidArgument, match="its first insert sets them"):
            group.add_features({"y": pa.int64()})

    def test_a_group_that_is_gone(self, store, group):
        store.delete_feature_group("numbers", 1)
        with pytest.raises(hr.NotFound):
            group.add_features({"y": pa.int64()})

    def test_an_insert_without_it(self, group):
        group.add_features({"y": pa.int64()})
        with Unchanged(group, hr.SchemaMismatch) as caught:
            group.insert(frame((1, "a", 1.0)))
        assert "'y' is missing" in caught.value.message


def test_twice_by_one_key_is_once(group):
    first = group.add_features({"y": pa.int64()}, idempotency_key="k")
    assert group.add_features({"y": pa.int64()}, idempotency_key="k") == first
    with pytest.raises(hr.InvalidArgument, match="names another write of this table"):
        group.add_features({"z": pa.int64()}, idempotency_key="k")
    with pytest.raises(hr.InvalidArgument, match="names another write of this table"):
        group.add_features({"y": pa.float64()}, idempotency_key="k")
    assert group.schema.names == ["id", "part", "x", "y"]


def test_spark_could_read_the_files(group):
    """Files are in the types that the log tells: other readers do not widen."""
    group.add_features({"id": pa.int64(), "y": pa.string()})
    for path in pathlib.Path(group.location).rglob("*.parquet"):
        if str(path.relative_to(group.location)) in [
            f.removeprefix("./") for f in deltalake.DeltaTable(group.location).file_uris()
        ]:
            assert pa.parquet.read_schema(path).field("id").type == pa.int64()
    assert deltalake.DeltaTable(group.location).to_pyarrow_table()["id"].type == pa.int64()


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        (pa.int64(), pa.int32()),
        (pa.int32(), pa.int32()),
        (pa.int32(), pa.float32()),
        (pa.int64(), pa.float64()),
        (pa.float32(), pa.int64()),
        (pa.float64(), pa.decimal128(38, 10)),
        (pa.int64(), pa.decimal128(18, 0)),
        (pa.decimal128(5, 2), pa.decimal128(5, 2)),
        (pa.decimal128(5, 2), pa.decimal128(6, 4)),
        (pa.decimal128(5, 2), pa.decimal128(9, 1)),
        (pa.bool_(), pa.int8()),
        (pa.string(), pa.binary()),
        (pa.date32(), pa.timestamp("us", "UTC")),
        (pa.list_(pa.int32()), pa.list_(pa.int64())),
    ],
)
def test_what_is_not_wider(narrow, wide):
    assert not is_wider(wide, narrow)


@pytest.mark.parametrize("mode", ["upsert", "append", "overwrite"])
def test_an_insert_under_way_ends_when_columns_are_added(store, group, mode):
    before = held(group, "id", "x")

    def given():
        yield from frame((4, "a", 4.5)).to_batches()
        store.get_feature_group("numbers").add_features({"more": pa.float64()})
        yield from frame((5, "b", 5.5)).to_batches()

    with pytest.raises(hr.Conflict, match="columns"):
        group.insert(pa.RecordBatchReader.from_batches(SCHEMA, given()), mode=mode)
    assert held(group, "id", "x") == before
    assert group.history()[0].operation == "ADD COLUMN"
