"""Inserts that are refused: the error names group, column or row, and the old snapshot keeps its old rows."""

from __future__ import annotations

import datetime as dt
import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import headrace as hr
from contract.helpers import TIME, WEATHER, Unchanged, at, frame, make_weather, rows

MODES = ["upsert", "append", "overwrite"]


@pytest.fixture
def weather(store):
    return make_weather(store, ("JFK", "10:00", 1.0), ("LGA", "10:00", 2.0), mode="upsert")


@pytest.mark.parametrize("mode", MODES)
class TestNullKeys:
    def test_in_a_key_column(self, weather, mode):
        with Unchanged(weather, hr.NullKeys) as caught:
            weather.insert(frame(WEATHER, ("JFK", "11:00", 1.0), (None, "11:00", 2.0)), mode=mode)
        assert "'origin'" in str(caught.value)
        assert "weather@v1" in str(caught.value)

    def test_in_the_event_time(self, weather, mode):
        with Unchanged(weather, hr.BadData) as caught:
            weather.insert(frame(WEATHER, ("JFK", None, 1.0)), mode=mode)
        assert "'seen'" in str(caught.value)

    def test_in_the_last_of_many_batches(self, weather, mode):
        good = frame(WEATHER, *(("EWR", at("00:00") + n * dt.timedelta(seconds=1), 1.0) for n in range(5000)))
        bad = frame(WEATHER, (None, "11:00", 2.0))
        with Unchanged(weather, hr.NullKeys):
            weather.insert(
                pa.RecordBatchReader.from_batches(WEATHER, [*good.to_batches(1000), *bad.to_batches()]),
                mode=mode,
            )

    def test_a_key_column_of_nulls_alone(self, weather, mode):
        with Unchanged(weather, hr.BadData) as caught:
            weather.insert([{"origin": None, "seen": at("11:00"), "temp": 3.1}], mode=mode)
        assert "'origin'" in str(caught.value)


class TestDuplicateKeys:
    def test_in_one_upsert(self, weather):
        with Unchanged(weather, hr.DuplicateKeys) as caught:
            weather.insert(
                frame(WEATHER, ("JFK", "11:00", 1.0), ("EWR", "11:00", 1.0), ("JFK", "11:00", 1.0))
            )
        assert "JFK" in str(caught.value)
        assert "EWR" not in str(caught.value)

    def test_in_batches_far_apart(self, weather):
        batches = [frame(WEATHER, (origin, "11:00", 1.0)).to_batches()[0] for origin in ("EWR", "BOS", "EWR")]
        with Unchanged(weather, hr.DuplicateKeys):
            weather.insert(pa.RecordBatchReader.from_batches(WEATHER, batches))

    def test_keys_that_only_look_alike_are_none(self, store):
        schema = pa.schema({"a": pa.string(), "b": pa.string()})
        group = store.create_feature_group("g", primary_key=["a", "b"], schema=schema)
        given = [("1", "23"), ("12", "3"), ("a", "b"), ("A", "b"), ("a ", "b"), ("é", "x"), ("e\u0301", "x")]
        assert group.insert(frame(schema, *given)).rows_inserted == len(given)


