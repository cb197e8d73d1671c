"""Python values become Arrow arrays as they are, or not at all."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from headrace.client.learned import learned_array

DAY, NOON = dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, 12)
NS = "2024-01-01T00:00:00.000000900"


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([1, None, 3], pa.int64(), [1, None, 3]),
        ([1, 1.5], pa.float64(), [1.0, 1.5]),
        ([np.int8(1), np.int64(2)], pa.int64(), [1, 2]),
        ([decimal.Decimal("1.5"), 2], pa.decimal128(38, 1), [decimal.Decimal("1.5"), decimal.Decimal("2.0")]),
        (
            [decimal.Decimal("19.99"), 100],
            pa.decimal128(38, 2),
            [decimal.Decimal("19.99"), decimal.Decimal(100)],
        ),
        ([[decimal.Decimal("1.5")]], pa.list_(pa.decimal128(38, 1)), [[decimal.Decimal("1.5")]]),
        ([np.datetime64("2024-01-01"), DAY], pa.date32(), [DAY, DAY]),
        ([np.datetime64(3, "10s")], pa.timestamp("us"), [dt.datetime(1970, 1, 1, 0, 0, 30)]),
        ([np.array([3], "M8[10s]")], pa.list_(pa.timestamp("us")), [[dt.datetime(1970, 1, 1, 0, 0, 30)]]),
        ([np.datetime64("NaT"), NOON], pa.timestamp("us"), [None, NOON]),
        ([[NOON, pd.NaT]], pa.list_(pa.timestamp("us")), [[NOON, None]]),
        ([np.timedelta64("NaT"), pd.Timedelta("1s")], pa.duration("us"), [None, dt.timedelta(seconds=1)]),
        ([np.uint64(5), 1.5], pa.float64(), [5.0, 1.5]),
        ([1, np.float16(1.5)], pa.float64(), [1.0, 1.5]),
        ([np.int32(2**24 + 1), np.float32(1.5)], pa.float64(), [2.0**24 + 1, 1.5]),
        ([np.ma.array([1, 2], mask=[False, True])], pa.list_(pa.int64()), [[1, None]]),
        ([np.array([[1, 2], [3, 4]])], pa.list_(pa.list_(pa.int64())), [[[1, 2], [3, 4]]]),
        ([[], None, [1]], pa.list_(pa.int64()), [[], None, [1]]),
        ([{}, None], pa.struct([]), [{}, None]),
        (
            [pd.Timestamp(NOON), pd.NaT, None],
            pa.timestamp("us"),
            [NOON, None, None],
        ),
        ([1, pd.NA], pa.int64(), [1, None]),
        ([np.str_("x"), "y"], pa.string(), ["x", "y"]),
        ([np.array([1, 2], np.int8), None], pa.list_(pa.int8()), [[1, 2], None]),
        ([np.array([1]), np.array([1.5])], pa.list_(pa.float64()), [[1.0], [1.5]]),
        ([{"a": 1}, {"b": "x"}], pa.struct({"a": pa.int64(), "b": pa.string()}), None),
        ([None], pa.null(), [None]),
        ([], pa.null(), []),
    ],
)
def test_values_are_kept(values: list[Any], kind: pa.DataType, expected: list[Any] | None) -> None:
    array = learned_array(values, nan_is_null=False)
    assert array.type == kind
    assert expected is None or array.to_pylist() == expected


def test_times_of_several_zones_are_the_same_instants() -> None:
    west = dt.timezone(dt.timedelta(hours=-5))
    array = learned_array([NOON.replace(tzinfo=dt.UTC), NOON.replace(tzinfo=west)], nan_is_null=False)
    assert [t.astimezone(dt.UTC).hour for t in array.to_pylist()] == [12, 17]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([DAY, NOON], "it holds dates and times"),
        ([NOON, DAY], "it holds dates and times"),
        ([{"a": [DAY]}, {"a": [NOON]}], r"it holds dates and times in a\[\]"),
        ([1.5, True], "it holds floats and truth values"),
        ([3, np.bool_(True)], "it holds integers and truth values"),
        ([[1, True]], r"it holds integers and truth values in \[\]"),
        (["a", b"b"], "it holds bytes and texts"),
        ([decimal.Decimal("1.5"), 1.5], "it holds decimals and floats"),
        ([1, "x"], "it holds integers and texts"),
        ([pd.Timestamp(NS)], "below a microsecond"),
        ([[pd.Timestamp(NS)]], r"below a microsecond in \[\]"),
        ([np.uint64(2**64 - 1), 1.5], "18446744073709551615"),
        ([np.array([2**64 - 1], "u8"), np.array([1.5])], "18446744073709551615"),
        ([np.timedelta64(5, "ns"), 7], "it holds durations and integers"),
        ([2**53 + 1, 1.5], "9007199254740993"),
        ([2**63], "9223372036854775808 has more than 64 bits"),
        ([np.datetime64("2024-01-01"), NOON], "it holds dates and times"),
        ([np.array(["2024-01-01"], "M8[s]"), np.array([1.5])], r"it holds floats and times in \[\]"),
        ([pd.Timestamp(np.datetime64("20000-12-31T23:59:59", "s"))], "year 20000"),
        ([np.datetime64("20000-12-31T23:59:59", "s")], "outside the years"),
        ([np.datetime64(NS)], "below a microsecond"),
        ([pd.Timedelta("1ns")], "below a microsecond"),
        ([np.timedelta64(1, "M")], "no whole number of microseconds"),
        ([dt.time(1, tzinfo=dt.UTC)], "times of day with a zone"),
        ([{b"a": 1}, {"a": 2}], "a key that is no text: b'a'"),
        ([1, 2, "x"], "integers and texts: 1 in row 0, 'x' in row 2"),
        (["\ud800"], "surrogates"),
        ([decimal.Decimal("Infinity")], "integer"),
        ([object()], "did not recognize"),
        ([np.datetime64("9999999-01-01")], "outside the years"),
    ],
)
def test_values_that_no_type_holds_are_refused(values: list[Any], told: str) -> None:
    with pytest.raises((ValueError, TypeError, OverflowError, NotImplementedError), match=told):
        learned_array(values, nan_is_null=False)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["a", float("nan")], ["a", None]),
        ([["a", float("nan")]], [["a", None]]),
        ([{"a": float("nan")}, {"a": "x"}], [{"a": None}, {"a": "x"}]),
        ([decimal.Decimal("NaN"), decimal.Decimal("1.5")], [None, decimal.Decimal("1.5")]),
        ([dt.datetime(2024, 1, 1), float("nan")], [dt.datetime(2024, 1, 1), None]),
    ],
)
def test_nan_is_null_in_pandas_objects(values: list[Any], expected: list[Any]) -> None:
    assert learned_array(values, nan_is_null=True).to_pylist() == expected


def test_texts_and_bytes_of_numpy_keep_their_nul() -> None:
    assert learned_array([np.str_("a\0"), "b"], nan_is_null=False).to_pylist() == ["a\0", "b"]
    assert learned_array([np.bytes_(b"a\0"), b"a"], nan_is_null=False).to_pylist() == [b"a\0", b"a"]


def test_values_that_hold_themselves_are_refused() -> None:
    lists: list[Any] = []
    lists.append(lists)
    dicts: dict[str, Any] = {}
    dicts["a"] = dicts
    for value in (lists, dicts):
        with pytest.raises(ValueError, match="nested in more than 64 levels"):
            learned_array([value], nan_is_null=False)


def test_nan_beside_arrays_of_times_is_no_null() -> None:
    with pytest.raises(TypeError, match="floats and times"):
        learned_array([np.array(["2024-01-01"], "M8[s]"), np.array([1.5])], nan_is_null=True)
