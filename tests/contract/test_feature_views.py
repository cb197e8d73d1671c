"""Feature views: named, versioned queries."""

from __future__ import annotations

import datetime as dt

import pandas as pd
import pyarrow as pa
import pytest

import headrace as hr
from contract.helpers import (
    BAD_NAMES,
    FLIGHTS,
    WEATHER,
    by_key,
    frame,
    make_flights,
    make_weather,
    rows,
    values,
)


@pytest.fixture
def weather(store):
    return make_weather(store, ("JFK", "10:00", 1.0), ("LGA", "10:00", 2.0))


@pytest.fixture
def query(store, weather):
    flights = make_flights(store, (1, "11:00", "JFK", 5.0), (2, "12:00", "LGA", 6.0))
    return flights.select("flight_id", "delay").join(weather.select("temp"), on="origin", prefix="wx_")


class TestCreate:
    def test_gives_what_was_declared(self, store, query):
        view = store.create_feature_view(
            "delays", query, labels=["delay"], description="late?", tags={"team": "ops"}
        )
        for found in (view, store.get_feature_view("delays")):
            assert (found.name, found.version, found.description) == ("delays", 1, "late?")
            assert list(found.labels) == ["delay"]
            assert list(found.features) == ["flight_id", "wx_temp"]
            assert dict(found.tags) == {"team": "ops"}
            assert isinstance(found.query, hr.Query)
            assert by_key(found.query.read(), "flight_id", "wx_temp") == [1.0, 2.0]

    def test_labels_may_be_absent(self, store, query):
        view = store.create_feature_view("delays", query)
        assert list(view.labels) == []
        assert list(view.features) == ["flight_id", "delay", "wx_temp"]

    def test_a_feature_group_is_a_query_of_all_its_columns(self, store, weather):
        view = store.create_feature_view("all", weather.select("origin", "seen", "temp"))
        assert sorted(values(view.training_data(), "temp")) == [1.0, 2.0]

    def test_is_made_once(self, store, query):
        made = [store.get_or_create_feature_view("delays", query, labels=["delay"]) for _ in range(2)]
        assert [view.version for view in made] == [1, 1]
        assert len(store.list_feature_views()) == 1
        with pytest.raises(hr.DefinitionMismatch, match=r"labels are \['delay'\], not \[\]"):
            store.get_or_create_feature_view("delays", query)
        with pytest.raises(hr.DefinitionMismatch, match="its query is another"):
            store.get_or_create_feature_view("delays", query.limit(5), labels=["delay"])
        assert store.get_or_create_feature_view("delays", query, version=2).version == 2

    @pytest.mark.parametrize("wrong", [None, "delays", pa.table({"a": [1]})])
    def test_names_a_query(self, store, wrong):
        with pytest.raises(hr.InvalidArgument, match="query"):
            store.create_feature_view("delays", wrong)

    def test_are_found_by_words(self, store, query):
        store.create_feature_view("delays", query, description="Of departures")
        store.create_feature_view("other", query, tags={"team": "met"})
        for words, expected in (("departures", ["delays"]), ("MET", ["other"]), ("dela met", [])):
            assert [view.name for view in store.list_feature_views(search=words)] == expected

    def test_versions(self, store, query):
        assert store.create_feature_view("v", query).version == 1
        with pytest.warns(UserWarning, match="feature view v was there: this is version 2"):
            assert store.create_feature_view("v", query).version == 2
        with pytest.raises(hr.AlreadyExists, match="v@v2"):
            store.create_feature_view("v", query, version=2)

    @pytest.mark.parametrize("name", BAD_NAMES)
    def test_names(self, store, query, name):
        with pytest.raises(hr.InvalidName):
            store.create_feature_view(name, query)
        assert store.list_feature_views() == []

    def test_a_label_that_is_no_column_is_unknown(self, store, query):
        with pytest.raises(hr.UnknownColumn, match="dealy"):
            store.create_feature_view("v", query, labels=["dealy"])

    def test_labels_alone_are_no_view(self, store, query):
        with pytest.raises(hr.InvalidArgument):
            store.create_feature_view("v", query.select("delay"), labels=["delay"])

    def test_labels_are_names_not_letters(self, store, query):
        with pytest.raises(hr.InvalidArgument):
            store.create_feature_view("v", query, labels="delay")

    def test_fixes_the_versions_of_its_groups(self, store, weather, query):
        view = store.create_feature_view("delays", query)
        newer = make_weather(store, ("JFK", "10:00", 99.0), version=2)
        assert newer.version == 2
        assert by_key(view.training_data(), "flight_id", "wx_temp") == [1.0, 2.0]
        assert set(view.training_data().snapshots) == {"flights@v1", "weather@v1"}

    def test_sees_every_later_commit(self, store, weather, query):
        view = store.create_feature_view("delays", query)
        weather.insert(frame(WEATHER, ("JFK", "10:30", 7.0)))
        assert by_key(view.training_data(), "flight_id", "wx_temp") == [7.0, 2.0]

    def test_of_another_store_is_refused(self, store, query, tmp_path):
        with hr.connect(tmp_path / "elsewhere") as elsewhere, pytest.raises(hr.HeadraceError):
            elsewhere.create_feature_view("v", query)


