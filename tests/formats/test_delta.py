"""What the log says of a snapshot, while others commit."""

from __future__ import annotations

import errno
import json
import os
import re
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from deltalake.exceptions import DeltaError

from headrace.errors import CorruptTable, OutcomeUnknown, Unavailable
from headrace.formats import delta_sync
from headrace.formats.attempt import attempt, attempt_compaction
from headrace.formats.delta import DeltaLog
from headrace.formats.delta_write import Write, WriteId
from headrace.formats.log_folder import LogFolder
from headrace.model.write_key import passing_key
from headrace.storage.files import LocalFiles
from headrace.storage.folder import Folder

ROWS = pa.table({"id": [1, 2]})
TWICE = pa.table({"id": [1, 1]})


@pytest.fixture
def log(tmp_path):
    log = DeltaLog(Folder.local(str(tmp_path / "t")))
    log.writer.create(ROWS.schema, [], change_feed=False)
    return log


def append(log, name, rows=ROWS, unique=None):
    write = Write(WriteId(name, "insert"), ("id",), unique)
    return attempt(log, write, lambda: log.writer.append(rows, write))


@pytest.fixture
def late(monkeypatch):
    """Runs `late.act` once, right before an entry of the log is read: another writer is faster."""

    class Late:
        act = None

    read = LogFolder.commit

    def commit(self, version):
        act, Late.act = Late.act, None
        if act:
            act()
        return read(self, version)

    monkeypatch.setattr(LogFolder, "commit", commit)
    return Late


def test_a_commit_has_its_own_number_beside_a_faster_one(late, log, tmp_path):
    other = DeltaLog(Folder.local(str(tmp_path / "t")))
    log.newest()
    late.act = lambda: other.writer.append(ROWS, Write(WriteId("other", "insert"), ("id",), None))
    assert append(log, "mine").snapshot == 1
    assert log.committed(WriteId("other", "insert")).snapshot == 2
    assert log.committed(WriteId("mine", "insert")).snapshot == 1


def test_history_is_numbered_right_beside_a_commit(late, log, tmp_path):
    append(log, "first")
    other = DeltaLog(Folder.local(str(tmp_path / "t")))
    late.act = lambda: other.writer.append(ROWS, Write(WriteId("other", "insert"), ("id",), None))
    fresh = DeltaLog(Folder.local(str(tmp_path / "t")))
    assert [commit.snapshot for commit in fresh.history(None)] == [1, 0]
    assert [commit.snapshot for commit in fresh.history(None)] == [2, 1, 0]


def without(entry, name):
    """Rewrites an entry as writers do that say less of their commits: without `commitInfo`, or a part of it."""
    actions = [json.loads(line) for line in entry.read_text().splitlines()]
    for action in actions:
        action.pop(name, None)
        action.get("commitInfo", {}).pop(name, None)
    entry.write_text("".join(f"{json.dumps(action)}\n" for action in actions if action))


def test_commits_of_which_nothing_is_told(log, tmp_path):
    """`commitInfo` is optional in the protocol, and what is in it is anyone's."""
    for number in range(4):
        append(log, f"k{number}")
    entries = tmp_path / "t" / "_delta_log"
    without(entries / f"{2:020d}.json", "commitInfo")
    without(entries / f"{3:020d}.json", "timestamp")
    for version in (2, 3):
        os.utime(entries / f"{version:020d}.json", (1_500_000_000 + version, 1_500_000_000 + version))
    fresh = DeltaLog(Folder.local(str(tmp_path / "t")))
    told = fresh.history(None)
    assert [c.snapshot for c in told] == [4, 3, 2, 1, 0]
    assert [c.operation for c in told] == ["WRITE", "WRITE", "UNKNOWN", "WRITE", "CREATE TABLE"]
    assert [c.timestamp.timestamp() for c in told[1:3]] == [1_500_000_003, 1_500_000_002]
    assert told[2].rows_inserted is None
    assert fresh.committed(WriteId("k0", "insert")).snapshot == 1
    assert fresh.committed(WriteId("k3", "insert")).snapshot == 4
    assert fresh.newest().rows == 8


def test_a_commit_whose_time_no_calendar_has(log, tmp_path):
    entry = tmp_path / "t" / "_delta_log" / f"{1:020d}.json"
    append(log, "k")
    entry.write_text(re.sub(r'"timestamp":\d+', '"timestamp":999999999999999999', entry.read_text()))
    os.utime(entry, (1_500_000_000, 1_500_000_000))
    (newest, _) = DeltaLog(Folder.local(str(tmp_path / "t"))).history(None)
    assert newest.timestamp.timestamp() == 1_500_000_000


