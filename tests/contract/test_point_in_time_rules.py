"""The point-in-time rules, one test or more for each: matching, ages, ties, and what was known when."""

from __future__ import annotations

import datetime as dt
import math

import pyarrow as pa
import pytest

import headrace as hr
from contract.helpers import (
    RECORDED,
    WEATHER,
    at,
    by_key,
    frame,
    make_flights,
    make_weather,
    rows,
    temps_at,
    values,
)


def test_match_is_the_newest_row_at_or_before_the_spine_time(store):
    weather = make_weather(store, ("JFK", "10:00", 1.0), ("JFK", "10:05", 2.0), ("LGA", "10:04", 9.0))
    found = temps_at(store, weather, "09:59:59.999999", "10:00", "10:04:59.999999", "10:05", "23:00")
    assert found == [None, 1.0, 1.0, 2.0, 2.0]


class TestStrictlyEarlierOrAvailableWithADelay:
    ROWS = (("JFK", "10:00", 1.0), ("JFK", "10:05", 2.0))
    CLOCKS = ("10:00", "10:00:00.000001", "10:05", "10:05:00.000001")
    EARLIER = (None, 1.0, 1.0, 2.0)

    def test_on_the_group(self, store):
        assert temps_at(store, make_weather(store, *self.ROWS, min_age="1us"), *self.CLOCKS) == list(
            self.EARLIER
        )

    def test_on_the_join(self, store):
        weather = make_weather(store, *self.ROWS)
        assert temps_at(store, weather, *self.CLOCKS, min_age=dt.timedelta(microseconds=1)) == list(
            self.EARLIER
        )

    def test_on_the_call(self, store):
        weather = make_weather(store, *self.ROWS)
        assert temps_at(store, weather, *self.CLOCKS, call={"min_age": "1us"}) == list(self.EARLIER)

    def test_the_next_older_row_is_used(self, store):
        weather = make_weather(store, ("JFK", at("10:00", day=1), 1.0), ("JFK", at("10:00", day=3), 2.0))
        flights = make_flights(store, (1, at("09:00", day=4), "JFK", 0.0))
        assert values(flights.join(weather.select("temp"), on="origin", min_age="1d").read(), "temp") == [1.0]

    def test_call_beats_join_beats_group_and_zero_lifts(self, store):
        weather = make_weather(store, *self.ROWS, min_age="10m")
        assert temps_at(store, weather, "10:05") == [None]
        assert temps_at(store, weather, "10:05", min_age="5m") == [1.0]
        assert temps_at(store, weather, "10:05", min_age="5m", call={"min_age": "0s"}) == [2.0]

    def test_the_age_limit_still_counts_from_the_event_time(self, store):
        weather = make_weather(store, ("JFK", "10:00", 1.0))
        found = temps_at(store, weather, "10:04", "10:05", "10:10", "10:11", min_age="5m", max_age="10m")
        assert found == [None, 1.0, 1.0, None]


@pytest.mark.parametrize("where", ["group", "join", "call"])
def test_newest_row_too_old_gives_nulls_and_age_equal_to_the_limit_counts(store, where):
    weather = make_weather(store, ("JFK", "10:00", 1.0), **({"ttl": "2h"} if where == "group" else {}))
    join = {"max_age": "2h"} if where == "join" else {}
    call = {"max_age": "2h"} if where == "call" else {}
    found = temps_at(store, weather, "10:00", "12:00", "12:00:00.000001", call=call, **join)
    assert found == [1.0, 1.0, None]


def test_ttl_and_max_age_call_beats_join_beats_group_also_when_longer(store):
    weather = make_weather(store, ("JFK", "10:00", 1.0), ttl="1h")
    late = ("10:30", "11:30", "13:30")
    assert temps_at(store, weather, *late) == [1.0, None, None]
    assert temps_at(store, weather, *late, max_age=None) == [1.0, None, None]
    assert temps_at(store, weather, *late, max_age="2h") == [1.0, 1.0, None]
    assert temps_at(store, weather, *late, max_age="10m") == [None, None, None]
    assert temps_at(store, weather, *late, max_age="10m", call={"max_age": "4h"}) == [1.0, 1.0, 1.0]
    assert temps_at(store, weather, *late, max_age="unlimited") == [1.0, 1.0, 1.0]
    assert temps_at(store, weather, *late, max_age="2h", call={"max_age": "unlimited"}) == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("zero", ["0s", "0d", dt.timedelta(0)])
