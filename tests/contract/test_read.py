"""Reads of one feature group, and the conditions that filter it."""

from __future__ import annotations

import datetime as dt
import decimal

import numpy as np
import pyarrow as pa
import pytest

import headrace as hr
from contract.helpers import TIME, WEATHER, at, frame, make_flights, make_weather, rows, values

SCHEMA = pa.schema(
    {
        "id": pa.int64(), "text": pa.string(), "real": pa.float64(), "flag": pa.bool_(), "day": pa.date32(), "time": TIME,
        "money": pa.decimal128(9, 2), "blob": pa.binary(),
    }
)  # fmt: skip


@pytest.fixture
def weather(store):
    return make_weather(
        store, ("JFK", "10:00", 1.0), ("JFK", "10:05", 2.0), ("LGA", "10:00", None), ("EWR", "10:10", 4.0)
    )


@pytest.fixture
def mixed(store):
    group = store.create_feature_group("mixed", primary_key=["id"], schema=SCHEMA)
    day, money = dt.date(2024, 3, 1), decimal.Decimal("1.50")
    group.insert(frame(
        SCHEMA,
        (1, "apple", 0.5, True, day, "10:00", money, b"a"),
        (2, "Apple", -0.5, False, day + dt.timedelta(1), "11:00", money + 1, b"b"),
        (3, "100%", 1e300, None, day, "12:00", -money, b""),
        (4, None, None, None, None, None, None, None),
        (5, "it's \"q\" \\ 名", 0.0, True, day, "13:00", money, b"\x00\xff"),
    ))  # fmt: skip
    return group


def ids(result):
    return sorted(values(result, "id"))


class TestRead:
    def test_all_rows_and_columns_in_the_schemas_order(self, weather):
        table = weather.read().to_arrow()
        assert table.schema == WEATHER
        assert table.num_rows == 4

    def test_columns_in_the_order_asked(self, weather):
        assert weather.read(["temp", "origin"]).schema.names == ["temp", "origin"]
        assert weather.read(columns=["seen"]).to_arrow().schema.names == ["seen"]

    def test_unknown_columns_are_told_by_name(self, weather):
        with pytest.raises(hr.UnknownColumn, match="tmep") as caught:
            weather.read(["origin", "tmep"])
        assert "weather@v1" in str(caught.value)
        assert "temp" in str(caught.value)

    def test_no_columns_or_one_twice_are_refused(self, weather):
        for wrong in ([], ["temp", "temp"], "temp", [None]):
            with pytest.raises(hr.InvalidArgument):
                weather.read(wrong).to_arrow()

    def test_columns_that_only_the_filter_reads(self, weather):
        assert values(weather.read(["temp"], weather["origin"] == "EWR"), "temp") == [4.0]

    def test_limit(self, weather):
        assert len(rows(weather.read(limit=2))) == 2
        assert len(rows(weather.read(limit=100))) == 4
        assert rows(weather.read(limit=0)) == []
        assert len(rows(weather.read(filter=weather["origin"] == "JFK", limit=3))) == 2
        for wrong in (-1, 1.5, "2"):
            with pytest.raises(hr.InvalidArgument):
                weather.read(limit=wrong)

    def test_snapshot_and_timestamp(self, weather):
        first = weather.history()[0]
        weather.delete(filter=weather["origin"] == "JFK")
        assert len(rows(weather.read(snapshot=first.snapshot))) == 4
        assert len(rows(weather.read(timestamp=first.timestamp))) == 4
        assert len(rows(weather.read())) == 2
        with pytest.raises(hr.InvalidArgument):
            weather.read(snapshot=first.snapshot, timestamp=first.timestamp)

    def test_a_group_without_columns_yet_is_told(self, store):
        group = store.create_feature_group("g", primary_key=["id"])
        with pytest.raises(hr.SchemaMismatch, match="insert"):
            group.read()


