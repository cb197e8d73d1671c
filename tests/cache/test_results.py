"""The folder of kept results: whole or absent, whoever dies, whatever breaks."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from headrace.cache import results as module
from headrace.cache.entry import Entry
from headrace.cache.results import Results
from headrace.planning.canonical import Canonical

BUDGET = 1_000_000
ROWS = 5_000
SCHEMA = pa.schema([("n", pa.int64()), ("again", pa.int64())])


def batch(start: int = 0, rows: int = ROWS) -> pa.RecordBatch:
    numbers = pa.array(range(start, start + rows), pa.int64())
    return pa.RecordBatch.from_arrays([numbers, numbers], schema=SCHEMA)


def asked(name: str) -> Canonical:
    """Of a result whose two columns are one."""
    return Canonical(name, (), ("one", "one"), None)


def keep(results: Results, name: str, seconds: float = 1.0, *, ahead: bool = False) -> Entry | None:
    draft = results.draft(asked(name), SCHEMA)
    assert draft is not None
    for i in range(2):
        assert draft.add(batch(i * ROWS))
    return draft.keep("p", ("g@v1",), seconds, ahead=ahead)


def read(results: Results, name: str) -> list[int] | None:
    found = results.find(asked(name))
    rows = None if found is None else results.opened(found.entry)
    return None if rows is None else rows.read_all()["c0"].to_pylist()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def results(folder: Path) -> Results:
    return Results(folder, BUDGET)


def test_a_column_that_is_asked_for_twice_is_kept_once(results: Results, folder: Path) -> None:
    entry = keep(results, "a")
    assert entry is not None
    assert entry.columns == ("one",)
    assert read(results, "a") == [*range(2 * ROWS)]
    assert read(results, "b") is None
    assert entry.size_bytes == (folder / f"{entry.id}.arrow").stat().st_size < 100_000


def test_what_saves_least_for_its_bytes_makes_room(results: Results) -> None:
    for number in range(20):
        keep(results, f"a{number}", seconds=100 if number == 3 else 1)
        results.find(asked("a3"))
    held = results.statistics()
    assert held.size_bytes <= BUDGET
    assert held.evicted == 20 - held.results > 0
    assert read(results, "a3") is not None
    assert read(results, "a0") is None
    assert read(results, "a19") is not None


def test_less_room_than_before_is_kept_to_from_the_start(results: Results, folder: Path) -> None:
    for number in range(8):
        keep(results, str(number), seconds=number + 1)
    results.close()
    smaller = Results(folder, BUDGET // 4)
    assert 0 < sum(path.stat().st_size for path in folder.glob("*.arrow")) <= BUDGET // 4
    assert read(smaller, "7") == [*range(2 * ROWS)]


def test_what_nobody_asks_for_any_more_goes_in_the_end(results: Results) -> None:
    keep(results, "dear", seconds=20)
    for number in range(600):
        keep(results, f"a{number}", seconds=1)
    assert read(results, "dear") is None


def test_hits_keep_it(results: Results) -> None:
    keep(results, "used")
    for number in range(60):
        found = results.find(asked("used"))
        assert found is not None, number
        results.hit(found.entry)
        keep(results, f"a{number}")


def test_one_that_is_too_large_is_not_kept(results: Results, folder: Path) -> None:
    draft = results.draft(asked("a"), SCHEMA)
    assert draft is not None
    assert not all(draft.add(batch(i * ROWS)) for i in range(20))
    draft.discard()
    assert [*folder.glob("*.draft"), *folder.glob("*.arrow")] == []


def test_a_promised_one_stays_readable(results: Results, folder: Path) -> None:
    entry = keep(results, "a")
    assert entry is not None
    assert results.promise(entry) is not None
    assert results.remove(results.entries()) == 1
    assert [*folder.glob("*.arrow")] == []
    promised = results.promised(entry.id, asked("a"))
    assert promised is not None
    assert promised.read_all()["c0"].to_pylist() == [*range(2 * ROWS)]
    assert results.promised(entry.id, asked("b")) is None
    assert results.promised("nothing", asked("a")) is None


@pytest.mark.parametrize("damage", ["bit", "shorter", "gone", "another"])
def test_damage(folder: Path, damage: str) -> None:
    first = Results(folder, BUDGET)
    entry, other = keep(first, "a"), keep(first, "b")
    assert entry is not None
    assert other is not None
    first.close()
    path = folder / f"{entry.id}.arrow"
    written = bytearray(path.read_bytes())
    match damage:
        case "bit":
            written[len(written) // 3] ^= 4
            path.write_bytes(written)
        case "shorter":
            path.write_bytes(written[:-1_000])
        case "gone":
            path.unlink()
        case "another":
            path.write_bytes((folder / f"{other.id}.arrow").read_bytes())
    again = Results(folder, BUDGET)
    assert read(again, "a") is None
    assert again.find(asked("a")) is None
    assert again.statistics().damaged == 1
    assert read(again, "b") == [*range(2 * ROWS)]
    keep(again, "a")
    assert read(again, "a") == [*range(2 * ROWS)]


def test_what_two_processes_compute_at_once_is_kept_once(folder: Path) -> None:
    one, other = Results(folder, BUDGET), Results(folder, BUDGET)
    assert keep(one, "a") is not None
    assert keep(other, "a") is None
    assert read(one, "a") == read(other, "a") == [*range(2 * ROWS)]
    assert len([*folder.glob("*.arrow")]) == one.statistics().results == 1


@pytest.mark.parametrize("text", ["[", "5", "[5]", "null", ""])
def test_a_row_of_the_index_that_is_damaged_is_removed(results: Results, folder: Path, text: str) -> None:
    keep(results, "a")
    keep(results, "b")
    with sqlite3.connect(folder / "index.db") as index:
        index.execute("UPDATE entries SET columns = ? WHERE key = ?", [text, asked("a").key])
    assert read(results, "a") is None
    assert [entry.key for entry in results.entries()] == [asked("b").key]
    assert results.statistics().damaged == 1
    assert keep(results, "a") is not None
    assert read(results, "a") == read(results, "b") == [*range(2 * ROWS)]


def test_an_index_of_another_version_is_made_anew(folder: Path) -> None:
    first = Results(folder, BUDGET)
    keep(first, "a")
    first._index._database.execute("PRAGMA user_version = 99")
    first.close()
    again = Results(folder, BUDGET)
    assert read(again, "a") is None
    assert keep(again, "a") is not None


def test_results_of_another_edition_are_let_go_of(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may compute other rows, as where rows are drawn, or numbers rounded, in another way than before."""
    first = Results(folder, BUDGET)
    keep(first, "a")
    first.close()
    told = {"headrace": "99.0", "duckdb": "2.0.0"}
    monkeypatch.setattr("headrace.cache.results.version", told.__getitem__)
    again = Results(folder, BUDGET)
    assert read(again, "a") is None
    assert [*folder.glob("*.arrow")] == []
    assert keep(again, "a") is not None
    again.close()
    assert read(Results(folder, BUDGET), "a") is not None


