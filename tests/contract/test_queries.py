"""Queries: immutable, checked as they are built, run when read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import headrace as hr
from contract.helpers import FLIGHTS, at, by_key, make_flights, make_weather, rows, values


@pytest.fixture
def flights(store):
    return make_flights(store, (1, "11:00", "JFK", 5.0), (2, "12:00", "LGA", 6.0), (3, "13:00", "EWR", None))


@pytest.fixture
def weather(store):
    return make_weather(store, ("JFK", "10:00", 1.0), ("LGA", "10:00", 2.0))


class TestSelect:
    def test_columns_in_the_order_asked(self, flights):
        assert flights.select("origin", "flight_id").read().schema.names == ["origin", "flight_id"]

    def test_alone_means_all_features(self, flights, weather):
        assert flights.select().read().schema.names == FLIGHTS.names
        assert flights.select("flight_id").join(weather.select(), on="origin").read().schema.names == [
            "flight_id",
            "temp",
        ]

    def test_features_are_neither_key_nor_time_nor_partition(self, store, flights):
        schema = FLIGHTS.append(pa.field("year", pa.int32())).append(pa.field("gate", pa.string()))
        other = store.create_feature_group(
            "other", primary_key=["flight_id"], event_time="dep", partition_by=["year"], schema=schema
        )
        joined = flights.select("flight_id").join(other, prefix="o_")
        assert joined.read().schema.names == ["flight_id", "o_origin", "o_delay", "o_gate"]

    def test_unknown_columns_are_told_as_it_is_built(self, flights):
        with pytest.raises(hr.UnknownColumn, match="orign"):
            flights.select("orign")

    def test_a_column_twice_is_refused(self, flights):
        with pytest.raises(hr.NameClash, match="origin"):
            flights.select("origin", "origin")

    def test_columns_that_differ_by_case_alone_are_refused(self, store, flights):
        other = store.create_feature_group("other", primary_key=["k"], event_time="t")
        other.insert([{"k": "JFK", "t": at("10:00"), "Delay": 1.0}])
        query = flights.select("flight_id", "origin").join(other, on={"origin": "k"})
        for chosen in ((), ("Delay", "delay")):
            with pytest.raises(hr.NameClash, match="'Delay', 'delay'"):
                query.select(*chosen).read()

    def test_takes_names_and_columns_of_the_group(self, flights):
        with pytest.raises(hr.InvalidArgument):
            flights.select(5)

    def test_after_a_join_chooses_among_the_result(self, flights, weather):
        query = flights.join(weather, on="origin").select("temp", "flight_id")
        assert query.read().schema.names == ["temp", "flight_id"]
        assert by_key(query.read(), "flight_id", "temp") == [1.0, 2.0, None]
        with pytest.raises(hr.UnknownColumn):
            flights.join(weather, on="origin").select("seen")


class TestFilter:
    def test_several_are_all_in_force(self, flights):
        query = flights.filter(flights["delay"] > 1).filter(flights["origin"] == "LGA")
        assert values(query.read(), "flight_id") == [2]

    def test_may_read_columns_that_are_not_selected(self, flights):
        assert rows(flights.select("flight_id").filter(flights["origin"] == "EWR").read()) == [
            {"flight_id": 3}
        ]
        assert rows(flights.filter(flights["origin"] == "EWR").select("flight_id").read()) == [
            {"flight_id": 3}
        ]

    def test_of_a_group_that_is_not_in_the_query_is_unknown(self, flights, weather):
        with pytest.raises(hr.UnknownColumn, match="temp"):
            flights.filter(weather["temp"] > 0)

    def test_of_a_group_joined_twice_needs_the_name_in_the_result(self, flights, weather):
        query = flights.join(weather, on="origin", prefix="a_").join(
            weather, on="origin", prefix="b_", min_age="90m"
        )
        with pytest.raises(hr.InvalidArgument, match="query"):
            query.filter(weather["temp"] > 0)
        assert values(query.filter(query["b_temp"] == 2.0).read(), "flight_id") == [2]
        assert values(query.filter(query["a_temp"] > query["flight_id"]).read(), "flight_id") == []

    @pytest.mark.parametrize(
        "given", [np.array([1, 2]), pd.Series([1, 2]), pd.array([1, 2]), pl.Series([1]), pa.array([1, 2])]
    )
    def test_on_several_values_is_refused(self, flights, given):
        with pytest.raises(hr.InvalidArgument):
            flights["flight_id"] == given  # noqa: B015
        with pytest.raises(hr.InvalidArgument, match="isin"):
            flights["flight_id"].isin(5)

    def test_on_one_of_numpy_s(self, flights):
        for one in (np.int64(1), np.array(1)):
            assert values(flights.filter(flights["flight_id"] == one).read(), "flight_id") == [1]

    def test_on_a_short_float_and_an_exact_number_is_refused(self, store):
        group = store.create_feature_group("numbers", primary_key=["id"])
        group.insert(pa.table({"id": [1], "f": pa.array([0.5], pa.float32()), "d": [0.5], "i": [1]}))
        for one, other in (("f", "i"), ("i", "f")):
            with pytest.raises(hr.InvalidArgument, match="computed column"):
                group.filter(group[one] == group[other]).read()
        assert values(group.filter(group["f"] == group["d"]).read(), "id") == [1]

    def test_what_is_no_condition_is_refused(self, flights):
        for wrong in (True, "delay > 1", flights["delay"], None):
            with pytest.raises(hr.InvalidArgument):
                flights.filter(wrong)


class TestColumnOfAQuery:
    def test_by_result_name(self, flights, weather):
        query = flights.join(weather, on="origin", prefix="wx_")
        assert isinstance(query["wx_temp"], hr.Column)
        with pytest.raises(hr.UnknownColumn, match="wx_tmep"):
            query.filter(query["wx_tmep"] > 0)


class TestLimit:
    def test_is_the_most_rows(self, flights):
        assert len(rows(flights.select("flight_id").limit(2).read())) == 2
        assert len(rows(flights.select("flight_id").limit(99).read())) == 3
        assert rows(flights.filter(flights["origin"] == "EWR").limit(2).read())[0]["flight_id"] == 3
        assert rows(flights.select("flight_id").limit(0).read()) == []

    def test_twice_is_the_least(self, flights):
        assert len(rows(flights.select("flight_id").limit(2).limit(1).read())) == 1
        assert len(rows(flights.select("flight_id").limit(1).limit(2).read())) == 1

    def test_after_joins(self, flights, weather):
        assert len(rows(flights.join(weather, on="origin").limit(2).read())) == 2
        inner = flights.join(weather, on="origin", how="inner").limit(3)
        assert len(rows(inner.read())) == 2

    def test_must_be_last(self, flights, weather):
        limited = flights.select("flight_id", "origin").limit(2)
        for step in (
            lambda: limited.select("flight_id"),
            lambda: limited.filter(flights["delay"] > 0),
            lambda: limited.join(weather, on="origin"),
        ):
            with pytest.raises(hr.InvalidArgument, match="limit"):
                step().read()

    @pytest.mark.parametrize("wrong", [-1, 1.5, "2", None, True])
    def test_is_a_count(self, flights, wrong):
        with pytest.raises(hr.InvalidArgument):
            flights.select("flight_id").limit(wrong)


class TestJoin:
    def test_a_joined_query_holds_only_filters_and_select(self, store, flights, weather):
        other = make_weather(store, name="other")
        with pytest.raises(hr.InvalidArgument, match="weather"):
            flights.join(weather.select("temp").join(other, on="origin", prefix="x_"), on="origin").read()
        with pytest.raises(hr.InvalidArgument, match="weather"):
            flights.join(weather.select("temp").limit(1), on="origin").read()

    def test_a_chain_of_many(self, store, flights):
        query, names = flights.select("flight_id"), []
        for n in range(12):
            group = make_weather(store, ("JFK", "10:00", float(n)), name=f"w{n}")
            query = query.join(group, on="origin", prefix=f"p{n}_")
            names.append(f"p{n}_temp")
        result = query.read()
        assert result.schema.names == ["flight_id", *names]
        found = {row["flight_id"]: [row[name] for name in names] for row in rows(result)}
        assert found == {1: [float(n) for n in range(12)], 2: [None] * 12, 3: [None] * 12}

    @pytest.mark.parametrize("wrong", [None, "weather", 5, []])
    def test_what_is_no_group_or_query_is_refused(self, flights, wrong):
        with pytest.raises(hr.InvalidArgument):
            flights.join(wrong, on="origin")

    def test_a_key_that_the_query_lacks_is_named_with_its_group(self, store, flights):
        planes = store.create_feature_group(
            "planes", primary_key=["plane"], schema=pa.schema({"plane": pa.string(), "seats": pa.int64()})
        )
        for on in (None, {"tail": "plane"}):
            with pytest.raises(
                hr.UnknownColumn,
                match=rf"planes@v1, whose primary key is \['plane'\]: .*'{'tail' if on else 'plane'}'.*on=",
            ):
                flights.join(planes, on=on)

    def test_options_of_the_wrong_kind_are_refused(self, flights, weather):
        for options in (
            {"on": 5},
            {"on": [5]},
            {"max_age": 5},
            {"min_age": "soon"},
            {"prefix": None},
            {"point_in_time": "yes"},
        ):
            with pytest.raises(hr.InvalidArgument):
                flights.join(weather, **({"on": "origin"} | options)).read()

    def test_groups_of_another_store_are_refused(self, flights, tmp_path):
        with hr.connect(tmp_path / "elsewhere") as elsewhere:
            weather = make_weather(elsewhere)
            with pytest.raises(hr.HeadraceError):
                flights.join(weather, on="origin").read()


def test_steps_leave_the_query_they_start_from_as_it_was(flights, weather):
    query = flights.select("flight_id", "origin")
    query.join(weather, on="origin")
    query.filter(flights["flight_id"] == 1)
    query.limit(1)
    query.select("origin")
    assert query.read().schema.names == ["flight_id", "origin"]
    assert len(rows(query.read())) == 3


def test_the_same_query_sees_the_newest_commit_at_each_read(flights):
    query = flights.select("flight_id")
    flights.delete(filter=flights["flight_id"] == 1)
    assert sorted(values(query.read(), "flight_id")) == [2, 3]


def test_explain_names_every_group_and_how_it_is_joined(store, flights, weather):
    schema = pa.schema({"origin": pa.string(), "name": pa.string()})
    airports = store.create_feature_group("airports", primary_key=["origin"], schema=schema)
    told = flights.select("flight_id").join(weather, on="origin", max_age="90m").join(airports).explain()
    for word in ("flights@v1", "weather@v1", "airports@v1", "90m", "plain"):
        assert word in told
