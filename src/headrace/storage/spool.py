"""Rows that are read more than once."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pyarrow as pa

from headrace.storage.failure import stored

_IN_MEMORY_BYTES = 64 << 20


class Spool:
    """Record batches: in memory while they are few, then in a file at `path`.

    The file is mapped into memory, so that its pages are the system's to drop.

    Raises:
        LimitExceeded: the disk is full. Unavailable: it fails.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._batches: list[pa.RecordBatch] = []
        self._bytes = 0
        self._files = contextlib.ExitStack()
        self._writer: pa.ipc.RecordBatchStreamWriter | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        if self._writer is None:
            self._batches.append(batch)
            self._bytes += batch.nbytes
            if self._bytes > _IN_MEMORY_BYTES:
                self._open(batch.schema)
        else:
            with stored(str(self._path)):
                self._writer.write_batch(batch)

    def _open(self, schema: pa.Schema) -> None:
        with stored(str(self._path)):
            sink = self._files.enter_context(pa.OSFile(str(self._path), "wb"))
            self._writer = self._files.enter_context(pa.ipc.new_stream(sink, schema))
            for batch in self._batches:
                self._writer.write_batch(batch)
        self._batches = []

    def table(self, schema: pa.Schema) -> pa.Table:
        """All batches; call once, after the last `add`."""
        if self._writer is None:
            return pa.Table.from_batches(self._batches, schema)
        with stored(str(self._path)):
            self._files.close()
            return pa.ipc.open_stream(pa.memory_map(str(self._path))).read_all()

    def close(self) -> None:
        # Ending a file that could not be written fails again, and has been told already.
        with contextlib.suppress(OSError, pa.ArrowException):
            self._files.close()
        self._path.unlink(missing_ok=True)
