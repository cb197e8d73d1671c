"""The point-in-time rules, one test or more for each: late, future, old, deleted and concurrent rows."""

from __future__ import annotations

import datetime as dt
import time

import pytest

import headrace as hr
from contract.helpers import RECORDED, WEATHER, at, frame, make_flights, make_weather, rows, temps_at, values


class TestLateData:
    def test_is_used_by_the_next_read(self, store):
        weather = make_weather(store, ("JFK", "10:00", 1.0))
        assert temps_at(store, weather, "11:00") == [1.0]
        weather.insert(frame(WEATHER, ("JFK", "10:30", 2.0)))
        assert temps_at(store, weather, "11:00") == [2.0]

    def test_is_excluded_by_known_at(self, store):
        weather = make_weather(store, ("JFK", "10:00", 1.0, "10:00"), created_time="recorded")
        weather.insert(frame(RECORDED, ("JFK", "10:30", 2.0, "12:00")))
        assert temps_at(store, weather, "11:00", call={"known_at": "event_time"}) == [1.0]

    def test_is_excluded_by_as_of(self, store):
        weather = make_weather(store, ("JFK", "10:00", 1.0))
        before = weather.read().snapshots["weather@v1"]
        weather.insert(frame(WEATHER, ("JFK", "10:30", 2.0)))
        assert temps_at(store, weather.as_of(snapshot=before), "11:00") == [1.0]


def test_future_dated_rows_match_only_spine_rows_at_or_after_that_time(store):
    weather = make_weather(store, ("JFK", dt.datetime(2100, 1, 1, tzinfo=dt.UTC), 1.0), ("JFK", "10:00", 2.0))
    assert len(rows(weather.read())) == 2
    flights = make_flights(
        store,
        (1, "11:00", "JFK", 0.0),
        (2, dt.datetime(2100, 1, 1, tzinfo=dt.UTC), "JFK", 0.0),
    )
    found = rows(flights.select("flight_id").join(weather.select("temp"), on="origin").read())
    assert sorted((row["flight_id"], row["temp"]) for row in found) == [(1, 2.0), (2, 1.0)]


