"""What keeps a table quick and small, and changes none of its rows."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from headrace.errors import Conflict, InvalidArgument, SnapshotNotFound, UnknownColumn
from headrace.formats.attempt import attempt_compaction
from headrace.formats.base import Snapshot
from headrace.formats.delta import DeltaLog
from headrace.formats.delta_write import Write, WriteId
from headrace.formats.delta_writer import COMPACTED_BYTES
from headrace.formats.table import Table
from headrace.model.definition import Commit, GroupDefinition, nothing
from headrace.model.detail import TableDetail
from headrace.model.write_key import passing_key

_ATTEMPTS = 5


def compact(definition: GroupDefinition, log: DeltaLog, zorder: tuple[str, ...], user: str | None) -> Commit:
    """Put the rows of small files into large ones; with `zorder`, those that are alike in these columns together.

    It rests on the files that it reads, which the wheel sees to, and not on a snapshot: appends may come between. Only
    other compactions must not: of those that read the same files the wheel lets each commit, and rows multiply.

    Raises:
        UnknownColumn, InvalidArgument: by which nothing can be ordered. Conflict: others kept changing the files.
    """
    for _ in range(_ATTEMPTS):
        snapshot = log.newest()
        if snapshot is None:
            return nothing(-1)
        _check_order(definition, snapshot, zorder)
        write = Write(WriteId(passing_key(), "compact", user), definition.identity, unique=None)
        commit = attempt_compaction(log, zorder, write, snapshot.version)
        if commit is not None:
            return commit
    raise Conflict(
        f"{definition.ref}: other writers changed the files {_ATTEMPTS} times; nothing was compacted",
        hint="try again",
    )


def vacuum(
    definition: GroupDefinition, log: DeltaLog, retention_hours: int, dry_run: bool, pinned: Iterable[int]
) -> list[str]:
    """Remove, or only list, the files that no snapshot of the last hours needs, as paths in the table's folder.

    Those of `pinned` snapshots, of which training datasets were made, stay as well. In a folder that is not ours,
    what the log does not name may be anything, and is left alone.
    """
    if not 0 <= retention_hours <= 24 * 366 * 100:
        raise InvalidArgument(f"retention_hours={retention_hours} is refused")
    newest = log.newest()
    if newest is None:
        return []
    # The log forgets the oldest first: of what it has forgotten nothing can be kept.
    keep = sorted(version for version in pinned if version <= newest.version)
    while keep and not _is_there(log, keep[0]):
        del keep[0]
    return log.writer.vacuum(retention_hours, dry_run, keep, full=not definition.adopted)


def _is_there(log: DeltaLog, version: int) -> bool:
    """Whether the log still tells of a snapshot."""
    try:
        log.at(version)
    except SnapshotNotFound:
        return False
    return True


def detail(log: Table) -> TableDetail:
    """How the newest snapshot is stored."""
    snapshot = log.newest()
    if snapshot is None:
        return TableDetail(snapshot=-1, rows=0, files=0, size_bytes=0, files_compacted=0)
    if not log.keeps_snapshots:
        return TableDetail(snapshot=snapshot.version, rows=None, files=0, size_bytes=0, files_compacted=0)
    if not isinstance(log, DeltaLog):  # what is not written is not compacted
        return TableDetail(
            snapshot=snapshot.version,
            rows=snapshot.rows,
            files=snapshot.files.num_rows,
            size_bytes=snapshot.size_bytes,
            files_compacted=snapshot.files.num_rows,
        )
    partitions = [f"partition.{name}" for name in snapshot.partition_by]
    small: dict[tuple[object, ...], int] = {}
    large = 0
    for row in snapshot.files.select([*partitions, "size_bytes"]).to_pylist():
        size = row.pop("size_bytes")
        if size >= COMPACTED_BYTES:
            large += 1
        else:
            small[tuple(row.values())] = small.get(tuple(row.values()), 0) + size
    return TableDetail(
        snapshot=snapshot.version,
        rows=snapshot.rows,
        files=snapshot.files.num_rows,
        size_bytes=snapshot.size_bytes,
        files_compacted=large + sum(-(-size // COMPACTED_BYTES) for size in small.values()),
    )


def _check_order(definition: GroupDefinition, snapshot: Snapshot, zorder: tuple[str, ...]) -> None:
    for name in zorder:
        if name not in snapshot.schema.names:
            raise UnknownColumn(
                f"feature group {definition.ref} has no column {name!r}",
                hint=f"it has {', '.join(snapshot.schema.names[:20])}",
            )
        if name in snapshot.partition_by or pa.types.is_nested(snapshot.schema.field(name).type):
            what = "a partition's" if name in snapshot.partition_by else "nested"
            raise InvalidArgument(f"{definition.ref} cannot be put in the order of {name!r}: it is {what}")
    if len(set(zorder)) < len(zorder):
        raise InvalidArgument(f"zorder names a column twice: {', '.join(zorder)}")
