"""What the entries of a table's log say of their commits, kept so that each is read once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from headrace.formats.delta_write import CALL, UNIQUE, WRITE_ID, commit_of
from headrace.model.definition import Commit

_MOST_KEPT = 20_000
_AT_ONCE = 16
_PORTION = 64
"""Entries that are asked for before the first of them is looked at."""


class Entry(msgspec.Struct, frozen=True):
    """What is asked of one entry: `operation` is in the log's words, which the commit's may not be."""

    version: int
    operation: str
    commit: Commit
    write_id: str | None
    call: str | None
    unique: str | None

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Entry:
        return cls(
            version=int(told["version"]),
            operation=str(told.get("operation", "")),
            commit=commit_of(told),
            write_id=told.get(WRITE_ID),
            call=told.get(CALL),
            unique=told.get(UNIQUE),
        )


class DeltaHistory:
    """The newest entries of one log, without a gap. Entries never change.

    Args:
        told: what the entry of a version says of its commit, in the log's words. Raises FileNotFoundError.
        near: it takes no time to ask.
    """

    def __init__(self, told: Callable[[int], Mapping[str, Any]], *, near: bool) -> None:
        self._told = told
        self._near = near
        self._entries: list[Entry] = []
        """Newest first."""
        self._whole = False
        """No older ones are in the log."""

    def newest(self, version: int, limit: int | None) -> list[Entry]:
        """Up to `limit` entries from `version`, the log's last, down; newest first."""
        if self._entries and self._entries[0].version > version:
            self.forget()
        if self._entries:
            missing = version - self._entries[0].version
            found = self._read(version, missing)
            # Where entries were removed in between, what is known lies behind a gap.
            self._whole |= len(found) < missing
            self._entries = found if len(found) < missing else [*found, *self._entries]
        if not self._whole and (limit is None or limit > len(self._entries)):
            below = self._entries[-1].version - 1 if self._entries else version
            missing = below + 1 if limit is None else min(limit - len(self._entries), below + 1)
            found = self._read(below, missing)
            self._whole = len(found) < missing or missing == below + 1
            self._entries += found
        given = self._entries[:limit]
        if len(self._entries) > _MOST_KEPT:
            del self._entries[_MOST_KEPT:]
            self._whole = False
        return given

    def forget(self) -> None:
        """The log is another one now."""
        self._entries = []
        self._whole = False

    def _read(self, newest: int, count: int) -> list[Entry]:
        """So many entries from `newest` down; fewer where older ones are not in the log."""
        found: list[Entry] = []
        if self._near or count <= 1:  # a program that ends begins no threads any more
            while len(found) < count and (entry := self._entry(newest - len(found))) is not None:
                found.append(entry)
            return found
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            while len(found) < count:
                first = newest - len(found)
                portion = range(first, first - min(_PORTION, count - len(found)), -1)
                for entry in threads.map(self._entry, portion):
                    if entry is None:
                        return found
                    found.append(entry)
        return found

    def _entry(self, version: int) -> Entry | None:
        try:
            return Entry.of(self._told(version))
        except FileNotFoundError:
            return None
