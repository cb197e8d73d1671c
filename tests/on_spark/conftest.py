"""Flights and weather, in a store with a session of Spark, of which all tests of a file read."""

from __future__ import annotations

import datetime as dt
import os
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import headrace as hr

# Elsewhere there is no Spark, and these tests are none to be skipped.
collect_ignore_glob = [] if os.environ.get("HEADRACE_ENGINE") else ["test_*.py"]

TIME = pa.timestamp("us", tz="UTC")
NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
ROWS = 600


def at(minute: float) -> dt.datetime:
    return NOON + dt.timedelta(minutes=minute)


def times(minutes: Any) -> pa.Array:
    return pa.array([None if m is None else at(float(m)) for m in minutes], TIME)


@pytest.fixture(scope="module")
def lake(embedded_store: hr.FeatureStore) -> hr.FeatureStore:
    rng = np.random.default_rng(7)
    flights = embedded_store.create_feature_group("flights", primary_key=["id"], event_time="dep")
    flights.insert(
        pa.table(
            {
                "id": np.arange(ROWS),
                "dep": times(rng.integers(0, 400, ROWS)),
                "origin": pa.array(rng.choice(["JFK", "LGA", "EWR", "NWK"], ROWS)),
                "carrier": pa.array([None if i % 11 == 0 else f"c{i % 3}" for i in range(ROWS)]),
                "price": pa.array([int(p) for p in rng.integers(0, 4, ROWS)], pa.decimal128(6, 2)),
                "delay": rng.random(ROWS),
            }
        )
    )
    weather = embedded_store.create_feature_group("weather", primary_key=["origin"], event_time="seen")
    weather.insert(
        pa.table(
            {
                "origin": ["JFK", "LGA", "EWR"] * 100,
                "seen": times(range(300)),
                "temp": pa.array([None if i % 7 == 0 else i / 2 for i in range(300)]),
            }
        )
    )
    carriers = embedded_store.create_feature_group("carriers", primary_key=["carrier"])
    carriers.insert([{"carrier": f"c{i}", "country": f"land {i}"} for i in range(2)])
    return embedded_store


@pytest.fixture(scope="module")
def view(lake: hr.FeatureStore) -> hr.FeatureView:
    flights, weather = lake.get_feature_group("flights"), lake.get_feature_group("weather")
    query = (
        flights.select()
        .join(weather, on="origin", prefix="w_", max_age="2h")
        .join(weather, on="origin", prefix="old_", min_age="30m")
        .join(lake.get_feature_group("carriers"), on="carrier")
        .with_columns(warm="w_temp > 50 and price < 3")
    )
    return lake.create_feature_view("delays", query, labels=["delay"])
