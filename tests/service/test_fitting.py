"""Nested values in the types that are stored: field by field, item by item, without loss."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import pyarrow as pa
import pytest

from headrace.model.types import fits, stored_type
from headrace.service.fitting import to_stored

D = decimal.Decimal
NOON = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)
ITEMS = pa.list_(pa.field("element", pa.struct({"x": pa.int32()})))
STORED = pa.struct(
    {"a": pa.float64(), "b": pa.decimal128(38, 2), "c": pa.timestamp("us", "UTC"), "items": ITEMS}
)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            [{"a": 1, "b": D("1.5"), "c": NOON.replace(tzinfo=None), "items": [{"x": 1}, None]}, None],
            [{"a": 1.0, "b": D("1.5"), "c": NOON, "items": [{"x": 1}, None]}, None],
        ),
        ([{"a": 1}, None], [{"a": 1.0, "b": None, "c": None, "items": None}, None]),
        ([{"a": None}], [{"a": None, "b": None, "c": None, "items": None}]),
        ([{"items": [{}]}], [{"a": None, "b": None, "c": None, "items": [{"x": None}]}]),
        ([{"items": []}], [{"a": None, "b": None, "c": None, "items": []}]),
    ],
)
@pytest.mark.parametrize("offset", [0, 1])
def test_structs(given: list[Any], expected: list[Any], offset: int) -> None:
    column = pa.array(given[:1] * offset + given).slice(offset)
    assert fits(column.type, STORED)
    stored = to_stored(column, STORED)
    stored.validate(full=True)
    assert stored.type == STORED
    assert stored.to_pylist() == expected


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.int64()), pa.large_list(pa.int8()), pa.list_(pa.int64(), 2), pa.list_(pa.float32())]
)
def test_lists(kind: pa.DataType) -> None:
    wanted = stored_type(pa.list_(pa.float64()))
    assert wanted is not None
    stored = to_stored(pa.array([[9, 9], [1, 2], None, [3, 4]], kind).slice(1), wanted)
    stored.validate(full=True)
    assert stored.type == wanted
    assert stored.to_pylist() == [[1.0, 2.0], None, [3.0, 4.0]]


@pytest.mark.parametrize(
    "given",
    [[{"items": [{"x": 2**40}]}], [{"b": D("1.555")}], [{"a": 2**53 + 1}]],
)
def test_values_in_structs_that_do_not_fit(given: list[Any]) -> None:
    with pytest.raises(pa.ArrowInvalid):
        to_stored(pa.array(given), STORED)


@pytest.mark.parametrize("given", [{"z": 1}, {"a": "x"}, {"items": [1]}, {"c": 1}])
def test_structs_of_other_fields_do_not_fit(given: dict[str, Any]) -> None:
    assert not fits(pa.array([given]).type, STORED)