class TestLatest:
    def test_is_the_newest_row_of_each_key(self, weather):
        assert {row["origin"]: row["temp"] for row in rows(weather.read(latest=True))} == {
            "JFK": 2.0,
            "LGA": None,
            "EWR": 4.0,
        }

    def test_after_the_filter(self, weather):
        assert values(weather.read(filter=weather["temp"] < 2, latest=True), "temp") == [1.0]

    def test_before_the_limit(self, weather):
        found = rows(weather.read(latest=True, limit=2))
        assert len({row["origin"] for row in found}) == 2

    def test_resolves_ties_by_created_time(self, store):
        group = make_weather(
            store, ("JFK", "10:00", 1.0, "10:02"), ("JFK", "10:00", 2.0, "10:01"), ("JFK", "10:00", 3.0, None),
            name="recorded", created_time="recorded",
        )  # fmt: skip
        assert values(group.read(["temp"], latest=True), "temp") == [1.0]

    def test_of_a_group_without_keys_is_one_row(self, store):
        schema = pa.schema({"seen": TIME, "rate": pa.float64()})
        rates = store.create_feature_group("rates", primary_key=[], event_time="seen", schema=schema)
        rates.insert(frame(schema, ("10:00", 1.0), ("10:05", 2.0)))
        assert values(rates.read(latest=True), "rate") == [2.0]

    def test_of_a_group_without_event_time_is_each_row(self, mixed):
        assert ids(mixed.read(latest=True)) == [1, 2, 3, 4, 5]


class TestConditions:
    def test_of_numbers(self, mixed):
        real, number = mixed["real"], mixed["id"]
        assert ids(mixed.read(filter=real == 0.5)) == [1]
        assert ids(mixed.read(filter=real != 0.5)) == [2, 3, 5]
        assert ids(mixed.read(filter=real < 0)) == [2]
        assert ids(mixed.read(filter=real <= 0)) == [2, 5]
        assert ids(mixed.read(filter=real > 0.25)) == [1, 3]
        assert ids(mixed.read(filter=real >= np.float64(0.5))) == [1, 3]
        assert ids(mixed.read(filter=number >= decimal.Decimal("4.5"))) == [5]
        assert ids(mixed.read(filter=number < 2.5)) == [1, 2]
        assert ids(mixed.read(filter=number > 2**70)) == []
        assert ids(mixed.read(filter=np.int64(2) == number)) == [2]
        assert ids(mixed.read(filter=mixed["money"] == decimal.Decimal("1.5"))) == [1, 5]
        assert ids(mixed.read(filter=mixed["money"] < 0)) == [3]

    def test_of_text_and_bytes(self, mixed):
        text = mixed["text"]
        assert ids(mixed.read(filter=text == "apple")) == [1]
        assert ids(mixed.read(filter=text < "a")) == [2, 3]
        assert ids(mixed.read(filter=text == 'it\'s "q" \\ 名')) == [5]
        assert ids(mixed.read(filter=text == "' OR 1=1 --")) == []
        assert ids(mixed.read(filter=mixed["blob"] == b"\x00\xff")) == [5]
        assert ids(mixed.read(filter=mixed["blob"] == b"")) == [3]

    def test_of_bools_times_and_dates(self, mixed):
        assert ids(mixed.read(filter=mixed["flag"] == True)) == [1, 5]  # noqa: E712
        assert ids(mixed.read(filter=mixed["flag"] != True)) == [2]  # noqa: E712
        time, day = mixed["time"], mixed["day"]
        for noon in (
            at("12:00"),
            dt.datetime(2024, 3, 1, 12),
            "2024-03-01T12:00Z",
            "2024-03-01T07:00:00-05:00",
        ):
            assert ids(mixed.read(filter=time >= noon)) == [3, 5]
        assert ids(mixed.read(filter=time >= dt.date(2024, 3, 1))) == [1, 2, 3, 5]
        assert ids(mixed.read(filter=day == dt.date(2024, 3, 2))) == [2]
        assert ids(mixed.read(filter=day <= "2024-03-01")) == [1, 3, 5]

    def test_like(self, mixed):
        text = mixed["text"]
        assert ids(mixed.read(filter=text.like("%pple"))) == [1, 2]
        assert ids(mixed.read(filter=text.like("_pple"))) == [1, 2]
        assert ids(mixed.read(filter=text.like("a%"))) == [1]
        assert ids(mixed.read(filter=text.like("%'%"))) == [5]
        assert ids(mixed.read(filter=~text.like("%pple"))) == [3, 5]

    def test_isin(self, mixed):
        assert ids(mixed.read(filter=mixed["id"].isin([1, 3, 99]))) == [1, 3]
        assert ids(mixed.read(filter=mixed["text"].isin(("apple", 'it\'s "q" \\ 名')))) == [1, 5]
        assert ids(mixed.read(filter=~mixed["id"].isin(range(3)))) == [3, 4, 5]
        for column in ("id", "real", "text", "time"):
            assert ids(mixed.read(filter=mixed[column].isin([]))) == []
            assert ids(mixed.read(filter=~mixed[column].isin([]))) == [1, 2, 3, 4, 5]
        assert ids(mixed.read(filter=mixed["time"].isin([at("10:00"), "2024-03-01T11:00Z"]))) == [1, 2]

    def test_null_compares_with_nothing(self, mixed):
        real = mixed["real"]
        assert ids(mixed.read(filter=real.is_null())) == [4]
        assert ids(mixed.read(filter=real.is_not_null())) == [1, 2, 3, 5]
        assert ids(mixed.read(filter=~(real == 0.5))) == [2, 3, 5]
        assert ids(mixed.read(filter=(real == 0.5) | real.is_null())) == [1, 4]
        assert ids(mixed.read(filter=~((real > 100) & (mixed["id"] == 4)))) == [1, 2, 3, 5]

    def test_of_two_columns(self, mixed):
        assert ids(mixed.read(filter=mixed["id"] > mixed["real"])) == [1, 2, 5]
        with pytest.raises(hr.InvalidArgument, match="text"):
            mixed.read(filter=mixed["id"] == mixed["text"])

    def test_nested_deep(self, mixed):
        condition = mixed["id"] == 1
        for _ in range(50):
            condition = (condition | (mixed["id"] == 2)) & (mixed["real"] > -1)
        assert ids(mixed.read(filter=condition)) == [1, 2]

    @pytest.mark.parametrize(
        "wrong", ["five", b"5", True, dt.date(2024, 3, 1), at("10:00"), [1], {}, object()]
    )
    def test_between_kinds_without_a_common_order_are_refused(self, mixed, wrong):
        with pytest.raises(hr.InvalidArgument):
            mixed.read(filter=mixed["id"] == wrong)

    def test_with_none_points_to_is_null(self, mixed):
        with pytest.raises(hr.InvalidArgument, match="is_null"):
            mixed["real"] == None  # noqa: B015, E711

    def test_have_no_truth_value(self, mixed):
        with pytest.raises(hr.InvalidArgument, match="&"):
            mixed["id"] == 1 and mixed["id"] == 2
        with pytest.raises(hr.InvalidArgument):
            not mixed["id"]
        with pytest.raises(hr.InvalidArgument):
            1 < mixed["id"] < 3  # noqa: B015

    def test_columns_of_other_groups_are_unknown(self, store, mixed):
        flights = make_flights(store)
        with pytest.raises(hr.UnknownColumn, match="delay"):
            mixed.read(filter=flights["delay"] > 0)

    @pytest.mark.parametrize("wrong", [True, "id = 1", ["id"], 0])
    def test_of_no_kind_are_refused(self, mixed, wrong):
        with pytest.raises(hr.InvalidArgument):
            mixed.read(filter=wrong)


