"""What the service asks of a table, whatever its format."""

from __future__ import annotations

import datetime as dt
from typing import Protocol

from headrace.formats.base import Snapshot
from headrace.formats.feed import Feed
from headrace.model.definition import Commit
from headrace.storage.folder import Folder


class Table(Protocol):
    """One table. What it has read of itself is kept, and brought up to date from what came since.

    Raises:
        CorruptTable: it contradicts itself. Unsupported: it needs to be read in a way that is not known here.
        Unavailable, PermissionDenied: its storage cannot be used.
    """

    label: str
    """The format, for people."""
    marker: str
    """What is in the folder of each such table."""
    table: Folder
    started: bool
    """It was made, by whomever: one that is not there is lost."""

    @property
    def keeps_snapshots(self) -> bool:
        """A snapshot is what it was for as long as it can be read; else there is what is there now, alone."""
        ...

    @property
    def last_seen(self) -> Snapshot | None:
        """What `newest` last gave."""
        ...

    def is_there(self) -> bool:
        """Whether anything was ever committed, by whomever."""
        ...

    def newest(self) -> Snapshot | None:
        """The newest snapshot; None while the table does not exist."""
        ...

    def at(self, version: int) -> Snapshot:
        """Raises SnapshotNotFound."""
        ...

    def whole_at(self, version: int) -> Snapshot:
        """As `at`, but that also a snapshot of which a file is gone is not found."""
        ...

    def version_at(self, time: dt.datetime) -> int:
        """The newest snapshot committed at or before `time`. Raises SnapshotNotFound before the first."""
        ...

    def history(self, limit: int | None) -> list[Commit]:
        """Newest first."""
        ...

    def changes(self, since: int, until: Snapshot, identity: tuple[str, ...]) -> Feed:
        """The changes after a snapshot, up to another. Raises SnapshotNotFound, Unsupported."""
        ...
