"""Hudi tables as files: what is listed, followed, refused, and left consistent while others write."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hudi import HudiTableBuilder

from formats.hudi_tables import READ, ROOT, named, timeline_of, unpacked
from headrace.errors import CorruptTable, SnapshotNotFound, Unavailable, Unsupported
from headrace.formats.base import Snapshot
from headrace.formats.hudi import HudiTable
from headrace.formats.hudi_timeline import time_of
from headrace.model.expression import Compare, Condition, IsNull, Not, Ref, to_value
from headrace.model.expression_sql import condition_sql, identifier
from headrace.storage.files import LocalFiles
from headrace.storage.folder import Folder

# Of these, files are gone that older commits tell of.
SHRUNK = {"archived", "cleaned", "restored", "rolled_back"}


@pytest.fixture
def table(request, tmp_path) -> Path:
    return unpacked(request.param, tmp_path)


WRITTEN = {"path": "x.parquet", "fileId": "x", "numWrites": 1, "fileSizeInBytes": 1, "prevCommit": "null"}


def opened(table: Path) -> HudiTable:
    return HudiTable(Folder.local(str(table)))


def files(snapshot: Snapshot | None) -> list[dict[str, object]]:
    return [] if snapshot is None else sorted(snapshot.files.to_pylist(), key=lambda file: file["path"])


def of(name: str, *versions: int) -> list[Path]:
    return [
        path for path in READ if path.stem == name and (not versions or int(path.parent.name[1:]) in versions)
    ]


@pytest.mark.parametrize("table", [p for p in READ if p.stem != "dropped"], ids=named, indirect=True)
def test_the_files_are_those_that_hudi_rs_finds(table):
    theirs = HudiTableBuilder.from_base_uri(str(table)).build().get_file_slices()
    mine = [file["path"].removeprefix(f"{table}/") for file in files(opened(table).newest())]
    assert mine == sorted(one.base_file_relative_path() for one in theirs)


@pytest.mark.parametrize("table", [p for p in READ if p.stem not in SHRUNK], ids=named, indirect=True)
def test_following_commits_is_as_good_as_listing_anew(table):
    """The commits are taken away, and come back one by one."""
    timeline = timeline_of(table)
    done = sorted(p for p in timeline.iterdir() if p.suffix in (".commit", ".replacecommit"))
    aside = table.parent / "aside"
    aside.mkdir()
    for path in done:
        path.rename(aside / path.name)
    followed = opened(table)
    assert files(followed.newest()) == []
    listed = []
    for path in done:
        (aside / path.name).rename(path)
        now, anew = followed.newest(), opened(table).newest()
        assert now is not None
        assert anew is not None
        assert (now.version, now.schema) == (anew.version, anew.schema)
        assert files(now) == files(anew)
        assert followed.newest() is now
        listed.append((now.version, files(now)))
    for version, then in listed:
        assert files(followed.at(version)) == files(opened(table).at(version)) == then


def _files_of(commit: Path) -> list[Path]:
    return [path for path in commit.parent.iterdir() if path.is_file() and path.name[:17] == commit.name[:17]]


@pytest.mark.parametrize("table", [*of("plain"), *of("overwritten")], ids=named, indirect=True)
def test_a_write_that_is_completed_and_archived_between_two_looks(table):
    """It was pending for longer than younger ones took, with which it is archived at once."""
    timeline, aside = timeline_of(table), table.parent / "aside"
    aside.mkdir()
    done = sorted(p for p in timeline.iterdir() if p.suffix in (".commit", ".replacecommit"))
    done[1].rename(aside / done[1].name)
    followed = opened(table)
    before = files(followed.newest())
    for commit in done[:3]:
        for path in _files_of(commit):
            path.rename(aside / path.name)
    assert files(followed.newest()) == files(opened(table).newest()) != before


@pytest.mark.parametrize("table", of("plain", 9), ids=named, indirect=True)
def test_what_lies_between_a_savepoint_and_the_rest_is_not_known(table):
    timeline = timeline_of(table)
    done = sorted((p for p in timeline.iterdir() if p.suffix == ".commit"), key=lambda p: p.name[18:35])
    first, gone, *rest = done
    for path in _files_of(gone):
        path.unlink()
    (timeline / f"{first.name[:17]}_{first.name[18:35]}.savepoint").write_bytes(b"")
    history = table / ".hoodie" / "timeline" / "history"
    history.mkdir(exist_ok=True)
    (history / "1.parquet").touch()
    found = opened(table)
    at = [time_of(int(path.name[18:35]), in_utc=True) for path in (first, gone, rest[0])]
    assert found.version_at(at[0]) == int(first.name[18:35])
    assert found.version_at(at[2]) == int(rest[0].name[18:35])
    with pytest.raises(SnapshotNotFound, match=rest[0].name[18:35]):
        found.version_at(at[1])
    with pytest.raises(SnapshotNotFound, match="tells of all from"):
        found.changes(int(first.name[18:35]), found.newest(), ("id",))


@pytest.mark.parametrize("table", of("partitioned", 9), ids=named, indirect=True)
def test_one_listing_is_enough(table, monkeypatch):
    timeline = timeline_of(table)
    *_, last = sorted(p for p in timeline.iterdir() if p.suffix == ".commit")
    last.rename(table / "aside")
    followed = opened(table)
    followed.newest()
    monkeypatch.setattr(LocalFiles, "tree", None)
    (table / "aside").rename(last)
    assert followed.newest().version == int(last.name[18:35])


@pytest.mark.parametrize("table", [*of("rolled_back"), *of("restored")], ids=named, indirect=True)
def test_what_is_set_back_is_listed_anew(table):
    """A commit that was complete, and is not there any more."""
    timeline = timeline_of(table)
    commits = sorted(p for p in timeline.iterdir() if p.suffix == ".commit")
    followed = opened(table)
    before = followed.newest()
    commits[-1].unlink()
    for path in table.rglob(f"*_{commits[-1].name[:17]}.parquet"):
        path.unlink()
    assert files(followed.newest()) == files(opened(table).newest()) != files(before)


@pytest.mark.parametrize("table", of("plain", 6, 9), ids=named, indirect=True)
@pytest.mark.parametrize(
    "bytes_", [b"", b"{", b"Obj\x01rubbish", b"[1]", b'{"partitionToWriteStats": {"": [{"path": "x"}]}}']
)
def test_a_commit_that_cannot_be_read_is_named(table, bytes_):
    (first, *_) = sorted(p for p in timeline_of(table).iterdir() if p.suffix == ".commit")
    first.write_bytes(bytes_)
    broken = opened(table)
    for _ in range(2):
        with pytest.raises(CorruptTable, match=first.name):
            broken.newest()


def changed(commit: Path, **told: object) -> None:
    commit.write_text(json.dumps(json.loads(commit.read_bytes()) | told))


@pytest.mark.parametrize("table", of("plain", 6), ids=named, indirect=True)
@pytest.mark.parametrize(
    "told",
    [
        {"operationType": {"a": 1}},
        {"extraMetadata": {"schema": {"a": 1}}},
        {"extraMetadata": {"schema": [1]}},
        {"partitionToReplaceFileIds": {"": "abc"}},
        {"partitionToWriteStats": {"": 5}},
        *(
            {"partitionToWriteStats": {"": [WRITTEN | wrong]}}
            for wrong in (
                {"numWrites": 10**30},
                {"numWrites": 1e300},
                {"numWrites": -5},
                {"numWrites": None},
                {"fileSizeInBytes": 10**30},
                {"fileId": ["x"]},
                {"path": 5},
                {"prevCommit": "garbage"},
                {"numInserts": "many"},
            )
        ),
    ],
    ids=str,
)
def test_a_commit_that_tells_what_cannot_be_is_named(table, told):
    (first, *_) = sorted(p for p in timeline_of(table).iterdir() if p.suffix == ".commit")
    changed(first, **told)
    with pytest.raises(CorruptTable, match=first.name):
        opened(table).newest()


@pytest.mark.parametrize("table", of("plain", 6), ids=named, indirect=True)
def test_columns_without_an_end_are_not_read(table):
    *_, last = sorted(p for p in timeline_of(table).iterdir() if p.suffix == ".commit")
    kind = "[" * 5_000 + "]" * 5_000
    schema = f'{{"type": "record", "fields": [{{"name": "a", "type": {kind}}}]}}'
    changed(last, extraMetadata={"schema": schema})
    with pytest.raises(Unsupported, match=r"the columns of the Hudi table"):
        opened(table).newest()


@pytest.mark.parametrize("table", of("plain", 6), ids=named, indirect=True)
def test_a_clean_that_tells_no_time_is_named(table):
    clean = timeline_of(table) / "20261201000000000.clean"
    clean.write_text('{"earliestCommitToRetain": "abc"}')
    with pytest.raises(CorruptTable, match=clean.name):
        opened(table).newest()


@pytest.mark.parametrize("table", of("plain", 6), ids=named, indirect=True)
@pytest.mark.parametrize("name", ["99999999999999999", "00000000000000000", "20261301000000000"])
def test_a_commit_of_no_time_is_named(table, name):
    (timeline_of(table) / f"{name}.commit").write_text("{}")
    with pytest.raises(CorruptTable, match=name):
        opened(table).newest()


@pytest.mark.parametrize("table", of("plain", 6, 9), ids=named, indirect=True)
@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_a_folder_or_a_pipe_is_no_commit(table, make):
    (last, *_) = sorted((p for p in timeline_of(table).iterdir() if p.suffix == ".commit"), reverse=True)
    last.unlink()
    make(last)
    with pytest.raises(CorruptTable, match=last.name):
        opened(table).newest()


@pytest.mark.parametrize("table", of("plain", 6, 9), ids=named, indirect=True)
def test_a_timeline_that_is_not_there_is_told(table):
    """Of a table that was read before, and of one that was not."""
    log = opened(table)
    log.newest()
    for path in timeline_of(table).iterdir():
        if path.name[:1].isdigit():
            path.unlink()
    for asked in (log, opened(table)):
        with pytest.raises(CorruptTable, match=r"tells of no write"):
            asked.newest()


@pytest.mark.parametrize("table", of("partitioned", 6, 9), ids=named, indirect=True)
def test_folders_that_are_no_partitions_are_not_read(table):
    """A copy of one, and a table within the table."""
    wanted = files(opened(table).newest())
    shutil.copytree(table / "p=1", table / "old_backup")
    (table / "old_backup" / ".hoodie_partition_metadata").unlink()
    shutil.copytree(table, table.parent / "copy")
    shutil.move(table.parent / "copy", table / "inner")
    (table / "linked").symlink_to(table / "inner")
    assert files(opened(table).newest()) == wanted


@pytest.mark.parametrize("table", of("partitioned", 6, 9), ids=named, indirect=True)
def test_a_partition_that_a_commit_tells_of_needs_no_mark(table):
    wanted = files(opened(table).newest())
    (table / "p=1" / ".hoodie_partition_metadata").unlink()
    assert files(opened(table).newest()) == wanted


@pytest.mark.parametrize("table", of("partitioned", 6), ids=named, indirect=True)
@pytest.mark.parametrize("drops", [False, True])
def test_days_in_folders_of_their_parts(table, drops):
    """As Hudi 1.2 has them: the path 2026/01/05 is of the value 2026-01-05."""
    days = {f"p={i}": f"2026/01/0{i + 5}" for i in range(3)}
    properties = table / ".hoodie" / "hoodie.properties"
    properties.write_text(
        properties.read_text().replace("hive_style_partitioning=true", "hive_style_partitioning=false")
        + "\nhoodie.datasource.write.slash.separated.date.partitioning=true"
        + f"\nhoodie.datasource.write.drop.partition.columns={str(drops).lower()}\n"
    )
    for path in timeline_of(table).glob("*.*commit"):
        text = path.read_text()
        for old, new in days.items():
            text = text.replace(old, new)
        path.write_text(text)
    for old, new in days.items():
        (table / new).parent.mkdir(parents=True, exist_ok=True)
        (table / old).rename(table / new)
        for path in (table / new).glob("*.parquet"):
            rows = pq.read_table(path, partitioning=None)
            at = rows.schema.get_field_index("p")
            day = pa.array([new.replace("/", "-")] * rows.num_rows, pa.string())
            pq.write_table(rows.drop_columns(["p"]) if drops else rows.set_column(at, "p", day), path)
    snapshot = opened(table).newest()
    condition = Compare("=", Ref("p"), to_value("2026-01-06"))
    with duckdb.connect() as engine:
        found = engine.sql(f"SELECT DISTINCT p FROM {snapshot.relation()}").fetchall()
        assert sorted(found) == [("2026-01-05",), ("2026-01-06",), ("2026-01-07",)]
        kept = snapshot.prune([condition])
        assert engine.sql(f"SELECT DISTINCT p FROM {snapshot.relation(kept)}").fetchall() == [("2026-01-06",)]


def altered(table: Path, commit: int, **told: object) -> None:
    """A commit that changes columns alone, of table version 6; `told` is what it says of them, as JSON."""
    (timeline_of(table) / f"{commit}.commit").write_text(
        json.dumps(
            {
                "partitionToWriteStats": {},
                "operationType": "ALTER_SCHEMA",
                "extraMetadata": {name: json.dumps(value) for name, value in told.items()},
            }
        )
    )


def columns_of_last(table: Path) -> dict[str, Any]:
    *_, last = sorted(p for p in timeline_of(table).iterdir() if p.suffix == ".commit")
    return json.loads(json.loads(last.read_bytes())["extraMetadata"]["schema"])


def numbered(*columns: tuple[int, str], since: int = 20261201000000000) -> dict[str, object]:
    fields = [{"id": number, "name": name, "optional": True, "type": "string"} for number, name in columns]
    return {"max_column_id": 9, "version_id": since, "type": "record", "fields": fields}


@pytest.mark.parametrize("table", of("evolved", 6), ids=named, indirect=True)
class TestSchemaOnRead:
    def test_a_column_that_was_renamed_is_refused(self, table):
        told = columns_of_last(table)
        for field in told["fields"]:
            field["name"] = {"name": "label"}.get(field["name"], field["name"])
        altered(table, 20261201000000000, schema=told, latest_schema={})
        with pytest.raises(Unsupported, match=r"'name' was renamed to 'label'"):
            opened(table).newest()

    @pytest.mark.parametrize(
        ("then", "says"),
        [
            ([(0, "id"), (1, "label")], "'name' was renamed to 'label'"),
            ([(0, "id"), (2, "name")], "'name' was dropped, and another made"),
        ],
    )
    def test_numbers_tell_it_too(self, table, then, says):
        told = columns_of_last(table)
        history = table / ".hoodie" / ".schema"
        history.mkdir(exist_ok=True)
        (history / "20261201000000000.schemacommit").write_text(
            json.dumps({"schemas": [numbered(*then), numbered((0, "id"), (1, "name"), since=0)]})
        )
        altered(table, 20261201000000000, schema=told, latest_schema=numbered(*then))
        with pytest.raises(Unsupported, match=says):
            opened(table).newest()

    def test_a_column_that_was_added_is_read(self, table):
        told = columns_of_last(table)
        told["fields"].append({"name": "new", "type": ["null", "string"], "default": None})
        altered(table, 20261201000000000, schema=told, latest_schema=numbered((0, "id"), (1, "new")))
        assert opened(table).newest().schema.names[-1] == "new"


@pytest.mark.parametrize("table", of("plain", 6), ids=named, indirect=True)
@pytest.mark.parametrize("path", ["../other/x.parquet", "/etc/x.parquet", "a/../../x.parquet"])
def test_files_outside_the_table_are_not_its_own(table, path):
    (first, *_) = sorted(p for p in timeline_of(table).iterdir() if p.suffix == ".commit")
    told = json.loads(first.read_bytes())
    told["partitionToWriteStats"][""][0]["path"] = path
    first.write_text(json.dumps(told))
    with pytest.raises(CorruptTable, match=r"is outside the table"):
        opened(table).newest()


@pytest.mark.parametrize("table", of("plain", 6), ids=named, indirect=True)
def test_a_commit_that_is_being_written_is_waited_for(table):
    *_, last = sorted(p for p in timeline_of(table).iterdir() if p.suffix == ".commit")
    data = last.read_bytes()
    wanted = files(opened(table).newest())
    last.write_bytes(b"")
    writing = threading.Timer(0.05, last.write_bytes, [data])
    writing.start()
    assert files(opened(table).newest()) == wanted
    writing.join()


@pytest.mark.parametrize("table", of("partitioned", 6, 9), ids=named, indirect=True)
def test_a_file_that_is_not_there_is_named(table):
    path = files(opened(table).newest())[0]["path"]
    Path(path).unlink()
    with pytest.raises(CorruptTable, match=Path(path).name):
        opened(table).newest()


@pytest.mark.parametrize("table", of("partitioned", 6, 9), ids=named, indirect=True)
def test_an_old_file_that_is_not_there_hides_old_snapshots_alone(table):
    log = opened(table)
    (*_, first) = log.history(None)
    old, newest = files(log.at(first.snapshot)), log.newest()
    Path(old[0]["path"]).unlink()
    for asked in (log.whole_at, opened(table).at):
        with pytest.raises(SnapshotNotFound, match=r"is no longer whole"):
            asked(first.snapshot)
    assert files(opened(table).newest()) == files(newest)


def conditions(rows: list[dict[str, object]], name: str) -> Iterator[Condition]:
    values = sorted({row[name] for row in rows if row[name] is not None})
    for value in {*values[:2], *values[-2:], *values[len(values) // 2 :][:1]}:
        for op in ("=", "<>", "<", "<=", ">", ">="):
            yield Compare(op, Ref(name), to_value(value))
    yield IsNull(Ref(name))
    yield Not(IsNull(Ref(name)))


@pytest.mark.sampled
@pytest.mark.parametrize("table", READ, ids=named, indirect=True)
def test_files_are_left_out_that_have_no_row_for_a_filter_and_no_other(table):
    snapshot = opened(table).newest()
    # By the files that are kept: to ask once for each condition takes minutes.
    asked: dict[tuple[str, ...], list[str]] = {}
    with duckdb.connect() as engine:
        engine.execute("SET TimeZone = 'UTC'")
        rows = engine.sql(f"SELECT * FROM {snapshot.relation()}").to_arrow_table().to_pylist()
        for name in snapshot.schema.names:
            if isinstance(rows[0][name], (list, dict, bytes)) or name in ("list", "map", "nested", "bytes"):
                continue
            for condition in conditions(rows, name):
                kept = snapshot.prune([condition])
                where = condition_sql(condition, lambda ref: identifier(ref.name))
                asked.setdefault(tuple(kept["path"].to_pylist()), []).append(where)
        every = snapshot.files
        for paths, wheres in asked.items():
            kept = every.filter(pc.is_in(every["path"], pa.array(paths, pa.string())))
            counts = ", ".join(f"count(*) FILTER (WHERE {where})" for where in wheres)
            whole, found = (
                engine.sql(f"SELECT {counts} FROM {relation}").fetchall()[0]
                for relation in (snapshot.relation(), snapshot.relation(kept))
            )
            assert dict(zip(wheres, found, strict=True)) == dict(zip(wheres, whole, strict=True))
    assert any(len(paths) < every.num_rows for paths in asked)


class Busy(LocalFiles):
    """Others write while files are listed."""

    def __init__(self, act: Callable[[], None]) -> None:
        self.act = act

    def tree(self, folder: str, without: str) -> Iterator[tuple[str, int]]:
        found = list(super().tree(folder, without))
        self.act()
        yield from found


@pytest.mark.parametrize("table", of("cleaned", 6, 9), ids=named, indirect=True)
def test_a_commit_and_a_clean_while_it_is_listed(table):
    """The listing has files that the clean has removed, and none of the commit."""
    timeline = timeline_of(table)
    names = sorted(p.name for p in timeline.iterdir() if p.suffix in (".commit", ".clean"))
    aside = {name: (timeline / name).read_bytes() for name in names[-2:]}
    commit = next(name for name in aside if name.endswith(".commit"))
    new = {path: path.read_bytes() for path in table.rglob(f"*_{commit[:17]}.parquet")}
    assert new
    wanted = files(opened(table).newest())
    for path in [*new, *(timeline / name for name in aside)]:
        path.unlink()

    def act() -> None:
        for path, data in new.items():
            path.write_bytes(data)
        for name, data in aside.items():
            (timeline / name).write_bytes(data)

    assert files(HudiTable(Folder(str(table), str(table), Busy(act))).newest()) == wanted


@pytest.mark.parametrize("table", of("plain", 9), ids=named, indirect=True)
def test_one_that_never_stands_still(table):
    number = iter(range(10**6))

    def act() -> None:
        (timeline_of(table) / f"29990101{next(number):09}.commit.requested").touch()

    with pytest.raises(Unavailable, match=r"was written to each time that it was listed") as caught:
        HudiTable(Folder(str(table), str(table), Busy(act))).newest()
    assert caught.value.retryable


@pytest.mark.parametrize(
    ("table", "other"),
    [(*of("plain", 6), "nested"), (*of("clustered", 9), "overwritten")],
    indirect=["table"],
)
def test_one_that_is_made_anew_in_its_place(table, tmp_path, other):
    log = opened(table)
    log.newest()
    shutil.rmtree(table)
    shutil.copytree(unpacked(ROOT / "v9" / f"{other}.zip", tmp_path / "other"), table)
    assert files(log.newest()) == files(opened(table).newest())
    assert log.newest().schema == opened(table).newest().schema


def test_nothing_there(tmp_path):
    log = opened(tmp_path)
    assert not log.is_there()
    assert log.newest() is None
    with pytest.raises(SnapshotNotFound):
        log.at(1)
