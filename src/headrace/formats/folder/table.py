"""Folders of files that others write, which are read and not written.

There is no log: a snapshot is the files that are there, and its number is made of their names, sizes and times. As long
as these stay what they are, it is what it was; then it is not found.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import pyarrow as pa

from headrace.errors import (
    CorruptTable,
    SchemaMismatch,
    SnapshotNotFound,
    Unavailable,
    Unsupported,
)
from headrace.formats.base import Snapshot
from headrace.formats.feed import Feed
from headrace.formats.folder.kind import Described, StreamedKind, merged
from headrace.formats.folder.listing import check_above, listed, partitions, typed
from headrace.formats.folder.parquet import ParquetFiles, ParquetSnapshot
from headrace.formats.folder.snapshot import FolderSnapshot
from headrace.formats.footers import Footers
from headrace.formats.normal_schema import normal_schema
from headrace.formats.turn import Turn
from headrace.model.definition import Commit
from headrace.storage.failure import failure
from headrace.storage.files import Listed
from headrace.storage.folder import Folder

DATED = "dated"
"""The scheme of addresses of files that may be replaced: `dated://<which>/<path>`."""
_AT_ONCE = 16
_ROUNDS = 8


class FolderTable:
    """One folder; a `headrace.formats.table.Table`. What its files tell of themselves is read once of each.

    Args:
        given: types of columns that the files do not tell well.
    """

    keeps_snapshots: ClassVar[bool] = True

    def __init__(self, table: Folder, kind: ParquetFiles | StreamedKind, given: pa.Schema | None) -> None:
        self.table = table
        self.started = False
        self.label = f"folder of {kind.label} files"
        self.marker = f"files, whose names end in {' or '.join(kind.endings[:3])}"
        self._kind = kind
        self._given = None if given is None else normal_schema(given)
        self._lock = Turn()
        self._known: dict[Listed, Described] = {}
        self._footers = Footers(table.files)
        self._newest: Snapshot | None = None

    @property
    def last_seen(self) -> Snapshot | None:
        return self._newest

    def is_there(self) -> bool:
        return self.newest() is not None

    def newest(self) -> Snapshot | None:
        with self._lock:
            return self._follow()

    def at(self, version: int) -> Snapshot:
        with self._lock:
            found = self._follow()
        if found is None or found.version != version:
            raise SnapshotNotFound(
                f"the files at {self.table.shown} are no longer those of snapshot {version}",
                hint="a folder of files keeps no old ones: a training dataset keeps what was read",
            )
        return found

    def whole_at(self, version: int) -> Snapshot:
        return self.at(version)

    def version_at(self, time: dt.datetime) -> int:
        raise Unsupported(
            f"the {self.label} at {self.table.shown} keeps no history, and can be read only as it is now",
            hint="a training dataset keeps what was read; or insert the rows into a feature group of Headrace",
        )

    def history(self, limit: int | None) -> list[Commit]:
        with self._lock:
            found = self._follow()
            newest = max((file.modified for file in self._known), default=0)
        if found is None or limit == 0:
            return []
        time = dt.datetime.fromtimestamp(newest // 1_000_000_000, dt.UTC)
        return [Commit(snapshot=found.version, timestamp=time, operation="FILES")]

    def changes(self, since: int, until: Snapshot, identity: tuple[str, ...]) -> Feed:
        raise Unsupported(f"the {self.label} at {self.table.shown} keeps no changes")

    def _follow(self) -> Snapshot | None:
        for _ in range(_ROUNDS):
            try:
                return self._looked_at()
            except FileNotFoundError:  # removed since it was listed
                continue
            except OSError as error:
                raise failure(self.table.shown, error.strerror or error, error.errno) from error
        raise Unavailable(
            f"files at {self.table.shown} were removed each time that they were looked into", hint="try again"
        )

    def _looked_at(self) -> Snapshot | None:
        if self._newest is None:
            check_above(self.table)
        files = listed(self.table, self._kind.endings)
        if not files:
            self._newest = None
            if self.started:
                raise CorruptTable(
                    f"the {self.label} at {self.table.shown} is lost: there are no such files",
                    hint="bring them back, or delete the feature group",
                )
            return None
        version = self._number(files)
        if self._newest is None or self._newest.version != version:
            self._newest = self._snapshot(version, files)
        self.started = True
        return self._newest

    def _number(self, files: list[Listed]) -> int:
        told = repr((files, None if self._given is None else str(self._given)))
        return int.from_bytes(hashlib.blake2b(told.encode(), digest_size=7).digest()) >> 3

    def _snapshot(self, version: int, files: list[Listed]) -> Snapshot:
        described = self._described(files)
        texts = partitions(self.table, files)
        schema = merged(
            self._kind,
            self.table.shown,
            [(file.path, described[file].schema) for file in files],
            self._given,
        )
        schema = pa.schema([(f.name, pa.string() if pa.types.is_null(f.type) else f.type) for f in schema])
        given = {} if self._given is None else {field.name: field.type for field in self._given}
        values = {}
        for name, told in texts.items():
            if name not in schema.names:  # else the files tell it themselves
                values[name] = self._typed(name, told, given.get(name))
        self._check_given({*schema.names, *values})
        columns = {
            "path": pa.array([self._path(file) for file in files], pa.string()),
            "num_records": pa.array([described[file].rows for file in files], pa.int64()),
            "size_bytes": pa.array([file.size for file in files], pa.int64()),
            **{f"partition.{name}": told for name, told in values.items()},
        }
        whole = pa.schema([*schema, *(pa.field(name, told.type) for name, told in values.items())])
        if isinstance(self._kind, ParquetFiles) and not self.table.files.is_local:
            columns["address"] = pa.array([_dated(self._path(file), file) for file in files], pa.string())
        found = Snapshot(
            version=version,
            schema=whole,
            files=pa.table(columns),
            partition_by=tuple(values),
            exact=False,
            lasting=False,
        )
        if isinstance(self._kind, ParquetFiles):
            finer = {self._path(file): told.finer for file, told in described.items() if len(told.finer)}
            return ParquetSnapshot(**vars(found), footers=self._footers, finer=finer)
        return FolderSnapshot(**vars(found), kind=self._kind, lake=self.table.files)

    def _described(self, files: list[Listed]) -> dict[Listed, Described]:
        """What each file tells of itself; of those that were replaced or removed nothing is kept."""
        new = [file for file in files if file not in self._known]
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            found = list(
                threads.map(lambda file: self._kind.described(self.table.files, self._path(file)), new)
            )
        kept = {file: self._known[file] for file in files if file in self._known}
        gone = {self._path(file) for file in self._known.keys() - kept.keys()}
        if gone:
            self._footers = self._footers.without(gone)
        self._known = kept | dict(zip(new, found, strict=True))
        return self._known

    def _typed(self, name: str, texts: list[str | None], kind: pa.DataType | None) -> pa.Array:
        try:
            return typed(texts, kind)
        except pa.ArrowException as error:
            raise SchemaMismatch(
                f"partition column {name!r} of the files at {self.table.shown} is no {kind}: {error}",
                details={"column": name},
            ) from None

    def _check_given(self, names: set[str]) -> None:
        for field in self._given or ():
            if field.name not in names:
                raise SchemaMismatch(
                    f"the files at {self.table.shown} have no column {field.name!r}, to which a type is given",
                    details={"column": field.name},
                )
            if not self._kind.holds(field.type):
                raise SchemaMismatch(
                    f"column {field.name!r} of the files at {self.table.shown} is given the type {field.type}, "
                    f"of which {self._kind.label} files have no values",
                    details={"column": field.name},
                )

    def _path(self, file: Listed) -> str:
        return f"{self.table.uri}/{file.path}" if file.path else self.table.uri


def _dated(path: str, file: Listed) -> str:
    """Where the engine finds a file that may be replaced by another of its name, of which it would keep parts."""
    return f"{DATED}://{file.size}-{file.modified}/{path}"
