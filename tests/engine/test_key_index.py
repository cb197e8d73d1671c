"""The key index gives every row that a scan of all files gives."""

from __future__ import annotations

import concurrent.futures
import datetime as dt
import decimal
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from deltalake import write_deltalake

import headrace as hr
from headrace.engine import key_index
from headrace.engine.file_index import SPREAD, FileIndex, probes

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


@pytest.fixture(params=KEYS)
def large(request, tmp_path):
    """60 keys, the last of them in a file of 70,000 rows three times each; the other rows of that have no such key."""
    kind, keys = KEYS[request.param]
    with hr.connect(tmp_path / "lake") as store:
        group = store.create_feature_group("g", primary_key=["k"])
        group.insert(pa.table({"k": pa.array(keys[:-1], kind), "n": range(59)}), mode="append")
        rest = pa.array(keys[:1], kind).take(pa.array([0] * 69_997))
        some = pa.concat_arrays([rest[:40_000], pa.array(keys[-1:] * 3, kind), rest[40_000:]])
        group.insert(pa.table({"k": some, "n": range(1_000, 71_000)}), mode="append")
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


def test_finds_every_row_of_a_key(tmp_path):
    """More rows of a key in one file than are sliced out one by one, and rows of it in other files."""
    with hr.connect(tmp_path / "lake") as store:
        group = store.create_feature_group("g", primary_key=["k"])
        for start in range(12):
            group.insert([{"k": i % 3, "n": start * 100 + i} for i in range(30)], mode="append")
        wanted = [start * 100 + i for start in range(12) for i in range(30) if i % 3 == 1]
        assert found(group, group["k"] == 1) == wanted
        assert found(group, (group["k"] == 1) & (group["n"] < 10)) == [1, 4, 7]


def test_finds_rows_of_a_partitioned_table(tmp_path):
    with hr.connect(tmp_path / "lake") as store:
        group = store.create_feature_group("g", primary_key=["k"], partition_by=["part"])
        for start in range(12):
            rows = [{"k": start + i * 12, "part": f"p{i}", "n": start + i * 12} for i in range(3)]
            group.insert(rows, mode="append")
        assert group.read(filter=group["k"] == 17).to_arrow().to_pylist() == [
            {"k": 17, "part": "p1", "n": 17}
        ]


def test_columns_asked_for_one_after_the_other(tmp_path):
    with hr.connect(tmp_path / "lake") as store:
        group = store.create_feature_group("g", primary_key=["k"])
        for start in range(12):
            group.insert([{"k": start, "n": start, "text": f"row {start}"}], mode="append")
        for columns in (["n"], ["text", "n"], ["k", "text"], ["n"]):
            row = group.read(columns, group["k"] == 7).to_arrow().to_pylist()
            assert row == [{c: {"k": 7, "n": 7, "text": "row 7"}[c] for c in columns}]


def test_a_null_that_another_writer_put_into_a_key_is_no_row_of_it(tmp_path):
    with hr.connect(tmp_path / "lake") as store:
        group = store.create_feature_group("g", primary_key=["k"])
        for start in range(12):
            group.insert([{"k": start * 2, "n": start}, {"k": start * 2 + 1, "n": -start}], mode="append")
        (table,) = (tmp_path / "lake" / "default").iterdir()
        write_deltalake(
            table, pa.table({"k": pa.array([None, 0, 7], pa.int64()), "n": [-1, 100, 101]}), mode="append"
        )
        assert found(group, group["k"].isin([0, 7])) == [-3, 0, 100, 101]