@pytest.mark.parametrize("page", [2, 3, 4, 5, 6])
def test_a_damaged_page_of_the_index_is_seen(folder: Path, page: int) -> None:
    first = Results(folder, BUDGET)
    keep(first, "a")
    first.close()
    path = folder / "index.db"
    written = bytearray(path.read_bytes())
    written[4096 * (page - 1) : 4096 * page] = b"\xa5" * 4096
    path.write_bytes(written)
    again = Results(folder, BUDGET)
    assert read(again, "a") is None
    assert keep(again, "b") is not None
    assert read(again, "b") is not None


def test_an_index_that_cannot_be_made_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise sqlite3.DatabaseError("disk image is malformed")

    monkeypatch.setattr("headrace.cache.index.Index._begin", broken)
    with pytest.raises(OSError, match="cannot be opened"):
        Results(folder, BUDGET)


def test_a_broken_index_is_made_anew(folder: Path) -> None:
    first = Results(folder, BUDGET)
    keep(first, "a")
    first.close()
    (folder / "index.db").write_bytes(b"this is no database" * 100)
    again = Results(folder, BUDGET)
    assert read(again, "a") is None
    assert [*folder.glob("*.arrow")] == []
    keep(again, "a")
    assert read(again, "a") is not None


def test_an_index_that_is_locked_fails_nobody(
    results: Results, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(results, "a")
    results._index._database.execute("PRAGMA busy_timeout = 100")
    with sqlite3.connect(folder / "index.db", isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert keep(results, "b") is None
        found = results.find(asked("a"))
        assert found is not None  # reads go on beside a writer
        results.hit(found.entry)
        other.execute("ROLLBACK")
    assert results.statistics().hits == 0
    keep(results, "b")
    assert read(results, "b") is not None


def test_a_full_disk_fails_nobody(results: Results, folder: Path) -> None:
    """As where a file may not grow."""
    import resource

    draft = results.draft(asked("a"), SCHEMA)
    assert draft is not None
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        assert not all(draft.add(batch(i * ROWS)) for i in range(5))
        draft.discard()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert [*folder.glob("*.draft")] == []
    keep(results, "a")
    assert read(results, "a") is not None


def test_a_clock_that_goes_back_matters_to_nothing(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(results, "a")
    monkeypatch.setattr(module.time, "time", lambda: 0.0)
    keep(results, "b")
    for number in range(30):
        for name in ("a", "b"):
            found = results.find(asked(name))
            assert found is not None
            results.hit(found.entry)
        keep(results, f"x{number}")
    assert read(results, "a") == read(results, "b")


def test_what_is_computed_ahead_in_vain_is_counted(results: Results) -> None:
    entry = keep(results, "a", seconds=2.0, ahead=True)
    used = keep(results, "b", seconds=3.0, ahead=True)
    assert entry is not None
    assert used is not None
    results.hit(used)
    for one in (entry, used):
        results.give_up(one.id)
    found = results.statistics()
    assert (found.results, found.wasted_bytes, found.wasted_seconds) == (1, entry.size_bytes, 2.0)
    assert (found.hits_ahead, found.seconds_proven) == (1, 3.0)


def test_what_may_be_computed_ahead_is_bounded(results: Results) -> None:
    def room() -> bool:
        return results.has_room_ahead(share=0.1, proven_share=0.5, grace=3, bytes_share=4)

    results.missed()
    results.computed(1.0, ahead=False)
    for _ in range(3):
        assert room()
        results.computed(1.0, ahead=True)
    assert not room()
    used = keep(results, "a", seconds=1.0, ahead=True)
    assert used is not None
    results.hit(used)
    results.hit(used)
    assert room(), "one of them was asked for"
    results.computed(1.0, ahead=True)
    assert not room()
    for _ in range(50):
        results.missed()
        results.computed(1.0, ahead=False)
    assert room(), "a tenth of what was asked for"
    for number in range(4):
        keep(results, f"waiting{number}", ahead=True)
    assert not room(), "a quarter of the bytes wait to be asked for"


def test_many_may_open_and_close_a_new_folder_at_once(tmp_path: Path) -> None:
    together = threading.Barrier(8)

    def open_and_close(folder: Path) -> None:
        together.wait()
        Results(folder, BUDGET).close()

    with ThreadPoolExecutor(8) as pool:
        for number in range(100):
            list(pool.map(open_and_close, [tmp_path / f"{number}"] * 8))


WRITES = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from cache.test_results import BUDGET, keep, batch, asked, SCHEMA
from headrace.cache.results import Results
results = Results(Path({folder!r}), BUDGET)
print("ready", flush=True)
number = 0
while True:
    keep(results, f"{name}{{number % 7}}_{{number}}")
    number += 1
"""


@pytest.mark.slow
@pytest.mark.parametrize("round_", range(5))
def test_processes_that_are_killed_leave_nothing_half(folder: Path, round_: int) -> None:
    """Two write and evict all the time, and are killed at some moment; a third reads meanwhile."""
    tests = str(Path(__file__).parent.parent)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITES.format(tests=tests, folder=str(folder), name=name)],
            stdout=subprocess.PIPE,
        )
        for name in ("a", "b")
    ]
    read_ones = 0
    try:
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
        results = Results(folder, BUDGET)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            for entry in results.entries():
                rows = results.opened(entry)
                if rows is None:
                    continue
                assert rows.read_all()["c0"].to_pylist() == [*range(2 * ROWS)]
                if read_ones == 0:
                    until = time.monotonic() + 1 + 0.13 * round_
                read_ones += 1
    finally:
        for writer in writers:
            os.kill(writer.pid, signal.SIGKILL)
            writer.wait()
    assert read_ones > 0
    damaged = results.statistics().damaged
    again = Results(folder, BUDGET)
    files = {path.stem for path in folder.glob("*.arrow")}
    known = {entry.id for entry in again.entries()}
    assert not [*folder.glob("*.draft")]
    assert files <= known
    for entry in again.entries():
        rows = again.opened(entry)
        assert rows is None or rows.read_all()["c0"].to_pylist() == [*range(2 * ROWS)]
    assert damaged == 0
    assert again.statistics().size_bytes <= BUDGET
