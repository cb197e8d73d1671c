"""Delta tables: their snapshots, and what their logs tell of commits, through the stock `deltalake` wheel.

Source: the Delta Lake protocol (https://github.com/delta-io/delta/blob/master/PROTOCOL.md).
"""

from __future__ import annotations

import datetime as dt
from collections import OrderedDict
from collections.abc import Iterator
from typing import ClassVar

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from headrace.errors import CorruptTable, InvalidArgument, SnapshotNotFound
from headrace.formats.base import Snapshot
from headrace.formats.delta_entry import follow
from headrace.formats.delta_failure import translated
from headrace.formats.delta_feed import feed
from headrace.formats.delta_history import DeltaHistory, Entry
from headrace.formats.delta_snapshot import snapshot_of
from headrace.formats.delta_write import SAME_ROWS, UNIQUE, WriteId
from headrace.formats.delta_writer import DeltaWriter
from headrace.formats.feed import Feed
from headrace.formats.log_folder import LogFolder
from headrace.formats.turn import Turn
from headrace.model.definition import Commit
from headrace.storage.failure import stored
from headrace.storage.files import lost
from headrace.storage.folder import Folder

_KEPT_SNAPSHOTS = 8
_MOST_UPKEEP = 8
"""Commits in a row that change no row, behind which is looked for what the last other one says of the rows."""


