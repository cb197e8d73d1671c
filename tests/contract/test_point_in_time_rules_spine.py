"""The point-in-time rules, one test or more for each: which rows are the spine, and how one is passed."""

from __future__ import annotations

import datetime as dt
import warnings

import pandas as pd
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
    values,
)

MOMENT = dt.timedelta(seconds=1)


@pytest.fixture
def view(store):
    """Flights 1 and 2 with their delay as label, and the temperature at their origin."""
    flights = make_flights(store, (1, "11:00", "JFK", 5.0), (2, "12:00", "LGA", 6.0))
    weather = make_weather(store, ("JFK", "10:00", 1.0), ("JFK", "10:30", 2.0), ("LGA", "10:00", 3.0))
    query = flights.select("origin", "delay").join(weather.select("temp"), on="origin")
    return store.create_feature_view("view", query, labels=["delay"])


class TestSpineWithoutEventTime:
    SPINE = pa.table({"flight_id": [1], "origin": ["JFK"]})

    def test_training_data_refuses(self, view):
        with pytest.raises((hr.InvalidArgument, hr.BadData), match="dep"):
            view.training_data(spine=self.SPINE.append_column("delay", pa.array([1.0]))).to_arrow()

    def test_batch_data_takes_the_time_of_the_call(self, store, view):
        result = view.batch_data(spine=self.SPINE)
        weather = store.get_feature_group("weather")
        later = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=60)
        now = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=1)
        weather.insert(frame(WEATHER, ("JFK", later, 9.0), ("JFK", now, 8.0)))
        assert values(result, "temp") == [2.0]  # pinned before these rows were written
        assert values(view.batch_data(spine=self.SPINE), "temp") == [8.0]

    def test_and_warns_of_a_time_that_it_does_not_use(self, view):
        spine = self.SPINE.append_column(
            "event_timestamp", pa.array([dt.datetime(2026, 1, 1, tzinfo=dt.UTC)])
        )
        with pytest.warns(UserWarning, match="'dep'.*if their time is 'event_timestamp', name it"):
            view.batch_data(spine=spine)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            view.batch_data(spine=spine, event_time="event_timestamp")

    def test_once_for_all_rows_and_runs(self, view):
        many = pa.table({"flight_id": [1] * 3, "origin": ["JFK"] * 3})
        result = view.batch_data(spine=many)
        assert rows(result) == rows(result)

    def test_and_shows_it(self, store, view):
        flights, weather = store.get_feature_group("flights"), store.get_feature_group("weather")
        whole = store.create_feature_view("whole", flights.join(weather.select("temp"), on="origin"))
        for asked in (view, whole):
            before = dt.datetime.now(dt.UTC)
            result = asked.batch_data(spine=self.SPINE)
            (shown,) = values(result, "dep")
            assert before - MOMENT <= shown <= dt.datetime.now(dt.UTC) + MOMENT
            assert shown.isoformat() in result.explain()


class TestSpineEventTimeColumn:
    def test_has_the_roots_name(self, view):
        spine = frame(FLIGHTS, (7, "10:15", "JFK", 0.0), (8, "10:45", "JFK", 0.0))
        assert values(view.training_data(spine=spine), "temp") == [1.0, 2.0]

    def test_or_the_one_named_in_the_call(self, view):
        schema = pa.schema({"asked": TIME, "origin": pa.string(), "delay": pa.float64()})
        spine = frame(schema, ("10:15", "JFK", 0.0), ("10:45", "JFK", 0.0))
        assert values(view.training_data(spine=spine, event_time="asked"), "temp") == [1.0, 2.0]
        assert values(view.batch_data(spine=spine, event_time="asked"), "temp") == [1.0, 2.0]

    def test_named_in_the_call_it_beats_the_roots_name(self, view):
        schema = FLIGHTS.append(pa.field("asked", TIME))
        spine = frame(schema, (7, "10:45", "JFK", 0.0, "10:15"))
        assert values(view.training_data(spine=spine, event_time="asked"), "temp") == [1.0]

    def test_named_in_the_call_it_must_be_there(self, view):
        with pytest.raises((hr.InvalidArgument, hr.BadData), match="asked"):
            view.training_data(spine=frame(FLIGHTS), event_time="asked").to_arrow()


