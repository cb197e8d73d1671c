"""The demo's training set by brute force, and that the brute force finds what is wrong."""

from __future__ import annotations

import pandas as pd
import pytest

from headrace.demo.check import check_all, check_flights, check_training_set
from headrace.demo.data import Frames
from headrace.errors import InternalError


def test_a_sample_is_right(training: pd.DataFrame, frames: Frames) -> None:
    assert check_training_set(training, frames, sample=1_000, seed=1) == 1_000


@pytest.mark.parametrize("day", ["20130101", "20130310", "20131103"])
def test_the_first_day_and_clock_changes_are_right(training: pd.DataFrame, frames: Frames, day: str) -> None:
    ids = frames.flights["flight_id"]
    check_flights(training, frames, ids[ids.str.endswith(day)])


def test_every_kind_of_answer_occurs(training: pd.DataFrame) -> None:
    """Or the checks would pass on features that are never, or always, there."""
    assert 0.990 < training["wx_observed_at"].notna().mean() < 0.999
    assert 0.97 < training["prev_landed_at"].notna().mean() < 0.99
    assert training["arr_delay"].isna().sum() == 9_430


def _row(training: pd.DataFrame) -> int:
    """A flight that knew its weather and its plane's last leg."""
    return int(
        (training["wx_temp"].notna() & training["prev_arr_delay"].notna()).to_numpy().nonzero()[0][50_000]
    )


def _changed(training: pd.DataFrame, row: int, **values: object) -> pd.DataFrame:
    changed = training.copy()
    for column, value in values.items():
        changed.loc[row, column] = value
    return changed


def test_it_finds_weather_from_the_future(training: pd.DataFrame, frames: Frames) -> None:
    row = _row(training)
    later = training.loc[row, "wx_observed_at"] + pd.Timedelta(hours=1)
    with pytest.raises(InternalError, match="after their departure"):
        check_all(_changed(training, row, wx_observed_at=later), frames)


def test_it_finds_a_leg_that_has_not_landed(training: pd.DataFrame, frames: Frames) -> None:
    """Its own leg, delay and all, is what a join on departure times would give it."""
    row = _row(training)
    own = frames.plane_legs[frames.plane_legs["flight_id"] == training.loc[row, "flight_id"]].iloc[0]
    leaked = _changed(training, row, prev_landed_at=own["landed_at"], prev_arr_delay=own["arr_delay"])
    with pytest.raises(InternalError, match="after their departure"):
        check_all(leaked, frames)


@pytest.mark.parametrize(
    "values",
    [
        {"wx_temp": -40.0},
        {"wx_observed_at": pd.NaT},
        {"wx_observed_at": pd.Timestamp("2013-01-01T07:51Z")},
        {"prev_arr_delay": float("nan")},
        {"prev_landed_at": pd.Timestamp("2013-01-01T07:51Z")},
    ],
    ids=lambda values: "-".join(values),
)
def test_it_finds_another_value(training: pd.DataFrame, frames: Frames, values: dict[str, object]) -> None:
    row = _row(training)
    changed = _changed(training, row, **values)
    check_all(changed, frames)
    with pytest.raises(InternalError, match=training.loc[row, "flight_id"]):
        check_flights(changed, frames, [training.loc[row, "flight_id"]])


def test_it_finds_a_label_of_another_flight(training: pd.DataFrame, frames: Frames) -> None:
    with pytest.raises(InternalError, match="arr_delay"):
        check_all(_changed(training, _row(training), arr_delay=1_000.0), frames)


def test_it_finds_a_row_lost_or_doubled(training: pd.DataFrame, frames: Frames) -> None:
    for wrong in (training.iloc[1:], pd.concat([training, training.iloc[:1]])):
        with pytest.raises(InternalError, match="each once"):
            check_all(wrong, frames)