class DeltaLog:
    """One Delta table. Handles and snapshots are kept, and brought up to date from the log's new entries."""

    label = "Delta table"
    marker = "_delta_log"
    keeps_snapshots: ClassVar[bool] = True

    def __init__(self, table: Folder) -> None:
        self.table = table
        self.writer = DeltaWriter(table)
        self.folder = LogFolder(table)
        self._options = dict(table.options)
        self._table: DeltaTable | None = None
        self._newest: Snapshot | None = None
        self._stamp: tuple[int, ...] | None = None
        self._checked = -1
        self._kept: OrderedDict[int, Snapshot] = OrderedDict()
        self._history = DeltaHistory(self.folder.commit, near=table.files.is_local)
        self._lock = Turn()
        self.started = False
        """The table was made, by whomever: one that is not there is lost."""
        self.writing = Turn()
        """Held by writers of this process, so that they queue rather than collide."""

    def newest(self) -> Snapshot | None:
        """The newest snapshot; None while the table does not exist."""
        with self._lock, translated(self.table):
            newest = self._followed()
            if newest is None:
                table = self._refreshed()
                newest = None if table is None else self._snapshot(table, table.version())
            if newest is not None and newest is not self._newest:
                self._keep(newest)
                self._stamp = self.folder.stamp(newest.version)
            self._newest = newest
            return newest

    @property
    def last_seen(self) -> Snapshot | None:
        """What `newest` last gave."""
        return self._newest

    def _followed(self) -> Snapshot | None:
        """The newest snapshot, read on from the newest known; None where that is not known, or no longer there."""
        known = self._newest
        if known is None or self._stamp is None:
            return None
        if self._stamp != self.folder.stamp(known.version):
            self._forget()
            return None
        return follow(known, self.folder)

    def _forget(self) -> None:
        """What is known may not fit to what is there now: the log was mended, or set back."""
        self._table = self._newest = None
        self._checked = -1
        self._kept.clear()
        self._history.forget()

    def is_there(self) -> bool:
        """Whether anything was ever committed, by whomever."""
        try:
            return self.folder.has_entries()
        except OSError:
            return False

    def at(self, version: int) -> Snapshot:
        """Raises SnapshotNotFound."""
        with self._lock:
            if version in self._kept:
                self._kept.move_to_end(version)
                return self._kept[version]
            with translated(self.table):
                table = self._refreshed()
                if table is not None and 0 <= version <= table.version():
                    return self._snapshot(table, version)
            newest = "nothing" if table is None else f"snapshots up to {table.version()}"
            raise SnapshotNotFound(f"there is no snapshot {version}: the table holds {newest}")

    def whole_at(self, version: int) -> Snapshot:
        """As `at`, but that also a snapshot of which a file is gone is not found."""
        snapshot = self.at(version)
        with stored(self.table.shown):
            gone = lost(self.folder.files, snapshot.files["path"].to_pylist())
        if gone is not None:
            raise SnapshotNotFound(
                f"snapshot {version} is no longer whole: {gone} is missing",
                hint="a vacuum removes what only old snapshots need",
            )
        return snapshot

    def damage(self) -> CorruptTable | None:
        """What is wrong with the files of the newest snapshot: None where each is as long as the log says."""
        snapshot = self.newest()
        if snapshot is None:
            return None
        paths, sizes = (snapshot.files[name].to_pylist() for name in ("path", "size_bytes"))
        for path, size, fact in zip(paths, sizes, self.folder.files.facts(paths), strict=True):
            if fact is None or fact.size != size:
                found = "not there" if fact is None else f"{fact.size} bytes long"
                return CorruptTable(
                    f"{path} is {found}, and was written with {size} bytes",
                    hint="another program changed it: bring it back from a copy, or restore an earlier snapshot",
                )
        return None

    def changes(self, since: int, until: Snapshot, identity: tuple[str, ...]) -> Feed:
        """The changes after a snapshot, up to another. Raises SnapshotNotFound, Unsupported."""
        with translated(self.table):
            return feed(self.folder, since, until, identity, lambda version: self.at(version).keeps_changes)

    def version_at(self, time: dt.datetime) -> int:
        """The newest snapshot committed at or before `time`. Raises SnapshotNotFound before the first."""
        first = None
        for commit in (entry.commit for entry in self._log()):
            if commit.timestamp <= time:
                return commit.snapshot
            first = commit
        told = f"the first is of {first.timestamp.isoformat()}" if first else "the table has none"
        raise SnapshotNotFound(f"no snapshot was committed by {time.isoformat()}: {told}")

    def history(self, limit: int | None) -> list[Commit]:
        """Newest first."""
        with self._lock, translated(self.table):
            return [entry.commit for entry in self._entries(limit)]

    def committed(self, write_id: WriteId) -> Commit | None:
        """The commit of a write; None if no commit bears its id. Raises InvalidArgument if that is of another call,
        or user.
        """
        with self._lock, translated(self.table):
            table = self._refreshed()
            if table is None:
                return None
            # Anew: the wheel looks the id up in the entries, and in one that lost its text it is not.
            self.folder.check(-1, table.version())
            if table.transaction_version(str(write_id)) is None:
                return None
        found = next((entry for entry in self._log() if entry.write_id == str(write_id)), None)
        if found is not None and found.call != write_id.call:
            raise InvalidArgument(
                f"idempotency_key={write_id.key!r} names another write of this table, snapshot {found.version} "
                f"({found.call}), and nothing was done ({write_id.call})",
                hint="give each call a key of its own",
            )
        if (
            found is not None
            and found.commit.user is not None
            and write_id.user not in (None, found.commit.user)
        ):
            raise InvalidArgument(
                f"idempotency_key={write_id.key!r} names a write of {found.commit.user} to this table, snapshot "
                f"{found.version}, and nothing was done",
                hint="give each call a key of its own",
            )
        return None if found is None else found.commit

    def commit_after(self, version: int, write_id: WriteId) -> Commit | None:
        """The commit of a write among those after a snapshot."""
        with self._lock, translated(self.table):
            table = self._refreshed()
            entries = [] if table is None else self._entries(max(table.version() - version, 1))
        return next((entry.commit for entry in entries if entry.write_id == str(write_id)), None)

    def _log(self) -> Iterator[Entry]:
        """Newest first, read in portions: each entry is a file, and the one looked for is mostly among the last."""
        limit, given = 16, 0
        while True:
            with self._lock, translated(self.table):
                entries = self._entries(limit)
            yield from entries[given:]
            if len(entries) < limit:
                return
            limit, given = limit * 8, len(entries)

    def _entries(self, limit: int | None) -> list[Entry]:
        """The log's newest entries, newest first."""
        table = self._refreshed()
        return [] if table is None else self._history.newest(table.version(), limit)

    def _refreshed(self) -> DeltaTable | None:
        if self._table is None:
            self._table = self._opened()
        else:
            try:
                self._table.update_incremental()
            except BaseException:
                self._forget()
                raise
        if self._table is not None and self._table.version() > self._checked:
            self.folder.check(self._checked, self._table.version())
            self._checked = self._table.version()
        return self._table

    def _opened(self) -> DeltaTable | None:
        try:
            table = DeltaTable(self.table.uri, storage_options=self._options)
        except TableNotFoundError:
            if not self.folder.has_entries() and not self.started:
                return None
            try:  # others may have made it just now
                table = DeltaTable(self.table.uri, storage_options=self._options)
            except TableNotFoundError:
                raise CorruptTable(
                    f"the table at {self.table.shown} is lost: its folder, or the start of its log, is not there",
                    hint="bring the folder back, or delete the feature group and create it anew",
                ) from None
        self.started = True
        return table

    def _snapshot(self, table: DeltaTable, version: int) -> Snapshot:
        if version not in self._kept:
            entries = self._entries(table.version() - version + 1 + _MOST_UPKEEP)
            entry = next((e for e in entries if e.version <= version and e.operation not in SAME_ROWS), None)
            if table.version() != version:
                try:
                    table = DeltaTable(self.table.uri, version=version, storage_options=self._options)
                except DeltaError as error:
                    raise SnapshotNotFound(
                        f"snapshot {version} is no longer in the table's log", details={"reason": str(error)}
                    ) from None
            self._keep(snapshot_of(table, self.table.uri, {} if entry is None else {UNIQUE: entry.unique}))
        self._kept.move_to_end(version)
        return self._kept[version]

    def _keep(self, snapshot: Snapshot) -> None:
        self._kept[snapshot.version] = snapshot
        self._kept.move_to_end(snapshot.version)
        while len(self._kept) > _KEPT_SNAPSHOTS:
            self._kept.popitem(last=False)