NAN = float("nan")


class TestNaN:
    """It compares with nothing, as null does, whatever lies beside it in a file."""

    @pytest.fixture(params=[1, 2, 6], ids=["one file", "two in a file", "all in one"])
    def group(self, store, request):
        schema = pa.schema({"id": pa.int64(), "x": pa.float64(), "y": pa.float32()})
        group = store.create_feature_group("g", primary_key=["id"], schema=schema)
        stored = [
            (1, NAN, 1.0), (2, 0.5, NAN), (3, NAN, NAN), (4, None, 1.0), (5, 5.0, 5.0), (6, float("inf"), 0.0),
        ]  # fmt: skip
        for start in range(0, 6, request.param):
            group.insert(frame(schema, *stored[start : start + request.param]), mode="append")
        return group

    def test_compared_with_numbers(self, group):
        x = group["x"]
        assert ids(group.read(filter=x > 1)) == [5, 6]
        assert ids(group.read(filter=x >= 0.5)) == [2, 5, 6]
        assert ids(group.read(filter=x < 1)) == [2]
        assert ids(group.read(filter=x <= float("inf"))) == [2, 5, 6]
        assert ids(group.read(filter=x != 0.5)) == [5, 6]
        assert ids(group.read(filter=x == 0.5)) == [2]
        assert ids(group.read(filter=x.isin([0.5, NAN, 5]))) == [2, 5]

    def test_compared_with_numbers_and_negated(self, group):
        x = group["x"]
        assert ids(group.read(filter=~(x > 1))) == [2]
        assert ids(group.read(filter=~(x <= 1))) == [5, 6]
        assert ids(group.read(filter=~(x == 0.5))) == [5, 6]
        assert ids(group.read(filter=~x.isin([0.5]))) == [5, 6]
        assert ids(group.read(filter=~((x < 1) | (group["id"] == 1)))) == [5, 6]

    def test_compared_with_itself(self, group):
        for condition in (group["x"] == NAN, group["x"] != NAN, group["x"] >= NAN, group["x"].isin([NAN])):
            assert ids(group.read(filter=condition)) == []
        assert ids(group.read(filter=~(group["x"] == NAN))) == []

    def test_of_two_columns(self, group):
        assert ids(group.read(filter=group["x"] >= group["y"])) == [5, 6]
        assert ids(group.read(filter=~(group["x"] > group["y"]))) == [5]

    def test_is_found(self, group):
        assert ids(group.read(filter=group["x"].is_nan())) == [1, 3]
        assert ids(group.read(filter=~group["x"].is_nan())) == [2, 5, 6]
        assert ids(group.read(filter=group["x"].is_nan() & (group["y"] > 0))) == [1]
        with pytest.raises(hr.InvalidArgument, match="floats"):
            group.read(filter=group["id"].is_nan())

    def test_is_deleted_only_by_name(self, group):
        assert group.delete(filter=group["x"] > 1).rows_deleted == 2
        assert ids(group.read()) == [1, 2, 3, 4]
        assert group.delete(filter=group["x"].is_nan()).rows_deleted == 2
        assert ids(group.read()) == [2, 4]


