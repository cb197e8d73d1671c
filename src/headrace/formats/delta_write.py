"""What a write says of itself in the Delta log, and what the log says of it afterwards."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import time
from collections.abc import Mapping
from typing import Any

from deltalake import CommitProperties, Transaction

from headrace.model.definition import Commit
from headrace.model.write_key import PASSING

WRITE_ID = "headrace.write"
CALL = "headrace.call"
UNIQUE = "headrace.unique"
SAME_ROWS = frozenset({"OPTIMIZE", "VACUUM START", "VACUUM END"})
"""Operations, in Delta's words, whose commits change no row."""
_SCHEMA_ALONE = frozenset({"ADD COLUMN"})
UPDATED = "headrace.updated"
_DELETED = "headrace.deleted"
_USER = "userName"
WIDENED = "headrace.widened"
"""Marks a commit that wrote all rows anew in wider types, and changed none."""


@dataclasses.dataclass(frozen=True)
class WriteId:
    """What names a write for ever.

    Args:
        key: the caller's.
        call: what the key stands for, such as "insert, mode upsert": it can stand for no other.
        user: who asked for it, where they had to say; then it is nobody else's.
    """

    key: str
    call: str
    user: str | None = None

    def __str__(self) -> str:
        """Under this name it is in the log."""
        return f"headrace/{self.key}"


class Write:
    """What every write says of itself.

    Args:
        write_id: the log refuses a second commit with the same one.
        keys: the columns that identify a row.
        unique: columns in which no two rows are alike afterwards; None if none are known.
        base: the snapshot on which the write rests: anything committed since makes it fail.
        deleted: rows that it removes and does not replace; None leaves the counting to the wheel.
        updated: rows among the inserted that take the place of others; None leaves the counting to the wheel.
        widened: it writes all rows anew, in wider types.
    """

    def __init__(
        self,
        write_id: WriteId,
        keys: tuple[str, ...],
        unique: tuple[str, ...] | None,
        base: int | None = None,
        updated: int | None = None,
        deleted: int | None = None,
        widened: bool = False,
    ) -> None:
        self.write_id = write_id
        self.keys = keys
        self.unique = unique
        self.base = base
        self.updated = updated
        self.deleted = deleted
        self.widened = widened
        self.begun = False
        """A storage may have been asked to commit it."""


def properties(write: Write, *, first: bool = False) -> CommitProperties:
    """What the wheel is told of a write. With `first`, its commit is the table's first, or none."""
    metadata = {WRITE_ID: str(write.write_id), CALL: write.write_id.call}
    if write.write_id.user is not None:
        metadata[_USER] = write.write_id.user
    if write.unique is not None:
        metadata[UNIQUE] = json.dumps(write.unique)
    if write.updated is not None:
        metadata[UPDATED] = str(write.updated)
    if write.deleted is not None:
        metadata[_DELETED] = str(write.deleted)
    if write.widened:
        metadata[WIDENED] = "true"
    # What is made for one write only is asked for at once or never, and need not fill the log for ever.
    passing = write.write_id.key.startswith(PASSING)
    now = int(time.time() * 1000) if passing else None
    return CommitProperties(
        custom_metadata=metadata,
        # Tried again behind another's commit, it would rest on what it has not seen.
        max_commit_retries=0 if first or write.base is not None else None,
        app_transactions=[Transaction(str(write.write_id), 1, now)],
    )


def commit_of(entry: Mapping[str, Any]) -> Commit:
    metrics = entry.get("operationMetrics") or {}

    def count(*names: str) -> int | None:
        found = [int(metrics[n]) for n in names if metrics.get(n) is not None]
        return found[0] if found else None

    appended = (entry.get("operationParameters") or {}).get("mode") in ("Append", "ErrorIfExists")
    none = 0 if appended else None
    inserted = count("num_target_rows_inserted", "num_added_rows")
    updated = _or(count("num_target_rows_updated"), none)
    deleted = _or(count("num_target_rows_deleted", "num_deleted_rows"), none)
    if UPDATED in entry and inserted is not None:
        # The wheel was told to delete and to insert.
        updated = int(entry[UPDATED])
        inserted, deleted = inserted - updated, None if deleted is None else deleted - updated
    if WIDENED in entry or entry.get("operation") in _SCHEMA_ALONE:
        inserted, updated, deleted = 0, 0, 0
    if _DELETED in entry:
        updated, deleted = updated or 0, int(entry[_DELETED])
    return Commit(
        snapshot=int(entry["version"]),
        timestamp=dt.datetime.fromtimestamp(int(entry["timestamp"]) / 1000, dt.UTC),
        operation="CHANGE COLUMN" if WIDENED in entry else str(entry.get("operation", "UNKNOWN")),
        rows_inserted=inserted,
        rows_updated=updated,
        rows_deleted=deleted,
        user=entry.get(_USER),
    )


def _or(value: int | None, otherwise: int | None) -> int | None:
    return otherwise if value is None else value
