"""The point-in-time rules, one test or more for each: keys, joins of other kinds, clashes, leaks and filters."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

import headrace as hr
from contract.helpers import (
    FLIGHTS,
    TIME,
    WEATHER,
    at,
    by_key,
    frame,
    make_flights,
    make_weather,
    rows,
    temps_at,
    values,
)  # fmt: skip

PLANES = pa.schema({"tail": pa.string(), "seats": pa.int64(), "model": pa.string()})


def make_planes(store, *planes, mode="append", **definition):
    group = store.create_feature_group("planes", primary_key=["tail"], schema=PLANES, **definition)
    group.insert(frame(PLANES, *planes), mode=mode)
    return group


def make_legs(store, *legs, **definition):
    """Rows are (flight_id, dep, tail, delay)."""
    schema = pa.schema({"flight_id": pa.int64(), "dep": TIME, "tail": pa.string(), "delay": pa.float64()})
    group = store.create_feature_group(
        "legs", primary_key=["tail"], event_time="dep", schema=schema, **definition
    )
    group.insert(frame(schema, *legs), mode="append")
    return group


def test_multi_column_keys_are_compared_column_by_column_never_concatenated(store):
    schema = pa.schema({"a": pa.string(), "b": pa.string(), "seen": TIME, "v": pa.int64()})
    stored = store.create_feature_group("stored", primary_key=["a", "b"], event_time="seen", schema=schema)
    parts = [
        ("1", "23"),
        ("12", "3"),
        ("123", ""),
        ("", "123"),
        ("1,2", "3"),
        ("1", "2,3"),
        ("1\x1f2", "3"),
        ("1", "2\x1f3"),
    ]
    stored.insert(frame(schema, *((a, b, "10:00", i) for i, (a, b) in enumerate(parts))))
    root_schema = pa.schema({"id": pa.int64(), "dep": TIME, "a": pa.string(), "b": pa.string()})
    root = store.create_feature_group("root", primary_key=["id"], event_time="dep", schema=root_schema)
    root.insert(
        frame(root_schema, *((i, "11:00", a, b) for i, (a, b) in enumerate(parts)), (99, "11:00", "12", "23"))
    )
    found = root.select("id").join(stored.select("v")).read()
    assert by_key(found, "id", "v") == [*range(len(parts)), None]


class TestOn:
    def test_omitted_is_the_whole_primary_key_by_name(self, store):
        weather = make_weather(store, ("JFK", "10:00", 1.0), ("LGA", "10:00", 2.0))
        flights = make_flights(store, (1, "11:00", "LGA", 0.0))
        assert values(flights.join(weather).read(), "temp") == [2.0]

    def test_omitted_needs_the_names_on_the_left(self, store):
        flights = make_flights(store)
        with pytest.raises((hr.UnknownColumn, hr.KeyMismatch), match="tail"):
            flights.join(make_planes(store)).read()

    def test_as_name_list_and_mapping(self, store):
        weather = make_weather(store, ("JFK", "10:00", 1.0))
        flights = make_flights(store, (1, "11:00", "JFK", 0.0))
        for on in ("origin", ["origin"], {"origin": "origin"}):
            assert values(flights.join(weather, on=on).read(), "temp") == [1.0]

    def test_covering_part_of_the_key_is_key_mismatch(self, store):
        schema = pa.schema({"origin": pa.string(), "runway": pa.string(), "v": pa.int64()})
        runways = store.create_feature_group("runways", primary_key=["origin", "runway"], schema=schema)
        flights = make_flights(store)
        for on in ("origin", {"origin": "runway"}, []):
            with pytest.raises(hr.KeyMismatch, match="runway"):
                flights.join(runways, on=on).read()

    def test_naming_columns_beside_the_key_is_key_mismatch(self, store):
        weather = make_weather(store)
        flights = make_flights(store)
        with pytest.raises(hr.KeyMismatch):
            flights.join(weather, on=["origin", "delay"]).read()
        with pytest.raises(hr.KeyMismatch):
            flights.join(weather, on={"delay": "temp"}).read()

    def test_a_column_that_an_earlier_join_brought(self, store):
        flights = make_flights(store, (1, "11:00", "JFK", 0.0))
        schema = pa.schema({"origin": pa.string(), "zone": pa.int32()})
        airports = store.create_feature_group("airports", primary_key=["origin"], schema=schema)
        airports.insert(frame(schema, ("JFK", 5)))
        zone_schema = pa.schema({"zone": pa.int64(), "name": pa.string()})
        zones = store.create_feature_group("zones", primary_key=["zone"], schema=zone_schema)
        zones.insert(frame(zone_schema, (5, "Eastern")))
        query = (
            flights.select("flight_id")
            .join(airports, prefix="at_", on="origin")
            .join(zones, on={"at_zone": "zone"})
        )
        assert values(query.read(), "name") == ["Eastern"]


def test_group_without_keys_gives_the_newest_row_of_the_whole_group(store):
    schema = pa.schema({"seen": TIME, "rate": pa.float64()})
    rates = store.create_feature_group("rates", primary_key=[], event_time="seen", schema=schema)
    rates.insert(frame(schema, ("10:00", 1.0), ("10:05", 2.0)))
    flights = make_flights(
        store, *((i, clock, "JFK", 0.0) for i, clock in enumerate(("09:00", "10:04", "10:05")))
    )
    assert by_key(flights.join(rates).read(), "flight_id", "rate") == [None, 1.0, 2.0]


class TestGroupWithoutEventTime:
    def test_is_joined_plainly(self, store):
        planes = make_planes(store, ("N1", 100, "A"), ("N2", 200, "B"))
        legs = make_legs(store, (1, "10:00", "N2", 0.0), (2, "10:00", "N3", 0.0))
        query = legs.select("flight_id").join(planes)
        assert by_key(query.read(), "flight_id", "seats") == [200, None]
        assert "plain" in query.explain()

    def test_its_key_must_be_unique(self, store):
        planes = make_planes(store, ("N1", 100, "A"), ("N1", 200, "A"), ("N2", 1, "B"))
        legs = make_legs(store, (1, "10:00", "N1", 0.0))
        with pytest.raises(hr.AmbiguousRows, match="planes"):
            legs.select("flight_id").join(planes).read().to_arrow()
        assert values(legs.select("flight_id").join(planes.select("model")).read(), "model") == ["A"]

    def test_rows_that_no_spine_row_picks_may_repeat(self, store):
        planes = make_planes(store, ("N1", 100, "A"), ("N1", 200, "A"), ("N2", 1, "B"))
        legs = make_legs(store, (1, "10:00", "N2", 0.0))
        assert values(legs.select("flight_id").join(planes).read(), "seats") == [1]

    def test_created_time_and_tie_breaker_make_it_unique(self, store):
        schema = PLANES.append(pa.field("recorded", TIME))
        planes = store.create_feature_group(
            "planes", primary_key=["tail"], created_time="recorded", tie_breaker="seats", schema=schema
        )
        given = [
            ("N1", 100, "A", "10:00"),
            ("N1", 300, "B", "10:05"),
            ("N1", 200, "C", "10:05"),
            ("N1", 900, "D", None),
        ]
        planes.insert(frame(schema, *given), mode="append")
        legs = make_legs(store, (1, "11:00", "N1", 0.0))
        query = legs.select("flight_id").join(planes)
        assert values(query.read(), "seats") == [300]
        assert values(query.read(known_at=at("10:04")), "seats") == [100]

    def test_point_in_time_cannot_be_asked_of_it(self, store):
        with pytest.raises(hr.InvalidArgument):
            make_legs(store).join(make_planes(store), point_in_time=True, prefix="p_").read()

    def test_a_root_without_event_time_is_joined_plainly(self, store):
        weather = make_weather(store, ("JFK", "23:00", 1.0))
        airports = store.create_feature_group(
            "airports", primary_key=["origin"], schema=pa.schema({"origin": pa.string()})
        )
        airports.insert([{"origin": "JFK"}, {"origin": "LGA"}])
        query = airports.join(weather)
        assert by_key(query.read(), "origin", "temp") == [1.0, None]
        assert "plain" in query.explain()


class TestColumnNamesClash:
    def test_lists_them_and_renames_nothing(self, store):
        weather = make_weather(store)
        flights = make_flights(store)
        with pytest.raises(hr.NameClash, match="origin") as caught:
            flights.join(weather.select("origin", "temp"), on="origin").read()
        assert "temp" not in caught.value.message
        prefixed = flights.join(weather.select("origin", "temp"), on="origin", prefix="wx_").read()
        assert prefixed.schema.names == ["flight_id", "dep", "origin", "delay", "wx_origin", "wx_temp"]

    def test_by_case_alone(self, store):
        schema = pa.schema({"tail": pa.string(), "DELAY": pa.float64()})
        planes = store.create_feature_group("planes", primary_key=["tail"], schema=schema)
        with pytest.raises(hr.NameClash, match="DELAY"):
            make_legs(store).join(planes).read()

    def test_by_prefix(self, store):
        schema = pa.schema({"origin": pa.string(), "a": pa.int64()})
        one = store.create_feature_group("one", primary_key=["origin"], schema=schema)
        other = store.create_feature_group("other", primary_key=["origin"], schema=schema)
        flights = make_flights(store)
        with pytest.raises(hr.NameClash, match="p_a"):
            flights.join(one, prefix="p_").join(other, prefix="p_").read()

    def test_in_a_group(self, store):
        with pytest.raises(hr.NameClash, match="TEMP"):
            store.create_feature_group(
                "g", primary_key=["temp"], schema=pa.schema({"temp": pa.int64(), "TEMP": pa.int64()})
            )


def test_a_joined_groups_keys_and_times_are_absent_unless_selected(store):
    weather = make_weather(store, ("JFK", "10:00", 1.0, "10:01"), created_time="recorded")
    flights = make_flights(store, (1, "11:00", "JFK", 0.0)).select("flight_id")
    assert flights.join(weather, on="origin").read().schema.names == ["flight_id", "temp"]
    assert flights.join(weather.select(), on="origin").read().schema.names == ["flight_id", "temp"]
    everything = flights.join(
        weather.select("temp", "seen", "origin", "recorded"), on="origin", prefix="w_"
    ).read()
    assert rows(everything) == [
        {"flight_id": 1, "w_temp": 1.0, "w_seen": at("10:00"), "w_origin": "JFK", "w_recorded": at("10:01")}
    ]


def test_the_same_group_may_be_joined_twice_with_different_prefixes(store):
    weather = make_weather(store, ("JFK", "10:00", 1.0), ("LGA", "10:00", 2.0))
    schema = FLIGHTS.append(pa.field("dest", pa.string()))
    flights = store.create_feature_group(
        "flights", primary_key=["flight_id"], event_time="dep", schema=schema
    )
    flights.insert(frame(schema, (1, "11:00", "JFK", 0.0, "LGA")))
    query = flights.select("flight_id").join(weather, on="origin", prefix="from_")
    query = query.join(weather, on={"dest": "origin"}, prefix="to_").join(
        weather, on="origin", prefix="old_", min_age="2h"
    )
    assert rows(query.read()) == [{"flight_id": 1, "from_temp": 1.0, "to_temp": 2.0, "old_temp": None}]
    with pytest.raises(hr.NameClash):
        flights.join(weather, on="origin").join(weather, on={"dest": "origin"}).read()


class TestSelfJoin:
    def test_is_leakage_without_min_age(self, store):
        legs = make_legs(store, (1, "10:00", "N1", 5.0))
        with pytest.raises(hr.Leakage):
            legs.join(legs.select("delay"), prefix="prev_").read()

    def test_min_age_gives_earlier_rows_and_zero_allows_the_row_itself(self, store):
        legs = make_legs(store, (1, "10:00", "N1", 5.0), (2, "11:00", "N1", 6.0), (3, "11:00", "N2", 7.0))
        query = legs.select("flight_id").join(legs.select("delay"), prefix="prev_", min_age="1us")
        assert by_key(query.read(), "flight_id", "prev_delay") == [None, 5.0, None]
        query = legs.select("flight_id").join(legs.select("delay"), prefix="own_", min_age="0s")
        assert by_key(query.read(), "flight_id", "own_delay") == [5.0, 6.0, 7.0]


class TestLabelAlsoSelectedAsFeature:
    def test_is_leakage_unless_that_joins_min_age_is_above_zero(self, store):
        legs = make_legs(store, (1, "10:00", "N1", 5.0), (2, "11:00", "N1", 6.0))
        for min_age, allowed in (("0s", False), ("1us", True)):
            query = legs.select("flight_id", "delay").join(
                legs.select("delay"), prefix="prev_", min_age=min_age
            )
            if allowed:
                view = store.create_feature_view("delays", query, labels=["delay"])
                assert by_key(view.training_data(), "flight_id", "prev_delay") == [None, 5.0]
            else:
                with pytest.raises(hr.Leakage, match="delay"):
                    store.create_feature_view("delays", query, labels=["delay"])

    def test_a_call_cannot_take_the_min_age_away(self, store):
        legs = make_legs(store, (1, "10:00", "N1", 5.0))
        query = legs.select("flight_id", "delay").join(legs.select("delay"), prefix="prev_", min_age="1us")
        view = store.create_feature_view("delays", query, labels=["delay"])
        with pytest.raises(hr.Leakage):
            view.training_data(min_age="0s").to_arrow()


class TestLabelRecordedAfterTheSpineTime:
    SCHEMA = pa.schema({"flight_id": pa.int64(), "landed": TIME, "late": pa.bool_(), "gate": pa.string()})

    def outcomes(self, store, *given):
        group = store.create_feature_group(
            "outcomes", primary_key=["flight_id"], event_time="landed", schema=self.SCHEMA
        )
        group.insert(frame(self.SCHEMA, *given), mode="append")
        return group

    def test_comes_from_a_join_that_ignores_time(self, store):
        outcomes = self.outcomes(store, (1, "15:00", True, "B"))
        flights = make_flights(store, (1, "11:00", "JFK", 0.0), (2, "11:00", "JFK", 0.0))
        query = flights.select("flight_id").join(outcomes.select("late"), point_in_time=False)
        view = store.create_feature_view("view", query, labels=["late"])
        assert by_key(view.training_data(), "flight_id", "late") == [True, None]
        assert "plain" in view.explain()

    def test_on_a_unique_key(self, store):
        outcomes = self.outcomes(store, (1, "15:00", True, "B"), (1, "16:00", False, "B"))
        flights = make_flights(store, (1, "11:00", "JFK", 0.0))
        query = flights.select("flight_id").join(outcomes.select("late"), point_in_time=False)
        with pytest.raises(hr.AmbiguousRows, match=r"outcomes.* for the same key, .*no account of time"):
            query.read().to_arrow()

    def test_only_label_columns_may_come_from_it(self, store):
        outcomes = self.outcomes(store)
        query = (
            make_flights(store).select("flight_id").join(outcomes.select("late", "gate"), point_in_time=False)
        )
        with pytest.raises(hr.Leakage, match="gate"):
            store.create_feature_view("view", query, labels=["late"])


class TestFilter:
    def test_before_a_join_chooses_candidates(self, store):
        weather = make_weather(store, ("JFK", "10:00", 1.0), ("JFK", "10:05", 99.0))
        flights = make_flights(store, (1, "11:00", "JFK", 0.0), (2, "11:00", "LGA", 0.0))
        sane = weather.filter(weather["temp"] < 50).select("temp")
        assert by_key(flights.join(sane, on="origin").read(), "flight_id", "temp") == [1.0, None]
        here = flights.filter(flights["origin"] == "LGA")
        assert values(here.join(sane, on="origin").read(), "flight_id") == [2]

    def test_after_a_join_drops_result_rows(self, store):
        weather = make_weather(store, ("JFK", "10:00", 1.0), ("JFK", "10:05", 99.0))
        flights = make_flights(
            store, (1, "11:00", "JFK", 0.0), (2, "10:01", "JFK", 0.0), (3, "11:00", "LGA", 0.0)
        )
        query = flights.join(weather.select("temp"), on="origin")
        assert values(query.filter(query["temp"] < 50).read(), "flight_id") == [2]
        assert values(query.filter(weather["temp"] < 50).read(), "flight_id") == [2]
        assert values(query.filter(query["temp"].is_null()).read(), "flight_id") == [3]
        assert values(query.filter(flights["origin"] == "LGA").read(), "flight_id") == [3]


class TestInner:
    def test_drops_rows_unmatched_after_age_limits(self, store):
        weather = make_weather(store, ("JFK", "10:00", None))
        flights = make_flights(
            store, (1, "11:00", "JFK", 0.0), (2, "13:00", "JFK", 0.0), (3, "09:00", "JFK", 0.0)
        )
        query = flights.join(weather.select("temp"), on="origin", how="inner", max_age="2h")
        assert [(row["flight_id"], row["temp"]) for row in rows(query.read())] == [(1, None)]

    @pytest.mark.parametrize("how", ["right", "outer", "full", "cross", ""])
    def test_right_and_outer_are_refused(self, store, how):
        flights, weather = make_flights(store), make_weather(store)
        with pytest.raises(hr.InvalidArgument):
            flights.join(weather.select("temp"), on="origin", how=how).read()


class TestEmpty:
    def test_group_gives_columns_of_nulls(self, store):
        weather = make_weather(store)
        assert temps_at(store, weather, "10:00") == [None]
        flights = make_flights(store, (1, "11:00", "JFK", 0.0))
        assert rows(flights.join(weather.select("temp"), on="origin", how="inner").read()) == []

    def test_spine_gives_no_rows_with_the_full_schema(self, store):
        flights, weather = make_flights(store), make_weather(store, ("JFK", "10:00", 1.0))
        view = store.create_feature_view("view", flights.join(weather.select("temp"), on="origin"))
        for result in (view.training_data(), view.training_data(spine=frame(FLIGHTS))):
            table = result.to_arrow()
            assert table.num_rows == 0
            assert table.schema.names == ["flight_id", "dep", "origin", "delay", "temp"]
            assert table.schema.field("temp").type == pa.float64()
            assert table.schema == result.schema

    def test_frame_with_the_right_columns_commits_nothing(self, store):
        weather = make_weather(store, ("JFK", "10:00", 1.0))
        before = weather.read().snapshots
        commit = weather.insert(frame(WEATHER))
        assert weather.read().snapshots == before
        assert before == {"weather@v1": commit.snapshot}
        assert not commit.rows_inserted

    def test_frame_without_columns_is_an_error(self, store):
        weather = make_weather(store, ("JFK", "10:00", 1.0))
        for nothing in (pa.table({}), [], [{}]):
            with pytest.raises((hr.BadData, hr.InvalidArgument)):
                weather.insert(nothing)
        assert values(weather.read(), "temp") == [1.0]


def test_engine_named_gives_the_same_rows(store):
    weather = make_weather(store, ("JFK", "10:00", 1.0))
    for engine in (None, "duckdb", "auto"):
        assert temps_at(store, weather, "11:00", call={"engine": engine}) == [1.0]
    with pytest.raises(hr.InvalidArgument):
        temps_at(store, weather, "11:00", call={"engine": "abacus"})


def test_ages_of_a_plain_join_mean_nothing_or_are_refused(store):
    """An age needs a time on both sides: where a join has none, an age written on it is a mistake."""
    planes, legs = make_planes(store), make_legs(store)
    for ages in ({"max_age": "1d"}, {"min_age": dt.timedelta(days=1)}):
        with pytest.raises(hr.InvalidArgument):
            legs.select("flight_id").join(planes, **ages).read()