class TestSchemaMismatch:
    @pytest.mark.parametrize("mode", MODES)
    def test_a_missing_column(self, weather, mode):
        for missing in WEATHER.names:
            with Unchanged(weather, hr.BadData) as caught:
                weather.insert(frame(WEATHER, ("JFK", "11:00", 1.0)).drop_columns([missing]), mode=mode)
            assert f"'{missing}'" in str(caught.value)

    @pytest.mark.parametrize("mode", MODES)
    def test_an_unknown_column(self, weather, mode):
        table = frame(WEATHER, ("JFK", "11:00", 1.0)).append_column("tmep", pa.array([1.0]))
        with Unchanged(weather, hr.SchemaMismatch) as caught:
            weather.insert(table, mode=mode)
        assert "'tmep'" in str(caught.value)

    def test_a_column_in_another_case(self, weather):
        with Unchanged(weather, (hr.BadData, hr.NameClash)) as caught:
            weather.insert(frame(WEATHER, ("JFK", "11:00", 1.0)).rename_columns(["origin", "seen", "TEMP"]))
        assert "'TEMP'" in str(caught.value)

    def test_a_column_twice(self, weather):
        table = frame(WEATHER, ("JFK", "11:00", 1.0))
        doubled = pa.table([*table.columns, table.column("temp")], names=[*table.schema.names, "temp"])
        with Unchanged(weather, (hr.BadData, hr.NameClash)):
            weather.insert(doubled)

    def test_the_first_insert_must_have_key_and_event_time(self, store):
        group = store.create_feature_group("g", primary_key=["id"], event_time="t")
        for table in (pa.table({"id": [1]}), pa.table({"t": pa.array([at("10:00")], TIME)})):
            with pytest.raises(hr.BadData):
                group.insert(table)
        assert group.schema is None
        group.insert(pa.table({"id": [1], "t": pa.array([at("10:00")], TIME)}))

    def test_the_first_insert_may_not_have_float_keys_or_text_times(self, store):
        group = store.create_feature_group("g", primary_key=["id"], event_time="t")
        good = {"id": pa.array([1]), "t": pa.array([at("10:00")], TIME), "v": pa.array([1])}
        wrong = {
            "id": [pa.array([1.0]), pa.array([[1]]), pa.nulls(1)],
            "t": [pa.array(["10:00"]), pa.array([1]), pa.array([1.0]), pa.nulls(1)],
            "v": [pa.nulls(1), pa.array([1], pa.uint64()), pa.array([dt.timedelta(1)])],
        }
        for column, arrays in wrong.items():
            for array in arrays:
                with pytest.raises((hr.BadData, hr.InvalidArgument), match=f"'{column}'"):
                    group.insert(pa.table(good | {column: array}))
        assert group.schema is None
        assert store.get_feature_group("g").schema is None
        assert group.insert(pa.table(good)).rows_inserted == 1

    def test_dicts_of_mixed_types(self, weather):
        with Unchanged(weather, (hr.BadData, hr.InvalidArgument)):
            weather.insert(
                [
                    {"origin": "JFK", "seen": at("11:00"), "temp": 1.0},
                    {"origin": 5, "seen": at("11:00"), "temp": "x"},
                ]
            )


def test_every_problem_is_named_at_once(weather):
    table = frame(WEATHER, (None, "11:00", 1.0)).append_column("wind", pa.array([1.0]))
    table = table.set_column(2, "temp", pa.array(["cold"]))
    with Unchanged(weather, hr.BadData) as caught:
        weather.insert(table)
    problems = caught.value.details["problems"]
    assert {"wind", "temp"} <= {problem["column"] for problem in problems}
    assert all({"code", "column", "message"} <= set(problem) for problem in problems)


def test_details_hold_the_problem_of_one_kind_too(weather):
    with Unchanged(weather, hr.NullKeys) as caught:
        weather.insert(frame(WEATHER, (None, "11:00", 1.0)))
    (problem,) = caught.value.details["problems"]
    assert (problem["code"], problem["column"]) == ("NULL_KEYS", "origin")


class Unlucky(Exception):
    """Raised by a source of rows in the middle of its work."""


class TestInterruption:
    """A source that fails midway: its error comes out, or one of ours, and nothing is written."""

    @staticmethod
    def broken(after: int, error: BaseException) -> pa.RecordBatchReader:
        def produce():
            for n in range(after):
                yield frame(WEATHER, *(("EWR", at("00:00") + (n * 1000 + i) * dt.timedelta(seconds=1), 1.0) for i in range(1000))).to_batches()[0]  # fmt: skip
            raise error

        return pa.RecordBatchReader.from_batches(WEATHER, produce())

    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("after", [0, 1, 20])
    def test_an_exception_in_the_source(self, weather, mode, after):
        with Unchanged(weather, (Unlucky, hr.HeadraceError)) as caught:
            weather.insert(
                self.broken(after, Unlucky("the disk of the source is gone")), mode=mode, idempotency_key="k"
            )
        assert "the disk of the source is gone" in f"{caught.value} {caught.value.__cause__}"
        weather.insert(frame(WEATHER, ("EWR", "11:00", 1.0)), mode="append", idempotency_key="k")
        assert len(rows(weather.read())) == 3

    def test_into_a_group_without_schema(self, store):
        group = store.create_feature_group("g", primary_key=["origin"], event_time="seen")
        with pytest.raises((Unlucky, hr.HeadraceError)):
            group.insert(self.broken(3, Unlucky()))
        assert group.schema is None
        assert store.get_feature_group("g").schema is None

    def test_batches_of_another_schema_midway(self, weather):
        good = frame(WEATHER, ("EWR", "11:00", 1.0)).to_batches()[0]
        other = pa.record_batch([pa.array([1])], names=["x"])
        with Unchanged(weather, (hr.HeadraceError, pa.ArrowException)):
            weather.insert(pa.RecordBatchReader.from_batches(WEATHER, iter([good, other])))


FAR = 400_000_000_000  # seconds: the year 14645


