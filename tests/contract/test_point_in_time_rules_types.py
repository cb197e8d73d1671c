"""The point-in-time rules, one test or more for each: times, their zones and units, and types of keys."""

from __future__ import annotations

import datetime as dt
import decimal
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import headrace as hr
from contract.helpers import (
    TIME,
    WEATHER,
    Unchanged,
    at,
    by_key,
    frame,
    make_flights,
    make_weather,
    rows,
    temps_at,
    values,
)  # fmt: skip

MIDNIGHT = dt.datetime(2024, 3, 1, tzinfo=dt.UTC)


@pytest.fixture
def view(store):
    """Two weather rows at JFK, seen by a view whose root holds no rows."""
    flights = make_flights(store)
    weather = make_weather(store, ("JFK", "10:00", 1.0), ("JFK", "10:05", 2.0))
    query = flights.select("flight_id").join(weather.select("temp"), on="origin")
    return store.create_feature_view("view", query)


def spine(times: pa.Array, **columns: pa.Array) -> pa.Table:
    count = len(times)
    given = {
        "flight_id": pa.array(range(count), pa.int64()),
        "dep": times,
        "origin": pa.array(["JFK"] * count),
    }
    return pa.table(given | columns)


class TestNaiveTimeIsUtc:
    def test_in_a_spine(self, view):
        naive = pa.array([dt.datetime(2024, 3, 1, 10, 4), dt.datetime(2024, 3, 1, 10, 5)], pa.timestamp("us"))
        result = view.training_data(spine=spine(naive))
        assert values(result, "temp") == [1.0, 2.0]
        assert result.to_arrow().column("dep").to_pylist() == naive.to_pylist()

    def test_in_a_group(self, store):
        weather = make_weather(store)
        naive = WEATHER.set(1, pa.field("seen", pa.timestamp("us")))
        weather.insert(
            pa.Table.from_pylist([{"origin": "JFK", "seen": dt.datetime(2024, 3, 1, 10), "temp": 1.0}], naive)
        )
        assert values(weather.read(), "seen") == [at("10:00")]
        assert weather.schema.field("seen").type == TIME
        assert temps_at(store, weather, "09:59", "10:00") == [None, 1.0]


class TestDifferentTimeZones:
    def test_are_compared_as_instants_and_the_spine_column_returns_as_given(self, view):
        kind = pa.timestamp("us", tz="America/New_York")
        local = pa.array([at("10:04"), at("10:05")], kind)
        result = view.training_data(spine=spine(local)).to_arrow()
        assert result.column("temp").to_pylist() == [1.0, 2.0]
        assert result.schema.field("dep").type == kind
        assert result.column("dep").combine_chunks() == local

    def test_an_hour_that_occurs_twice_is_two_instants(self, store):
        zone = ZoneInfo("America/New_York")
        once, again = (dt.datetime(2024, 11, 3, 1, 30, fold=fold, tzinfo=zone) for fold in (0, 1))
        weather = make_weather(store)
        schema = WEATHER.set(1, pa.field("seen", pa.timestamp("us", tz="America/New_York")))
        times = pa.array([once.astimezone(dt.UTC), again.astimezone(dt.UTC)], schema.field("seen").type)
        weather.insert(pa.table([pa.array(["JFK", "JFK"]), times, pa.array([1.0, 2.0])], schema=schema))
        assert sorted(values(weather.read(), "seen")) == [once.astimezone(dt.UTC), again.astimezone(dt.UTC)]


class TestDifferentTimeUnits:
    def test_are_compared_without_loss(self, view):
        nanos = [int((at("10:05") - MIDNIGHT).total_seconds() * 1e9) + offset for offset in (-1, 0, 1)]
        base = int(MIDNIGHT.timestamp()) * 10**9
        times = pa.array([base + n for n in nanos], pa.timestamp("ns", tz="UTC"))
        result = view.training_data(spine=spine(times)).to_arrow()
        assert result.column("temp").to_pylist() == [1.0, 2.0, 2.0]
        assert result.column("dep").combine_chunks() == times

    def test_ages_are_too(self, view):
        base = int(at("10:05").timestamp()) * 10**9
        times = pa.array([base + 10**9 + offset for offset in (-1, 0, 1)], pa.timestamp("ns", tz="UTC"))
        assert values(view.training_data(spine=spine(times), max_age="1s"), "temp") == [2.0, 2.0, None]
        assert values(view.training_data(spine=spine(times), min_age="1s"), "temp") == [1.0, 2.0, 2.0]

    def test_before_1970_too(self, store, view):
        """A nanosecond before a row is before it on both sides of zero."""
        weather = store.get_feature_group("weather")
        weather.insert(frame(WEATHER, ("JFK", dt.datetime(1969, 12, 31, 23, 59, 59, 999999, dt.UTC), 7.0)))
        times = pa.array([-1001, -1000, -999, 0], pa.timestamp("ns", tz="UTC"))
        assert values(view.training_data(spine=spine(times)), "temp") == [None, 7.0, 7.0, 7.0]

    @pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
    def test_every_unit_in_a_spine(self, view, unit):
        times = pa.array([at("09:59"), at("10:00"), at("10:05")]).cast(pa.timestamp(unit, tz="UTC"))
        result = view.training_data(spine=spine(times)).to_arrow()
        assert result.column("temp").to_pylist() == [None, 1.0, 2.0]
        assert result.schema.field("dep").type == times.type

    def test_writing_digits_below_a_microsecond_is_refused(self, store):
        weather = make_weather(store, ("JFK", "10:00", 1.0))
        kind = pa.timestamp("ns", tz="UTC")
        schema = WEATHER.set(1, pa.field("seen", kind))
        whole = pc.cast(pa.array([at("11:00")], TIME), kind)
        broken = pc.add(whole.cast(pa.int64()), 1).cast(kind)
        origin, temp = pa.array(["JFK"]), pa.array([2.0])
        with Unchanged(weather, hr.BadData) as caught:
            weather.insert(pa.table([origin, broken, temp], schema=schema))
        assert "seen" in str(caught.value)
        weather.insert(pa.table([origin, whole, temp], schema=schema))
        assert sorted(values(weather.read(), "seen")) == [at("10:00"), at("11:00")]


