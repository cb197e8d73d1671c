"""The change feed: what commits inserted, updated and deleted, so that a copy can follow its table."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

import headrace as hr

INSERT, DELETE, BEFORE, AFTER = "insert", "delete", "update_preimage", "update_postimage"
SCHEMA = pa.schema({"id": pa.int64(), "day": pa.string(), "value": pa.float64()})


def table(ids, value):
    return pa.table(
        {"id": ids, "day": [f"d{i % 3}" for i in ids], "value": [float(value)] * len(ids)}, SCHEMA
    )


def told(result):
    """How many rows of each change, by commit."""
    rows = result.to_arrow()
    return Counter(zip(rows["_commit_version"].to_pylist(), rows["_change_type"].to_pylist(), strict=True))


def held(result, names=SCHEMA.names):
    rows = result.to_arrow().select(names)
    return Counter(tuple(row.values()) for row in rows.to_pylist())


def applied(rows, feed):
    """The rows after the changes, taken one after the other."""
    rows = Counter(rows)
    for change in feed.to_arrow().to_pylist():
        row = tuple(change[name] for name in SCHEMA.names)
        if change["_change_type"] in (INSERT, AFTER):
            rows[row] += 1
        else:
            assert rows[row] > 0, f"{change} takes away what is not there"
            rows[row] -= 1
    return +rows


@pytest.fixture(params=[(), ("day",)], ids=["whole", "by day"])
def group(store, request):
    return store.create_feature_group("g", primary_key=["id"], partition_by=request.param)


@pytest.fixture
def moved(group):
    """A group after commits of every kind; each comment is the snapshot's number."""
    group.insert(table(range(1000), 0))  # 0
    group.insert(table([10, 11, 2000], 1))  # 1: few rows
    group.insert(table(range(900, 1100), 2))  # 2: many rows
    group.insert(table([5, 6], 3), mode="append")  # 3: identities that are there twice
    group.insert(table([5, 6, 7], 4))  # 4: few rows for them
    group.insert(table([8, 9], 3), mode="append")  # 5
    group.insert(table(range(8, 108), 5))  # 6: many rows for them
    group.delete(keys=[{"id": 3}])  # 7
    group.delete(filter=group["value"] == 2.0)  # 8
    group.insert(table(range(5), 9), mode="overwrite")  # 9
    return group


def test_every_kind_of_commit(moved):
    feed = moved.changes(-1)
    assert told(feed) == {
        (0, INSERT): 1000,
        (1, BEFORE): 2, (1, AFTER): 2, (1, INSERT): 1,
        (2, BEFORE): 100, (2, AFTER): 100, (2, INSERT): 100,
        (3, INSERT): 2,
        (4, BEFORE): 3, (4, AFTER): 3, (4, DELETE): 2,
        (5, INSERT): 2,
        (6, BEFORE): 100, (6, AFTER): 100, (6, DELETE): 2,
        (7, DELETE): 1,
        (8, DELETE): 200,
        (9, DELETE): 900, (9, INSERT): 5,
    }  # fmt: skip
    assert feed.snapshots == {"g@v1": 9}


def test_images_have_the_values_before_and_after(moved):
    rows = moved.changes(0, 1, columns=["id", "value"]).to_arrow().to_pylist()
    assert {(r["id"], r["_change_type"], r["value"]) for r in rows} == {
        (10, BEFORE, 0.0), (11, BEFORE, 0.0), (10, AFTER, 1.0), (11, AFTER, 1.0), (2000, INSERT, 1.0),
    }  # fmt: skip
    assert {r["_commit_timestamp"] for r in rows} == {moved.history()[-2].timestamp}


@pytest.mark.parametrize(("since", "until"), [(-1, 9), (0, 4), (3, 7), (5, 8), (8, 9)])
def test_applied_to_one_snapshot_they_give_another(moved, since, until):
    before = held(moved.read(snapshot=since)) if since >= 0 else Counter()
    assert applied(before, moved.changes(since, until)) == held(moved.read(snapshot=until))


def test_commits_come_in_their_order_and_what_goes_comes_before_what_comes(moved):
    for rows in (moved.changes(-1).to_arrow(), moved.changes(-1).to_reader(batch_size=50).read_all()):
        order = [
            (version, change in (INSERT, AFTER))
            for version, change in zip(
                rows["_commit_version"].to_pylist(), rows["_change_type"].to_pylist(), strict=True
            )
        ]
        assert order == sorted(order)


