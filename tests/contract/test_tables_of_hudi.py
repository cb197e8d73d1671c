"""Tables that Spark and Hudi made, as feature groups: read as Spark reads them, at every commit, and never written."""

from __future__ import annotations

import shutil
import zipfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr
from contract.helpers import Unchanged

ROOT = Path(__file__).parent.parent.parent / "testdata" / "hudi"
TABLES = sorted(ROOT.glob("v*/*.zip"))
READ = [path for path in TABLES if path.stem != "merge_on_read"]
# Spark makes a text of a column whose values its folders do not tell as they are.
SHOWN_AS_TEXT = {"by_day": "at"}


def named(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


@pytest.fixture
def table(request, tmp_path) -> Path:
    """Outside the store."""
    to = tmp_path / request.param.stem
    with zipfile.ZipFile(request.param) as packed:
        packed.extractall(to)
    return to


def register(store, table: Path, **options) -> hr.FeatureGroup:
    given = {"format": "hudi", "primary_key": ["id"]} | options
    return store.register_feature_group("theirs", str(table / "table"), **given)


def check(table: Path, found: pa.Table, name: str) -> None:
    wanted = pq.read_table(table / "expected" / f"{name}.parquet")
    own = [c for c in wanted.column_names if not c.startswith("_hoodie_")]
    # Those that came later are null.
    later = [c for c in found.column_names if c not in own]
    assert all(found[c].null_count == found.num_rows for c in later)
    found = found.drop_columns(later)
    assert sorted(found.column_names) == sorted(own)
    text = SHOWN_AS_TEXT.get(table.name)
    if text is not None:
        at = found.schema.get_field_index(text)
        found = found.set_column(at, text, found[text].cast(pa.string()))
    assert Counter(map(repr, found.to_pylist())) == Counter(
        map(repr, wanted.select(found.column_names).to_pylist())
    )


@pytest.mark.parametrize("table", READ, ids=named, indirect=True)
def test_reads(store, table):
    group = register(store, table)
    assert (group.format, group.location) == ("hudi", str(table / "table"))
    check(table, group.read().to_arrow(), "now")
    ids = group.read(["id"]).to_arrow()["id"].to_pylist()
    for value in {min(ids), max(ids), max(ids) + 1}:
        assert group.read(["id"], filter=group["id"] == value).to_arrow().num_rows == ids.count(value)


@pytest.mark.sampled
@pytest.mark.parametrize("table", READ, ids=named, indirect=True)
def test_every_snapshot_that_spark_can_read(store, table):
    group = register(store, table)
    told = {commit.snapshot: commit for commit in group.history()}
    found = []
    for path in sorted((table / "expected").glob("[0-9]*")):
        begun = int(path.stem)
        if path.suffix == ".json":
            with pytest.raises(hr.SnapshotNotFound, match=r"no longer whole"):
                group.read(snapshot=begun).to_arrow()
            continue
        result = group.read(snapshot=begun)
        (snapshot,) = result.snapshots.values()
        check(table, result.to_arrow(), path.stem)
        # By when it was complete as by when it began, and at that time.
        check(table, group.read(snapshot=snapshot).to_arrow(), path.stem)
        check(table, group.read(timestamp=told[snapshot].timestamp).to_arrow(), path.stem)
        found.append(snapshot)
    assert found == sorted(told)[-len(found) :]
    with pytest.raises(hr.SnapshotNotFound, match=r"there is no snapshot 20200101000000000"):
        group.read(snapshot=20200101000000000).to_arrow()


@pytest.mark.parametrize("table", [p for p in TABLES if p not in READ], ids=named, indirect=True)
def test_what_is_not_read(store, table):
    with pytest.raises(hr.Unsupported, match=r"merge-on-read"):
        register(store, table)
    assert store.list_feature_groups() == []


@pytest.mark.parametrize("table", [ROOT / "v9" / "partitioned.zip"], ids=named, indirect=True)
class TestWrites:
    @pytest.mark.parametrize(
        "write",
        [
            lambda g: g.insert([{"id": 1, "name": "mine", "p": "1", "ts": 9}]),
            lambda g: g.delete(filter=g["id"] == 1),
            lambda g: g.restore(g.history()[-1].snapshot),
            lambda g: g.add_features({"new": pa.int32()}),
            lambda g: g.compact(),
            lambda g: g.vacuum(retention_hours=0, dry_run=False),
        ],
        ids=["insert", "delete", "restore", "add_features", "compact", "vacuum"],
    )
    def test_none(self, store, table, write):
        group = register(store, table)
        with Unchanged(group, hr.Unsupported) as caught:
            write(group)
        assert "is a Hudi table, which is read and not written" in caught.value.message

    def test_deleting_the_group_leaves_the_table(self, store, table):
        group = register(store, table)
        store.delete_feature_group("theirs", group.version)
        check(table, register(store, table, version=2).read().to_arrow(), "now")


@pytest.mark.parametrize(
    "table", [ROOT / "v9" / "nested.zip", ROOT / "v6" / "dropped.zip"], ids=named, indirect=True
)
def test_files_of_other_partitions_are_not_read(store, table):
    group = register(store, table)
    year = 2023 if table.name == "nested" else "2023"
    all_of = group.read()
    only = group.read(filter=group["year"] == year)
    assert "(12 of 12 files)" in all_of.explain() or "(7 of 7 files)" in all_of.explain()
    assert "(6 of 12 files)" in only.explain() or "(4 of 7 files)" in only.explain()
    wanted = [row for row in all_of.to_arrow().to_pylist() if row["year"] == year]
    assert Counter(map(repr, only.to_arrow().to_pylist())) == Counter(map(repr, wanted))
    none = group.read(filter=group["kind"].is_null())
    assert none.to_arrow().num_rows == sum(row["kind"] is None for row in all_of.to_arrow().to_pylist())


@pytest.mark.parametrize("table", [ROOT / "v9" / "clustered.zip"], ids=named, indirect=True)
def test_joined_with_a_table_of_ours(store, table):
    theirs = register(store, table, event_time="ts", event_time_unit="s")
    ours = store.create_feature_group("ours", primary_key=["row"], event_time="at")
    ids = list(range(0, 60, 5))
    times = pa.array([n // 10 * 1_000_000 for n in ids], pa.timestamp("us", "UTC"))
    ours.insert(pa.table({"row": ids, "id": ids, "at": times}))
    query = ours.select("id").join(theirs.select("name", "ts"), on="id", prefix="their_")
    for row in query.read().to_arrow().to_pylist():
        wanted = [
            r
            for r in theirs.read().to_arrow().to_pylist()
            if r["id"] == row["id"] and r["ts"] <= row["id"] // 10
        ]
        assert row["their_name"] == (wanted[0]["name"] if wanted else None)
    view = store.create_feature_view("both", query)
    dataset = view.create_training_dataset(format="parquet")
    assert dataset.read().to_arrow().equals(dataset.recompute().to_arrow())


@pytest.mark.parametrize(
    "table", [ROOT / "v9" / "partitioned.zip", ROOT / "v6" / "partitioned.zip"], ids=named, indirect=True
)
def test_a_clean_while_it_is_read(store, table):
    """What is read of a snapshot is all of it, or an error that says what to do."""
    timeline = table / "table" / ".hoodie"
    timeline = timeline / "timeline" if (timeline / "timeline").exists() else timeline
    last = max(path for path in timeline.iterdir() if path.suffix == ".commit")
    last.rename(table / "aside")
    group = register(store, table)
    before = group.read()
    wanted = before.to_arrow().num_rows
    (table / "aside").rename(last)
    assert before.to_arrow().num_rows == wanted
    gone = set((table / "table").rglob("*.parquet")) - set(
        (table / "table").rglob(f"*_{last.name[:17]}.parquet")
    )
    for old in {
        path.name.split("_")[0]: path for path in sorted(gone, key=lambda path: path.name[-25:])
    }.values():
        if list((table / "table").rglob(f"{old.name.split('_')[0]}_*_{last.name[:17]}.parquet")):
            old.unlink()
    with pytest.raises(hr.Conflict, match=r"files of snapshot \d{17} were removed as it was read") as caught:
        before.to_arrow()
    assert caught.value.retryable
    check(table, group.read().to_arrow(), "now")


@pytest.mark.parametrize("table", [ROOT / "v9" / "partitioned.zip"], ids=named, indirect=True)
def test_a_file_that_is_cut_short_is_named(store, table):
    group = register(store, table)
    path = max((table / "table").rglob("*.parquet"), key=lambda path: path.name[-25:])
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(hr.CorruptTable, match=path.name):
        group.read().to_arrow()


def test_a_folder_without_one(store, tmp_path):
    (tmp_path / "file").touch()
    for name in ("none", "file"):
        with pytest.raises(hr.NotFound, match=r"there is no Hudi table") as caught:
            store.register_feature_group("theirs", str(tmp_path / name), format="hudi", primary_key=["id"])
        assert ".hoodie" in caught.value.hint


@pytest.mark.parametrize("table", [ROOT / "v9" / "plain.zip"], ids=named, indirect=True)
def test_one_that_is_lost(store, table):
    group = register(store, table)
    result = group.read()
    shutil.rmtree(table / "table")
    with pytest.raises(hr.CorruptTable, match=r"is lost"):
        group.read()
    with pytest.raises(hr.CorruptTable):
        result.to_arrow()
    assert [g.name for g in store.list_feature_groups()] == ["theirs"]


class TestChanges:
    """Of those after a snapshot, put upon its rows, the rows of now come out."""

    @pytest.mark.sampled
    @pytest.mark.parametrize(
        "table",
        [p for p in READ if p.stem not in ("archived", "cleaned", "without_meta_fields")],
        ids=named,
        indirect=True,
    )
    def test_replayed(self, store, table):
        group = register(store, table)
        now = group.read().to_arrow()
        snapshots = sorted(commit.snapshot for commit in group.history())
        for since in [-1, *snapshots]:
            feed = group.changes(since=since).to_arrow()
            names = now.column_names
            rows = (
                Counter()
                if since < 0
                else Counter(map(repr, group.read(snapshot=since).to_arrow().to_pylist()))
            )
            for row in sorted(feed.to_pylist(), key=lambda row: row["_commit_version"]):
                came = row["_change_type"] in ("insert", "update_postimage")
                rows[repr({name: row[name] for name in names})] += 1 if came else -1
            assert {r: n for r, n in rows.items() if n} == Counter(map(repr, now.to_pylist()))
            assert set(feed["_commit_version"].to_pylist()) <= {s for s in snapshots if s > since}

    @pytest.mark.sampled
    @pytest.mark.parametrize("table", READ, ids=named, indirect=True)
    def test_of_rows_that_spark_finds(self, store, table):
        path = table / "expected" / "since.parquet"
        if not path.exists() or table.name in ("archived", "cleaned"):
            with pytest.raises((hr.SnapshotNotFound, hr.Unsupported)):
                register(store, table).changes(since=-1).to_arrow()
            return
        group = register(store, table)
        # Given when the first commit began, it finds what was completed later: of layout 2 that commit, too.
        layout_2 = (table / "table" / ".hoodie" / "timeline").exists()
        feed = group.changes(since=-1 if layout_2 else group.history()[-1].snapshot).to_arrow().to_pylist()
        last = {row["id"]: row for row in sorted(feed, key=lambda row: row["_commit_version"])}
        there = [key for key, row in last.items() if row["_change_type"] in ("insert", "update_postimage")]
        assert Counter(there) == Counter(pq.read_table(path)["id"].to_pylist())

    @pytest.mark.parametrize("table", [ROOT / "v9" / "overwritten.zip"], ids=named, indirect=True)
    def test_kinds(self, store, table):
        group = register(store, table)
        kinds = {}
        for row in group.changes(since=-1).to_arrow().to_pylist():
            kinds.setdefault(row["_commit_version"], Counter())[row["_change_type"]] += 1
        assert [kinds.get(c.snapshot) for c in reversed(group.history())] == [
            {"insert": 30},
            {"insert": 10, "delete": 10},
            {"insert": 10, "update_preimage": 20, "update_postimage": 20},
            {"delete": 10},
            {"insert": 20, "delete": 30},
            {"insert": 10, "update_preimage": 10, "update_postimage": 10},
        ]