@pytest.mark.parametrize("count", [60, 70_000])
def test_floats_find_the_decimals_that_are_written_like_them(tmp_path, count):
    """In many small files, in a large one; the key as any other column."""
    kind = pa.decimal128(38, 20)
    keys = pa.array([decimal.Decimal(i) / 10 for i in range(count)], kind)
    rows = pa.table({"k": keys, "same": keys, "n": range(count)})
    with hr.connect(tmp_path / "lake") as store:
        group = store.create_feature_group("g", primary_key=["k"])
        size = max(count // 10, 7_000)
        for start in range(0, count, size if count > 60 else 6):
            group.insert(
                rows.slice(start, 6) if count == 60 else rows, mode="append" if count == 60 else "upsert"
            )
        for _ in range(3):
            for n in (1, 3, 7, 59):
                assert found(group, group["k"] == n / 10) == found(group, group["same"] == n / 10) == [n]
            assert found(group, group["k"].isin([0.1, 0.25, 5])) == [1, 50]
        assert group.delete(filter=group["k"] == 0.3).rows_deleted == 1


def test_rows_of_a_large_file_are_found_by_scan_then_by_index(large):
    group, keys = large
    for _ in range(4):
        assert found(group, group["k"] == keys[-1]) == [41_000, 41_001, 41_002]
        assert found(group, group["k"].isin([keys[7], keys[-1]])) == [7, 41_000, 41_001, 41_002]
        assert found(group, (group["k"] == keys[-1]) & (group["n"] > 41_000)) == [41_001, 41_002]
    assert len(found(group, group["k"] == keys[0])) == 69_998


def test_rows_of_a_large_file_come_with_every_column(tmp_path):
    """Types that were widened since the file was written, and columns in any order."""
    with hr.connect(tmp_path / "lake") as store:
        group = store.create_feature_group("g", primary_key=["k"])
        many = range(70_000)
        group.insert(
            pa.table({"k": many, "text": [f"row {i}" for i in many], "n": pa.array(many, pa.int32())})
        )
        for _ in range(3):
            read = group.read(["n", "text"], group["k"].isin([69_999, 123_456_789]))
            assert read.to_arrow().to_pylist() == [{"n": 69_999, "text": "row 69999"}]
        group.insert(pa.table({"k": [5], "text": ["new"], "n": pa.array([-5], pa.int32())}))
        for _ in range(3):
            assert group.read(filter=group["k"] == 5).to_arrow().to_pylist() == [
                {"k": 5, "text": "new", "n": -5}
            ]


def test_keys_that_the_index_cannot_tell_apart(tmp_path):
    inverse = pow(int(SPREAD), -1, 2**64)
    keys = [(inverse * (7 << 32 | low) + 2**63) % 2**64 - 2**63 for low in range(3)]
    alike = np.array(keys, np.int64).view(np.uint64)
    index = FileIndex(alike, np.arange(3, dtype=np.uint32))
    assert index.find(probes(alike[:1])).tolist() == [0, 1, 2]
    with hr.connect(tmp_path / "lake") as store:
        group = store.create_feature_group("g", primary_key=["k"])
        for _ in range(5):
            group.insert([{"k": key, "n": n} for n, key in enumerate(keys[:2])], mode="append")
        group.insert(pa.table({"k": [keys[2]] * 70_000, "n": [2] * 70_000}), mode="append")
        for _ in range(3):
            assert found(group, group["k"] == keys[1]) == [1] * 5
            assert group.read(["n"], group["k"] == keys[0]).to_arrow()["n"].to_pylist() == [0] * 5


@pytest.mark.parametrize("kind", [pa.int8(), pa.int64()])
def test_integer_keys_at_both_ends(tmp_path, kind):
    low, high = (-128, 127) if kind == pa.int8() else (-(2**63), 2**63 - 1)
    with hr.connect(tmp_path / "lake") as store:
        group = store.create_feature_group("g", primary_key=["k"])
        for n, key in enumerate([low, -1, 0, 1, high] * 2):
            group.insert(pa.table({"k": pa.array([key], kind), "n": [n]}), mode="append")
        assert found(group, group["k"].isin([low, high, 2**63, 128])) == [0, 4, 5, 9]
        assert found(group, group["k"] == 0) == [2, 7]


def test_a_table_whose_storage_does_not_answer_keeps_no_other_waiting(tmp_path, monkeypatch):
    begun, answers = threading.Event(), threading.Event()
    read = key_index.scan

    def slow(engine, snapshot, files, *rest):
        if any("/slow" in path for path in files["path"].to_pylist()):
            begun.set()
            assert answers.wait(60)
        return read(engine, snapshot, files, *rest)

    monkeypatch.setattr(key_index, "scan", slow)
    # Two folders may share a lock by chance, which is drawn anew in each process.
    with hr.connect(tmp_path / "lake") as store, ThreadPoolExecutor(4) as threads:
        groups = [store.create_feature_group(name, primary_key=["k"]) for name in ("slow", "a", "b", "c")]
        for group in groups:
            for start in range(10):
                group.insert(pa.table({"k": [start, start + 10]}), mode="append")
        reads = [threads.submit(found_keys, group) for group in groups[:1]]
        assert begun.wait(60)
        others = [threads.submit(found_keys, group) for group in groups[1:]]
        done, _ = concurrent.futures.wait(others, 60, return_when=concurrent.futures.FIRST_COMPLETED)
        assert done
        answers.set()
        assert [read.result(60) for read in (*reads, *others)] == [[7]] * 4


def found_keys(group):
    return group.read(["k"], group["k"] == 7).to_arrow()["k"].to_pylist()