class TestWhatNoTableHolds:
    @pytest.fixture
    def group(self, store):
        return store.create_feature_group("g", primary_key=["id"])

    @pytest.mark.parametrize(
        ("kind", "error"),
        [
            (pa.struct([("", pa.int64())]), hr.InvalidName),
            (pa.struct([("a\0b", pa.int64())]), hr.InvalidName),
            (pa.list_(pa.struct([("", pa.int64())])), hr.InvalidName),
            (pa.struct([("a", pa.struct([("\n", pa.int64())]))]), hr.InvalidName),
            (pa.struct([("a", pa.int64()), ("A", pa.int64())]), hr.NameClash),
            (pa.struct([("a", pa.int64()), ("a", pa.int64())]), hr.NameClash),
            (pa.decimal128(5, -2), hr.SchemaMismatch),
        ],
        ids=str,
    )
    def test_types(self, group, kind, error):
        with pytest.raises(error):
            group.insert(pa.table({"id": [1], "x": pa.nulls(1, kind)}))
        assert group.history() == []

    @pytest.mark.parametrize(
        "column",
        [
            pa.array([FAR], pa.timestamp("s")),
            pa.array([FAR], pa.timestamp("s", "UTC")).dictionary_encode(),
            pa.array([[FAR]], pa.list_(pa.timestamp("s"))),
            pa.array([{"t": FAR}], pa.struct([("t", pa.timestamp("s"))])),
            pa.array([[(1, FAR)]], pa.map_(pa.int64(), pa.timestamp("s"))),
            pa.array([213_523_982], pa.int32()).view(pa.date32()),
            pa.array([-(2**31)], pa.int32()).view(pa.date32()),
            pa.array([86_400_000 * 10_000_000], pa.date64()),
        ],
        ids=lambda c: str(c.type),
    )
    def test_times(self, group, column):
        with pytest.raises(hr.SchemaMismatch, match="years 1 to 9999"):
            group.insert(pa.table({"id": [1], "x": column}))
        assert group.history() == []

    def test_partitions_alone(self, store):
        group = store.create_feature_group("parts", primary_key=["id"], partition_by=["id", "day"])
        with pytest.raises(hr.SchemaMismatch, match="partition_by"):
            group.insert(pa.table({"id": [1], "day": ["monday"]}))

    def test_names_of_partitions_that_are_too_long(self, store):
        group = store.create_feature_group("parts", primary_key=["id"], partition_by=["name"])
        group.insert(pa.table({"id": [1], "name": ["x" * 200]}))
        for name in ("x" * 300, "é" * 50):
            with Unchanged(group, hr.SchemaMismatch) as caught:
                group.insert(pa.table({"id": [2], "name": [name]}))
            assert "too long" in str(caught.value)

    def test_partitions_that_lead_elsewhere(self, store):
        for name in ("../x", "..", "a/../b", "."):
            with pytest.raises(hr.InvalidName):
                store.create_feature_group("parts", primary_key=["id"], partition_by=[name])


@pytest.mark.parametrize("mode", MODES)
def test_an_empty_frame_of_other_columns(weather, mode):
    with Unchanged(weather, hr.SchemaMismatch):
        weather.insert(pa.table({"other": pa.array([], pa.int64())}), mode=mode)


def test_decimals_learned_from_values_leave_room(store):
    group = store.create_feature_group("prices", primary_key=["id"])
    group.insert([{"id": 1, "price": decimal.Decimal("9.99")}])
    group.insert([{"id": 2, "price": decimal.Decimal("1000000.5")}])
    assert sorted(row["price"] for row in rows(group.read())) == [
        decimal.Decimal("9.99"), decimal.Decimal("1000000.50"),
    ]  # fmt: skip


def test_whole_numbers_for_floats(store):
    group = store.create_feature_group("g", primary_key=["id"])
    group.insert([{"id": 1, "x": 0.5}])
    group.insert([{"id": 2, "x": 4}])
    assert sorted(row["x"] for row in rows(group.read())) == [0.5, 4.0]
    with Unchanged(group, hr.SchemaMismatch) as caught:
        group.insert([{"id": 3, "x": 2**53 + 1}])
    assert "schema=" in caught.value.hint


def test_every_column_of_mixed_types_is_named(store):
    group = store.create_feature_group("g", primary_key=["id"])
    rows = [{"id": 1, "a": 1, "b": "x"}, {"id": 2, "a": "one", "b": 2}]
    for given in (rows, pd.DataFrame(rows)):
        with pytest.raises(hr.SchemaMismatch) as caught:
            group.insert(given)
        assert [p["column"] for p in caught.value.details["problems"]] == ["a", "b"]


