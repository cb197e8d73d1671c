"""Upserts of few rows, which exchange them, and of many, which are merged: the same rows in the end."""

from __future__ import annotations

import datetime as dt
import decimal
import itertools

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import headrace as hr

DAY = dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)
UTC = dt.UTC
TEXTS = [
    "",
    "'",
    "''; DROP TABLE t; --",
    '"',
    "\\",
    "a\nb",
    "a\0b",
    "é",
    "e\u0301",
    "%",
    "_",
    "NULL",
    "💡",
    " ",
    "1",
]
KEYS = {
    "int8": (pa.int8(), [-128, 127, 0, *range(1, 120)]),
    "int64": (pa.int64(), [-(2**63), 2**63 - 1, 0, *range(1, 120)]),
    "text": (pa.string(), [*TEXTS, *(f"key {i}" for i in range(110))]),
    "date": (pa.date32(), [DAY.date() + dt.timedelta(days=i * 400) for i in range(-20, 110)]),
    "utc": (
        pa.timestamp("us", "UTC"),
        [DAY.replace(tzinfo=UTC) + dt.timedelta(microseconds=i) for i in range(120)],
    ),
    "decimal": (pa.decimal128(20, 2), [decimal.Decimal(10**17 + i).scaleb(-2) for i in range(120)]),
    "binary": (pa.binary(), [bytes([i, 0, 39, 255 - i]) for i in range(120)]),
}


def table(kind: pa.DataType, keys: list, start: int) -> pa.Table:
    return pa.table({"k": pa.array(keys, kind), "n": range(start, start + len(keys))})


def held(group) -> dict:
    rows = group.read().to_arrow().to_pylist()
    found = {tuple(v for c, v in row.items() if c != "n"): row["n"] for row in rows}
    assert len(found) == len(rows)
    return found


@pytest.mark.parametrize("name", KEYS)
def test_few_and_many_rows_of_every_type_of_key(store, name):
    kind, keys = KEYS[name]
    group = store.create_feature_group("g", primary_key=["k"])
    for start in range(0, 90, 30):
        group.insert(table(kind, keys[start : start + 30], start))
    expected = {(key,): n for n, key in enumerate(keys[:90])}
    few = [*keys[:15], keys[40], keys[89], *keys[90:94]]
    commit = group.insert(table(kind, few, 1_000))
    assert (commit.rows_inserted, commit.rows_updated, commit.rows_deleted) == (4, 17, 0)
    expected |= {(key,): n for n, key in enumerate(few, 1_000)}
    assert held(group) == expected
    many = keys[:105]
    commit = group.insert(table(kind, many, 2_000))
    assert (commit.rows_inserted, commit.rows_updated, commit.rows_deleted) == (11, 94, 0)
    expected |= {(key,): n for n, key in enumerate(many, 2_000)}
    assert held(group) == expected


@pytest.mark.parametrize("partitioned", [False, True])
def test_an_identity_of_several_columns(store, partitioned):
    """Rows that share a part of it stay."""
    group = store.create_feature_group(
        "g", primary_key=["a", "b"], event_time="at", partition_by=["b"] if partitioned else ()
    )
    times = [DAY.replace(tzinfo=UTC) + dt.timedelta(hours=i) for i in range(3)]
    all_of_it = list(itertools.product(["x", "x'y", "z"], range(4), times))
    group.insert([{"a": a, "b": b, "at": at, "n": n} for n, (a, b, at) in enumerate(all_of_it)])
    expected = {key: n for n, key in enumerate(all_of_it)}
    changed = [all_of_it[0], all_of_it[17], all_of_it[35], ("x", 9, times[0])]
    commit = group.insert([{"a": a, "b": b, "at": at, "n": -n} for n, (a, b, at) in enumerate(changed)])
    assert (commit.rows_inserted, commit.rows_updated, commit.rows_deleted) == (1, 3, 0)
    assert held(group) == expected | {key: -n for n, key in enumerate(changed)}
    assert [c.rows_updated for c in group.history(1)] == [3]


def test_a_table_stays_in_files_of_its_size(tmp_path):
    with hr.connect(tmp_path / "lake") as store:
        group = store.create_feature_group("g", primary_key=["k"])
        count = 400_000
        rows = pa.table({"k": range(count), "n": [float(hash((i, 7)) % 10**15) for i in range(count)]})
        group.insert(rows)
        group.insert([{"k": i * 1_000, "n": -1.0} for i in range(25)])
        sizes = pa.table(DeltaTable(group.location).get_add_actions())["size_bytes"].to_pylist()
        assert len(sizes) > 2
        assert max(sizes) < 3 << 20
        read = group.read().to_arrow().sort_by("k")
        assert read["k"].to_pylist() == list(range(count))
        assert read.filter(pa.compute.field("n") == -1.0)["k"].to_pylist() == [i * 1_000 for i in range(25)]


def test_rows_that_another_writer_left_without_a_key_stay(tmp_path):
    with hr.connect(tmp_path / "lake") as store:
        group = store.create_feature_group("g", primary_key=["k"])
        group.insert([{"k": 1, "n": 1}, {"k": 2, "n": 2}])
        write_deltalake(
            group.location,
            pa.table({"k": pa.array([None, 3], pa.int64()), "n": [-1, 3]}),
            mode="append",
        )
        group.insert([{"k": 1, "n": 10}, {"k": 3, "n": 30}])
        rows = group.read().to_arrow().to_pylist()
        assert sorted((r["k"] or 0, r["n"]) for r in rows) == [(0, -1), (1, 10), (2, 2), (3, 30)]


def test_rows_that_an_append_repeated_are_replaced_by_one(store):
    group = store.create_feature_group("g", primary_key=["k"])
    for start in range(3):
        group.insert(table(pa.int64(), list(range(5)), start * 10), mode="append")
    commit = group.insert(table(pa.int64(), [1, 4, 9], 100))
    assert (commit.rows_inserted, commit.rows_updated, commit.rows_deleted) == (1, 2, 4)
    assert sorted(group.read().to_arrow()["n"].to_pylist()) == [
        0,
        2,
        3,
        10,
        12,
        13,
        20,
        22,
        23,
        100,
        101,
        102,
    ]
