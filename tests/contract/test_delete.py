"""Deletes of rows, by keys and by filter."""

from __future__ import annotations

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import headrace as hr
from contract.helpers import TIME, WEATHER, Unchanged, at, frame, make_flights, make_weather, rows, values

KEYS = pa.schema({"origin": pa.string(), "seen": TIME})


@pytest.fixture
def weather(store):
    return make_weather(
        store, ("JFK", "10:00", 1.0), ("JFK", "10:05", 2.0), ("LGA", "10:00", None), ("EWR", "10:00", 4.0)
    )


class TestByFilter:
    def test_deletes_rows_where_it_is_true(self, weather):
        commit = weather.delete(filter=weather["temp"] >= 2)
        assert commit.rows_deleted == 2
        assert weather.read().snapshots == {"weather@v1": commit.snapshot}
        assert sorted(map(str, values(weather.read(), "temp"))) == ["1.0", "None"]  # unknown is not true

    def test_of_null(self, weather):
        weather.delete(filter=weather["temp"].is_null())
        assert sorted(values(weather.read(), "temp")) == [1.0, 2.0, 4.0]

    def test_combined(self, weather):
        weather.delete(filter=(weather["origin"] == "JFK") & ~(weather["seen"] < "2024-03-01T10:05Z"))
        assert sorted(map(str, values(weather.read(), "temp"))) == ["1.0", "4.0", "None"]

    def test_of_everything_keeps_the_group(self, weather):
        assert weather.delete(filter=weather["origin"].is_not_null()).rows_deleted == 4
        assert rows(weather.read()) == []
        weather.insert(frame(WEATHER, ("JFK", "11:00", 5.0)))
        assert values(weather.read(), "temp") == [5.0]

    def test_of_nothing_deletes_nothing(self, weather):
        assert not weather.delete(filter=weather["origin"] == "nowhere").rows_deleted
        assert len(rows(weather.read())) == 4

    def test_with_a_key_runs_once(self, weather):
        first = weather.delete(filter=weather["temp"] >= 2, idempotency_key="clean up")
        weather.insert(frame(WEATHER, ("LGA", "12:00", 9.0)))
        assert weather.delete(filter=weather["temp"] >= 2, idempotency_key="clean up") == first
        assert sorted(map(str, values(weather.read(), "temp"))) == ["1.0", "9.0", "None"]

    def test_of_text_that_is_sql_is_a_value(self, weather):
        weather.insert(frame(WEATHER, ("' OR 1=1 --", "10:00", 9.0)))
        assert weather.delete(filter=weather["origin"] == "' OR 1=1 --").rows_deleted == 1
        assert len(rows(weather.read())) == 4


class TestByKeys:
    @pytest.mark.parametrize(
        "kind",
        [
            lambda t: t,
            lambda t: t.to_reader(),
            lambda t: t.to_pandas(),
            pl.from_arrow,
            lambda t: t.to_pylist(),
        ],
        ids=["table", "reader", "pandas", "polars", "list_of_dicts"],
    )
    def test_of_every_kind_of_frame(self, weather, kind):
        keys = frame(KEYS, ("JFK", "10:05"), ("EWR", "10:00"), ("EWR", "10:01"))
        assert weather.delete(keys=kind(keys)).rows_deleted == 2
        assert sorted(map(str, values(weather.read(), "temp"))) == ["1.0", "None"]

    def test_of_the_primary_key_alone_take_every_time(self, weather):
        assert weather.delete(keys=[{"origin": "JFK"}]).rows_deleted == 2
        assert sorted(values(weather.read(), "origin")) == ["EWR", "LGA"]

    def test_of_several_columns_never_concatenated(self, store):
        schema = pa.schema({"a": pa.string(), "b": pa.string()})
        group = store.create_feature_group("g", primary_key=["a", "b"], schema=schema)
        group.insert(frame(schema, ("1", "23"), ("12", "3")))
        group.delete(keys=[{"a": "12", "b": "3"}])
        assert rows(group.read()) == [{"a": "1", "b": "23"}]

    def test_given_twice_delete_once(self, weather):
        assert weather.delete(keys=[{"origin": "LGA"}, {"origin": "LGA"}]).rows_deleted == 1

    def test_of_the_pandas_index(self, weather):
        keys = pd.DataFrame({"seen": [at("10:00")]}, index=pd.Index(["JFK"], name="origin"))
        assert weather.delete(keys=keys).rows_deleted == 1

    def test_that_lack_a_key_column_are_refused(self, store):
        schema = pa.schema({"a": pa.string(), "b": pa.string()})
        group = store.create_feature_group("g", primary_key=["a", "b"], schema=schema)
        group.insert(frame(schema, ("1", "23")))
        with Unchanged(group, (hr.BadData, hr.InvalidArgument)) as caught:
            group.delete(keys=[{"a": "1"}])
        assert "'b'" in str(caught.value)

    def test_that_have_other_columns_are_refused(self, weather):
        with Unchanged(weather, (hr.BadData, hr.InvalidArgument)) as caught:
            weather.delete(keys=[{"origin": "JFK", "temp": 1.0}])
        assert "temp" in str(caught.value)

    def test_of_another_type_are_refused(self, weather):
        with Unchanged(weather, (hr.BadData, hr.KeyMismatch)):
            weather.delete(keys=[{"origin": 5}])


