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
        ([1, np.float16(1.5)], pa.float64(), [1.0, 1.5]),
        ([np.int8(1), np.int64(2)], pa.int64(), [1, 2]),
        ([decimal.Decimal("1.5"), 2], pa.decimal128(2, 1), [decimal.Decimal("1.5"), decimal.Decimal("2.0")]),
        ([np.datetime64("2024-01-01")], pa.date32(), [DAY]),
        ([np.datetime64("2024-01-01T12:00"), NOON], pa.timestamp("us"), [NOON, NOON]),
        (
            [pd.Timestamp(NOON), pd.NaT, None, np.datetime64("NaT")],
            pa.timestamp("us"),
            [NOON, None, None, None],
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
    array = learned_array(values)
    assert array.type == kind
    assert expected is None or array.to_pylist() == expected


def test_times_of_several_zones_are_the_same_instants() -> None:
    west = dt.timezone(dt.timedelta(hours=-5))
    array = learned_array([NOON.replace(tzinfo=dt.UTC), NOON.replace(tzinfo=west)])
    assert [t.astimezone(dt.UTC).hour for t in array.to_pylist()] == [12, 17]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([DAY, NOON], "it holds dates and times"),
        ([NOON, DAY], "it holds dates and times"),
        ([{"a": [DAY]}, {"a": [NOON]}], r"it holds dates and times in a\.\[\]"),
        ([1.5, True], "it holds floats and truth values"),
        ([3, np.bool_(True)], "it holds integers and truth values"),
        ([[1, True]], r"it holds integers and truth values in \[\]"),
        (["a", b"b"], "it holds bytes and texts"),
        ([decimal.Decimal("1.5"), 1.5], "it holds decimals and floats"),
        ([1, "x"], "it holds integers and texts"),
        ([pd.Timestamp(NS)], "below a microsecond"),
        ([np.datetime64(NS)], "below a microsecond"),
        ([[np.datetime64(NS)]], "below a microsecond"),
        ([np.uint64(2**64 - 1), 1.5], "too large"),
        ([2**53 + 1, 1.5], "9007199254740993"),
        ([2**63], "too large"),
        ([decimal.Decimal("Infinity")], "integer"),
        ([object()], "did not recognize"),
        ([np.datetime64("9999999-01-01")], "outside the years"),
    ],
)
def test_values_that_no_type_holds_are_refused(values: list[Any], told: str) -> None:
    with pytest.raises((ValueError, TypeError, OverflowError, NotImplementedError), match=told):
        learned_array(values)
