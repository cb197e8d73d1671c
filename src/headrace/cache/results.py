"""The folder of a cache: results as uncompressed Arrow files, whole or absent, for several processes at once.

A cache fails nobody: what goes wrong with its files or its index is logged, and the result is computed.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import fcntl
import logging
import os
import sqlite3
import threading
import time
import uuid
import weakref
import zlib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from headrace.cache.entry import Entry
from headrace.cache.index import Index
from headrace.cache.period import Period, boot, seconds
from headrace.engine.kept import Kept
from headrace.model.kept_result import CacheStatistics
from headrace.model.stored_file import FILE_MARK, StoredFile
from headrace.planning.canonical import Canonical, Test

_INDEX = "index.db"
_KEPT, _DRAFT = ".arrow", ".draft"
_PIECE_BYTES = 1 << 20
_CHECKED = 100_000
_LEAST_COST = 0.02
"""Seconds that a result counts for at least: of less, what else the machine does is the larger part."""
_DRAFTS_SHARE = 4
_HELD_SHARE = 5
"""The part of the budget for results that were promised to somebody, and stay readable when they make room."""
_FAILURES = (OSError, sqlite3.Error, pa.ArrowException)
_log = logging.getLogger("headrace.cache")


class Found(NamedTuple):
    """A kept result that answers a plan, once its rows have been tested for what is left."""

    entry: Entry
    left: tuple[Test, ...]


class _Held(NamedTuple):
    """A result that stays readable when it makes room."""

    entry: Entry
    rows: pa.ipc.RecordBatchFileReader


class Results:
    """Kept results.

    Args:
        folder: made if it is missing, for this user alone.
        budget_bytes: of all files together, with those that are let go of while somebody may still read them. What is
            being written may take a quarter of that besides.

    Raises:
        OSError: the folder cannot be used.
    """

    def __init__(self, folder: Path, budget_bytes: int) -> None:
        self.folder = folder
        self.budget_bytes = budget_bytes
        self._checked: Kept[bool] = Kept(_CHECKED)
        self._held: Kept[_Held] = Kept(budget_bytes // _HELD_SHARE)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        self._drafts: weakref.WeakSet[Draft] = weakref.WeakSet()
        self._drafting = threading.Lock()
        self._index = Index.opened(folder / _INDEX, _edition())
        self._sweep()
        self._expire()
        with _failing():  # it may have been more before
            for entry_id in self._index.make_room(self._lasting_bytes):
                self._unlink(entry_id)

    def find(self, asked: Canonical) -> Found | None:
        """The smallest result that answers a plan, one of exactly its rows before all others."""
        with _failing():
            exact = self._index.of_key(asked.key)
            if exact is not None:
                return Found(exact, ())
            found = []
            for entry in self._index.of_family(asked.family):
                left = entry.left_to_test(asked)
                if left is not None:
                    found.append(Found(entry, left))
            return min(found, key=lambda f: (len(f.left), f.entry.size_bytes), default=None)
        return None

    def promised(self, entry_id: str, asked: Canonical) -> pa.ipc.RecordBatchFileReader | None:
        """The rows of a result that somebody was told of; None if they are gone, or not those of the plan any more."""
        held = self._held.get(entry_id)
        if held is not None:
            return held.rows if held.entry.answers(asked) else None
        with _failing():
            entry = self._index.entry(entry_id)
            return None if entry is None or not entry.answers(asked) else self.promise(entry)
        return None

    def promise(self, entry: Entry) -> pa.ipc.RecordBatchFileReader | None:
        """As `opened`, and kept in reach for a while, even if it has to make room."""
        rows = self.opened(entry)
        if rows is not None and entry.size_bytes <= self.budget_bytes // _HELD_SHARE:
            self._held.put(entry.id, _Held(entry, rows), entry.size_bytes)
        return rows

    def stays(self, rows: pa.ipc.RecordBatchFileReader) -> bool:
        """Whether promised rows stay in reach for a while."""
        return self._held.get((rows.schema.metadata or {})[FILE_MARK].decode()) is not None

    def opened(self, entry: Entry) -> pa.ipc.RecordBatchFileReader | None:
        """Its rows, mapped into memory, where they stay when the file is let go of.

        None if it is there no more, or is not as it was written; then nobody is told of it again.
        """
        path = self._path(entry)
        try:
            if self._checked.get(entry.id) is None:
                if _crc32(path) != entry.crc32:
                    raise pa.ArrowInvalid(f"{path} is not as it was written")
                self._checked.put(entry.id, True)
            if path.stat().st_size != entry.size_bytes:
                raise pa.ArrowInvalid(f"{path} has another size than it had")
            reader = pa.ipc.open_file(pa.memory_map(str(path)))
            if (reader.schema.metadata or {}).get(FILE_MARK) != entry.id.encode():
                raise pa.ArrowInvalid(f"{path} is not the file that it is taken for")
            return reader
        except (FileNotFoundError, pa.ArrowException) as error:
            with _failing():
                # One that another process has just let go of is no damage.
                if self._index.remove([entry.id]):
                    _log.warning("a kept result is computed anew: %s", error)
                    self._index.count(damaged=1)
                self._unlink(entry.id)
            return None
        except _FAILURES as error:  # which say nothing of the file
            _log.warning("a kept result cannot be read now: %s", error)
            return None

    def file(self, entry: Entry) -> StoredFile:
        """For who may map it."""
        return StoredFile(str(self._path(entry)), entry.rows, entry.size_bytes, entry.id)

    def hit(self, entry: Entry) -> None:
        with _failing():
            self._index.hit(entry)

    def missed(self) -> None:
        with _failing():
            self._index.count(misses=1)

    def computed(self, seconds: float, *, ahead: bool, whole: bool = True) -> None:
        """Note what was spent on a result, or on a part of one, which is no result."""
        with _failing():
            if ahead:
                self._index.count(results_ahead=int(whole), seconds_ahead=seconds)
            else:
                self._index.count(seconds_computed=seconds)

    def give_up(self, entry_id: str) -> None:
        """Let go of a result that was computed ahead, and that nobody will ask for any more, unless somebody did."""
        with _failing():
            if self._index.give_up(entry_id):
                self._unlink(entry_id)

    def give_up_older(self, before: dt.datetime) -> None:
        """As `give_up`, of all that were computed before a time."""
        with _failing():
            for entry_id in self._index.waiting_since(before.timestamp()):
                self.give_up(entry_id)

    def has_room_ahead(self, share: float, proven_share: float, grace: int, bytes_share: int) -> bool:
        """Whether one more result may be computed before anybody asks.

        Args:
            share: of what was spent on asks, so much may be spent on what nobody has asked for; beside `proven_share`
                of what was spent ahead on what somebody then asked for.
            grace: so many results of usual cost may be besides that nobody has asked for.
            bytes_share: the part of the budget for results that nobody has asked for yet.
        """
        with _failing():
            counts, waiting = self._index.counts(), self._index.waiting_bytes()
            usual = max(_LEAST_COST, counts["seconds_computed"] / max(1, counts["misses"]))
            proven = max(counts["seconds_proven"], _LEAST_COST * counts["results_proven"])
            unproven = counts["seconds_ahead"] - counts["seconds_proven"]
            allowed = share * counts["seconds_computed"] + proven_share * proven + grace * usual
            few = counts["results_ahead"] - counts["results_proven"] < grace
            return (few or unproven + usual <= allowed) and waiting < self.budget_bytes // bytes_share
        return False

    def draft(self, asked: Canonical, schema: pa.Schema) -> Draft | None:
        """A result to be written; None if that cannot be."""
        with _failing():
            made = Draft(self, asked, schema)
            with self._drafting:
                self._drafts.add(made)
            return made
        return None

    def is_room_for_drafts(self) -> bool:
        """Whether what is being written takes no more than it may, all together."""
        with self._drafting:
            size = sum(draft.size_bytes for draft in self._drafts)
        return size <= self.budget_bytes // _DRAFTS_SHARE

    def entries(self, project: str | None = None) -> list[Entry]:
        """Those of a project, or of all; the ones worth most first."""
        self._expire()
        with _failing():
            return [e for e in self._index.entries() if project in (None, e.project)]
        return []

    def statistics(self) -> CacheStatistics:
        self._expire()
        with _failing():
            return CacheStatistics(*self._index.held(), self.budget_bytes, **self._index.counts())
        return CacheStatistics(0, 0, self.budget_bytes)

    def remove(self, entries: list[Entry]) -> int:
        """Let go of results; how many were there."""
        with _failing():
            gone = self._index.remove(e.id for e in entries)
            for entry_id in gone:
                self._unlink(entry_id)
            return len(gone)
        return 0

    def close(self) -> None:
        with _failing():
            self._index.close()

    def _add(self, entry: Entry) -> bool:
        """Whether it is kept."""
        self._checked.put(entry.id, True)
        self._expire()
        gone = self._index.add(entry, self._lasting_bytes)
        for entry_id in gone:
            self._unlink(entry_id)
        return entry.id not in gone

    def _expire(self) -> None:
        """Let go of what is not given any more."""
        with _failing():
            for entry_id in self._index.expire(boot(), seconds()):
                self._unlink(entry_id)

    @property
    def _lasting_bytes(self) -> int:
        return self.budget_bytes - self.budget_bytes // _HELD_SHARE

    def _path(self, entry: Entry) -> Path:
        return self.folder / f"{entry.id}{_KEPT}"

    def _unlink(self, entry_id: str) -> None:
        with contextlib.suppress(OSError):
            (self.folder / f"{entry_id}{_KEPT}").unlink()

    def _sweep(self) -> None:
        """Remove what killed processes have left: files that the index does not know, and nobody is writing."""
        with _failing():
            for path in [p for p in self.folder.iterdir() if p.suffix in (_KEPT, _DRAFT)]:
                with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
                    try:
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except BlockingIOError:
                        continue
                    if path.suffix == _DRAFT or self._index.entry(path.stem) is None:
                        path.unlink(missing_ok=True)


class Draft:
    """A result while it is written. Nobody sees it before it is kept; its writer holds a lock on it until then."""

    def __init__(self, results: Results, asked: Canonical, schema: pa.Schema) -> None:
        self._results = results
        self._asked = asked
        self.id = uuid.uuid4().hex
        columns = list(dict.fromkeys(asked.columns))
        self._picked = [asked.columns.index(column) for column in columns]
        self._columns = tuple(columns)
        fields = [schema.field(i).remove_metadata().with_name(f"c{n}") for n, i in enumerate(self._picked)]
        self._schema = pa.schema(fields, {FILE_MARK: self.id})
        self._path = results.folder / f"{self.id}{_DRAFT}"
        self._lock = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        self._rows = 0
        self.size_bytes = 0
        """So far; nothing once it has ended."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            self._sink = pa.OSFile(str(self._path), "wb")
            self._writer = pa.ipc.new_file(self._sink, self._schema)
        except BaseException:
            self._path.unlink(missing_ok=True)
            os.close(self._lock)
            raise

    def add(self, batch: pa.RecordBatch) -> bool:
        """Whether there is still room for it, and it could be written; else it is to be discarded."""
        with _failing():
            columns = [batch.column(i) for i in self._picked]
            self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))
            self._rows += batch.num_rows
            self.size_bytes = int(self._sink.tell())
            return self._results.is_room_for_drafts()
        return False

    def keep(
        self,
        project: str,
        groups: tuple[str, ...],
        seconds: float,
        *,
        ahead: bool,
        until: Period | None = None,
    ) -> Entry | None:
        """Have it found from now on; None if that failed. Ends the draft."""
        try:
            with _failing():
                self._writer.close()
                self._sink.close()
                kept = self._path.with_suffix(_KEPT)
                self._path.rename(kept)
                self._path = kept
                entry = Entry(
                    self.id,
                    self._asked.key,
                    self._asked.family,
                    tuple(sorted({test.form for test in self._asked.tests})),
                    self._columns,
                    project,
                    groups,
                    self._rows,
                    kept.stat().st_size,
                    _crc32(kept),
                    seconds,
                    ahead,
                    time.time(),
                    until=until,
                )
                is_new = self._results._add(entry)
                os.close(self._lock)
                self._lock = -1
                self.size_bytes = 0
                return entry if is_new else None
            return None
        finally:
            self.discard()

    def discard(self) -> None:
        """Leave nothing of it, unless it was kept."""
        if self._lock < 0:
            return
        with _failing():
            self._path.unlink(missing_ok=True)
        with contextlib.suppress(*_FAILURES):  # on a full disk it cannot be ended
            self._writer.close()
        with contextlib.suppress(*_FAILURES):
            self._sink.close()
        os.close(self._lock)
        self._lock = -1
        self.size_bytes = 0


def _edition() -> str:
    """What computes results: another version may give other rows for the same question."""
    return ", ".join(f"{name} {version(name)}" for name in ("headrace", "duckdb"))


@contextlib.contextmanager
def _failing() -> Iterator[None]:
    """Within, what fails is logged, and left."""
    try:
        yield
    except _FAILURES as error:
        _log.warning("the cache cannot be used for this: %s", error)


def _crc32(path: Path) -> int:
    found = 0
    with path.open("rb", buffering=0) as file:
        while piece := file.read(_PIECE_BYTES):
            found = zlib.crc32(piece, found)
    return found
