"""Compact and vacuum: fewer files, and the same rows."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

import headrace as hr


def table(ids, value):
    ids = list(ids)
    return pa.table({"id": ids, "day": [f"d {i % 2}" for i in ids], "value": [float(value)] * len(ids)})


def held(result):
    return Counter(tuple(row.values()) for row in result.to_arrow().to_pylist())


def files(group):
    """The files that the newest snapshot reads, by what `explain` says."""
    text = group.select().explain()
    return int(text.partition(" of ")[2].partition("(")[2].partition(" ")[0])


def on_disk(group):
    return {str(f.relative_to(group.location)) for f in Path(group.location).rglob("*.parquet")}


@pytest.fixture(params=[(), ("day",)], ids=["whole", "by day"])
def group(store, request):
    made = store.create_feature_group("g", primary_key=["id"], partition_by=request.param)
    for number in range(6):
        made.insert(table(range(number * 10, number * 10 + 10), number), mode="append")
    made.insert(table(range(5, 8), 9))
    made.delete(keys=[{"id": 30}])
    return made


class TestCompact:
    @pytest.mark.parametrize("zorder", [(), ("value",), ("id", "value")])
    def test_the_rows_are_the_same_in_fewer_files(self, group, zorder):
        rows, before = held(group.read()), files(group)
        commit = group.compact(zorder=zorder)
        assert (commit.snapshot, commit.operation) == (8, "OPTIMIZE")
        assert files(group) == len(group.partition_by) + 1 < before
        assert held(group.read()) == rows
        assert held(group.read(snapshot=7)) == rows

    def test_the_change_feed_tells_of_no_row(self, group):
        group.compact()
        assert group.changes(7).to_arrow().num_rows == 0

    def test_a_second_time_does_nothing(self, group):
        first = group.compact()
        again = group.compact()
        assert (again.snapshot, again.operation) == (first.snapshot, "NONE")
        assert len(group.history()) == 9

    def test_upserts_go_on(self, group):
        group.compact()
        commit = group.insert(table(range(50, 70), 3))
        assert (commit.rows_inserted, commit.rows_updated) == (10, 10)

    def test_rows_that_are_there_twice_stay_so(self, store, target):
        group = store.create_feature_group("twice", primary_key=["id"])
        group.insert(table([1, 2], 0))
        group.insert(table([1], 1), mode="append")
        group.compact()
        spine = group.select("id").join(group.select("value"), on="id", prefix="x_", point_in_time=False)
        with hr.connect(target, project=store.project) as other:
            assert other.get_feature_group("twice").read().to_arrow().num_rows == 3
        with pytest.raises(hr.AmbiguousRows):
            spine.read().to_arrow()
        assert group.insert(table([1], 2)).rows_deleted == 1

    def test_a_group_without_rows(self, store):
        assert store.create_feature_group("empty", primary_key=["id"]).compact().operation == "NONE"

    @pytest.mark.parametrize(
        ("zorder", "kind"),
        [
            (["valeu"], hr.UnknownColumn),
            (["value", "value"], hr.InvalidArgument),
            ("value", hr.InvalidArgument),
            ([3], hr.InvalidArgument),
        ],
    )
    def test_orders_that_are_none(self, group, zorder, kind):
        with pytest.raises(kind):
            group.compact(zorder=zorder)
        assert len(group.history()) == 8

    def test_the_order_of_a_partition(self, store):
        group = store.create_feature_group("g", primary_key=["id"], partition_by=["day"])
        group.insert(table(range(3), 0))
        with pytest.raises(hr.InvalidArgument, match="'day': it is a partition's"):
            group.compact(zorder=["day"])


class TestVacuum:
    @pytest.mark.local_files
    def test_a_dry_run_tells_and_removes_nothing(self, group):
        group.compact()
        before = on_disk(group)
        gone = group.vacuum(retention_hours=0)
        assert gone
        assert set(gone) < before
        assert on_disk(group) == before

    @pytest.mark.local_files
    def test_what_only_old_snapshots_need_goes(self, group):
        group.compact()
        rows, told = held(group.read()), group.vacuum(retention_hours=0)
        assert group.vacuum(retention_hours=0, dry_run=False) == told
        assert len(on_disk(group)) == files(group) == len(group.partition_by) + 1
        assert held(group.read()) == rows
        assert group.insert(table(range(5), 7)).rows_updated == 5

    def test_old_snapshots_say_what_became_of_them(self, group):
        group.compact()
        group.vacuum(retention_hours=0, dry_run=False)
        for ask in (
            lambda: group.read(snapshot=7).to_arrow(),
            lambda: group.restore(7),
            lambda: group.changes(5).to_arrow(),
        ):
            with pytest.raises(hr.SnapshotNotFound) as caught:
                ask()
            assert "vacuum" in caught.value.hint
        assert held(group.read(snapshot=8)) == held(group.read())

    @pytest.mark.local_files
    def test_what_is_gone_is_not_told_again(self, group):
        group.compact()
        group.vacuum(retention_hours=0, dry_run=False)
        for _ in range(2):
            assert group.vacuum(retention_hours=0) == []
            assert group.vacuum(retention_hours=0, dry_run=False) == []
        group.insert(table(range(3), 1), mode="overwrite")
        told, before = group.vacuum(retention_hours=0), on_disk(group)
        assert len(told) >= len(group.partition_by) + 1
        assert group.vacuum(retention_hours=0, dry_run=False) == told
        assert before - on_disk(group) == set(told)

    def test_what_is_younger_stays(self, group):
        group.compact()
        assert group.vacuum() == group.vacuum(dry_run=False) == []
        assert group.read(snapshot=3).to_arrow().num_rows == 40

    @pytest.mark.local_files
    def test_files_that_were_never_committed_go(self, group):
        lost = Path(group.location) / ("day=d 1" if group.partition_by else "") / "lost.parquet"
        lost.parent.mkdir(exist_ok=True)
        lost.write_bytes(b"x")
        gone = group.vacuum(retention_hours=0, dry_run=False)
        assert str(lost.relative_to(group.location)) in gone
        assert not lost.exists()
        assert group.read().to_arrow().num_rows == 59

    def test_a_group_without_rows(self, store):
        assert store.create_feature_group("empty", primary_key=["id"]).vacuum(dry_run=False) == []

    @pytest.mark.parametrize(
        "options",
        [{"retention_hours": -1}, {"retention_hours": 1.5}, {"retention_hours": True}, {"dry_run": "no"}],
    )
    def test_arguments_that_are_none(self, group, options):
        with pytest.raises(hr.InvalidArgument):
            group.vacuum(**options)


def test_a_table_that_is_kept_up_in_between_is_like_one_that_is_not(store):
    chance = random.Random(3)
    kept, plain = (store.create_feature_group(name, primary_key=["id"]) for name in ("kept", "plain"))
    for number in range(12):
        ids, mode = chance.sample(range(40), 10), chance.choice(["upsert", "append"])
        for group in (kept, plain):
            group.insert(table(ids, number), mode=mode)
        if number % 3 == 2:
            kept.compact(zorder=chance.choice([(), ("id",)]))
            kept.vacuum(retention_hours=0, dry_run=False)
        assert held(kept.read()) == held(plain.read())


class TestDetail:
    def test_of_nothing(self, store):
        group = store.create_feature_group("empty", primary_key=["id"])
        assert group.detail() == hr.TableDetail(snapshot=-1, rows=0, files=0, size_bytes=0, files_compacted=0)

    @pytest.mark.parametrize("partition_by", [(), ("part",)])
    def test_many_small_files_want_compaction(self, store, partition_by):
        group = store.create_feature_group("small", primary_key=["id"], partition_by=partition_by)
        for number in range(24):
            group.insert([{"id": number, "part": number % 2}], mode="append")
        told = group.detail()
        assert (told.snapshot, told.rows, told.files) == (23, 24, 24)
        assert told.files_compacted == (2 if partition_by else 1)
        assert told.needs_compaction
        assert repr(told).endswith("needs_compaction=True)")
        group.compact()
        told = group.detail()
        assert (told.rows, told.files) == (24, told.files_compacted)
        assert not told.needs_compaction
        assert told.size_bytes > 0

    def test_a_partition_a_file_does_not(self, store):
        group = store.create_feature_group("parts", primary_key=["id"], partition_by=["part"])
        group.insert(pa.table({"id": range(40), "part": range(40)}))
        assert not group.detail().needs_compaction
