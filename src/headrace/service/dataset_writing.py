"""Making training datasets: one run of the read, whose rows are written as they come."""

from __future__ import annotations

import datetime as dt
import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import msgspec
import pyarrow as pa

from headrace.errors import Cancelled, InvalidArgument
from headrace.formats.rows_file import check_storable, write_file
from headrace.formats.spine_file import write_spine
from headrace.model.dataset import DatasetDefinition, check_splits
from headrace.model.definition import ViewDefinition, read_schema, write_schema
from headrace.model.request import Prepared, ReadRequest, Span
from headrace.model.stored_file import StoredFile
from headrace.model.types import plain_schema
from headrace.service.chunk import chunks
from headrace.service.reading import Reader
from headrace.service.running import Running
from headrace.service.spark_running import SparkRunning
from headrace.service.spark_writing import write_on_spark
from headrace.storage.failure import stored

SPINE_FILE = "spine.arrow"

_MOST_WRITERS = 4
_LONGEST_KEY = 512


class DatasetWriting:
    """One dataset on its way to files.

    Args:
        asked: with the request of the caller, whose query, that of the view, is fixed here.

    Raises:
        InvalidArgument, InvalidName: what is asked for contradicts itself. Unsupported: a column that the format
            does not keep.
    """

    def __init__(self, reader: Reader, asked: DatasetDefinition, view: ViewDefinition) -> None:
        _check_asked(asked)
        request = msgspec.structs.replace(asked.request, view=view.ref, query=view.query, labels=view.labels)
        asked = msgspec.structs.replace(asked, name=view.ref, version=0, request=request)
        self.view = view
        self._reader = reader
        self._asked = asked
        self._prepared = reader.prepare(asked.read_of(None))
        self._schema = plain_schema(read_schema(self._prepared.schema_ipc))
        check_storable(asked.format, self._schema)
        self._running: Running | SparkRunning | None = None
        self._cancelled = False

    def cancel(self) -> None:
        """Stop; from any thread. `run` then ends in `Cancelled`."""
        self._cancelled = True
        if self._running is not None:
            self._running.cancel()

    def run(self, spine: pa.Table | None, folder: Path) -> DatasetDefinition:
        """Write all into an empty folder. What was written has no version and no location yet. Once only."""
        files = self._write(spine, folder)
        kept = None if spine is None else write_spine(folder / SPINE_FILE, spine)
        self._check_wanted()  # the engine may have ended long before the files
        asked, prepared = self._asked, self._prepared
        splits = zip(asked.splits, files, strict=True)
        return msgspec.structs.replace(
            asked,
            request=_pinned(asked.request, prepared),
            splits=tuple(msgspec.structs.replace(split, files=tuple(found)) for split, found in splits),
            created=dt.datetime.now(dt.UTC),
            schema_ipc=write_schema(self._schema),
            features=prepared.features,
            labels=prepared.labels,
            snapshots=prepared.snapshots,
            spine=kept,
        )

    def _check_wanted(self) -> None:
        if self._cancelled:
            raise Cancelled("the training dataset is no longer wanted: nothing was stored")

    def _write(self, spine: pa.Table | None, folder: Path) -> list[list[StoredFile]]:
        """The files of each split, at least one."""
        running = self._running = self._reader.run(self._prepared, spine)
        if not isinstance(running, SparkRunning):
            return self._write_here(running, folder)
        found = write_on_spark(running, self._asked, self._schema, folder)
        for split, files in zip(self._asked.splits, found, strict=True):
            if not files:
                name = f"{split.name}/00000.{self._asked.format}"
                files.append(self._write_file(folder, name, self._schema.empty_table()))
        return found

    def _write_here(self, running: Running, folder: Path) -> list[list[StoredFile]]:
        """The files, which threads write while the engine goes on."""
        writers = min(_MOST_WRITERS, os.cpu_count() or 1)
        files: list[list[Future[StoredFile]]] = [[] for _ in self._asked.splits]
        pending: deque[Future[StoredFile]] = deque()
        with ThreadPoolExecutor(writers, thread_name_prefix="headrace-dataset") as threads:

            def write(split: int, rows: pa.Table) -> None:
                while len(pending) >= writers:
                    pending.popleft().result()
                path = f"{self._asked.splits[split].name}/{len(files[split]):05}.{self._asked.format}"
                pending.append(threads.submit(self._write_file, folder, path, rows))
                files[split].append(pending[-1])

            for split, rows in chunks(self._pieces(running), self._schema):
                write(split, rows)
            for split, found in enumerate(files):
                if not found:
                    write(split, self._schema.empty_table())
            return [[file.result() for file in found] for found in files]

    def _write_file(self, folder: Path, path: str, rows: pa.Table) -> StoredFile:
        with stored(path):
            (folder / path).parent.mkdir(exist_ok=True)
        asked = self._asked
        written = write_file(asked.format, folder / path, rows, mark=f"{asked.key}/{path}")
        return msgspec.structs.replace(written, path=path)

    def _pieces(self, running: Running) -> Iterator[tuple[int, pa.RecordBatch]]:
        for piece in running.in_parts():
            self._check_wanted()
            yield piece


def _check_asked(asked: DatasetDefinition) -> None:
    request = asked.request
    if request.kind != "training" or request.parts or request.limit is not None or request.stored is not None:
        raise InvalidArgument("a training dataset is made of the training data of a feature view")
    if not 0 < len(asked.key) <= _LONGEST_KEY:
        raise InvalidArgument(f"the key of a training dataset has 1 to {_LONGEST_KEY} characters")
    if "\0" in asked.description:
        raise InvalidArgument("the description of a training dataset holds a NUL character")
    check_splits(asked.splits)
    options = request.point_in_time
    if any(isinstance(split.part, Span) for split in asked.splits) and (options.start or options.end):
        raise InvalidArgument(
            "start and end are given, and splits that have their own",
            hint="leave start and end out, or split by fractions",
        )


def _pinned(asked: ReadRequest, prepared: Prepared) -> ReadRequest:
    """The request of all rows, as it was prepared for its parts: by whichever engine it will be run again."""
    options = msgspec.structs.replace(asked.point_in_time, engine=None)
    return msgspec.structs.replace(
        prepared.request, parts=asked.parts, ordered=asked.ordered, point_in_time=options
    )