@pytest.mark.parametrize("as_frame", [list, pd.DataFrame])
def test_a_time_among_dates_is_not_made_a_date(store, as_frame):
    group = store.create_feature_group("g", primary_key=["id"], event_time="t")
    given = [{"id": 1, "t": dt.date(2024, 1, 1)}, {"id": 2, "t": dt.datetime(2024, 1, 2, 17)}]
    with pytest.raises(hr.SchemaMismatch, match="'t' has no Arrow type: it holds dates and times"):
        group.insert(as_frame(given))
    assert group.schema is None


@pytest.mark.parametrize("value", [decimal.Decimal("Infinity"), np.datetime64("9999999-01-01"), object()])
def test_values_that_arrow_does_not_know(store, value):
    group = store.create_feature_group("g", primary_key=["id"])
    for given in ([{"id": 1, "v": value}], pd.DataFrame({"id": [1], "v": pd.Series([value], dtype=object)})):
        with pytest.raises(hr.SchemaMismatch, match="'v'"):
            group.insert(given)


def test_a_sparse_column(store):
    group = store.create_feature_group("g", primary_key=["id"])
    with pytest.raises(hr.SchemaMismatch, match="'v'"):
        group.insert(pd.DataFrame({"id": [1], "v": pd.arrays.SparseArray([0])}))


def test_extension_types_are_not_taken_for_what_they_are_made_of(store):
    group = store.create_feature_group(
        "g", primary_key=["id"], schema=pa.schema({"id": pa.int64(), "v": pa.int64()})
    )
    months = pd.DataFrame({"id": [1], "v": pd.period_range("2024-01", periods=1, freq="M")})
    with Unchanged(group, hr.SchemaMismatch) as caught:
        group.insert(months)
    assert "'v' is of the extension type pandas.period" in caught.value.message
    with pytest.raises(hr.SchemaMismatch, match=r"'v' is of the extension type pandas\.period"):
        store.create_feature_group("h", primary_key=["id"]).insert(months)
    nested = pa.table({"id": [1], "v": pa.nulls(1, pa.list_(pa.uuid()))})
    with pytest.raises(hr.SchemaMismatch, match=r"'v' is of the extension type arrow\.uuid"):
        store.create_feature_group("i", primary_key=["id"]).insert(nested)


def test_the_row_of_a_number_that_does_not_fit_is_named(store):
    schema = pa.schema({"id": pa.int64(), "v": pa.int8(), "w": pa.decimal128(4, 1)})
    group = store.create_feature_group("g", primary_key=["id"], schema=schema)
    group.insert(pa.table({"id": [0], "v": [0], "w": [0]}))
    reader = pa.table({"id": range(70_001), "v": [1] * 70_000 + [300], "w": [0] * 70_001}).to_reader(65_536)
    with Unchanged(group, hr.SchemaMismatch) as caught:
        group.insert(reader)
    assert "'v' does not fit int8 in row 70000: Integer value 300" in caught.value.message
    assert caught.value.details["problems"][0]["first_row"] == 70_000
    with Unchanged(group, hr.SchemaMismatch) as caught:
        group.insert(
            pa.table({"id": [1, 2, 3], "v": [1, 1, 1], "w": [1.5, 1000.0, 0.0]}).cast(
                pa.schema({"id": pa.int64(), "v": pa.int64(), "w": pa.decimal128(9, 1)})
            )
        )
    assert "'w' does not fit decimal128(4, 1) in row 1" in caught.value.message


def test_types_in_too_many_levels(store):
    kind = pa.int64()
    for _ in range(60):
        kind = pa.struct({"a": kind})
    with pytest.raises(hr.SchemaMismatch, match="'v' is nested in more than 32 levels"):
        store.create_feature_group("g", primary_key=["id"], schema=pa.schema({"id": pa.int64(), "v": kind}))
    group = store.create_feature_group("h", primary_key=["id"])
    with pytest.raises(hr.SchemaMismatch, match="'v' is nested in more than 32 levels"):
        group.insert(pa.table({"id": pa.array([1]), "v": pa.nulls(1, kind)}))


def test_a_key_that_would_be_forgotten(weather):
    row = frame(WEATHER, ("JFK", "12:00", 1.0))
    with Unchanged(weather, hr.InvalidArgument) as caught:
        weather.insert(row, idempotency_key="once/import-1")
    assert "'once/'" in caught.value.message
    again = "once/" + "0" * 32  # as an error of an unknown outcome tells it
    assert weather.insert(row, idempotency_key=again) == weather.insert(row, idempotency_key=again)