def test_ttl_or_max_age_of_zero_is_refused_with_a_hint(store, zero):
    weather = make_weather(store, ("JFK", "10:00", 1.0))
    flights = make_flights(store, (1, "10:00", "JFK", 0.0))
    view = store.create_feature_view("view", flights.join(weather.select("temp"), on="origin"))
    calls = [
        lambda: store.create_feature_group("g", primary_key=["origin"], event_time="seen", ttl=zero),
        lambda: flights.join(weather, on="origin", prefix="wx_", max_age=zero),
        lambda: view.training_data(max_age=zero),
    ]
    for call in calls:
        with pytest.raises(hr.InvalidArgument) as caught:
            call()
        assert '"unlimited"' in (caught.value.hint or "")
        assert '"1us"' in (caught.value.hint or "")


def test_age_counts_from_the_event_time_never_the_created_time(store):
    weather = make_weather(store, ("JFK", "10:00", 1.0, "13:00"), created_time="recorded", ttl="1h")
    assert temps_at(store, weather, "11:00", "13:30") == [1.0, None]


def test_spine_rows_that_repeat_give_one_row_each(store):
    weather = make_weather(store, ("JFK", "10:00", 1.0))
    flights = make_flights(store, (1, "11:00", "JFK", 5.0))
    again = [("JFK", "11:00", 5.0)] * 3
    flights.insert(
        frame(flights.schema, *((1, clock, origin, delay) for origin, clock, delay in again)), mode="append"
    )
    view = store.create_feature_view("view", flights.join(weather.select("temp"), on="origin"))
    assert values(view.training_data(), "temp") == [1.0] * 4
    spine = pa.concat_tables([flights.read().to_arrow()] * 2)
    assert rows(view.training_data(spine=spine)) == [row | {"temp": 1.0} for row in spine.to_pylist()]


def test_nothing_needs_sorting_and_a_passed_spine_keeps_its_order(store):
    count = 50_000  # more than one batch and more than one row group of the engine
    minute = dt.timedelta(minutes=1)
    shuffled = [(i * 7919) % count for i in range(count)]
    weather = make_weather(store, *(("JFK", at("00:00") + n * minute, float(n)) for n in shuffled[:2000]))
    origins = pa.array(["JFK"] * count)
    times = pa.array([at("00:00") + n * minute for n in shuffled], pa.timestamp("us", tz="UTC"))
    ids = pa.array(shuffled, pa.int64())
    flights = make_flights(store, (1, "11:00", "JFK", 5.0))
    query = flights.select("flight_id").join(weather.select("temp"), on="origin", max_age="1us")
    view = store.create_feature_view("view", query)
    spine = pa.table({"flight_id": ids, "dep": times, "origin": origins})
    result = view.training_data(spine=spine).to_arrow()
    assert result.column("flight_id").to_pylist() == shuffled
    there = set(shuffled[:2000])
    assert result.column("temp").to_pylist() == [float(n) if n in there else None for n in shuffled]


def test_null_in_a_key_or_null_spine_time_keeps_the_row_with_null_features(store):
    schema = pa.schema(
        {"a": pa.string(), "b": pa.int64(), "seen": RECORDED.field("recorded").type, "v": pa.int64()}
    )
    pairs = store.create_feature_group("pairs", primary_key=["a", "b"], event_time="seen", schema=schema)
    pairs.insert(frame(schema, ("x", 1, "10:00", 7)))
    root_schema = pa.schema(
        {"id": pa.int64(), "dep": schema.field("seen").type, "a": pa.string(), "b": pa.int64()}
    )
    root = store.create_feature_group("root", primary_key=["id"], event_time="dep", schema=root_schema)
    view = store.create_feature_view("view", root.join(pairs.select("v")))
    spine = frame(
        root_schema, (1, "11:00", "x", 1), (2, "11:00", None, 1), (3, "11:00", "x", None), (4, None, "x", 1),
        (5, None, None, None),
    )  # fmt: skip
    assert values(view.training_data(spine=spine), "v") == [7, None, None, None, None]


def test_null_event_time_in_a_feature_row_is_refused_on_insert(store):
    weather = make_weather(store, ("JFK", "10:00", 1.0))
    with pytest.raises(hr.BadData) as caught:
        weather.insert(frame(WEATHER, ("JFK", None, 2.0), ("JFK", "10:05", 3.0)))
    assert "seen" in str(caught.value)
    assert values(weather.read(), "temp") == [1.0]


