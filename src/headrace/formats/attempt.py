"""One try of a write to a Delta table, and what came of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from deltalake.exceptions import CommitFailedError

from headrace.errors import CorruptTable, HeadraceError, OutcomeUnknown, Unavailable
from headrace.formats.delta import DeltaLog
from headrace.formats.delta_failure import translate
from headrace.formats.delta_write import Write
from headrace.model.definition import Commit, nothing


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
        whatever stopped the write, when the log shows that nothing was committed.
    """
    before = before if write.base is None else write.base
    failure: Exception | None = None
    try:
        change()
    except Exception as error:  # the wheel raises bare Exceptions too
        failure = error
    try:
        commit = log.committed(write.write_id)
    except HeadraceError as error:
        key = write.write_id.key
        raise OutcomeUnknown(
            f"the log of {log.table.shown} does not tell whether the write was committed: {error.message}",
            hint=f"try again with idempotency_key={key!r}: it is then written once",
            details={"idempotency_key": key},
        ) from error
    if commit is not None:
        return commit
    after = log.newest()
    if failure is None:
        raise CorruptTable(
            f"the commit of write {write.write_id} is missing from the log of {log.table.shown}"
        )
    moved = (None if after is None else after.version) != before
    if moved and (before is None or isinstance(failure, CommitFailedError)):
        return None
    raise _told(log, failure) from failure


def attempt_compaction(log: DeltaLog, zorder: Sequence[str], write: Write, before: int) -> Commit | None:
    """As `attempt`, for a compaction: its name is in its entry alone, and it may find nothing to do."""
    failure: Exception | None = None
    try:
        if not log.writer.compact(zorder, write):
            return nothing(before)
    except Exception as error:
        failure = error
    commit = log.commit_after(before, write.write_id)
    if commit is None and failure is not None and not isinstance(failure, CommitFailedError):
        raise _told(log, failure) from failure
    return commit


def _told(log: DeltaLog, failure: Exception) -> HeadraceError:
    """What stopped a write: of a file that is not as it was written, the wheel does not say so."""
    translated = translate(failure, log.table, is_readable=True)
    if isinstance(translated, Unavailable) and translated is not failure:
        with contextlib.suppress(HeadraceError, OSError):
            return log.damage() or translated
    return translated
