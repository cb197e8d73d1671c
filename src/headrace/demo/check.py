"""Proves by brute force that a training set holds what was known at each departure, and nothing later.

It knows the rows that were written and the rows that came back, not how they were joined: for each flight of
a sample it goes through all readings and legs, one by one, in plain Python.
"""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from headrace.demo.data import WEATHER_COLUMNS, Frames
from headrace.errors import InternalError

MAX_WEATHER_AGE = dt.timedelta(hours=2)

Row = Mapping[str, Any]


def check_training_set(training: pd.DataFrame, frames: Frames, *, sample: int, seed: int = 0) -> int:
    """Check what holds for all rows at once, then `sample` flights one by one; return how many.

    Raises:
        InternalError: a flight is missing, there twice or altered, or its features are not those that were
            newest when it was to depart.
    """
    check_all(training, frames)
    ids = random.Random(seed).sample(sorted(frames.flights["flight_id"]), sample)
    check_flights(training, frames, ids)
    return len(ids)


def check_all(training: pd.DataFrame, frames: Frames) -> None:
    """Every flight once, with its own label, and no feature from after its departure."""
    given = frames.flights.sort_values("flight_id", ignore_index=True)
    got = training.sort_values("flight_id", ignore_index=True)
    if given["flight_id"].tolist() != got["flight_id"].tolist():
        raise InternalError(
            f"the training set has {len(got):,} rows that are not the {len(given):,} flights, each once"
        )
    for column in ("sched_dep", "arr_delay"):
        if not given[column].equals(got[column].astype(given[column].dtype)):
            raise InternalError(f"the training set altered {column!r} of the flights")
    for column in ("wx_observed_at", "prev_landed_at"):
        late = np.flatnonzero(got[column] > got["sched_dep"])
        if late.size:
            raise InternalError(
                f"{late.size:,} flights see a {column!r} after their departure, such as\n{got.loc[late[0]]}"
            )


def check_flights(training: pd.DataFrame, frames: Frames, flight_ids: Iterable[str]) -> None:
    """The features of these flights are the newest that were known, to the value."""
    wanted = set(flight_ids)
    flights = _rows(frames.flights[frames.flights["flight_id"].isin(wanted)])
    got = {row["flight_id"]: row for row in _rows(training[training["flight_id"].isin(wanted)])}
    weather = _by(_rows(frames.weather), "origin")
    tailnums = {flight["tailnum"] for flight in flights}
    legs = _by(_rows(frames.plane_legs[frames.plane_legs["tailnum"].isin(tailnums)]), "tailnum")
    for flight in flights:
        here, plane = flight["origin"], flight["tailnum"]
        expected = expected_features(flight, weather.get(here, []), legs.get(plane, []))
        found = {name: got[flight["flight_id"]][name] for name in expected}
        if found != expected:
            raise InternalError(f"flight {flight['flight_id']} should have\n{expected}\nand has\n{found}")


def expected_features(flight: Row, weather: Iterable[Row], legs: Iterable[Row]) -> dict[str, Any]:
    """The newest reading, at most 2 hours old, and newest leg landed, when `flight` was to depart.

    `weather` are all readings at its origin, `legs` all legs of its plane, in any order.
    """
    departure = flight["sched_dep"]
    fresh = [row for row in weather if departure - MAX_WEATHER_AGE <= row["observed_at"] <= departure]
    landed = [row for row in legs if row["landed_at"] <= departure]
    reading = max(fresh, key=lambda row: row["observed_at"], default={})
    leg = max(landed, key=lambda row: row["landed_at"], default={})
    features = {"wx_" + name: reading.get(name) for name in ("observed_at", *WEATHER_COLUMNS)}
    return features | {"prev_" + name: leg.get(name) for name in ("landed_at", "arr_delay")}


def _by(rows: Iterable[Row], column: str) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[column], []).append(row)
    return groups


def _rows(frame: pd.DataFrame) -> list[Row]:
    """Rows as dicts of plain Python values; what is missing is None."""
    columns = {name: [_plain(value) for value in frame[name]] for name in frame.columns}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _plain(value: Any) -> Any:
    if value is None or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
        return None
    return value.to_pydatetime() if isinstance(value, pd.Timestamp) else value