class TestNullFeatureValueInTheNewestRow:
    ROWS = (("JFK", "10:00", 1.0), ("JFK", "10:05", None))

    def test_older_values_are_not_searched(self, store):
        assert temps_at(store, make_weather(store, *self.ROWS), "10:10") == [None]

    def test_unless_a_filter_before_the_join_leaves_it_out(self, store):
        weather = make_weather(store, *self.ROWS)
        flights = make_flights(store, (1, "10:10", "JFK", 0.0))
        known = weather.select("temp").filter(weather["temp"].is_not_null())
        assert values(flights.join(known, on="origin").read(), "temp") == [1.0]


class TestTiesOnKeyAndEventTime:
    def test_newest_created_time_wins_and_null_is_oldest(self, store):
        tied = [("JFK", "10:00", 1.0, "10:01"), ("JFK", "10:00", 2.0, "10:02"), ("JFK", "10:00", 3.0, None)]
        weather = make_weather(store, *tied, created_time="recorded")
        assert temps_at(store, weather, "11:00") == [2.0]

    def test_then_the_largest_tie_breaker(self, store):
        weather = make_weather(
            store, ("JFK", "10:00", 1.0, "10:01"), ("JFK", "10:00", 7.0, "10:02"), ("JFK", "10:00", 5.0, "10:02"),
            created_time="recorded", tie_breaker="temp",
        )  # fmt: skip
        assert temps_at(store, weather, "11:00") == [7.0]

    def test_rows_alike_in_all_selected_columns_count_as_one(self, store):
        schema = WEATHER.append(pa.field("note", pa.string()))
        weather = store.create_feature_group(
            "weather", primary_key=["origin"], event_time="seen", schema=schema
        )
        nan = math.nan
        tied = [
            ("JFK", "10:00", 1.0, "a"),
            ("JFK", "10:00", 1.0, "b"),
            ("LGA", "10:00", nan, "a"),
            ("LGA", "10:00", nan, "b"),
        ]
        weather.insert(frame(schema, *tied), mode="append")
        flights = make_flights(store, (1, "11:00", "JFK", 0.0), (2, "11:00", "LGA", 0.0))
        found = by_key(flights.join(weather.select("temp"), on="origin").read(), "flight_id", "temp")
        assert found[0] == 1.0
        assert math.isnan(found[1])
        with pytest.raises(hr.AmbiguousRows):
            flights.join(weather.select("temp", "note"), on="origin").read().to_arrow()

    def test_else_ambiguous_rows_named_by_group(self, store):
        weather = make_weather(store, ("JFK", "10:00", 1.0), ("JFK", "10:00", 2.0))
        with pytest.raises(hr.AmbiguousRows) as caught:
            temps_at(store, weather, "11:00")
        assert "weather" in str(caught.value)

    def test_also_where_rows_are_found_by_their_keys(self, store):
        weather = make_weather(store, ("JFK", "10:00", 0.0))
        for number in range(12):  # in so many files that an index is made of them
            weather.insert(frame(WEATHER, ("JFK", at("10:00"), float(number))), mode="append")
        flights = make_flights(store, (1, "11:00", "JFK", 0.0))
        of_one = weather.filter(weather["origin"] == "JFK").select("temp")
        with pytest.raises(hr.AmbiguousRows, match="origin='JFK'"):
            flights.join(of_one, on="origin").read().to_arrow()

    def test_null_and_a_value_are_not_alike(self, store):
        weather = make_weather(store, ("JFK", "10:00", 1.0), ("JFK", "10:00", None))
        with pytest.raises(hr.AmbiguousRows):
            temps_at(store, weather, "11:00")

    def test_an_ambiguity_that_no_spine_row_picks_is_no_error(self, store):
        weather = make_weather(
            store, ("JFK", "10:00", 1.0), ("JFK", "10:00", 2.0), ("JFK", "10:05", 3.0),
            ("LGA", "10:05", 1.0), ("LGA", "10:05", 2.0),
        )  # fmt: skip
        assert temps_at(store, weather, "09:00", "10:05", "11:00") == [None, 3.0, 3.0]

    @pytest.mark.parametrize("bound", [0.0, 1.5, 5.0])
    def test_a_filter_after_the_join_does_not_choose_between_them(self, store, bound):
        weather = make_weather(store, ("JFK", "10:00", 1.0), ("JFK", "10:00", 2.0))
        flights = make_flights(store, (1, "11:00", "JFK", 0.0))
        query = flights.join(weather.select("temp"), on="origin")
        for condition in (query["temp"] > bound, ~(query["temp"] > bound)):
            try:
                found = rows(query.filter(condition).read())
            except hr.AmbiguousRows:
                continue
            assert found == []  # only where neither row passes may the answer stand
            assert bound in (0.0, 5.0)

    def test_a_later_join_on_one_of_them_does_not_choose_either(self, store):
        schema = pa.schema({"tail": pa.string(), "model": pa.string()})
        planes = store.create_feature_group("planes", primary_key=["tail"], schema=schema)
        planes.insert(frame(schema, ("N1", "A"), ("N1", "B")), mode="append")
        models = store.create_feature_group(
            "models", primary_key=["model"], schema=pa.schema({"model": pa.string()})
        )
        models.insert([{"model": "B"}])
        root_schema = pa.schema({"id": pa.int64(), "tail": pa.string()})
        root = store.create_feature_group("root", primary_key=["id"], schema=root_schema)
        root.insert(frame(root_schema, (1, "N1")))
        query = root.join(planes).join(models.select("model"), prefix="known_", how="inner")
        with pytest.raises(hr.AmbiguousRows, match="planes"):
            query.read().to_arrow()

    def test_order_of_inserts_decides_nothing(self, store):
        tied = [("JFK", "10:00", 2.0, "10:02"), ("JFK", "10:00", 1.0, "10:01")]
        for mode, given in (("a", tied), ("b", tied[::-1])):
            weather = make_weather(store, *given[:1], name=f"weather_{mode}", created_time="recorded")
            weather.insert(frame(RECORDED, *given[1:]), mode="append")
            assert temps_at(store, weather, "11:00") == [2.0]