def test_a_reader_goes_on_where_it_was(group):
    group.insert(table(range(10), 0))
    copy, seen = Counter(), -1
    chance = random.Random(5)
    for number in range(8):
        group.insert(table(chance.sample(range(20), 5), number), mode=chance.choice(["upsert", "append"]))
        group.delete(filter=group["id"] == chance.randrange(20))
        feed = group.changes(seen)
        copy, seen = applied(copy, feed), feed.snapshots["g@v1"]
        assert copy == held(group.read())
    assert group.changes(seen).to_arrow().num_rows == 0


def test_a_result_tells_of_no_commit_after_it_was_made(group):
    group.insert(table(range(10), 0))
    feed = group.changes(-1)
    group.insert(table(range(10), 1))
    assert told(feed) == {(0, INSERT): 10}


def test_columns(moved):
    feed = moved.changes(7, columns=["value"])
    assert feed.schema.names == ["value", "_change_type", "_commit_version", "_commit_timestamp"]
    assert feed.schema == feed.to_arrow().schema
    assert moved.changes(7).schema.names[:3] == SCHEMA.names
    assert moved.changes(9).to_arrow().schema == moved.changes(7).schema
    with pytest.raises(hr.UnknownColumn):
        moved.changes(7, columns=["valeu"])


def test_it_says_what_it_reads(moved):
    assert "changes after snapshot 3 of g@v1 at snapshot 9" in moved.changes(3).explain()


def test_head_has_the_first_commits(moved):
    rows = moved.changes(0).head(3).to_arrow()
    assert rows["_commit_version"].to_pylist() == [1, 1, 1]


def test_event_time_is_part_of_the_identity(store):
    group = store.create_feature_group("g", primary_key=["id"], event_time="at")
    first, second = (dt.datetime(2026, 1, day, tzinfo=dt.UTC) for day in (1, 2))
    group.insert([{"id": 1, "at": first, "value": 1.0}])
    group.insert([{"id": 1, "at": second, "value": 2.0}, {"id": 1, "at": first, "value": 3.0}])
    assert told(group.changes(0)) == {(1, BEFORE): 1, (1, AFTER): 1, (1, INSERT): 1}


def test_a_group_without_identity_only_grows(store):
    group = store.create_feature_group("g", primary_key=[], schema=SCHEMA)
    group.insert(table(range(3), 0))
    group.insert(table(range(3), 0))
    assert told(group.changes(-1)) == {(1, INSERT): 3, (2, INSERT): 3}


@pytest.mark.parametrize(
    ("since", "until", "said"),
    [
        (10, None, "no changes from snapshot 10 up to 9"),
        (5, 4, "no changes from snapshot 5 up to 4"),
        (-2, None, "a number from -1"),
        (1.5, None, "a number from -1"),
        (0, -1, "a number from 0"),
        (True, None, "a number from -1"),
    ],
)
def test_snapshots_that_are_none(moved, since, until, said):
    with pytest.raises(hr.InvalidArgument, match=said):
        moved.changes(since, until)


def test_a_snapshot_that_is_yet_to_come(moved):
    with pytest.raises(hr.SnapshotNotFound, match="no snapshot 10"):
        moved.changes(0, 10)


def test_a_group_that_keeps_no_changes(store):
    group = store.create_feature_group("g", primary_key=["id"], change_feed=False)
    group.insert(table(range(3), 0))
    with pytest.raises(hr.Unsupported, match="g@v1 keeps no change feed") as caught:
        group.changes(-1)
    assert "change_feed=True" in caught.value.hint


def test_a_group_without_columns(group):
    with pytest.raises(hr.SchemaMismatch, match="no columns yet"):
        group.changes(-1)


@pytest.mark.local_files
@pytest.mark.parametrize("what", ["_change_data", "_delta_log/00000000000000000001.json"])
def test_changes_that_are_no_longer_there(moved, tmp_path, what):
    (Path(moved.location) / what).rename(tmp_path / "away")
    with pytest.raises(hr.SnapshotNotFound, match="no longer") as caught:
        moved.changes(0).to_arrow()
    assert "later snapshot" in caught.value.hint
    assert told(moved.changes(8)) == {(9, DELETE): 900, (9, INSERT): 5}


def test_columns_that_are_named_as_what_the_feed_counts(store):
    group = store.create_feature_group("counts", primary_key=["number"])
    group.insert([{"number": n, "deletes": n, "inserts": n} for n in range(100)])
    group.insert([{"number": 1, "deletes": 5, "inserts": 5}])  # few enough to be exchanged
    feed = group.changes(since=0).to_arrow()
    assert sorted(feed["_change_type"].to_pylist()) == [AFTER, BEFORE]
    assert sorted(feed["deletes"].to_pylist()) == [1, 5]
