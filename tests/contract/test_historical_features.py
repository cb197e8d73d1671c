"""Features for rows of entities by Feast's names: the same join as a feature view's, without a root group."""

from __future__ import annotations

import datetime as dt

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import headrace as hr
from contract.helpers import at, make_flights, rows, values


@pytest.fixture
def weather(store):
    made = store.create_feature_group(
        "weather", primary_key=["origin"], event_time="seen", created_time="recorded", ttl="3h"
    )
    made.insert(
        [
            {"origin": "JFK", "seen": at("01:00"), "recorded": at("01:00"), "temp": 1.0},
            {"origin": "JFK", "seen": at("05:00"), "recorded": at("09:00"), "temp": 5.0},
        ]
    )
    return made


@pytest.fixture
def legs(store):
    made = store.create_feature_group("legs", primary_key=["tail"], event_time="landed")
    made.insert([{"tail": "N1", "landed": at("02:00"), "delay": 7.0, "temp": 0.0}])
    return made


ENTITIES = pa.table(
    {
        "origin": ["JFK", "JFK", "EWR", None, "JFK", "JFK"],
        "tail": ["N1", "N1", "N2", "N1", "N1", "N1"],
        "event_timestamp": [at("06:00"), at("02:00"), at("06:00"), at("06:00"), None, at("06:00")],
        "label": [1, 2, 3, 4, 5, 6],
    }
)


def test_each_row_as_known_at_its_time_in_the_order_given(store, weather, legs):
    result = store.get_historical_features(ENTITIES, ["weather:temp", "legs:delay"])
    assert result.schema.names == [*ENTITIES.column_names, "temp", "delay"]
    assert result.to_arrow().select(ENTITIES.column_names).equals(ENTITIES)
    assert values(result, "temp") == [5.0, 1.0, None, None, None, 5.0]
    assert values(result, "delay") == [7.0, 7.0, None, 7.0, None, 7.0]
    assert result.snapshots == {"weather@v1": 0, "legs@v1": 0}


def test_it_is_the_join_of_a_feature_view(store, weather, legs):
    flights = make_flights(store, (1, "06:00", "JFK", 0.0))
    query = flights.select("flight_id").join(weather.select("temp"), on="origin")
    view = store.create_feature_view("view", query)
    spine = ENTITIES.append_column("flight_id", pa.array(range(6)))
    asked = store.get_historical_features(spine, ["weather:temp"]).to_arrow()
    assert asked.equals(view.training_data(spine=spine, event_time="event_timestamp").to_arrow())


def test_full_feature_names(store, weather, legs):
    features = ["weather:temp", "legs:temp", "weather@v1:seen"]
    result = store.get_historical_features(
        entity_df=ENTITIES.to_pandas(), features=features, full_feature_names=True
    ).to_df()
    assert list(result.columns[4:]) == ["weather__temp", "weather__seen", "legs__temp"]
    assert result["legs__temp"].iloc[0] == 0.0
    with pytest.raises(
        hr.NameClash, match="weather@v1:temp and legs@v1:temp are both named 'temp'"
    ) as caught:
        store.get_historical_features(ENTITIES, features)
    assert "full_feature_names=True" in caught.value.hint


def test_only_what_had_been_recorded(store, weather):
    late = ENTITIES.slice(0, 1)
    asked = store.get_historical_features(late, ["weather:temp"], filter_by_created_timestamp=True)
    assert values(asked, "temp") == [
        None
    ]  # that of 05:00 was recorded later, that of 01:00 is older than the ttl
    assert values(store.get_historical_features(late, ["weather:temp"]), "temp") == [5.0]


@pytest.mark.parametrize("library", ["pandas", "polars", "dicts", "batch"])
def test_frames(store, weather, library):
    frame = {
        "pandas": ENTITIES.to_pandas,
        "polars": lambda: pl.from_arrow(ENTITIES),
        "dicts": ENTITIES.to_pylist,
        "batch": lambda: ENTITIES.to_batches()[0],
    }[library]()
    result = store.get_historical_features(frame, ["weather:temp"])
    assert values(result, "temp") == [5.0, 1.0, None, None, None, 5.0]


