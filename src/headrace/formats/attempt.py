"""One try of a write to a Delta table, and what came of it."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Sequence

from deltalake.exceptions import CommitFailedError

from headrace.errors import (
    CorruptTable,
    HeadraceError,
    InvalidArgument,
    OutcomeUnknown,
    TLSError,
    Unavailable,
)
from headrace.formats.delta import DeltaLog
from headrace.formats.delta_failure import translate, translated
from headrace.formats.delta_sync import sync_commit
from headrace.formats.delta_write import Write
from headrace.model.definition import Commit, nothing
from headrace.model.write_key import passing_key
from headrace.storage.failure import is_answer


def attempt(
    log: DeltaLog,
    write: Write,
    change: Callable[[], None],
    before: int | None = None,
) -> Commit | None:
    """Run one write and tell what came of it: its commit, or None if others were faster.

    An error does not say whether the commit landed, so the log is asked. `before` is the snapshot that was the
    newest, where the write does not rest on it; None where there was no table.

    Raises:
        whatever stopped the write, when the log shows that nothing was committed, and none of it can be on its way.
    """
    before = before if write.base is None else write.base
    failure: Exception | None = None
    try:
        change()
    except Exception as error:  # the wheel raises bare Exceptions too
        failure = error
    try:
        commit = log.committed(write.write_id)
    except InvalidArgument:  # somebody else's write has the same key, and was faster
        raise
    except HeadraceError as error:
        raise _unknown(log, write, error) from error
    if commit is not None:
        try:
            sync_commit(log.folder, commit.snapshot)
        except OSError as error:
            raise _unknown(log, write, translate(error, log.table)) from error
        return commit
    after = log.newest()
    if failure is None:
        raise CorruptTable(
            f"the commit of write {write.write_id} is missing from the log of {log.table.shown}"
        )
    moved = (None if after is None else after.version) != before
    if moved and (before is None or isinstance(failure, CommitFailedError)):
        return None
    told = _told(log, failure)
    # The log is asked at once, and what a storage has not answered it may still do.
    if write.begun and not log.table.files.is_local and _is_unanswered(told) and not is_answer(failure):
        raise _unknown(log, write, told) from failure
    raise told from failure


def attempt_compaction(log: DeltaLog, zorder: Sequence[str], write: Write, before: int) -> Commit | None:
    """As `attempt`, for a compaction: its name is in its entry alone, and it may find nothing to do.

    Of two that read the same files the wheel lets each commit, and rows are there twice. Locks keep them apart, which
    may be lost on the way, as with the connection of a registry: so the later one looks, and is undone.
    """
    failure: Exception | None = None
    try:
        if not log.writer.compact(zorder, write):
            return nothing(before)
    except Exception as error:
        failure = error
    commit = log.commit_after(before, write.write_id)
    if commit is None and failure is not None and not isinstance(failure, CommitFailedError):
        raise _told(log, failure) from failure
    if commit is not None and _is_doubled(log, before, commit.snapshot):
        _undo(log, commit.snapshot, write)
        return None
    if commit is not None:
        with translated(log.table):
            sync_commit(log.folder, commit.snapshot)
    return commit


def _is_doubled(log: DeltaLog, before: int, version: int) -> bool:
    """Whether a file that this commit has replaced had been replaced by another one already."""
    others = range(before + 1, version)
    if not others:
        return False
    own = log.folder.removed(version)
    return any(own & log.folder.removed(other) for other in others)


def _undo(log: DeltaLog, version: int, write: Write) -> None:
    old = log.at(version - 1)
    name = dataclasses.replace(write.write_id, key=passing_key())
    try:
        log.writer.restore(old.version, Write(name, write.keys, unique=old.unique, base=version))
    except Exception as error:
        raise CorruptTable(
            f"rows of {log.table.shown} are there twice since snapshot {version}: two compactions ran at once, "
            "and the later one could not be undone",
            hint=f"restore snapshot {old.version}, and write again what was written since",
        ) from error


def _is_unanswered(error: HeadraceError) -> bool:
    return isinstance(error, Unavailable) and not isinstance(error, TLSError)


def _unknown(log: DeltaLog, write: Write, why: HeadraceError) -> OutcomeUnknown:
    key = write.write_id.key
    return OutcomeUnknown(
        f"the log of {log.table.shown} does not tell whether the write was committed: {why.message}",
        hint=f"try again with idempotency_key={key!r}: it is then written once",
        details={"idempotency_key": key},
    )


def _told(log: DeltaLog, failure: Exception) -> HeadraceError:
    """What stopped a write: of a file that is not as it was written, the wheel does not say so."""
    translated = translate(failure, log.table, is_readable=True)
    if isinstance(translated, Unavailable) and translated is not failure:
        with contextlib.suppress(HeadraceError, OSError):
            return log.damage() or translated
    return translated
