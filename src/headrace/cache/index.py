"""The index of a cache: what is kept, and what each is worth, for all processes that share the folder."""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from headrace.cache.entry import Entry
from headrace.cache.period import Period

_WAIT_S = 5.0
_log = logging.getLogger("headrace.cache")
_LOOKED_THROUGH = 100
_MOST = 20_000
"""Results, however small they are."""
_COUNTED = (
    "hits",
    "hits_ahead",
    "misses",
    "seconds_computed",
    "results_ahead",
    "results_proven",
    "seconds_ahead",
    "seconds_proven",
    "seconds_saved",
    "evicted",
    "wasted_bytes",
    "wasted_seconds",
    "damaged",
)
_FORM = 3
"""Of the tables below: a number more with each change."""
_TABLES = f"""
CREATE TABLE IF NOT EXISTS entries (
  id TEXT PRIMARY KEY, key TEXT NOT NULL UNIQUE, family TEXT NOT NULL, tests TEXT NOT NULL, columns TEXT NOT NULL,
  project TEXT NOT NULL, groups TEXT NOT NULL, row_count INTEGER NOT NULL, size_bytes INTEGER NOT NULL,
  crc32 INTEGER NOT NULL, seconds REAL NOT NULL, ahead INTEGER NOT NULL, made REAL NOT NULL, hits INTEGER NOT NULL,
  worth REAL NOT NULL, boot TEXT, ends REAL
) STRICT;
CREATE INDEX IF NOT EXISTS by_family ON entries (family);
CREATE INDEX IF NOT EXISTS by_worth ON entries (worth, made);
CREATE TABLE IF NOT EXISTS counts (name TEXT PRIMARY KEY, value REAL NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS editions (edition TEXT PRIMARY KEY) STRICT;
PRAGMA user_version = {_FORM};
"""
_COLUMNS = """
id, key, family, tests, columns, project, groups, row_count, size_bytes, crc32, seconds, ahead, made, hits, boot, ends
"""
_FLOOR = "floor"
"""What the last result was worth that made room for others: what comes or is used now is worth more than that."""


