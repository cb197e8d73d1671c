"""The key index gives every row that a scan of all files gives."""

from __future__ import annotations

import datetime as dt
import decimal

import pyarrow as pa
import pytest

import headrace as hr

TIMES = [dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(hours=i) for i in range(60)]
KEYS = {
    "integer": (pa.int32(), list(range(-30, 30))),
    "text": (pa.string(), [f"key {i} é" for i in range(60)]),
    "time": (pa.timestamp("us", "UTC"), TIMES),
    "date": (pa.date32(), [t.date() + dt.timedelta(days=i) for i, t in enumerate(TIMES)]),
    "decimal": (pa.decimal128(9, 2), [decimal.Decimal(i) / 4 for i in range(60)]),
    "binary": (pa.binary(), [bytes([i, 0, 255 - i]) for i in range(60)]),
}


@pytest.fixture(params=KEYS)
def group(request, tmp_path):
    """60 keys in 15 files, in no order: each file's range holds most keys."""
    kind, keys = KEYS[request.param]
    with hr.connect(tmp_path / "lake") as store:
        group = store.create_feature_group("g", primary_key=["k"])
        for start in range(15):
            part = [(start * 4 + i) * 37 % 60 for i in range(4)]
            group.insert(pa.table({"k": pa.array([keys[i] for i in part], kind), "n": part}), mode="append")
        yield group, keys


def found(group, condition) -> list[int]:
    return sorted(group.read(["n"], condition).to_arrow()["n"].to_pylist())


def test_finds_each_key(group):
    group, keys = group
    assert [found(group, group["k"] == key) for key in keys] == [[n] for n in range(60)]


def test_finds_several_and_nothing_else(group):
    group, keys = group
    assert found(group, group["k"].isin([keys[3], keys[40], keys[59]])) == [3, 40, 59]
    assert found(group, group["k"].isin([keys[3]]) & (group["n"] > 3)) == []
    assert found(group, (group["k"] == keys[3]) | (group["n"] == 4)) == [3, 4]
    assert found(group, ~(group["k"] == keys[3])) == [n for n in range(60) if n != 3]


def test_sees_rows_that_came_after_it_was_made(group):
    group, keys = group
    assert found(group, group["k"] == keys[7]) == [7]
    group.insert(
        pa.table({"k": pa.array([keys[7]], group.schema.field("k").type), "n": [1007]}), mode="append"
    )
    assert found(group, group["k"] == keys[7]) == [7, 1007]


@pytest.mark.parametrize(
    "value", [2**70, -(2**63), 1.0, 1.5, decimal.Decimal("1.00"), decimal.Decimal("1.5")]
)
def test_numbers_of_other_types_compare_as_in_a_scan(tmp_path, value):
    with hr.connect(tmp_path / "lake") as store:
        group = store.create_feature_group("g", primary_key=["k"])
        for start in range(12):
            group.insert([{"k": start, "n": start}, {"k": start + 100, "n": start + 100}], mode="append")
        assert found(group, group["k"] == value) == [n for n in range(12) if n == value]
