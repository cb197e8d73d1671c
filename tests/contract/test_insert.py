"""Inserts: every kind of frame, three modes, and nothing half-written when one is refused."""

from __future__ import annotations

import datetime as dt
import decimal
import math

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import headrace as hr
from contract.helpers import TIME, WEATHER, Unchanged, at, by_key, frame, make_weather, rows, values

ROWS = [("JFK", "10:00", 1.0), ("LGA", "10:00", None), ("JFK", "10:05", 3.0)]


@pytest.fixture
def weather(store):
    return make_weather(store)


class CapsuleOnly:
    """Anything that exports an Arrow stream, and nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


FRAMES = {
    "table": lambda table: table,
    "chunked_table": lambda table: pa.concat_tables([table.slice(0, 1), table.slice(1)]),
    "record_batch": lambda table: table.combine_chunks().to_batches()[0],
    "record_batch_reader": lambda table: table.to_reader(max_chunksize=1),
    "dataset_scanner": lambda table: ds.dataset(table).scanner().to_reader(),
    "c_stream": CapsuleOnly,
    "pandas_numpy": lambda table: table.to_pandas(),
    "pandas_arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas_named_index": lambda table: table.to_pandas().set_index(["origin", "seen"]),
    "pandas_unnamed_index": lambda table: table.to_pandas().set_axis([5, 5, 9]),
    "polars": pl.from_arrow,
    "list_of_dicts": lambda table: table.to_pylist(),
    "other_column_order": lambda table: table.select(["temp", "seen", "origin"]),
}


class TestEveryKindOfFrame:
    @pytest.mark.parametrize("kind", FRAMES)
    @pytest.mark.parametrize("mode", ["upsert", "append", "overwrite"])
    def test_writes_the_same_rows(self, weather, kind, mode):
        table = frame(WEATHER, *ROWS)
        commit = weather.insert(FRAMES[kind](table), mode=mode)
        assert commit.rows_inserted == 3
        found = weather.read().to_arrow()
        assert found.schema == WEATHER
        assert found.sort_by([("origin", "ascending"), ("seen", "ascending")]) == frame(
            WEATHER, ROWS[0], ROWS[2], ROWS[1]
        )

    @pytest.mark.parametrize("kind", [k for k in FRAMES if k != "other_column_order"])
    def test_sets_the_same_schema(self, store, kind):
        group = store.create_feature_group("g", primary_key=["origin"], event_time="seen")
        group.insert(FRAMES[kind](frame(WEATHER, *ROWS)))
        assert group.schema == WEATHER

    @pytest.mark.parametrize(
        "wrong", ["weather.csv", 5, None, {"origin": ["JFK"]}, [1, 2], ["origin"], object(), b"x"]
    )
    def test_what_is_no_frame_is_refused(self, weather, wrong):
        with Unchanged(weather, (hr.InvalidArgument, hr.BadData)):
            weather.insert(wrong)

    def test_a_series_is_no_frame(self, weather):
        with Unchanged(weather, hr.InvalidArgument) as caught:
            weather.insert(pd.Series([1.5]))
        assert caught.value.hint.startswith("give pandas, polars, Spark, Arrow data")

    def test_a_reader_is_streamed_batch_by_batch(self, weather):
        """More rows than would be taken at once: each batch is asked for only when the last one was used."""
        batches, size = 64, 10_000
        made = []

        def produce():
            for n in range(batches):
                start = at("00:00") + n * dt.timedelta(hours=1)
                times = pa.array([start + i * dt.timedelta(milliseconds=1) for i in range(size)], TIME)
                made.append(n)
                yield pa.record_batch(
                    [pa.array(["JFK"] * size), times, pa.array([float(n)] * size)], schema=WEATHER
                )

        commit = weather.insert(pa.RecordBatchReader.from_batches(WEATHER, produce()), mode="append")
        assert made == list(range(batches))
        assert commit.rows_inserted == batches * size
        assert len(values(weather.read(["temp"]), "temp")) == batches * size


EXAMPLES = [
    (pa.int8(), [-128, 127], pa.int8()),
    (pa.uint8(), [0, 255], pa.int16()),
    (pa.uint16(), [0, 65535], pa.int32()),
    (pa.uint32(), [0, 2**32 - 1], pa.int64()),
    (pa.int64(), [-(2**63), 2**63 - 1], pa.int64()),
    (pa.float16(), [1.5, -0.25], pa.float32()),
    (pa.float32(), [1.5, math.inf], pa.float32()),
    (pa.float64(), [1e308, -math.inf], pa.float64()),
    (pa.bool_(), [True, False], pa.bool_()),
    (pa.string(), ["", "it's \"x\" 名 \u0000 🛩"], pa.string()),
    (pa.large_string(), ["a", "b"], pa.string()),
    (pa.string_view(), ["a", "b"], pa.string()),
    (pa.dictionary(pa.int8(), pa.string()), ["a", "b"], pa.string()),
    (pa.binary(), [b"", b"\x00\xff"], pa.binary()),
    (pa.large_binary(), [b"a", b"b"], pa.binary()),
    (pa.date32(), [dt.date(1, 1, 1), dt.date(9999, 12, 31)], pa.date32()),
    (pa.date64(), [dt.date(2024, 2, 29), dt.date(1969, 12, 31)], pa.date32()),
    (TIME, [at("10:00:00.000001"), dt.datetime(1900, 1, 1, tzinfo=dt.UTC)], TIME),
    (pa.timestamp("s", tz="Europe/Berlin"), [at("10:00"), at("11:00")], TIME),
    (pa.decimal128(38, 10), [decimal.Decimal("1.0000000001"), decimal.Decimal("-" + "9" * 28)], pa.decimal128(38, 10)),
    (pa.list_(pa.int32()), [[1, None], []], pa.list_(pa.field("element", pa.int32()))),
    (pa.large_list(pa.string()), [["a"], []], pa.list_(pa.field("element", pa.string()))),
    (pa.list_(pa.float32(), 2), [[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.field("element", pa.float32()))),
    (pa.struct({"a": pa.int64(), "b": pa.string()}), [{"a": 1, "b": None}, {"a": None, "b": ""}], None),
]  # fmt: skip


class TestTypes:
    """What is stored for what is given; nothing is lost."""

    @pytest.mark.parametrize(
        ("given", "examples", "stored"), EXAMPLES, ids=[str(e[0])[:30] for e in EXAMPLES]
    )
    def test_are_stored_without_loss(self, store, given, examples, stored):
        group = store.create_feature_group("g", primary_key=["id"])
        column = pa.array([*examples, None], given if not pa.types.is_float16(given) else pa.float32()).cast(
            given
        )
        group.insert(pa.table({"id": [0, 1, 2], "v": column}))
        assert group.schema.field("v").type == (stored or given)
        assert by_key(group.read(), "id", "v") == [*examples, None]

    def test_integers_and_floats_are_widened(self, store):
        wide = pa.schema({"id": pa.int64(), "i": pa.int64(), "f": pa.float64(), "d": pa.decimal128(12, 4)})
        group = store.create_feature_group("g", primary_key=["id"], schema=wide)
        narrow = pa.schema({"id": pa.int16(), "i": pa.uint8(), "f": pa.float32(), "d": pa.decimal128(7, 2)})
        group.insert(frame(narrow, (1, 200, 1.5, decimal.Decimal("12345.67"))))
        assert rows(group.read()) == [{"id": 1, "i": 200, "f": 1.5, "d": decimal.Decimal("12345.6700")}]
        assert group.schema == wide

    def test_a_list_of_dicts_fits_narrow_columns(self, store):
        """It has one width of integers and of floats alone."""
        schema = pa.schema(
            {
                "id": pa.int16(),
                "i": pa.int8(),
                "f": pa.float32(),
                "d": pa.decimal128(6, 2),
                "l": pa.list_(pa.int8()),
            }
        )
        group = store.create_feature_group("g", primary_key=["id"], schema=schema)
        group.insert([{"id": 1, "i": -128, "f": 0.1, "d": 5, "l": [127]}])
        group.insert([{"id": 2, "i": 127, "f": 2, "d": decimal.Decimal("12.5000"), "l": []}])
        found = {row["id"]: row for row in rows(group.read())}
        assert (found[1]["i"], found[1]["d"], found[1]["l"]) == (-128, decimal.Decimal("5.00"), [127])
        assert found[1]["f"] == pytest.approx(0.1, abs=1e-8)
        assert (found[2]["i"], found[2]["f"], found[2]["d"]) == (127, 2.0, decimal.Decimal("12.50"))
        assert group.delete(keys=[{"id": 2}]).rows_deleted == 1
        wrong = [
            ("i", 128),
            ("f", 1e39),
            ("f", 2**24 + 1),
            ("d", 10_000),
            ("d", decimal.Decimal("0.125")),
            ("l", [128]),
        ]
        for column, value in wrong:
            with Unchanged(group, hr.SchemaMismatch) as caught:
                group.insert([{"id": 3, "i": 0, "f": 0.0, "d": 0, "l": [0]} | {column: value}])
            assert repr(column) in caught.value.message

    @pytest.mark.parametrize(
        ("column", "given"),
        [
            ("i", pa.array([1.0])),  # float into integer, even where it is whole
            ("i", pa.array(["1"])),
            ("i", pa.array([True])),
            ("i", pa.array([2**40], pa.int64())),  # into int32
            ("f", pa.array(["1.0"])),
            ("f", pa.array([2**60], pa.int64())),
            ("s", pa.array([1])),
            ("s", pa.array([b"x"])),
            ("t", pa.array([dt.date(2024, 3, 1)])),
            ("t", pa.array(["2024-03-01"])),
            ("t", pa.array([1], pa.int64())),
        ],
    )
    def test_all_else_is_a_schema_mismatch_that_names_the_column(self, store, column, given):
        schema = pa.schema(
            {"id": pa.int64(), "i": pa.int32(), "f": pa.float64(), "s": pa.string(), "t": TIME}
        )
        group = store.create_feature_group("g", primary_key=["id"], schema=schema)
        group.insert(frame(schema, (1, 1, 1.0, "a", "10:00")))
        table = frame(schema, (2, 2, 2.0, "b", "11:00"))
        position = schema.get_field_index(column)
        with Unchanged(group, hr.SchemaMismatch) as caught:
            group.insert(table.set_column(position, column, given))
        assert f"'{column}'" in str(caught.value)
        assert "g@v1" in str(caught.value)
        assert caught.value.hint is not None
        assert ("pd.to_datetime" in caught.value.hint) == (column == "t")

    def test_a_column_of_nulls_alone_fits_every_type(self, store):
        group = make_weather(store)
        group.insert([{"origin": "JFK", "seen": at("10:00"), "temp": None}])
        assert values(group.read(), "temp") == [None]


class TestModes:
    def test_upsert_replaces_by_key_and_event_time(self, weather):
        weather.insert(frame(WEATHER, *ROWS))
        commit = weather.insert(frame(WEATHER, ("JFK", "10:05", 9.0), ("EWR", "10:05", 8.0)))
        assert (commit.rows_inserted, commit.rows_updated) == (1, 1)
        found = {(row["origin"], row["seen"]): row["temp"] for row in rows(weather.read())}
        assert found == {
            ("JFK", at("10:00")): 1.0,
            ("LGA", at("10:00")): None,
            ("JFK", at("10:05")): 9.0,
            ("EWR", at("10:05")): 8.0,
        }

    def test_upsert_without_event_time_replaces_by_key(self, store):
        schema = pa.schema({"id": pa.int64(), "v": pa.string()})
        group = store.create_feature_group("g", primary_key=["id"], schema=schema)
        group.insert(frame(schema, (1, "a"), (2, "b")))
        group.insert(frame(schema, (2, "c")))
        assert by_key(group.read(), "id", "v") == ["a", "c"]

    def test_upsert_replaces_every_row_that_appends_left(self, weather):
        for temp in (1.0, 2.0):
            weather.insert(frame(WEATHER, ("JFK", "10:00", temp)), mode="append")
        commit = weather.insert(frame(WEATHER, ("JFK", "10:00", 3.0), ("LGA", "10:00", 4.0)))
        assert sorted(values(weather.read(), "temp")) == [3.0, 4.0]
        assert (commit.rows_inserted, commit.rows_updated, commit.rows_deleted) == (1, 1, 1)
        assert weather.history()[0] == commit

    def test_upsert_across_partitions_replaces_the_row(self, store):
        """The row moves to another partition; it must not stay in the old one as well."""
        schema = pa.schema({"id": pa.int64(), "region": pa.string(), "v": pa.int64()})
        group = store.create_feature_group("g", primary_key=["id"], partition_by=["region"], schema=schema)
        group.insert(frame(schema, (1, "east", 1), (2, "west", 2)))
        group.insert(frame(schema, (1, "west", 3)))
        assert sorted((row["id"], row["region"], row["v"]) for row in rows(group.read())) == [
            (1, "west", 3),
            (2, "west", 2),
        ]

    def test_append_keeps_both(self, weather):
        for temp in (1.0, 2.0):
            commit = weather.insert(frame(WEATHER, ("JFK", "10:00", temp)), mode="append")
            assert (commit.rows_inserted, commit.rows_updated or 0) == (1, 0)
        assert sorted(values(weather.read(), "temp")) == [1.0, 2.0]

    def test_overwrite_leaves_only_what_is_given(self, weather):
        weather.insert(frame(WEATHER, *ROWS))
        weather.insert(frame(WEATHER, ("EWR", "10:00", 7.0)), mode="overwrite")
        assert values(weather.read(), "temp") == [7.0]

    def test_another_mode_is_refused(self, weather):
        with Unchanged(weather, hr.InvalidArgument):
            weather.insert(frame(WEATHER, *ROWS), mode="merge")

    def test_partitions_of_odd_values(self, store):
        schema = pa.schema({"id": pa.int64(), "part": pa.string()})
        group = store.create_feature_group("g", primary_key=["id"], partition_by=["part"], schema=schema)
        parts = [
            "a",
            "A",
            "a/b",
            "a=b",
            "../up",
            " ",
            "é",
            "100%",
            "%2F",
            "null",
            "a\nb",
            None,
        ]
        group.insert(frame(schema, *enumerate(parts)))
        group.insert(frame(schema, *enumerate(parts)))
        assert by_key(group.read(), "id", "part") == parts
        for part in parts[:-1]:
            assert values(group.read(filter=group["part"] == part), "part") == [part]

    @pytest.mark.parametrize("part", ["", "__HIVE_DEFAULT_PARTITION__"])
    def test_partitions_that_mean_null_are_kept_or_refused(self, store, part):
        """Delta reads these as null: they must not come back as one."""
        schema = pa.schema({"id": pa.int64(), "part": pa.string()})
        group = store.create_feature_group("g", primary_key=["id"], partition_by=["part"], schema=schema)
        try:
            group.insert(frame(schema, (1, part)))
        except (hr.BadData, hr.Unsupported):
            return
        assert values(group.read(), "part") == [part]

    def test_partitions_of_every_type(self, store):
        schema = pa.schema({"id": pa.int64(), "i": pa.int32(), "d": pa.date32(), "t": TIME, "b": pa.bool_()})
        given = (1, -5, dt.date(2024, 2, 29), at("10:00:00.123456"), True)
        for column, value in zip(schema.names[1:], given[1:], strict=True):
            group = store.create_feature_group(
                f"by_{column}", primary_key=["id"], partition_by=[column], schema=schema
            )
            group.insert(frame(schema, given, (2, *[None] * 4)))
            assert rows(group.read(filter=group[column] == value)) == [
                dict(zip(schema.names, given, strict=True))
            ]
            assert len(rows(group.read(filter=group[column].is_null()))) == 1


class TestCommit:
    def test_tells_snapshot_time_and_rows(self, weather):
        before = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=1)
        commit = weather.insert(frame(WEATHER, *ROWS))
        assert weather.read().snapshots == {"weather@v1": commit.snapshot}
        assert before <= commit.timestamp <= dt.datetime.now(dt.UTC) + dt.timedelta(seconds=1)
        assert (commit.rows_inserted, commit.rows_updated or 0, commit.rows_deleted or 0) == (3, 0, 0)
        later = weather.insert(frame(WEATHER, ("JFK", "11:00", 1.0)))
        assert later.snapshot > commit.snapshot

    def test_history_is_newest_first(self, weather):
        commits = [weather.insert(frame(WEATHER, ("JFK", clock, 1.0)), mode=mode)
                   for clock, mode in (("10:00", "append"), ("10:05", "upsert"), ("10:10", "overwrite"))]  # fmt: skip
        commits.append(weather.delete(filter=weather["origin"] == "JFK"))
        told = weather.history()
        assert [c.snapshot for c in told[:4]] == [c.snapshot for c in commits[::-1]]
        assert [c.operation for c in told[:4]] == [c.operation for c in commits[::-1]]
        assert [c.timestamp for c in told] == sorted((c.timestamp for c in told), reverse=True)
        assert told[0].rows_deleted == 1
        assert [c.snapshot for c in weather.history(limit=2)] == [c.snapshot for c in told[:2]]


class TestIdempotencyKey:
    @pytest.mark.parametrize("mode", ["append", "upsert", "overwrite"])
    def test_the_same_again_writes_nothing_and_gives_the_first_commit(self, weather, mode):
        first = weather.insert(frame(WEATHER, *ROWS), mode=mode, idempotency_key="2024-03-01T10")
        weather.insert(frame(WEATHER, ("EWR", "12:00", 1.0)), mode="append")
        again = weather.insert(frame(WEATHER, *ROWS), mode=mode, idempotency_key="2024-03-01T10")
        assert again.snapshot == first.snapshot
        assert len(rows(weather.read())) == 4

    def test_another_key_is_another_write(self, weather):
        for key in ("a", "b", "A", "", None, None):
            weather.insert(frame(WEATHER, ROWS[0]), mode="append", idempotency_key=key or None)
        assert len(rows(weather.read())) == 6

    @pytest.mark.parametrize(
        "other",
        [
            lambda group: group.insert(frame(WEATHER, ROWS[0]), mode="append", idempotency_key="k"),
            lambda group: group.insert(
                frame(WEATHER, ROWS[0]), mode="overwrite", filter=group["temp"] > -99, idempotency_key="k"
            ),
            lambda group: group.delete(filter=group["temp"] > -99, idempotency_key="k"),
            lambda group: group.delete(keys=[{"origin": "JFK"}], idempotency_key="k"),
            lambda group: group.restore(0, idempotency_key="k"),
            lambda group: group.add_features({"wind": pa.float64()}, idempotency_key="k"),
        ],
        ids=["append", "overwrite", "delete by filter", "delete by keys", "restore", "add_features"],
    )
    def test_is_of_one_call(self, weather, other):
        weather.insert(frame(WEATHER, *ROWS), idempotency_key="k")
        before, history = rows(weather.read()), weather.history()
        with pytest.raises(hr.InvalidArgument, match=r"'k' names another write .* \(insert, mode upsert\)"):
            other(weather)
        assert rows(weather.read()) == before
        assert weather.history() == history

    def test_a_refused_insert_does_not_use_it_up(self, weather):
        with pytest.raises(hr.NullKeys):
            weather.insert(frame(WEATHER, (None, "10:00", 1.0)), idempotency_key="k")
        weather.insert(frame(WEATHER, ROWS[0]), idempotency_key="k")
        assert len(rows(weather.read())) == 1

    def test_belongs_to_one_group(self, store, weather):
        other = make_weather(store, name="other")
        for group in (weather, other):
            group.insert(frame(WEATHER, ROWS[0]), idempotency_key="k")
            assert len(rows(group.read())) == 1

    @pytest.mark.parametrize("key", ["it's", 'a"b', "名前", "a/../b", "x" * 200])
    def test_is_any_printable_text(self, weather, key):
        first = weather.insert(frame(WEATHER, ROWS[0]), mode="append", idempotency_key=key)
        assert (
            weather.insert(frame(WEATHER, ROWS[0]), mode="append", idempotency_key=key).snapshot
            == first.snapshot
        )


class TestCreatedTime:
    SCHEMA = WEATHER.append(pa.field("recorded", TIME))

    def test_is_filled_with_the_time_of_the_insert_where_the_frame_lacks_it(self, store):
        group = store.create_feature_group(
            "g", primary_key=["origin"], event_time="seen", created_time="recorded"
        )
        before = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=1)
        group.insert(frame(WEATHER, *ROWS))
        after = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=1)
        recorded = values(group.read(), "recorded")
        assert len(recorded) == 3
        assert all(before <= time <= after for time in recorded)
        assert group.schema.field("recorded").type == TIME
        group.insert(frame(WEATHER, ("EWR", "10:00", 1.0)))
        assert group.read().to_arrow().column("recorded").null_count == 0

    def test_is_kept_where_the_frame_has_it(self, store):
        group = store.create_feature_group(
            "g", primary_key=["origin"], event_time="seen", created_time="recorded", schema=self.SCHEMA
        )
        group.insert(frame(self.SCHEMA, ("JFK", "10:00", 1.0, "10:01"), ("LGA", "10:00", 1.0, None)))
        assert by_key(group.read(), "origin", "recorded") == [at("10:01"), None]


def test_a_pandas_index_named_by_a_number(store):
    group = store.create_feature_group("g", primary_key=["0"])
    group.insert(pd.DataFrame({"x": [1.0, 2.0]}, index=pd.Index([7, 8], name=0)))
    assert sorted(values(group.read(), "0")) == [7, 8]