class TestSpinePassedToAView:
    def test_replaces_the_roots_rows(self, view):
        spine = frame(FLIGHTS, (99, "10:15", "LGA", 0.5))
        assert rows(view.training_data(spine=spine)) == [
            {"flight_id": 99, "dep": at("10:15"), "origin": "LGA", "delay": 0.5, "temp": 3.0}
        ]

    def test_its_columns_come_first_then_those_that_it_lacks(self, view):
        spine = frame(FLIGHTS, (1, "11:00", "JFK", 0.5)).select(["delay", "dep", "origin"])
        assert view.training_data(spine=spine).schema.names == ["delay", "dep", "origin", "temp"]

    def test_root_columns_that_it_lacks_are_joined_by_key_like_any_group(self, view):
        schema = pa.schema({"flight_id": pa.int64(), "dep": TIME})
        spine = frame(schema, (1, "11:30", ), (2, "11:00"), (3, "13:00"), (2, "13:00"))  # fmt: skip
        result = view.training_data(spine=spine)
        assert result.schema.names == ["flight_id", "dep", "origin", "delay", "temp"]
        found = [(row["flight_id"], row["origin"], row["delay"], row["temp"]) for row in rows(result)]
        # At 11:00 flight 2 has not been heard of: its row is of 12:00.
        assert found == [
            (1, "JFK", 5.0, 2.0),
            (2, None, None, None),
            (3, None, None, None),
            (2, "LGA", 6.0, 3.0),
        ]

    def test_root_columns_needed_for_a_join_alone_are_no_columns_of_the_result(self, store):
        flights = make_flights(store, (1, "11:00", "JFK", 5.0))
        weather = make_weather(store, ("JFK", "10:00", 1.0))
        view = store.create_feature_view(
            "view", flights.select("delay").join(weather.select("temp"), on="origin")
        )
        spine = frame(pa.schema({"flight_id": pa.int64(), "dep": TIME}), (1, "11:00"))
        assert rows(view.training_data(spine=spine)) == [
            {"flight_id": 1, "dep": at("11:00"), "delay": 5.0, "temp": 1.0}
        ]

    def test_lacking_both_a_column_and_the_key_to_find_it_is_an_error(self, view):
        spine = frame(pa.schema({"dep": TIME, "delay": pa.float64()}), ("11:00", 5.0))
        with pytest.raises((hr.InvalidArgument, hr.BadData), match="flight_id"):
            view.training_data(spine=spine).to_arrow()

    def test_extra_columns_pass_through_as_given(self, view):
        kinds = {
            "big": pa.uint64(), "time": pa.time64("ns"), "gap": pa.duration("s"), "kind": pa.dictionary(pa.int8(), pa.string()),
            "list": pa.list_(pa.int32()), "order by 1; --": pa.large_string(), "half": pa.float16(), "none": pa.null(),
        }  # fmt: skip
        spine = frame(FLIGHTS, (1, "11:00", "JFK", 5.0), (1, "10:15", "JFK", 6.0))
        examples = {
            "big": [2**64 - 1, None], "time": [dt.time(1, 2), None], "gap": [dt.timedelta(seconds=5), None],
            "kind": ["x", None], "list": [[1, None], None], "order by 1; --": ["y", None], "half": [1.5, None],
            "none": [None, None],
        }  # fmt: skip
        for name, kind in kinds.items():
            spine = spine.append_column(pa.field(name, kind), pa.array(examples[name], kind))
        result = view.training_data(spine=spine).to_arrow()
        assert result.column("temp").to_pylist() == [2.0, 1.0]
        assert result.drop_columns(["temp"]).schema.types == spine.schema.types
        for name in spine.schema.names:
            assert result.column(name).to_pylist() == spine.column(name).to_pylist()

    def test_filters_on_the_root_choose_root_candidates_and_no_spine_rows(self, store):
        flights = make_flights(store, (1, "11:00", "JFK", 5.0), (2, "11:00", "JFK", -1.0))
        late = flights.filter(flights["delay"] > 0).select("delay", "origin")
        view = store.create_feature_view("view", late)
        spine = frame(FLIGHTS, (1, "12:00", "JFK", -9.0), (2, "12:00", "JFK", 3.0))
        assert values(view.training_data(spine=spine), "delay") == [-9.0, 3.0]
        bare = spine.select(["flight_id", "dep"])
        assert values(view.training_data(spine=bare), "delay") == [5.0, None]

    def test_also_behind_a_computed_column(self, store):
        flights = make_flights(store, (1, "11:00", "JFK", 5.0), (2, "12:00", "LGA", -6.0))
        weather = make_weather(store, ("JFK", "10:00", 1.0))
        late = flights.select("flight_id", "origin", "delay").with_columns(late="delay > 0")
        query = late.filter(flights["delay"] > 0).join(weather.select("temp"), on="origin")
        assert values(query.read(), "flight_id") == [1]
        view = store.create_feature_view("view", query)
        spine = pa.table(
            {"flight_id": [7, 8], "dep": [at("11:00")] * 2, "origin": ["JFK"] * 2, "delay": [-1.0, 1.0]}
        )
        assert values(view.batch_data(spine=spine), "late") == [False, True]
        computed = late.filter(late["late"] == True).join(weather.select("temp"), on="origin")  # noqa: E712
        view = store.create_feature_view("computed", computed)
        assert values(view.batch_data(spine=spine), "flight_id") == [8]

    @pytest.mark.parametrize("kind", ["category", "null"])
    def test_filters_after_a_join_take_columns_as_they_are_sent(self, store, kind):
        flights = make_flights(store, (1, "11:00", "JFK", 5.0))
        weather = make_weather(store, ("JFK", "10:00", 1.0))
        query = flights.select("flight_id", "origin").join(weather.select("temp"), on="origin")
        like = store.create_feature_view("view", query.filter(query["origin"].like("J%")))
        equal = store.create_feature_view("equal", query.filter(query["origin"] == "JFK"))
        origin = pa.array(["JFK", "LGA"]).dictionary_encode() if kind == "category" else pa.nulls(2)
        spine = pa.table({"flight_id": [1, 2], "dep": [at("11:00")] * 2, "origin": origin})
        for view in (like, equal):
            assert values(view.batch_data(spine=spine), "flight_id") == ([1] if kind == "category" else [])

    def test_filters_after_a_join_drop_its_rows(self, store):
        flights = make_flights(store)
        weather = make_weather(store, ("JFK", "10:00", 1.0), ("LGA", "10:00", 2.0))
        query = flights.select("delay").join(weather.select("temp"), on="origin")
        view = store.create_feature_view("view", query.filter(query["temp"] > 1))
        spine = frame(FLIGHTS, (1, "12:00", "JFK", 0.0), (2, "12:00", "LGA", 0.0), (3, "12:00", "EWR", 0.0))
        assert values(view.training_data(spine=spine), "flight_id") == [2]

    @pytest.mark.parametrize("name", ["temp", "TEMP"])
    def test_columns_that_a_join_brings_clash_also_by_case_alone(self, view, name):
        spine = frame(FLIGHTS, (1, "11:00", "JFK", 5.0)).append_column(name, pa.array([1.0]))
        with pytest.raises(hr.NameClash, match=r"(?i)temp"):
            view.training_data(spine=spine).to_arrow()

    def test_columns_of_its_own_clash_by_case_alone(self, view):
        spine = frame(FLIGHTS, (1, "11:00", "JFK", 5.0)).append_column("Delay", pa.array([1.0]))
        with pytest.raises(hr.NameClash, match=r"(?i)delay"):
            view.training_data(spine=spine).to_arrow()

    def test_from_every_kind_of_frame(self, view):
        pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
        table = frame(FLIGHTS, (7, "10:15", "JFK", 0.0), (8, "10:45", "JFK", 0.0))
        indexed = table.to_pandas().set_index("flight_id")
        for spine in (table, table.to_batches()[0], table.to_reader(), table.to_pandas(), indexed,
                      polars.from_arrow(table), table.to_pylist(), polars.from_arrow(table).lazy().collect()):  # fmt: skip
            result = view.training_data(spine=spine)
            assert values(result, "temp") == [1.0, 2.0]
            assert values(result, "temp") == [1.0, 2.0]  # a lazy result runs again
        assert isinstance(indexed, pandas.DataFrame)

    def test_pandas_index_named_levels_become_columns_unnamed_are_dropped(self, view):
        pytest.importorskip("pandas")
        plain = frame(FLIGHTS, (7, "10:15", "JFK", 0.0)).to_pandas()
        result = view.training_data(spine=plain.set_index(["flight_id", "origin"]))
        assert rows(result)[0] == {
            "flight_id": 7,
            "dep": at("10:15"),
            "origin": "JFK",
            "delay": 0.0,
            "temp": 1.0,
        }
        unnamed = plain.set_axis([17])
        assert set(view.training_data(spine=unnamed).schema.names) == {*FLIGHTS.names, "temp"}