class TestNumbersThatTheColumnCannotHold:
    @pytest.fixture
    def group(self, store):
        schema = pa.schema({"id": pa.int64(), "i": pa.int32(), "d": pa.decimal128(10, 2), "f": pa.float64()})
        group = store.create_feature_group("g", primary_key=["id"], schema=schema)
        rows = [
            (1, -(2**31), "-99999999.99", -1e308),
            (2, 0, "0.00", 0.0),
            (3, 2**31 - 1, "99999999.99", 1e308),
        ]
        decimals = [(a, b, decimal.Decimal(c), d) for a, b, c, d in rows]
        group.insert(frame(schema, *decimals, (4, None, None, None)))
        return group

    @pytest.mark.parametrize("column", ["i", "d"])
    @pytest.mark.parametrize("far", [10**40, decimal.Decimal(10**40), 10**12, decimal.Decimal("1e37")])
    def test_beyond_its_range(self, group, column, far):
        c = group[column]
        for always in (c < far, c <= far, c != far, c > -far, ~(c == far), ~c.isin([far])):
            assert ids(group.read(filter=always)) == [1, 2, 3]
        for never in (c > far, c >= far, c == far, c < -far, c.isin([far]), ~(c < far), ~(c != far)):
            assert ids(group.read(filter=never)) == []

    def test_beyond_the_digits_of_a_float(self, group):
        assert ids(group.read(filter=group["f"] < 10**40)) == [1, 2]
        assert ids(group.read(filter=group["f"] < 10**350)) == [1, 2, 3]
        assert ids(group.read(filter=group["f"] > decimal.Decimal(-(10**40)))) == [2, 3]

    @pytest.mark.parametrize("column", ["i", "d"])
    @pytest.mark.parametrize("between", [decimal.Decimal("-0.001"), decimal.Decimal("-0." + "0" * 30 + "1")])
    def test_between_two_neighbours(self, group, column, between):
        c = group[column]
        assert ids(group.read(filter=c < between)) == ids(group.read(filter=c <= between)) == [1]
        assert ids(group.read(filter=c > between)) == ids(group.read(filter=c >= between)) == [2, 3]
        assert ids(group.read(filter=c == between)) == []
        assert ids(group.read(filter=c != between)) == [1, 2, 3]
        assert ids(group.read(filter=c.isin([between, 0]))) == [2]

    @pytest.mark.parametrize("column", ["i", "d"])
    def test_floats_as_they_are_written(self, group, column):
        c = group[column]
        assert ids(group.read(filter=c == 0.0)) == ids(group.read(filter=c.isin([0.0, 0.001]))) == [2]
        assert ids(group.read(filter=c < 1e300)) == ids(group.read(filter=c > float("-inf"))) == [1, 2, 3]
        assert ids(group.read(filter=c >= float("inf"))) == ids(group.read(filter=c == 0.001)) == []
        assert ids(group.read(filter=group["d"] == 99999999.99)) == [3]

    def test_of_too_many_digits(self, group):
        with pytest.raises(hr.InvalidArgument, match="digits"):
            group["i"] == 10**5000  # noqa: B015