def test_the_time_of_the_rows(store, weather):
    named = ENTITIES.rename_columns(["origin", "tail", "asked", "label"])
    assert values(store.get_historical_features(named, ["weather:temp"]), "temp")[:2] == [5.0, 1.0]
    two = named.append_column("other", pa.array([at("02:00")] * 6))
    with pytest.raises(hr.InvalidArgument, match="no column 'event_timestamp', and 2 other times"):
        store.get_historical_features(two, ["weather:temp"])
    by_other = store.get_historical_features(two, ["weather:temp"], event_time="other")
    assert values(by_other, "temp")[:2] == [1.0, 1.0]
    with pytest.raises(hr.InvalidArgument, match=r"and no other times \(add event_timestamp"):
        store.get_historical_features(ENTITIES.select(["origin"]), ["weather:temp"])


def test_groups_without_time_and_without_key(store, weather):
    planes = store.create_feature_group("planes", primary_key=["tail"])
    planes.insert([{"tail": "N1", "seats": 100}])
    prices = store.create_feature_group("prices", primary_key=[], event_time="t")
    prices.insert([{"t": at("05:30"), "fuel": 2.0}])
    result = store.get_historical_features(ENTITIES, ["planes:seats", "prices:fuel"])
    assert values(result, "seats") == [100, 100, None, 100, 100, 100]
    assert values(result, "fuel") == [2.0, None, 2.0, 2.0, None, 2.0]
    assert "left join plain planes@v1" in result.explain()


def test_a_version_of_a_group(store, weather):
    newer = store.create_feature_group("weather", primary_key=["origin"], event_time="seen", version=2)
    newer.insert([{"origin": "JFK", "seen": at("05:00"), "temp": 50.0}])
    for feature, temp in (("weather:temp", 50.0), ("weather@v1:temp", 5.0), ("weather@v2:temp", 50.0)):
        assert values(store.get_historical_features(ENTITIES, [feature]), "temp")[0] == temp


def test_columns_that_no_group_stores_pass_through(store, weather):
    entities = ENTITIES.append_column("length", pa.array([dt.timedelta(hours=1)] * 6, pa.duration("us")))
    assert (
        store.get_historical_features(entities, ["weather:temp"])
        .to_arrow()["length"]
        .equals(entities["length"])
    )


def test_snapshots_are_those_of_the_call(store, weather):
    result = store.get_historical_features(ENTITIES, ["weather:temp"])
    weather.delete(filter=weather["temp"] > 0)
    assert values(result, "temp")[0] == 5.0
    assert rows(result.head(1))[0]["temp"] == 5.0
    assert values(store.get_historical_features(ENTITIES, ["weather:temp"]), "temp")[0] is None


def test_no_rows(store, weather):
    result = store.get_historical_features(ENTITIES.slice(0, 0), ["weather:temp"])
    assert result.to_arrow().schema == result.schema
    assert result.to_arrow().num_rows == 0


@pytest.mark.parametrize(
    ("features", "kind", "said"),
    [
        ("weather:temp", hr.InvalidArgument, "names no features"),
        ([], hr.InvalidArgument, "names no features"),
        (["temp"], hr.InvalidArgument, "'temp' names no group and column"),
        ([3], hr.InvalidArgument, "feature"),
        (["weather:"], hr.InvalidArgument, "names no group and column"),
        (["wether:temp"], hr.NotFound, "wether"),
        (["weather@v9:temp"], hr.NotFound, "weather@v9"),
        (["Weather!:temp"], hr.NotFound, "did you mean weather"),
        (["weather:tmep"], hr.UnknownColumn, "tmep"),
        (["weather:temp", "weather:temp"], hr.NameClash, "selected twice"),
        (["weather:origin"], hr.NameClash, "column 'origin' of entity_df and weather@v1:origin"),
    ],
)
def test_features_that_are_none(store, weather, features, kind, said):
    with pytest.raises(kind, match=said):
        store.get_historical_features(ENTITIES, features)


def test_entities_without_a_key(store, weather, legs):
    with pytest.raises(hr.UnknownColumn, match="entity_df has no column 'tail'"):
        store.get_historical_features(ENTITIES.drop_columns("tail"), ["legs:delay"])
    floats = pd.DataFrame({"origin": [1.5], "event_timestamp": [at("06:00")]})
    with pytest.raises(hr.KeyMismatch, match="'origin' is double and 'origin' is string"):
        store.get_historical_features(floats, ["weather:temp"])


def test_a_group_without_columns(store):
    store.create_feature_group("empty", primary_key=["origin"])
    with pytest.raises(hr.SchemaMismatch, match="no columns yet"):
        store.get_historical_features(ENTITIES, ["empty:x"])