class TestCorrectionOfAnOldRow:
    def test_upsert_replaces_it_and_as_of_gives_the_old_value(self, store):
        weather = make_weather(store, ("JFK", "10:00", 1.0), mode="upsert")
        before = weather.read().snapshots["weather@v1"]
        commit = weather.insert(frame(WEATHER, ("JFK", "10:00", 5.0)))
        assert (commit.rows_inserted, commit.rows_updated) == (0, 1)
        assert temps_at(store, weather, "11:00") == [5.0]
        assert temps_at(store, weather.as_of(snapshot=before), "11:00") == [1.0]

    def test_append_keeps_both_and_known_at_gives_the_old_value(self, store):
        weather = make_weather(store, ("JFK", "10:00", 1.0, "10:01"), created_time="recorded")
        weather.insert(frame(RECORDED, ("JFK", "10:00", 5.0, "12:00")), mode="append")
        assert len(rows(weather.read())) == 2
        assert temps_at(store, weather, "11:00", "13:00") == [5.0, 5.0]
        assert temps_at(store, weather, "11:00", "13:00", call={"known_at": "event_time"}) == [1.0, 5.0]
        assert temps_at(store, weather, "11:00", "13:00", call={"known_at": at("11:30")}) == [1.0, 1.0]


class TestCutOffOnCreatedTime:
    LATE = (("JFK", "10:00", 1.0, "10:30"), ("JFK", "10:05", 2.0, "10:20"), ("JFK", "10:10", 3.0, None))

    def test_event_time_means_recorded_at_or_before_the_spine_time(self, store):
        weather = make_weather(store, *self.LATE, created_time="recorded")
        clocks = ("10:12", "10:19:59.999999", "10:20", "10:30", "11:00")
        assert temps_at(store, weather, *clocks, call={"known_at": "event_time"}) == [
            None,
            None,
            2.0,
            2.0,
            2.0,
        ]

    def test_it_is_two_dimensional(self, store):
        """The newest known row may be an older one: it became known later, or the newer one did."""
        weather = make_weather(
            store, ("JFK", "10:00", 1.0, "10:50"), ("JFK", "10:10", 2.0, "11:30"), ("JFK", "10:20", 3.0, "10:40"),
            ("JFK", "10:30", 4.0, "11:00"), created_time="recorded",
        )  # fmt: skip
        clocks = ("10:39", "10:40", "10:50", "11:00", "11:30")
        assert temps_at(store, weather, *clocks, call={"known_at": "event_time"}) == [
            None,
            3.0,
            3.0,
            4.0,
            4.0,
        ]

    @pytest.mark.parametrize("instant", [at("10:25"), "2024-03-01T10:25:00Z", "2024-03-01T11:25:00+01:00"])
    def test_a_time_means_recorded_by_then(self, store, instant):
        weather = make_weather(store, *self.LATE, created_time="recorded")
        assert temps_at(store, weather, "10:04", "10:12", "23:00", call={"known_at": instant}) == [
            None,
            2.0,
            2.0,
        ]

    def test_it_is_applied_before_ties(self, store):
        tied = [
            ("JFK", "10:00", 1.0, "10:10"),
            ("JFK", "10:00", 2.0, "10:30"),
            ("JFK", "10:00", 3.0, "10:30"),
        ]
        weather = make_weather(store, *tied, created_time="recorded")
        assert temps_at(store, weather, "10:20", call={"known_at": "event_time"}) == [1.0]
        with pytest.raises(hr.AmbiguousRows):
            temps_at(store, weather, "10:40", call={"known_at": "event_time"})

    def test_null_is_not_known(self, store):
        weather = make_weather(store, ("JFK", "10:00", 1.0, None), created_time="recorded")
        assert temps_at(store, weather, "11:00") == [1.0]
        assert temps_at(store, weather, "11:00", call={"known_at": "event_time"}) == [None]
        assert temps_at(store, weather, "11:00", call={"known_at": at("23:00")}) == [None]

    def test_ages_are_applied_after_it(self, store):
        weather = make_weather(
            store,
            ("JFK", "10:00", 1.0, "10:00"),
            ("JFK", "10:05", 2.0, "12:00"),
            created_time="recorded",
            ttl="30m",
        )
        assert temps_at(store, weather, "10:30", "10:31", call={"known_at": "event_time"}) == [1.0, None]

    def test_on_a_query(self, store):
        weather = make_weather(store, *self.LATE, created_time="recorded")
        flights = make_flights(store, (1, "10:20", "JFK", 0.0), (2, "10:30", "JFK", 0.0))
        query = flights.join(weather.select("temp"), on="origin")
        assert by_key(query.read(known_at="event_time"), "flight_id", "temp") == [2.0, 2.0]
        assert by_key(query.read(known_at=at("10:00")), "flight_id", "temp") == [None, None]
        assert by_key(query.read(), "flight_id", "temp") == [3.0, 3.0]

    @pytest.mark.parametrize("wrong", ["created_time", "yesterday", 3])
    def test_anything_else_is_refused(self, store, wrong):
        weather = make_weather(store, *self.LATE, created_time="recorded")
        with pytest.raises(hr.InvalidArgument):
            temps_at(store, weather, "10:12", call={"known_at": wrong})

    def test_the_event_time_cannot_be_asked_of_rows_that_have_none(self, store):
        weather = make_weather(store, *self.LATE, created_time="recorded")
        airports = store.create_feature_group(
            "airports", primary_key=["origin"], schema=pa.schema({"origin": pa.string()})
        )
        with pytest.raises(hr.InvalidArgument):
            airports.join(weather).read(known_at="event_time").to_arrow()

    def test_a_group_without_created_time_is_not_cut_and_explain_says_so(self, store):
        weather = make_weather(store, ("JFK", "10:00", 1.0))
        assert temps_at(store, weather, "11:00", call={"known_at": at("09:00")}) == [1.0]
        flights = make_flights(store, (1, "10:20", "JFK", 0.0))
        view = store.create_feature_view("view", flights.join(weather.select("temp"), on="origin"))
        assert "created_time" in view.explain(known_at="event_time")


