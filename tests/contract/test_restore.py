"""Restore: the table as it was, in a commit of its own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

import headrace as hr


def table(ids, value):
    return pa.table({"id": list(ids), "day": [f"d{i % 3}" for i in ids], "value": [float(value)] * len(ids)})


def held(result):
    return Counter(tuple(row.values()) for row in result.to_arrow().to_pylist())


@pytest.fixture(params=[(), ("day",)], ids=["whole", "by day"])
def group(store, request):
    made = store.create_feature_group("g", primary_key=["id"], partition_by=request.param)
    made.insert(table(range(100), 0))  # 0
    made.insert(table(range(50, 150), 1))  # 1
    made.delete(filter=made["id"] < 20)  # 2
    made.insert(table(range(5), 3), mode="overwrite")  # 3
    return made


@pytest.mark.parametrize("snapshot", [0, 1, 2])
def test_the_rows_are_those_of_the_snapshot(group, snapshot):
    before, later = (held(group.read(snapshot=n)) for n in (snapshot, 3))
    commit = group.restore(snapshot)
    assert (commit.snapshot, commit.operation) == (4, "RESTORE")
    assert held(group.read()) == before
    assert held(group.read(snapshot=3)) == later
    assert [c.snapshot for c in group.history()] == [4, 3, 2, 1, 0]


def test_as_it_was_at_a_time(group):
    before = held(group.read(snapshot=1))
    commit = group.restore(timestamp=group.history()[-2].timestamp)
    assert (commit.snapshot, held(group.read())) == (4, before)


@pytest.mark.parametrize("when", [{}, {"snapshot": 1, "timestamp": "2026-01-01"}])
def test_one_snapshot_or_one_time(group, when):
    with pytest.raises(hr.InvalidArgument, match="restore takes a snapshot or a timestamp"):
        group.restore(**when)
    if when:
        with pytest.raises(hr.InvalidArgument, match="read takes a snapshot or a timestamp"):
            group.read(**when)


def test_a_time_before_the_table(group):
    with pytest.raises(hr.SnapshotNotFound):
        group.restore(timestamp="2000-01-01")


def test_writes_go_on_from_there(group):
    group.restore(1)
    commit = group.insert(table(range(140, 160), 9))
    assert (commit.rows_inserted, commit.rows_updated) == (10, 10)
    assert group.read().to_arrow().num_rows == 160
    group.restore(3)
    assert held(group.read()) == held(group.read(snapshot=3))


def test_a_snapshot_with_rows_that_are_there_twice_is_one_again(store):
    group = store.create_feature_group("g", primary_key=["id"])
    group.insert(table([1], 0))
    group.insert(table([1], 1), mode="append")
    group.insert(table([2], 0), mode="overwrite")
    group.restore(1)
    commit = group.insert(table([1], 2))
    assert (commit.rows_updated, commit.rows_deleted) == (1, 1)
    assert held(group.read()) == {(1, "d1", 2.0): 1}


def test_the_change_feed_tells_of_it(group):
    before, wanted = (held(group.read(snapshot=n)) for n in (3, 1))
    group.restore(1)
    rows = Counter(before)
    for change in group.changes(3).to_arrow().to_pylist():
        kind = change.pop("_change_type")
        row = tuple(change.values())[:3]
        rows[row] += 1 if kind == "insert" else -1
    assert +rows == wanted


def test_the_newest_snapshot_is_there_already(group):
    commit = group.restore(3)
    assert (commit.snapshot, commit.operation) == (3, "NONE")
    assert len(group.history()) == 4


def test_once_by_key(group):
    first = group.restore(0, idempotency_key="back")
    group.insert(table(range(3), 7))
    assert group.restore(0, idempotency_key="back") == first
    assert len(group.history()) == 6


@pytest.mark.parametrize(
    ("snapshot", "kind"),
    [
        (4, hr.SnapshotNotFound),
        (-1, hr.InvalidArgument),
        ("1", hr.InvalidArgument),
        (True, hr.InvalidArgument),
    ],
)
def test_snapshots_that_are_none(group, snapshot, kind):
    with pytest.raises(kind):
        group.restore(snapshot)
    assert len(group.history()) == 4


def test_a_group_without_rows(store):
    with pytest.raises(hr.SnapshotNotFound, match="holds nothing"):
        store.create_feature_group("g", primary_key=["id"]).restore(0)


@pytest.mark.local_files
def test_a_snapshot_whose_files_are_gone(group):
    now = held(group.read())
    files = [f for f in Path(group.location).rglob("*.parquet") if "_change_data" not in f.parts]
    for file in sorted(files, key=lambda f: f.stat().st_mtime_ns)[:1]:
        file.unlink()
    with pytest.raises(hr.SnapshotNotFound, match="snapshot 0 is no longer whole") as caught:
        group.restore(0)
    assert "vacuum" in caught.value.hint
    assert held(group.read()) == now
    assert len(group.history()) == 4


def test_a_snapshot_that_is_not_there_is_refused_by_the_groups_name(group):
    with pytest.raises(hr.SnapshotNotFound, match=r"^g@v1: there is no snapshot 999"):
        group.restore(999)