def test_a_snapshot_is_unique_if_its_own_commit_says_so(late, log, tmp_path):
    append(log, "first", TWICE)
    other = DeltaLog(Folder.local(str(tmp_path / "t")))
    write = Write(WriteId("second", "insert"), ("id",), unique=("id",))
    late.act = lambda: other.writer.overwrite(ROWS, write)
    newest = log.newest()
    assert (newest.version, newest.unique) in [(1, None), (2, ("id",))]
    assert log.at(1).unique is None
    assert DeltaLog(Folder.local(log.table.uri)).at(1).unique is None
    assert DeltaLog(Folder.local(log.table.uri)).newest().unique == ("id",)


def test_only_keys_that_nobody_chose_are_forgotten(log, tmp_path):
    append(log, "archive-2012")
    append(log, passing_key())
    entries = [path.read_text().splitlines() for path in sorted((tmp_path / "t/_delta_log").glob("*.json"))]
    told = [a["txn"] for lines in entries for a in map(json.loads, lines) if "txn" in a]
    assert [bool(t.get("lastUpdated")) for t in told] == [False, True]


def test_who_comes_second_does_not_make_the_table(tmp_path):
    one, other = (DeltaLog(Folder.local(str(tmp_path / "new"))) for _ in range(2))

    def rows():
        with ThreadPoolExecutor(1) as aside:
            aside.submit(
                other.writer.start, TWICE, Write(WriteId("other", "insert"), ("id",), None), [], False
            ).result()
        yield from ROWS.to_batches()

    write = Write(WriteId("one", "insert"), ("id",), unique=("id",))
    reader = pa.RecordBatchReader.from_batches(ROWS.schema, rows())
    assert attempt(one, write, lambda: one.writer.start(reader, write, [], change_feed=False)) is None
    newest = DeltaLog(Folder.local(one.table.uri)).newest()
    assert (newest.version, newest.rows, newest.unique) == (0, 2, None)


@pytest.mark.parametrize(
    ("said", "begun", "error"),
    [
        ("error sending request: operation timed out", True, OutcomeUnknown),
        (
            "<Error><Code>InternalError</Code><Message>We encountered one</Message></Error>",
            True,
            OutcomeUnknown,
        ),
        ("error sending request: operation timed out", False, Unavailable),
        ("<Error><Code>SlowDown</Code><Message>Reduce your rate</Message></Error>", True, Unavailable),
        ("RPC error: java.io.IOException: replicated to 0 nodes", True, Unavailable),
    ],
)
def test_a_commit_that_a_storage_may_still_make(log, monkeypatch, said, begun, error):
    """The log does not have it yet, and it may be on its way: who tries again needs its key."""
    monkeypatch.setattr(LocalFiles, "is_local", False)
    write = Write(WriteId("mine", "insert"), ("id",), None, 0)

    def fail():
        if begun:
            log.writer._base(write)
        raise DeltaError(f"Generic error: {said}")

    with pytest.raises(error) as caught:
        attempt(log, write, fail)
    if error is OutcomeUnknown:
        assert caught.value.details == {"idempotency_key": "mine"}
    assert append(log, "mine").snapshot == 1


@pytest.fixture
def synced(monkeypatch):
    """The paths that are brought down to the disk, in their order."""
    found = []
    monkeypatch.setattr(os, "fsync", lambda file: found.append(os.readlink(f"/proc/self/fd/{file}")))
    return found