@pytest.mark.parametrize("options", [{}, {"keys": [{"origin": "JFK"}], "filter": "both"}])
def test_exactly_one_of_keys_and_filter(weather, options):
    if "filter" in options:
        options = options | {"filter": weather["temp"] > 0}
    with Unchanged(weather, hr.InvalidArgument):
        weather.delete(**options)


def test_filters_of_the_wrong_kind_are_refused(store, weather):
    flights = make_flights(store)
    for wrong in (True, "temp > 1", weather["temp"], lambda row: True):
        with Unchanged(weather, hr.InvalidArgument):
            weather.delete(filter=wrong)
    with Unchanged(weather, hr.UnknownColumn):
        weather.delete(filter=flights["delay"] > 0)
    with Unchanged(weather, hr.InvalidArgument):
        weather.delete(filter=weather["temp"] == "cold")


def test_floats_that_are_alike_to_a_filter_are_deleted_alike(store):
    schema = pa.schema({"k": pa.int64(), "v": pa.float64(), "w": pa.float32()})
    group = store.create_feature_group("g", primary_key=["k"], schema=schema)
    nan = np.array([0x7FF8 << 48, 0xFFF8 << 48], np.uint64).view(np.float64)

    def append(floats):
        group.insert(pa.table({"k": [1, 1], "v": floats, "w": floats}).cast(schema), mode="append")

    for floats, condition in [
        (nan, group["v"].is_nan() & group["w"].is_nan()),
        (np.array([0.0, -0.0]), (group["v"] == 0) & (group["w"] < 1)),
    ]:
        append(floats)
        assert group.delete(filter=condition).rows_deleted == 2
        assert rows(group.read()) == []


@pytest.mark.parametrize(
    ("narrow", "wide", "values", "chosen"),
    [
        (pa.int32(), pa.int64(), [1, 2_500_000_000, 3_500_000_000], 3_000_000_000),
        (pa.decimal128(5, 2), pa.decimal128(7, 4), ["1.0001", "1.0049", "1.0051"], "1.005"),
    ],
    ids=["int64", "decimal"],
)
@pytest.mark.parametrize("mode", ["delete", "overwrite"])
def test_a_handle_from_before_a_column_was_widened(store, mode, narrow, wide, values, chosen):
    """What a literal is compared as is told by the table, and not by what the handle knew."""
    old = store.create_feature_group("g", primary_key=["k"], schema=pa.schema({"k": pa.int64(), "v": narrow}))
    old.insert([{"k": 0, "v": 0}])
    condition = old["v"] > (chosen if isinstance(chosen, int) else decimal.Decimal(chosen))
    store.get_feature_group("g").add_features({"v": wide})
    exact = [v if isinstance(v, int) else decimal.Decimal(v) for v in values]
    store.get_feature_group("g").insert(pa.table({"k": [1, 2, 3], "v": pa.array(exact, wide)}))
    if mode == "delete":
        assert old.delete(filter=condition).rows_deleted == 1
    else:
        old.insert(
            pa.table({"k": pa.array([], pa.int64()), "v": pa.array([], wide)}),
            mode="overwrite",
            filter=condition,
        )
    assert sorted(row["k"] for row in rows(old.read())) == [0, 1, 2]