def test_a_float_in_a_list_leaves_its_neighbours_exact(store):
    group = store.create_feature_group("g", primary_key=["id"])
    whole, tall = [2**53 + i for i in range(3)], [decimal.Decimal(10**20 + i) for i in range(3)]
    group.insert(pa.table({"id": whole, "tall": pa.array(tall, pa.decimal128(38, 1))}))
    assert ids(group.read(filter=group["id"].isin([whole[1], 0.5]))) == [whole[1]]
    assert ids(group.read(filter=group["tall"].isin([tall[1], 0.25]))) == [whole[1]]
    assert ids(group.read(filter=group["id"] > float(2**53))) == whole[1:]
    assert group.delete(filter=group["id"].isin([whole[1], 0.5])).rows_deleted == 1
    assert ids(group.read(filter=group["id"] == float(2**53))) == whole[:1]


def test_conditions_nested_too_deep_are_refused(mixed):
    condition = mixed["id"] == 1
    for _ in range(300):
        condition = (condition | (mixed["id"] == 2)) & (mixed["real"] > -1)
    with pytest.raises(hr.InvalidArgument, match="levels"):
        mixed.read(filter=condition)


def test_partitions_and_filters_agree(store):
    """Files are left out by partition and by statistics: never one that holds a row."""
    schema = pa.schema({"id": pa.int64(), "part": pa.int32(), "v": pa.float64()})
    group = store.create_feature_group("g", primary_key=["id"], partition_by=["part"], schema=schema)
    stored = [
        (i, i % 3 if i % 7 else None, [None, float("nan"), float(i), -float(i)][i % 4]) for i in range(60)
    ]
    for start in range(0, 60, 20):
        group.insert(frame(schema, *stored[start : start + 20]), mode="append")
    for part in (0, 1, 2, 3):
        expected = [i for i, p, _ in stored if p == part]
        assert ids(group.read(filter=group["part"] == part)) == expected
        assert ids(group.read(filter=~(group["part"] == part))) == [
            i for i, p, _ in stored if p is not None and p != part
        ]
    assert ids(group.read(filter=group["part"].is_null())) == [i for i, p, _ in stored if p is None]
    assert ids(group.read(filter=group["v"] < -30)) == [i for i, _, v in stored if v is not None and v < -30]
    assert ids(group.read(filter=group["v"] == 30)) == [30]
    assert ids(group.read(filter=group["id"].isin([5, 25, 45]))) == [5, 25, 45]
    assert ids(group.read(filter=(group["id"] > 38) & (group["id"] < 42))) == [39, 40, 41]


def test_fractions_of_38_digits_are_no_floats(store):
    kind = pa.decimal128(38, 38)
    group = store.create_feature_group(
        "g", primary_key=["id"], schema=pa.schema({"id": pa.int64(), "p": kind})
    )
    tenth, more = decimal.Decimal("0.1"), decimal.Decimal("0.100000000000000000000001")
    group.insert(pa.table({"id": [1, 2, 3], "p": pa.array([tenth, decimal.Decimal("0.5"), -tenth], kind)}))
    p = group["p"]
    for condition, expected in [
        (p == tenth, [1]),
        (p == -tenth, [3]),
        (p >= more, [2]),
        (p < more, [1, 3]),
        (p <= -more, []),
        (p.isin([tenth, decimal.Decimal("0.5")]), [1, 2]),
    ]:
        assert sorted(values(group.read(filter=condition), "id")) == expected
    assert group.delete(filter=p >= more).rows_deleted == 1


@pytest.mark.parametrize(
    "time", ["2024-03-01T10:00:00.0000009Z", np.datetime64("2024-03-01T10:00:00.000000900")]
)
def test_times_with_digits_below_a_microsecond_are_not_cut(store, time):
    weather = make_weather(store, ("JFK", "10:00", 1.0))
    with pytest.raises(hr.InvalidArgument, match="below a microsecond"):
        weather.read(filter=weather["seen"] < time).to_arrow()
    assert weather.read(filter=weather["seen"] == "2024-03-01T10:00:00.000000000Z").to_arrow().num_rows == 1
