"""What the entries of a table's log say of their commits, kept so that each is read once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from headrace.formats.delta_write import CALL, UNIQUE, WRITE_ID, commit_of
from headrace.model.definition import Commit

_MOST_KEPT = 20_000


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
    """The newest entries of one log, without a gap. Entries never change."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        """Newest first."""
        self._whole = False
        """No older ones are in the log."""

    def newest(
        self, version: int, limit: int | None, read: Callable[[int | None], list[dict[str, Any]] | None]
    ) -> list[Entry] | None:
        """Up to `limit` entries from `version` down, newest first.

        Args:
            version: of the newest entry.
            read: gives so many entries from `version` down as the log tells them; None if the log has moved on.

        Returns:
            None if the log has moved on.
        """
        if self._entries and self._entries[0].version > version:
            self.forget()
        known = self._entries[0].version if self._entries else -1
        if version > known:
            wanted = version - known if self._entries else limit
            told = read(wanted)
            if told is None:
                return None
            self._whole |= not self._entries and (wanted is None or len(told) < wanted)
            self._entries = [*map(Entry.of, told), *self._entries]
        if not self._whole and (limit is None or limit > len(self._entries)):
            told = read(limit)
            if told is None:
                return None
            self._entries = list(map(Entry.of, told))
            self._whole = limit is None or len(told) < limit
        found = self._entries[:limit]
        if len(self._entries) > _MOST_KEPT:
            del self._entries[_MOST_KEPT:]
            self._whole = False
        return found

    def forget(self) -> None:
        """The log is another one now."""
        self._entries = []
        self._whole = False