class Index:
    """A database of SQLite. Every method may raise sqlite3.Error.

    What a result is worth is the seconds that it saves per byte, times how often it was asked for, above the floor at
    that time (GreedyDual-Size-Frequency, Cherkasova 1998): so it does not hang on any clock, and what nobody asks for
    any more goes in the end, however much it once saved.

    Args:
        edition: what computes the results that are in it. Another one may give other rows.
    """

    def __init__(self, path: Path, edition: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._database = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
        try:
            self._begin(edition)
        except BaseException:
            self._database.close()
            raise

    @classmethod
    def opened(cls, path: Path, edition: str) -> Index:
        """One that cannot be read, or is of another edition, is made anew: it holds nothing that cannot be computed.

        Raises OSError.
        """
        with _alone(path.parent):
            try:
                try:
                    return cls(path, edition)
                except sqlite3.OperationalError:
                    raise
                except sqlite3.DatabaseError as error:
                    _log.warning("the index of the cache at %s is made anew: %s", path, error)
                    for suffix in ("", "-wal", "-shm"):
                        path.with_name(path.name + suffix).unlink(missing_ok=True)
                    return cls(path, edition)
            except sqlite3.Error as error:
                raise OSError(f"the index of the cache at {path} cannot be opened: {error}") from None

    def of_key(self, key: str) -> Entry | None:
        return self._one("key", key)

    def of_family(self, family: str) -> list[Entry]:
        """The ones worth most."""
        query = f"SELECT {_COLUMNS} FROM entries WHERE family = ? ORDER BY worth DESC LIMIT {_LOOKED_THROUGH}"
        with self._lock:
            return self._entries(self._database.execute(query, [family]))

    def entry(self, entry_id: str) -> Entry | None:
        return self._one("id", entry_id)

    def entries(self) -> list[Entry]:
        """The ones worth most first."""
        with self._lock:
            query = f"SELECT {_COLUMNS} FROM entries ORDER BY worth DESC, id"
            return self._entries(self._database.execute(query))

    def add(self, entry: Entry, budget: int) -> list[str]:
        """Add a result where there is room, or can be made by letting go of others; gives the ids of these.

        One that is worth less than all others is the one that goes, and so is one that another process has kept, too.
        """
        with self._changing() as database:
            if database.execute("SELECT 1 FROM entries WHERE key = ?", [entry.key]).fetchone():
                return [entry.id]
            floor = self._count(_FLOOR)
            worth = floor + _worth(entry)
            lists = [json.dumps(told) for told in (entry.tests, entry.columns, entry.groups)]
            told = [
                entry.id,
                entry.key,
                entry.family,
                *lists[:2],
                entry.project,
                lists[2],
                entry.rows,
                entry.size_bytes,
            ]
            told += [entry.crc32, entry.seconds, int(entry.ahead), entry.made, entry.hits, worth]
            told += [None, None] if entry.until is None else [*entry.until]
            database.execute(f"INSERT INTO entries VALUES ({', '.join('?' * len(told))})", told)
            return self._make_room(budget)

    def hit(self, entry: Entry) -> None:
        """Note that it was given to somebody."""
        with self._changing() as database:
            query = "UPDATE entries SET hits = hits + 1 WHERE id = ? RETURNING hits"
            row = database.execute(query, [entry.id]).fetchone()
            hits = 1 if row is None else row[0]
            worth = self._count(_FLOOR) + _worth(entry) * (hits + 1)
            database.execute("UPDATE entries SET worth = ? WHERE id = ?", [worth, entry.id])
            proven = entry.ahead and row is not None and hits == 1
            self._add(hits=1, hits_ahead=int(entry.ahead), seconds_saved=entry.seconds)
            self._add(results_proven=int(proven), seconds_proven=entry.seconds * proven)

    def count(self, **more: float) -> None:
        with self._changing():
            self._add(**more)

    def counts(self) -> dict[str, Any]:
        """By the names that `headrace.model.kept_result.CacheStatistics` has for them."""
        with self._lock:
            found = dict(self._database.execute("SELECT name, value FROM counts WHERE name <> ?", [_FLOOR]))
        return {
            name: found.get(name, 0) if "seconds" in name else int(found.get(name, 0)) for name in _COUNTED
        }

    def held(self) -> tuple[int, int]:
        """How many results there are, and their bytes."""
        with self._lock:
            return self._held()

    def waiting_since(self, before: float) -> list[str]:
        """Ids of what was computed ahead before a time, and that nobody has asked for yet."""
        with self._lock:
            query = "SELECT id FROM entries WHERE ahead AND NOT hits AND made < ?"
            return [row[0] for row in self._database.execute(query, [before])]

    def waiting_bytes(self) -> int:
        """Of what was computed ahead and that nobody has asked for yet."""
        with self._lock:
            query = "SELECT coalesce(sum(size_bytes), 0) FROM entries WHERE ahead AND NOT hits"
            return int(self._database.execute(query).fetchone()[0])

    def give_up(self, entry_id: str) -> bool:
        """Remove what was computed ahead in vain; whether it was."""
        with self._changing() as database:
            row = database.execute(
                "DELETE FROM entries WHERE id = ? AND ahead AND NOT hits RETURNING size_bytes, seconds",
                [entry_id],
            ).fetchone()
            if row is not None:
                self._add(wasted_bytes=row[0], wasted_seconds=row[1])
            return row is not None

    def remove(self, ids: Iterable[str]) -> list[str]:
        """Those that were there."""
        with self._changing() as database:
            return [i for i in ids if database.execute("DELETE FROM entries WHERE id = ?", [i]).rowcount]

    def expire(self, boot: str, seconds: float) -> list[str]:
        """Remove what was good until now, so many seconds after a start of the machine; gives the ids."""
        with self._changing() as database:
            query = "DELETE FROM entries WHERE boot <> ? OR ends <= ? RETURNING id"
            return [row[0] for row in database.execute(query, [boot, seconds])]

    def make_room(self, budget: int) -> list[str]:
        """Let go of what is worth least until the rest takes no more; gives the ids."""
        with self._changing():
            return self._make_room(budget)

    def close(self) -> None:
        with self._lock, contextlib.ExitStack() as alone:
            with contextlib.suppress(FileNotFoundError):  # nobody opens it where its folder is gone
                alone.enter_context(_alone(self._path.parent))
            self._database.close()

    def _begin(self, edition: str) -> None:
        # A result whose row was lost with the machine is computed once more; its file is swept.
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = OFF")
        (found,) = self._database.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise sqlite3.DatabaseError(f"it is damaged: {found}")
        (form,) = self._database.execute("PRAGMA user_version").fetchone()
        if form not in (0, _FORM):
            raise sqlite3.DatabaseError(f"it has the form {form} of another version of Headrace")
        if form == 0:
            self._database.executescript(_TABLES)
            self._database.execute("INSERT OR IGNORE INTO editions VALUES (?)", [edition])
        editions = [row[0] for row in self._database.execute("SELECT edition FROM editions")]
        if editions != [edition]:
            raise sqlite3.DatabaseError(f"its results are of {' and '.join(editions)}, and not of {edition}")

    def _make_room(self, budget: int) -> list[str]:
        number, held = self._held()
        gone = []
        while held > budget or number > _MOST:
            entry_id, size, seconds, ahead, hits, worth = self._database.execute(
                "SELECT id, size_bytes, seconds, ahead, hits, worth FROM entries ORDER BY worth, made LIMIT 1"
            ).fetchone()
            self._database.execute("DELETE FROM entries WHERE id = ?", [entry_id])
            self._set(_FLOOR, max(worth, self._count(_FLOOR)))
            wasted = bool(ahead) and not hits
            self._add(evicted=1, wasted_bytes=size * wasted, wasted_seconds=seconds * wasted)
            gone.append(entry_id)
            number, held = number - 1, held - size
        return gone

    def _held(self) -> tuple[int, int]:
        query = "SELECT count(*), coalesce(sum(size_bytes), 0) FROM entries"
        number, held = self._database.execute(query).fetchone()
        return int(number), int(held)

    def _one(self, column: str, value: str) -> Entry | None:
        with self._lock:
            query = f"SELECT {_COLUMNS} FROM entries WHERE {column} = ?"
            return next(iter(self._entries(self._database.execute(query, [value]))), None)

    def _entries(self, rows: Iterable[tuple[Any, ...]]) -> list[Entry]:
        """Those of some rows. One that is not as it was written is removed, and its file swept at the next start."""
        found = []
        for row in list(rows):
            try:
                found.append(_entry(row))
            except (ValueError, TypeError):
                self._database.execute("DELETE FROM entries WHERE id = ?", [row[0]])
                self._add(damaged=1)
        return found

    def _count(self, name: str) -> float:
        row = self._database.execute("SELECT value FROM counts WHERE name = ?", [name]).fetchone()
        return 0.0 if row is None else float(row[0])

    def _add(self, **more: float) -> None:
        for name, value in more.items():
            if value:
                self._set(name, self._count(name) + value)

    def _set(self, name: str, value: float) -> None:
        self._database.execute("INSERT OR REPLACE INTO counts VALUES (?, ?)", [name, float(value)])

    @contextlib.contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """Within, nobody else changes anything; all of it is done, or nothing."""
        with self._lock:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
                self._database.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._database.execute("ROLLBACK")
                raise


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Nobody else opens or closes the index of a folder: SQLite says at once that it is locked where two would."""
    folder = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        # A process that was forked meanwhile has the folder open, too, and would go on holding it.
        fcntl.flock(folder, fcntl.LOCK_UN)
        os.close(folder)


def _worth(entry: Entry) -> float:
    return entry.seconds / max(1, entry.size_bytes)


def _entry(row: tuple[Any, ...]) -> Entry:
    """Raises ValueError or TypeError for a row that no service has written."""
    entry_id, key, family, tests, columns, project, groups, rows, size, crc32, seconds, ahead, made, hits = (
        row[:-2]
    )
    boot, ends = row[-2:]
    lists = [msgspec.json.decode(told, type=tuple[str, ...]) for told in (tests, columns, groups)]
    return Entry(
        entry_id,
        key,
        family,
        lists[0],
        lists[1],
        project,
        lists[2],
        rows,
        size,
        crc32,
        seconds,
        bool(ahead),
        made,
        hits,
        None if boot is None else Period(boot, ends),
    )