class TestGetListDelete:
    def test_newest_or_the_one_named(self, store, query):
        store.create_feature_view("v", query, description="one")
        store.create_feature_view("v", query, description="two")
        assert store.get_feature_view("v").description == "two"
        assert store.get_feature_view("v", 1).description == "one"
        for name, version in (("w", None), ("v", 3)):
            with pytest.raises(hr.NotFound, match=name):
                store.get_feature_view(name, version)

    def test_listed_by_name_glob_and_tags(self, store, query):
        for name, tags in (("b", {}), ("a_1", {"x": "1"}), ("a_2", {"x": "2"})):
            store.create_feature_view(name, query, tags=tags)
        assert [view.name for view in store.list_feature_views()] == ["a_1", "a_2", "b"]
        assert [view.name for view in store.list_feature_views(name="a_*")] == ["a_1", "a_2"]
        assert [view.name for view in store.list_feature_views(tags={"x": "2"})] == ["a_2"]

    def test_deleted_one_version(self, store, query):
        store.create_feature_view("v", query)
        store.create_feature_view("v", query)
        store.delete_feature_view("v", 2)
        assert store.get_feature_view("v").version == 1
        with pytest.raises(hr.NotFound):
            store.delete_feature_view("v", 2)

    def test_names_are_apart_from_those_of_groups(self, store, query):
        store.create_feature_view("weather", query)
        assert store.get_feature_group("weather").name == "weather"


class TestTrainingAndBatchData:
    def test_labels_are_in_the_one_and_not_in_the_other(self, store, query):
        view = store.create_feature_view("delays", query, labels=["delay"])
        assert view.training_data().schema.names == ["flight_id", "delay", "wx_temp"]
        assert view.batch_data().schema.names == ["flight_id", "wx_temp"]
        assert by_key(view.batch_data(), "flight_id", "wx_temp") == [1.0, 2.0]

    def test_batch_data_drops_labels_even_if_the_spine_has_them(self, store, query):
        view = store.create_feature_view("delays", query, labels=["delay"])
        spine = frame(FLIGHTS, (9, "11:00", "LGA", 5.0))
        assert view.batch_data(spine=spine).schema.names == ["flight_id", "dep", "origin", "wx_temp"]
        assert values(view.batch_data(spine=spine), "wx_temp") == [2.0]

    def test_batch_data_of_a_spine_without_labels(self, store, query):
        view = store.create_feature_view("delays", query, labels=["delay"])
        spine = frame(FLIGHTS, (9, "11:00", "LGA", 5.0)).drop_columns(["delay"])
        assert rows(view.batch_data(spine=spine))[0]["wx_temp"] == 2.0

    def test_labels_that_a_spine_lacks_are_looked_up_for_training(self, store, query):
        view = store.create_feature_view("delays", query, labels=["delay"])
        spine = frame(FLIGHTS, (2, "12:00", "JFK", 0.0)).drop_columns(["delay"])
        assert [(row["delay"], row["wx_temp"]) for row in rows(view.training_data(spine=spine))] == [
            (6.0, 1.0)
        ]

    @pytest.mark.parametrize(
        "time",
        [
            pd.Timestamp("2024-03-01T12:00"),
            pd.Timestamp("2024-03-01T12:00", tz="UTC"),
            pd.Timestamp("2024-03-01T07:00", tz="America/New_York"),
        ],
    )
    def test_times_of_pandas(self, store, query, time):
        view = store.create_feature_view("delays", query, labels=["delay"])
        written = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
        for options in ("start", "end", "known_at"):
            asked, expected = (
                sorted(rows(view.training_data(**{options: at})), key=lambda row: row["flight_id"])
                for at in (time, written)
            )
            assert asked == expected
        assert view.explain(time) == view.explain(written)
        with pytest.raises(hr.InvalidArgument, match="no time"):
            view.training_data(end=pd.NaT)
        with pytest.raises(hr.InvalidArgument, match="years"):
            view.training_data(end="9999-12-31T23:59:59-02:00")

    def test_unknown_options_are_refused(self, store, query):
        view = store.create_feature_view("delays", query)
        with pytest.raises(TypeError):
            view.training_data(split="train")

    def test_explain_tells_of_each_group(self, store, query, weather):
        view = store.create_feature_view(
            "delays", query.join(weather.select("temp"), on="origin", prefix="old_", min_age="1h")
        )
        told = view.explain(max_age="2h")
        for word in ("flights@v1", "weather@v1", "2h", "1h"):
            assert word in told

    def test_what_is_no_frame_is_refused(self, store, query):
        view = store.create_feature_view("delays", query)
        for wrong in ("flights.csv", 5, {"flight_id": [1]}, object()):
            with pytest.raises((hr.InvalidArgument, hr.BadData)):
                view.training_data(spine=wrong).to_arrow()

    def test_a_spine_twice_over_has_clashing_names(self, store, query):
        view = store.create_feature_view("delays", query)
        column = pa.array([1], pa.int64())
        with pytest.raises((hr.NameClash, hr.BadData)):
            view.training_data(spine=pa.table([column, column], names=["flight_id", "flight_id"])).to_arrow()


def test_a_root_without_times_is_told_of_batch_data(store):
    group = store.create_feature_group("g", primary_key=["id"])
    group.insert([{"id": 1}])
    view = store.create_feature_view("view", group.select())
    with pytest.raises(hr.InvalidArgument, match="g@v1 has no event time") as told:
        view.training_data()
    assert "batch_data()" in told.value.hint
    with pytest.raises(
        hr.InvalidArgument, match="spine has no event time; it is looked for as 'event_timestamp'"
    ):
        view.training_data(spine=[{"id": 1}])
    assert values(view.batch_data(), "id") == [1]