def test_ages_that_leave_no_row_are_refused(store):
    """Of one group, one join or one call; those of different places override each other."""
    with pytest.raises(hr.InvalidArgument, match="at least 2h and at most 1h"):
        store.create_feature_group("g", primary_key=["k"], event_time="t", ttl="60m", min_age="2h")
    flights, weather = make_flights(store), make_weather(store, ("JFK", "10:00", 1.0))
    with pytest.raises(hr.InvalidArgument, match="at least 2h"):
        flights.select("delay").join(weather, on="origin", max_age="1h", min_age="2h")
    view = store.create_feature_view("v", flights.select("delay").join(weather, on="origin", min_age="2h"))
    with pytest.raises(hr.InvalidArgument, match="at least 2h"):
        view.training_data(max_age="1h", min_age="2h")
    with pytest.warns(UserWarning, match="can match"):
        assert rows(view.training_data(max_age="1h")) == []


def test_ages_of_different_places_that_leave_no_row_are_warned_of(store):
    flights = make_flights(store, (1, "10:30", "JFK", 0.0))
    weather = make_weather(store, ("JFK", "10:00", 1.0), ttl="1h")
    query = flights.select("flight_id").join(weather.select("temp"), on="origin", min_age="2h")
    with pytest.warns(
        UserWarning, match="no row of weather@v1 can match: min age 2h is above max age 1h"
    ) as told:
        assert values(query.read(), "temp") == [None]
    assert told[0].filename == __file__
    assert "nothing can match" in query.explain()