@pytest.mark.parametrize("partition_by", [[], ["day"]])
def test_a_commit_is_on_the_disk_before_it_is_told(tmp_path, synced, partition_by):
    """Its files first, and the names of all: a power cut leaves what was told to be written."""
    rows = pa.table({"id": [1, 2], "day": ["a b", "c"]})
    table = str(tmp_path / "t")
    log = DeltaLog(Folder.local(table))
    log.writer.create(rows.schema, partition_by, change_feed=True)
    assert synced == [f"{table}/_delta_log/{0:020d}.json", f"{table}/_delta_log"]
    synced.clear()
    append(log, "k", rows)
    files = set(log.newest().files["path"].to_pylist())
    assert set(synced[: len(files)]) == files
    assert {os.path.dirname(path) for path in files} | {table} <= set(synced[len(files) : -2])
    assert synced[-2:] == [f"{table}/_delta_log/{1:020d}.json", f"{table}/_delta_log"]
    append(log, "l", rows)
    write = Write(WriteId("m", "delete"), ("id",), None, 2)
    synced.clear()
    files = set(log.newest().files["path"].to_pylist())
    attempt(log, write, lambda: log.writer.remove(rows.select(["id"]).slice(1).to_reader(), write, []))
    assert set(log.newest().files["path"].to_pylist()) - files <= set(synced)
    changed = {str(path) for path in (tmp_path / "t" / "_change_data").rglob("*.parquet")}
    assert changed
    assert changed < set(synced)
    append(log, "n", rows)
    synced.clear()
    assert compaction(log).operation == "OPTIMIZE"
    assert set(log.newest().files["path"].to_pylist()) & set(synced)


def test_a_disk_that_fails_after_the_commit(log, monkeypatch):
    def fail(_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(delta_sync, "sync", fail)
    with pytest.raises(OutcomeUnknown, match="Input/output"):
        append(log, "k")
    assert log.committed(WriteId("k", "insert")).snapshot == 1


def test_a_table_that_is_there_by_now_is_not_damaged(log):
    """It was decided to make it while it was not."""
    write = Write(WriteId("late", "insert"), ("id",), unique=("id",))
    assert attempt(log, write, lambda: log.writer.start(ROWS, write, [], change_feed=False)) is None


def test_a_log_that_is_mended_is_read_again(log, tmp_path):
    append(log, "first")
    version = log.newest().version
    entry = tmp_path / f"t/_delta_log/{version + 1:020d}.json"
    entry.write_text("{")
    with pytest.raises(CorruptTable):
        log.newest()
    entry.unlink()
    assert log.newest().version == version


def test_an_entry_that_lost_its_text(log, tmp_path):
    append(log, "first")
    append(log, "second")
    version = log.newest().version
    (tmp_path / f"t/_delta_log/{version:020d}.json").write_text("")
    with pytest.raises(CorruptTable, match="empty"):
        DeltaLog(Folder.local(log.table.uri)).newest()
    (tmp_path / f"t/_delta_log/{version + 1:020d}.json").write_text("")
    with pytest.raises(CorruptTable, match="empty"):
        log.newest()


@pytest.mark.parametrize("left", ["", "\n"])
@pytest.mark.parametrize("version", [1, 3])
def test_an_entry_that_lost_its_text_before_it_was_read(log, tmp_path, version, left):
    for number in range(3):
        append(log, f"k{number}")
    (tmp_path / "t" / "_delta_log" / f"{version:020d}.json").write_text(left)
    for ask in (
        DeltaLog.newest,
        lambda fresh: fresh.history(None),
        lambda fresh: fresh.committed(WriteId("k", "insert")),
    ):
        with pytest.raises(CorruptTable, match="is empty"):
            ask(DeltaLog(Folder.local(str(tmp_path / "t"))))


def test_a_write_whose_entry_lost_its_text_is_not_done_again(log, tmp_path):
    for number in range(3):
        append(log, f"k{number}")
    (tmp_path / "t" / "_delta_log" / f"{2:020d}.json").write_text("")
    with pytest.raises(CorruptTable, match="is empty"):
        log.committed(WriteId("k1", "insert"))


def test_of_two_compactions_of_the_same_files_the_later_one_is_undone(log, tmp_path, monkeypatch):
    """As where a lock was lost that keeps them apart."""
    for name in "abc":
        append(log, name)
    other = DeltaLog(Folder.local(str(tmp_path / "t")))
    base, come = type(log.writer)._base, []

    def late(writer, write, **how):
        table = base(writer, write, **how)
        if not come:
            come.append(None)
            come[0] = compaction(other)
        return table

    monkeypatch.setattr(type(log.writer), "_base", late)
    assert compaction(log) is None
    assert come[0].operation == "OPTIMIZE"
    assert log.newest().rows == 6
    assert [commit.operation for commit in log.history(2)] == ["RESTORE", "OPTIMIZE"]
    assert compaction(log).operation == "NONE"


def compaction(log):
    write = Write(WriteId(passing_key(), "compact"), ("id",), None)
    return attempt_compaction(log, (), write, log.newest().version)
