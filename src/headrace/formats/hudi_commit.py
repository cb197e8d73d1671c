"""What a Hudi commit tells of itself, in the file that made it complete.

Source: https://hudi.apache.org/tech-specs-1point0#timeline. The files are JSON in layout 1 of the timeline, and Avro in
layout 2; those of cleans are Avro in both.
"""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Mapping
from typing import Any

import fastavro
import msgspec

from headrace.errors import CorruptTable

_AVRO = b"Obj\x01"


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
    previous: str | None

    @property
    def group(self) -> tuple[str, str]:
        return self.partition, self.file_id


@dataclasses.dataclass(frozen=True)
class HudiCommit:
    """
    Args:
        replaced: the file groups that are gone with it, by their partitions.
        schema: the table's columns as Avro tells them; empty where it does not tell.
        inserted, updated, deleted: numbers of rows.
    """

    operation: str
    written: tuple[Written, ...]
    replaced: frozenset[tuple[str, str]]
    schema: str
    inserted: int
    updated: int
    deleted: int

    @property
    def groups(self) -> set[tuple[str, str]]:
        """The file groups that it wrote or replaced, by their partitions."""
        return {w.group for w in self.written} | self.replaced


def read_commit(data: bytes, name: str) -> HudiCommit:
    """Raises CorruptTable if it is none; `name` is that of the file."""
    told = _decoded(data, name)
    try:
        return _commit(told)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise _corrupt(name, error) from None


def earliest_kept(data: bytes, name: str) -> str:
    """The write that a clean left all files of, and of those after it; empty if it does not tell."""
    told = _decoded(data, name)
    return str(told.get("earliestCommitToRetain") or "")


def _commit(told: Mapping[str, Any]) -> HudiCommit:
    written = []
    inserted = updated = deleted = 0
    for partition, stats in (told.get("partitionToWriteStats") or {}).items():
        for stat in stats:
            inserted += stat.get("numInserts") or 0
            updated += stat.get("numUpdateWrites") or 0
            deleted += stat.get("numDeletes") or 0
            if not stat.get("path"):
                continue  # it failed, or had nothing to write
            if ".." in stat["path"].split("/") or stat["path"].startswith("/"):
                raise ValueError(f"{stat['path']} is outside the table")
            previous = stat.get("prevCommit")
            written.append(
                Written(
                    partition,
                    stat["fileId"],
                    stat["path"],
                    int(stat["numWrites"]),
                    int(stat["fileSizeInBytes"]),
                    previous if previous and previous != "null" else None,
                )
            )
    replaced = frozenset(
        (partition, file_id)
        for partition, ids in (told.get("partitionToReplaceFileIds") or {}).items()
        for file_id in ids
    )
    more = told.get("extraMetadata") or {}
    return HudiCommit(
        operation=told.get("operationType") or "UNKNOWN",
        written=tuple(written),
        replaced=replaced,
        schema=more.get("schema") or "",
        inserted=inserted,
        updated=updated,
        deleted=deleted,
    )


def _decoded(data: bytes, name: str) -> Mapping[str, Any]:
    try:
        is_avro = data.startswith(_AVRO)
        told = next(iter(fastavro.reader(io.BytesIO(data)))) if is_avro else msgspec.json.decode(data)
    # Whatever the library makes of bytes that are no Avro.
    except Exception as error:
        raise _corrupt(name, error) from None
    if not isinstance(told, dict):
        raise _corrupt(name, "it tells nothing")
    return told


def _corrupt(name: str, error: object) -> CorruptTable:
    return CorruptTable(
        f"{name} cannot be read: {error or type(error).__name__}",
        hint="bring the file back from a copy, or roll the write back by Hudi's command line",
    )