class TestAsOf:
    def test_a_table_pinned_and_the_rest_newest(self, store):
        flights = make_flights(store, (1, "11:00", "JFK", 0.0))
        weather = make_weather(store, ("JFK", "10:00", 1.0), mode="upsert")
        old = weather.as_of(snapshot=weather.read().snapshots["weather@v1"])
        weather.insert(frame(WEATHER, ("JFK", "10:00", 2.0)))
        flights.insert(frame(flights.schema, (2, "11:00", "JFK", 0.0)))
        result = flights.join(old.select("temp"), on="origin").read()
        assert values(result, "temp") == [1.0, 1.0]
        assert result.snapshots["weather@v1"] < weather.read().snapshots["weather@v1"]

    def test_first_the_snapshot_then_the_match_inside_it(self, store):
        """The newest row of today is not the newest of then, ages and ties count inside the snapshot."""
        weather = make_weather(store, ("JFK", "10:00", 1.0), ttl="1h")
        then = weather.read().snapshots["weather@v1"]
        weather.insert(frame(WEATHER, ("JFK", "10:50", 2.0)))
        weather.delete(filter=weather["temp"] == 1.0)
        assert temps_at(store, weather, "10:55", "11:30") == [2.0, 2.0]
        assert temps_at(store, weather.as_of(snapshot=then), "10:55", "11:30") == [1.0, None]

    def test_by_timestamp_on_table_and_call(self, store):
        flights = make_flights(store, (1, "11:00", "JFK", 0.0))
        weather = make_weather(store, ("JFK", "10:00", 1.0), mode="upsert")
        first = weather.history()[0].timestamp
        time.sleep(0.01)  # commit times have milliseconds
        view = store.create_feature_view("view", flights.join(weather.select("temp"), on="origin"))
        weather.insert(frame(WEATHER, ("JFK", "10:00", 2.0)))
        flights.insert(frame(flights.schema, (1, "12:00", "JFK", 0.0)))
        assert values(weather.as_of(timestamp=first).read(), "temp") == [1.0]
        assert values(weather.as_of(timestamp=first.isoformat()).read(), "temp") == [1.0]
        assert values(view.training_data(as_of=first), "temp") == [1.0]
        assert values(view.training_data(), "temp") == [2.0, 2.0]
        assert values(view.batch_data(as_of=first), "temp") == [1.0]

    def test_of_a_joined_query_pins_the_tables_that_are_not_pinned(self, store):
        flights = make_flights(store, (1, "11:00", "JFK", 0.0))
        weather = make_weather(store, ("JFK", "10:00", 1.0), mode="upsert")
        time.sleep(0.01)
        weather.insert(frame(WEATHER, ("JFK", "10:00", 2.0)))
        second, first = (commit.snapshot for commit in weather.history()[:2])
        now = weather.history()[0].timestamp
        time.sleep(0.01)
        weather.insert(frame(WEATHER, ("JFK", "10:00", 3.0)))
        flights.insert(frame(flights.schema, (2, "11:00", "JFK", 0.0)))
        query = flights.join(weather.select("temp"), on="origin").join(
            weather.as_of(snapshot=first).select("temp"), on="origin", prefix="first_"
        )
        result = query.as_of(timestamp=now).read()
        assert [(row["temp"], row["first_temp"]) for row in rows(result)] == [(2.0, 1.0)]
        assert second > first
        with pytest.raises(hr.InvalidArgument):
            query.as_of(snapshot=first)

    def test_before_the_first_commit_there_is_no_snapshot(self, store):
        flights = make_flights(store, (1, "11:00", "JFK", 0.0))
        long_ago = "2001-01-01T00:00Z"
        view = store.create_feature_view("view", flights.select("flight_id", "delay"))
        calls = [
            lambda: flights.as_of(timestamp=long_ago).read().to_arrow(),
            lambda: flights.read(timestamp=long_ago).to_arrow(),
            lambda: flights.read(snapshot=1000).to_arrow(),
            lambda: flights.as_of(snapshot=1000).read().to_arrow(),
            lambda: view.training_data(as_of=long_ago).to_arrow(),
        ]
        for call in calls:
            with pytest.raises(hr.SnapshotNotFound) as caught:
                call()
            assert "flights" in str(caught.value)

    def test_a_future_time_is_refused(self, store):
        flights = make_flights(store, (1, "11:00", "JFK", 0.0))
        view = store.create_feature_view("view", flights.select("flight_id", "delay"))
        soon = dt.datetime.now(dt.UTC) + dt.timedelta(days=1)
        for call in (
            lambda: flights.as_of(timestamp=soon).read().to_arrow(),
            lambda: flights.read(timestamp=soon).to_arrow(),
            lambda: view.training_data(as_of=soon).to_arrow(),
        ):
            with pytest.raises(hr.InvalidArgument):
                call()

    def test_exactly_one_of_snapshot_and_timestamp(self, store):
        flights = make_flights(store, (1, "11:00", "JFK", 0.0))
        for options in ({}, {"snapshot": 0, "timestamp": at("10:00")}):
            with pytest.raises(hr.InvalidArgument):
                flights.as_of(**options)


def test_deleted_rows_are_gone_except_through_as_of(store):
    weather = make_weather(store, ("JFK", "10:00", 1.0), ("JFK", "10:05", 2.0))
    before = weather.read().snapshots["weather@v1"]
    weather.delete(filter=weather["seen"] == at("10:05"))
    assert temps_at(store, weather, "11:00") == [1.0]
    assert temps_at(store, weather.as_of(snapshot=before), "11:00") == [2.0]


class TestCommitThatLandsDuringARead:
    def test_is_unseen_once_the_result_is_made(self, store):
        weather = make_weather(store, ("JFK", "10:00", 1.0), mode="upsert")
        result = weather.read()
        weather.insert(frame(WEATHER, ("JFK", "10:00", 2.0), ("LGA", "10:00", 3.0)))
        assert values(result, "temp") == [1.0]
        assert values(weather.read(filter=weather["origin"] == "JFK"), "temp") == [2.0]

    def test_is_unseen_by_a_join(self, store):
        flights = make_flights(store, (1, "11:00", "JFK", 0.0))
        weather = make_weather(store, ("JFK", "10:00", 1.0), mode="upsert")
        view = store.create_feature_view("view", flights.join(weather.select("temp"), on="origin"))
        result = view.training_data()
        weather.delete(filter=weather["origin"] == "JFK")
        flights.insert(frame(flights.schema, (2, "11:00", "JFK", 0.0)))
        assert values(result, "temp") == [1.0]

    def test_is_unseen_by_a_stream_that_has_begun(self, store):
        count = 40_000
        weather = make_weather(
            store, *(("JFK", at("00:00") + dt.timedelta(seconds=i), float(i)) for i in range(count))
        )
        reader = weather.read().to_reader(1000)
        first = reader.read_next_batch()
        weather.insert(frame(WEATHER, ("JFK", "10:00", -1.0)), mode="overwrite")
        rest = reader.read_all()
        assert first.num_rows + rest.num_rows == count
        assert values(weather.read(), "temp") == [-1.0]
