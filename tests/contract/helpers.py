"""Small groups of flights and weather, and the rows of results in forms that compare."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

import headrace as hr
from conftest import fresh

TIME = pa.timestamp("us", tz="UTC")
FLIGHTS = pa.schema({"flight_id": pa.int64(), "dep": TIME, "origin": pa.string(), "delay": pa.float64()})
WEATHER = pa.schema({"origin": pa.string(), "seen": TIME, "temp": pa.float64()})
RECORDED = WEATHER.append(pa.field("recorded", TIME))

# SQL, paths, globs and templates have other plans for these; each is a column's name like any other.
ODD_NAMES = [
    "order",
    "select",
    "two words",
    'double "quotes"',
    "it's",
    "back\\slash",
    "名前",
    "naïve",
    "../../etc/passwd",
    "x; drop table flights; --",
    "a.b",
    "{brace}",
    "100%",
    "?",
    "$1",
    ":name",
    "[0]",
    "a=b/c",
    " leading",
    "🛩",
]
BAD_NAMES = [
    "",
    "Weather",
    "two words",
    'quo"te',
    "it's",
    "../up",
    "a/b",
    "a.b",
    "a@v1",
    "1st",
    "wetter_größe",
    "x; drop table y",
    "a" * 64,
    "a\n",
]
SQL_NAMES = ["select", "table", "order", "group", "user", "_", "a" * 63]


def at(clock: str, day: int = 1) -> dt.datetime:
    """`at("10:05")` is 2024-03-01 10:05 UTC."""
    return dt.datetime.combine(dt.date(2024, 3, day), dt.time.fromisoformat(clock), dt.UTC)


def frame(schema: pa.Schema, *rows: tuple[Any, ...]) -> pa.Table:
    """An Arrow table of tuples; a text such as "10:05" in a column of times is a clock."""
    made = [dict(zip(schema.names, row, strict=True)) for row in rows]
    for row in made:
        for field in schema:
            if pa.types.is_timestamp(field.type) and isinstance(row[field.name], str):
                row[field.name] = at(row[field.name])
    return pa.Table.from_pylist(made, schema)


def make_flights(
    store: hr.FeatureStore, *rows: tuple[Any, ...], name: str = "flights", **definition: Any
) -> Any:
    """Rows are (flight_id, dep, origin, delay)."""
    group = store.create_feature_group(
        name, primary_key=["flight_id"], event_time="dep", schema=FLIGHTS, **definition
    )
    group.insert(frame(FLIGHTS, *rows))
    return group


def make_weather(
    store: hr.FeatureStore,
    *rows: tuple[Any, ...],
    name: str = "weather",
    mode: str = "append",
    **definition: Any,
) -> Any:
    """Rows are (origin, seen, temp), and (…, recorded) with `created_time="recorded"`."""
    schema = RECORDED if "created_time" in definition else WEATHER
    group = store.create_feature_group(
        name, primary_key=["origin"], event_time="seen", schema=schema, **definition
    )
    group.insert(frame(schema, *rows), mode=mode)
    return group


def temps_at(
    store: hr.FeatureStore, weather: Any, *clocks: str, call: dict[str, Any] | None = None, **join: Any
) -> list[float | None]:
    """What flights leaving JFK at these times see as `temp`, read through a feature view."""
    flights = make_flights(
        store, *((i, clock, "JFK", 0.0) for i, clock in enumerate(clocks)), name=fresh("flights")
    )
    query = flights.join(weather.select("temp"), on="origin", **join)
    view = store.create_feature_view(fresh("view"), query)
    return by_key(view.training_data(**(call or {})), "flight_id", "temp")


def rows(result: Any) -> list[dict[str, Any]]:
    return result.to_arrow().to_pylist()


def values(result: Any, column: str) -> list[Any]:
    return result.to_arrow().column(column).to_pylist()


def by_key(result: Any, key: str, column: str) -> list[Any]:
    """The values of one column, in the order of another: rows of a root have no order of their own."""
    return [row[column] for row in sorted(rows(result), key=lambda row: row[key])]


def snapshot(group: Any) -> int:
    (found,) = group.read().snapshots.values()
    return found


class Unchanged:
    """A block that must raise `error` and leave `group` at its old snapshot with its old rows."""

    def __init__(self, group: Any, error: type[BaseException] | tuple[type[BaseException], ...]) -> None:
        self.group = group
        self.expected = pytest.raises(error)
        self.snapshots = group.read().snapshots
        self.rows = sorted(map(repr, rows(group.read())))

    def __enter__(self) -> pytest.ExceptionInfo[BaseException]:
        return self.expected.__enter__()

    def __exit__(self, *failure: Any) -> bool:
        handled = self.expected.__exit__(*failure)
        assert self.group.read().snapshots == self.snapshots
        assert sorted(map(repr, rows(self.group.read()))) == self.rows
        return bool(handled)