class TestIntegerEpochEventTime:
    SCHEMA = pa.schema({"origin": pa.string(), "seen": pa.int64(), "temp": pa.float64()})

    def test_is_refused_unless_the_unit_is_declared(self, store):
        with pytest.raises(hr.HeadraceError) as caught:
            store.create_feature_group(
                "weather", primary_key=["origin"], event_time="seen", schema=self.SCHEMA
            )
        assert isinstance(caught.value, hr.InvalidArgument | hr.BadData)
        assert "event_time_unit" in str(caught.value)

    @pytest.mark.parametrize(("unit", "factor"), [("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)])
    def test_is_compared_in_its_unit(self, store, unit, factor):
        weather = store.create_feature_group(
            "weather", primary_key=["origin"], event_time="seen", event_time_unit=unit, schema=self.SCHEMA
        )
        epochs = [int(at(clock).timestamp()) * factor for clock in ("10:00", "10:05")]
        weather.insert(frame(self.SCHEMA, ("JFK", epochs[0], 1.0), ("JFK", epochs[1], 2.0)))
        assert temps_at(store, weather, "09:59:59", "10:00", "10:04:59", "10:05") == [None, 1.0, 1.0, 2.0]

    def test_in_a_spine_is_refused(self, view):
        with pytest.raises((hr.InvalidArgument, hr.BadData)) as caught:
            view.training_data(spine=spine(pa.array([1], pa.int64()))).to_arrow()
        assert "dep" in str(caught.value)


class TestDateEventTime:
    SCHEMA = pa.schema({"origin": pa.string(), "day": pa.date32(), "temp": pa.float64()})

    def test_is_the_start_of_that_day_utc(self, store):
        with pytest.warns(UserWarning, match="min_age"):
            daily = store.create_feature_group(
                "daily", primary_key=["origin"], event_time="day", schema=self.SCHEMA
            )
        daily.insert(frame(self.SCHEMA, ("JFK", dt.date(2024, 3, 1), 1.0), ("JFK", dt.date(2024, 3, 2), 2.0)))
        flights = make_flights(store, (0, MIDNIGHT - dt.timedelta(microseconds=1), "JFK", 0.0), (1, MIDNIGHT, "JFK", 0.0),
                               (2, "23:59:59.999999", "JFK", 0.0), (3, at("00:00", day=2), "JFK", 0.0))  # fmt: skip
        found = flights.select("flight_id").join(daily.select("temp"), on="origin").read()
        assert by_key(found, "flight_id", "temp") == [None, 1.0, 1.0, 2.0]

    def test_creation_warns_of_daily_aggregates_unless_min_age_is_set(self, store, recwarn):
        definition = {"primary_key": ["origin"], "event_time": "day", "schema": self.SCHEMA}
        store.create_feature_group("careful", min_age="1d", **definition)
        assert not recwarn.list
        with pytest.warns(UserWarning, match="min_age"):
            store.create_feature_group("careless", **definition)

    def test_in_a_spine(self, store, view):
        days = pa.array([dt.date(2024, 3, 1), dt.date(2024, 3, 2)], pa.date32())
        result = view.training_data(spine=spine(days)).to_arrow()
        assert result.column("temp").to_pylist() == [None, 2.0]
        assert result.schema.field("dep").type == pa.date32()


class TestStringEventTime:
    def test_is_refused_in_stored_columns(self, store):
        weather = make_weather(store, ("JFK", "10:00", 1.0))
        with Unchanged(weather, hr.SchemaMismatch) as caught:
            weather.insert([{"origin": "JFK", "seen": "2024-03-01T11:00:00Z", "temp": 2.0}])
        assert "seen" in str(caught.value)
        text = WEATHER.set(1, pa.field("seen", pa.string()))
        with pytest.raises((hr.InvalidArgument, hr.BadData)):
            store.create_feature_group("text", primary_key=["origin"], event_time="seen", schema=text)

    def test_is_refused_in_spines(self, view):
        with pytest.raises((hr.InvalidArgument, hr.BadData)) as caught:
            view.training_data(spine=spine(pa.array(["2024-03-01T11:00:00Z"]))).to_arrow()
        assert "dep" in str(caught.value)


class TestKeyTypesThatDiffer:
    @pytest.mark.parametrize(
        "kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32()]
    )
    def test_integer_widths_are_alike(self, store, kind):
        schema = pa.schema({"k": pa.int64(), "v": pa.string()})
        stored = store.create_feature_group("stored", primary_key=["k"], schema=schema)
        stored.insert(frame(schema, (1, "one"), (2, "two")))
        root_schema = pa.schema({"id": pa.int64(), "t": TIME, "k": pa.int32()})
        root = store.create_feature_group("root", primary_key=["id"], event_time="t", schema=root_schema)
        view = store.create_feature_view("view", root.select("id").join(stored))
        given = pa.table({"id": [7], "t": pa.array([at("10:00")], TIME), "k": pa.array([2], kind)})
        assert values(view.training_data(spine=given), "v") == ["two"]

    @pytest.mark.parametrize(
        "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
    )
    def test_string_encodings_are_alike(self, view, kind):
        times = pa.array([at("10:00"), at("10:00")], TIME)
        origins = pa.array(["JFK", "LGA"]).cast(kind)
        assert values(view.training_data(spine=spine(times, origin=origins)), "temp") == [1.0, None]

    @pytest.mark.parametrize(
        "keys",
        [
            pa.array([1], pa.int64()),
            pa.array([1.0]),
            pa.array([True]),
            pa.array([dt.date(2024, 3, 1)]),
            pa.array([decimal.Decimal("1.0")]),
            pa.array([b"JFK"]),
        ],
    )
    def test_all_else_is_key_mismatch_with_both_types(self, view, keys):
        times = pa.array([at("10:00")], TIME)
        with pytest.raises(hr.KeyMismatch) as caught:
            view.training_data(spine=spine(times, origin=keys)).to_arrow()
        assert "string" in str(caught.value)
        assert str(keys.type) in str(caught.value)

    def test_between_groups_integer_and_string_and_float(self, store):
        schema = pa.schema({"k": pa.int64(), "v": pa.string()})
        stored = store.create_feature_group("stored", primary_key=["k"], schema=schema)
        root_schema = pa.schema({"id": pa.int64(), "text": pa.string(), "real": pa.float64()})
        root = store.create_feature_group("root", primary_key=["id"], schema=root_schema)
        for left in ("text", "real"):
            with pytest.raises(hr.KeyMismatch, match="int64"):
                root.join(stored, on={left: "k"}).read().to_arrow()

    def test_pandas_integers_with_gaps_are_float(self, store):
        pandas = pytest.importorskip("pandas")
        schema = pa.schema({"k": pa.int64(), "v": pa.string()})
        stored = store.create_feature_group("stored", primary_key=["k"], schema=schema)
        root_schema = pa.schema({"id": pa.int64(), "t": TIME, "k": pa.int64()})
        root = store.create_feature_group("root", primary_key=["id"], event_time="t", schema=root_schema)
        view = store.create_feature_view("view", root.select("id").join(stored))
        gaps = pandas.DataFrame({"id": [1, 2], "t": [at("10:00"), at("10:00")], "k": [1, None]})
        with pytest.raises(hr.KeyMismatch, match="double"):
            view.training_data(spine=gaps).to_arrow()


@pytest.mark.parametrize(
    "kind", [pa.float32(), pa.float64(), pa.list_(pa.int64()), pa.struct({"a": pa.int64()})]
)
def test_float_or_nested_key_is_refused_at_creation(store, kind):
    schema = pa.schema({"k": kind, "v": pa.int64()})
    with pytest.raises((hr.InvalidArgument, hr.BadData)) as caught:
        store.create_feature_group("g", primary_key=["k"], schema=schema)
    assert "'k'" in str(caught.value)
    assert store.list_feature_groups() == []


def test_string_keys_are_compared_byte_for_byte(store):
    keys = ["a", "A", " a", "a ", "é", "e\u0301", "", "\t", "a\u0000b", "ß", "ss"]
    schema = pa.schema({"k": pa.string(), "v": pa.int64()})
    stored = store.create_feature_group("stored", primary_key=["k"], schema=schema)
    stored.insert(frame(schema, *((key, i) for i, key in enumerate(keys))))
    root = store.create_feature_group("root", primary_key=["k"], schema=pa.schema({"k": pa.string()}))
    root.insert(pa.table({"k": [*keys, "E\u0301", "a\u0000"]}))
    found = {row["k"]: row["v"] for row in rows(root.join(stored).read())}
    assert found == {key: i for i, key in enumerate(keys)} | {"E\u0301": None, "a\u0000": None}