class TestStartAndEnd:
    def test_bound_the_spine_and_never_the_features(self, view):
        assert values(view.training_data("2024-03-01T11:00Z", "2024-03-01T12:00Z"), "temp") == [2.0]
        assert values(view.training_data(start=at("11:00:00.000001")), "temp") == [3.0]
        assert by_key(view.training_data(end=at("12:00:00.000001")), "delay", "temp") == [2.0, 3.0]
        assert rows(view.training_data(end=at("11:00"))) == []

    def test_of_batch_data(self, view):
        assert values(view.batch_data(at("12:00")), "temp") == [3.0]

    def test_bound_a_passed_spine(self, view):
        spine = frame(FLIGHTS, (7, "10:15", "JFK", 0.0), (8, "10:45", "JFK", 0.0), (9, "10:50", "JFK", 0.0))
        result = view.training_data(at("10:45"), at("10:50"), spine=spine)
        assert values(result, "flight_id") == [8]

    def test_dates_and_text_are_utc(self, view):
        assert len(rows(view.training_data("2024-03-01", "2024-03-02"))) == 2
        assert rows(view.training_data("2024-03-02")) == []
        assert len(rows(view.training_data("2024-03-01T06:30-05:00"))) == 1

    def test_that_are_no_times_are_refused(self, view):
        for wrong in ("soon", 5, "2024-13-01"):
            with pytest.raises(hr.InvalidArgument):
                view.training_data(wrong)


def test_columns_of_extension_types_pass_through_a_spine(store):
    make_flights(store)
    group = make_weather(store, ("JFK", "10:00", 1.0))
    flights = store.get_feature_group("flights")
    view = store.create_feature_view("v", flights.select("flight_id").join(group.select("temp"), on="origin"))
    spine = pd.DataFrame(
        {
            "flight_id": [1],
            "dep": [at("10:30")],
            "origin": ["JFK"],
            "month": pd.period_range("2024-03", periods=1, freq="M"),
        }
    )
    assert (
        str(view.batch_data(spine=spine).to_arrow().schema.field("month").type)
        == "extension<pandas.period<ArrowPeriodType>>"
    )
