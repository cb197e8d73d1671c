"""Training datasets of one project: made, found, read, and what they need of the tables."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa

from headrace.errors import (
    Conflict,
    CorruptTable,
    HeadraceError,
    InvalidArgument,
    NotFound,
    OutcomeUnknown,
    SnapshotNotFound,
    UnknownColumn,
)
from headrace.formats.rows_file import RowsFiles
from headrace.formats.spine_file import read_spine
from headrace.model.dataset import DatasetDefinition, Split, StoredSpine
from headrace.model.definition import GroupDefinition, ViewDefinition, read_schema, write_schema
from headrace.model.query import pins_of
from headrace.model.request import Prepared, ReadRequest, StoredRead
from headrace.model.stored_file import StoredFile
from headrace.service.dataset_reading import RecomputedRows, StoredRows
from headrace.service.dataset_writing import SPINE_FILE, DatasetWriting
from headrace.service.definitions import Definitions
from headrace.service.reading import Reader
from headrace.storage.base import Storage, new_location

_MOST_STREAMS = 4


class Datasets:
    """The training datasets of one project.

    Args:
        registry: where it is.
        reader: reads the feature views that they are made of.
    """

    def __init__(
        self, project: str, definitions: Definitions, registry: str, storage: Storage, reader: Reader
    ) -> None:
        self._project = project
        self._definitions = definitions
        self._registry = registry
        self._storage = storage
        self._reader = reader

    def start(self, asked: DatasetDefinition, view: ViewDefinition) -> DatasetWriting:
        """A dataset that is asked for, checked and with its snapshots fixed. It is made by `make`."""
        return DatasetWriting(self._reader, asked, view)

    def make(self, writing: DatasetWriting, spine: pa.Table | None) -> DatasetDefinition:
        """Write all of it, and register it then: what is broken off leaves nothing.

        Raises:
            Cancelled: `writing` was cancelled. NotFound: its view or a group was deleted meanwhile.
            Conflict: a vacuum took files that it needs.
        """
        folder = self._storage.work.new_folder()
        try:
            written = writing.run(spine, folder)
            # A vacuum asks before it begins what is needed, so that it sees this dataset, or is seen by it.
            with self._storage.held(written.request.locations.values()):
                self._check_whole(written)
                return self._located(self._registered(written, folder, writing.view))
        finally:
            self._storage.work.discard(folder)

    def get(self, view: str, version: int | None) -> DatasetDefinition:
        return self._located(self._definitions.get_dataset(view, version))

    def of_view(self, view: str) -> list[DatasetDefinition]:
        return [self._located(dataset) for dataset in self._definitions.list_datasets(view)]

    def delete(self, view: str, version: int) -> None:
        self._storage.remove(self._definitions.delete_dataset(view, version).location)

    def pinned(self, group: GroupDefinition) -> set[int]:
        """The snapshots of a group's table that datasets were made of."""
        return {
            snapshot
            for dataset in self._definitions.datasets_that_need(group)
            for ref, location in dataset.request.locations.items()
            if location == group.location and dataset.request.query is not None
            for snapshot in pins_of(dataset.request.query, ref)
        }

    def prepare(self, request: ReadRequest) -> Prepared:
        """Check a read of a dataset.

        Raises:
            NotFound, UnknownColumn; SnapshotNotFound: what it is to be recomputed of is gone.
        """
        stored = _stored(request)
        dataset, split = self._found(stored)
        columns = _columns(dataset, stored)
        if stored.recomputed and stored.columns is not None:
            raise InvalidArgument("what is recomputed has all its columns")
        if stored.recomputed:
            self._reader.prepare(self._recomputing(dataset, split, request))
        files = self._files(dataset, split) if request.limit is None and not stored.recomputed else []
        return Prepared(
            request=msgspec.structs.replace(
                request, stored=msgspec.structs.replace(stored, version=dataset.version)
            ),
            schema_ipc=write_schema(pa.schema([read_schema(dataset.schema_ipc).field(c) for c in columns])),
            features=tuple(name for name in dataset.features if name in columns),
            labels=tuple(name for name in dataset.labels if name in columns),
            snapshots=dataset.snapshots,
            mapped=tuple(files) if dataset.format == "arrow" and self._storage.files.is_local else (),
        )

    def parts(self, prepared: Prepared) -> int:
        """Into how many streams the read can be split."""
        stored = _stored(prepared.request)
        if stored.recomputed or prepared.request.limit is not None:
            return 1
        return min(_MOST_STREAMS, len(self._files(*self._found(stored))))

    def run(
        self, prepared: Prepared, spine: pa.Table | None, part: int, parts: int
    ) -> StoredRows | RecomputedRows:
        """The rows, to be read once. `spine` is None: a dataset has its own."""
        request, stored = prepared.request, _stored(prepared.request)
        dataset, split = self._found(stored)
        schema = read_schema(dataset.schema_ipc)
        if stored.recomputed:
            pinned = self._reader.prepare(self._recomputing(dataset, split, request))
            with self._told(dataset):
                kept = None if dataset.spine is None else self._spine(dataset, dataset.spine)
            return RecomputedRows(self._reader.run(pinned, kept), schema)
        if not 0 <= part < parts <= _MOST_STREAMS:
            raise InvalidArgument(f"the read has no part {part} of {parts}")
        files = self._files(dataset, split)
        share = files[len(files) * part // parts : len(files) * (part + 1) // parts]
        rows = RowsFiles(self._storage.files, dataset.format, share, schema, _columns(dataset, stored))
        return StoredRows(self._reader.calls, rows, len(share), request.limit, lambda: self._told(dataset))

    def explain(self, request: ReadRequest) -> str:
        stored = _stored(request)
        dataset, split = self._found(stored)
        if stored.recomputed:
            return self._reader.explain(self._recomputing(dataset, split, request))
        files = self._files(dataset, split)
        size = sum(file.size_bytes for file in files)
        of = "" if split is None else f", split {split.name}"
        return (
            f"training dataset {dataset.ref}{of}: {len(files)} {dataset.format} file(s), {size / 1e6:.1f} MB\n"
            f"columns {', '.join(_columns(dataset, stored))}"
        )

    def _recomputing(
        self, dataset: DatasetDefinition, split: Split | None, request: ReadRequest
    ) -> ReadRequest:
        """Raises Unsupported if a table of it keeps no snapshots."""
        again = msgspec.structs.replace(dataset.read_of(split), limit=request.limit)
        self._reader.check_kept(again)
        return again

    def _found(self, stored: StoredRead) -> tuple[DatasetDefinition, Split | None]:
        dataset = self._definitions.get_dataset(stored.view, stored.version)
        if stored.split is None:
            return dataset, None
        for split in dataset.splits:
            if split.name == stored.split:
                return dataset, split
        raise NotFound(
            f"training dataset {dataset.ref} has no split {stored.split!r}",
            hint=f"it has {', '.join(split.name for split in dataset.splits)}",
        )

    def _files(self, dataset: DatasetDefinition, split: Split | None) -> list[StoredFile]:
        """With whole paths."""
        folder = self._storage.folder(dataset.location).uri
        return [
            msgspec.structs.replace(file, path=f"{folder}/{file.path}")
            for one in dataset.splits
            if split in (None, one)
            for file in one.files
        ]

    def _spine(self, dataset: DatasetDefinition, written: StoredSpine) -> pa.Table:
        path = f"{self._storage.folder(dataset.location).uri}/{SPINE_FILE}"
        return read_spine(self._storage.files, path, written)

    def _registered(
        self, written: DatasetDefinition, folder: Path, view: ViewDefinition
    ) -> DatasetDefinition:
        location = new_location(self._project, written.name.replace("@", "_"))
        whole = msgspec.structs.replace(written, location=location)
        with self._storage.work.registering(location, self._registry):
            self._storage.move(folder, location)
            try:
                return self._definitions.create_dataset(whole, view)
            except OutcomeUnknown:
                raise
            except HeadraceError:
                self._storage.remove(location)
                raise

    def _check_whole(self, written: DatasetDefinition) -> None:
        """A vacuum that ended before the dataset is registered knew nothing of what it needs."""
        try:
            self._reader.prepare(written.read_of(None))
        except SnapshotNotFound as error:
            raise Conflict(
                f"what a training dataset {written.ref} was made of is gone already: {error.message}",
                hint="try again",
            ) from error

    @contextlib.contextmanager
    def _told(self, dataset: DatasetDefinition) -> Iterator[None]:
        """A file that is not there may be one of a dataset that was deleted since."""
        try:
            yield
        except CorruptTable:
            self._definitions.get_dataset(dataset.name, dataset.version)
            raise

    def _located(self, dataset: DatasetDefinition) -> DatasetDefinition:
        """With where it lies in full."""
        return msgspec.structs.replace(dataset, location=self._storage.folder(dataset.location).shown)


def _stored(request: ReadRequest) -> StoredRead:
    assert request.stored is not None  # such reads come here
    if request.limit is not None and request.limit < 0:
        raise InvalidArgument(f"a limit of {request.limit} rows is refused", hint="it is at least 0")
    return request.stored


def _columns(dataset: DatasetDefinition, stored: StoredRead) -> list[str]:
    names: list[str] = read_schema(dataset.schema_ipc).names
    if stored.columns is None:
        return names
    unknown = [column for column in stored.columns if column not in names]
    if unknown:
        raise UnknownColumn(
            f"training dataset {dataset.ref} has no column {', '.join(map(repr, unknown))}",
            hint=f"it has {', '.join(names[:20])}",
        )
    if not stored.columns or len(set(stored.columns)) < len(stored.columns):
        raise InvalidArgument(f"columns={list(stored.columns)} are none, or one of them twice")
    return list(stored.columns)
