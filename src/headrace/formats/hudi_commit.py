"""What a Hudi commit tells of itself, in the file that made it complete.

Source: https://hudi.apache.org/tech-specs-1point0#timeline. The files are JSON in layout 1 of the timeline, and Avro in
layout 2; those of cleans are Avro in both.
"""

from __future__ import annotations

import dataclasses
import io
from typing import Annotated, TypeVar

import fastavro
import msgspec

from headrace.errors import CorruptTable
from headrace.formats.hudi_timeline import number

_AVRO = b"Obj\x01"
# More would be of rows and bytes that nobody has, and their sums no numbers of 64 bits.
_Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 48)]
T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Written:
    """One file that a commit wrote.

    Args:
        path: within the table.
        previous: the write of the file in whose place it came; None where there was none.
    """

    partition: str
    file_id: str
    path: str
    rows: int
    size: int
    previous: int | None

    @property
    def group(self) -> tuple[str, str]:
        return self.partition, self.file_id


@dataclasses.dataclass(frozen=True)
class HudiCommit:
    """
    Args:
        replaced: the file groups that are gone with it, by their partitions.
        schema: the table's columns as Avro tells them; empty where it does not tell.
        numbered: the same with a number for each, by which Hudi knows those again that are renamed; mostly empty.
        inserted, updated, deleted: numbers of rows.
    """

    operation: str
    written: tuple[Written, ...]
    replaced: frozenset[tuple[str, str]]
    schema: str
    numbered: str
    inserted: int
    updated: int
    deleted: int

    @property
    def groups(self) -> set[tuple[str, str]]:
        """The file groups that it wrote or replaced, by their partitions."""
        return {w.group for w in self.written} | self.replaced


class _Stat(msgspec.Struct, rename="camel"):
    path: str | None = None
    file_id: str | None = None
    num_writes: _Count | None = None
    num_inserts: _Count | None = None
    num_update_writes: _Count | None = None
    num_deletes: _Count | None = None
    file_size_in_bytes: _Count | None = None
    prev_commit: str | None = None


class _Told(msgspec.Struct, rename="camel"):
    operation_type: str | None = None
    partition_to_write_stats: dict[str, list[_Stat]] | None = None
    partition_to_replace_file_ids: dict[str, list[str]] | None = None
    extra_metadata: dict[str, str | None] | None = None


class _Clean(msgspec.Struct, rename="camel"):
    earliest_commit_to_retain: str | None = None


def read_commit(data: bytes, name: str) -> HudiCommit:
    """Raises CorruptTable if it is none; `name` is that of the file."""
    told = _decoded(data, name, _Told)
    try:
        return _commit(told)
    except ValueError as error:
        raise _corrupt(name, error) from None


def earliest_kept(data: bytes, name: str) -> int:
    """The write that a clean left all files of, and of those after it; 0 if it does not tell."""
    kept = _decoded(data, name, _Clean).earliest_commit_to_retain
    try:
        return number(kept) if kept else 0
    except ValueError as error:
        raise _corrupt(name, error) from None


def _commit(told: _Told) -> HudiCommit:
    stats = [(p, stat) for p, all_ in (told.partition_to_write_stats or {}).items() for stat in all_]
    more = told.extra_metadata or {}
    return HudiCommit(
        operation=told.operation_type or "UNKNOWN",
        # One without a path failed, or had nothing to write.
        written=tuple(_written(partition, stat, stat.path) for partition, stat in stats if stat.path),
        replaced=frozenset(
            (p, i) for p, ids in (told.partition_to_replace_file_ids or {}).items() for i in ids
        ),
        schema=more.get("schema") or "",
        numbered=more.get("latest_schema") or "",
        inserted=sum(stat.num_inserts or 0 for _, stat in stats),
        updated=sum(stat.num_update_writes or 0 for _, stat in stats),
        deleted=sum(stat.num_deletes or 0 for _, stat in stats),
    )


def _written(partition: str, stat: _Stat, path: str) -> Written:
    if ".." in path.split("/") or path.startswith("/"):
        raise ValueError(f"{path} is outside the table")
    if stat.file_id is None or stat.num_writes is None or stat.file_size_in_bytes is None:
        raise ValueError(f"it does not tell all of {path}")
    previous = stat.prev_commit
    before = number(previous) if previous and previous != "null" else None
    return Written(partition, stat.file_id, path, stat.num_writes, stat.file_size_in_bytes, before)


def _decoded(data: bytes, name: str, kind: type[T]) -> T:
    try:
        if data.startswith(_AVRO):
            return msgspec.convert(next(iter(fastavro.reader(io.BytesIO(data)))), kind)
        return msgspec.json.decode(data, type=kind)
    # Whatever the library makes of bytes that are no Avro.
    except Exception as error:
        raise _corrupt(name, error) from None


def _corrupt(name: str, error: object) -> CorruptTable:
    return CorruptTable(
        f"{name} cannot be read: {error or type(error).__name__}",
        hint="bring the file back from a copy, or roll the write back by Hudi's command line",
    )
