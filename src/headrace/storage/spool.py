"""Rows that are read more than once."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

import pyarrow as pa

from headrace.errors import LimitExceeded
from headrace.storage.failure import stored

_IN_MEMORY_BYTES = 64 << 20
_LEAST_BYTES = 1 << 10
"""Of a batch in memory, however few its values are."""


class Room:
    """Bytes that spools may hold in memory together.

    A sender that stalls holds what it has sent for as long as it likes, so that a bound for each is none for all.
    """

    def __init__(self, size: int) -> None:
        self._left = size
        self._lock = threading.Lock()

    def take(self, size: int) -> bool:
        """Whether there were so many bytes left; they are taken then."""
        with self._lock:
            if size > self._left:
                return False
            self._left -= size
            return True

    def give_back(self, size: int) -> None:
        with self._lock:
            self._left += size


class Spool:
    """Record batches: in memory while they are few and there is room, then in a file at `path`.

    The file is mapped into memory, so that its pages are the system's to drop.

    Args:
        limit: bytes that may be in the file; None is what the disk has.

    Raises:
        LimitExceeded: the disk is full, or there are more rows than the limit allows. Unavailable: it fails.
    """

    def __init__(self, path: Path, room: Room, limit: int | None = None) -> None:
        self._path = path
        self._room = room
        self._limit = limit
        self._written = 0
        self._batches: list[pa.RecordBatch] = []
        self._bytes = 0
        self._files = contextlib.ExitStack()
        self._writer: pa.ipc.RecordBatchStreamWriter | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        if self._writer is None:
            size = max(batch.nbytes, _LEAST_BYTES)
            if self._bytes + size <= _IN_MEMORY_BYTES and self._room.take(size):
                self._bytes += size
                self._batches.append(batch)
                return
            self._writer = self._open(batch.schema)
        self._written += batch.nbytes
        if self._limit is not None and self._written > self._limit:
            raise LimitExceeded(
                f"the rows take more than {self._limit:,} bytes of disk before they are all there",
                hint="send fewer at once, or have the service allow more by --query-disk",
            )
        with stored(str(self._path)):
            self._writer.write_batch(batch)

    def _open(self, schema: pa.Schema) -> pa.ipc.RecordBatchStreamWriter:
        """A file, with what was in memory until now."""
        with stored(str(self._path)):
            sink = self._files.enter_context(pa.OSFile(str(self._path), "wb"))
            writer = self._files.enter_context(pa.ipc.new_stream(sink, schema))
            for batch in self._batches:
                writer.write_batch(batch)
        self._written = self._bytes
        self._forget()
        return writer

    def _forget(self) -> None:
        self._batches = []
        self._room.give_back(self._bytes)
        self._bytes = 0

    def table(self, schema: pa.Schema) -> pa.Table:
        """All batches; call once, after the last `add`. Let go of it by `close`, which gives its room to others."""
        if self._writer is None:
            return pa.Table.from_batches(self._batches, schema)
        with stored(str(self._path)):
            self._files.close()
            return pa.ipc.open_stream(pa.memory_map(str(self._path))).read_all()

    def close(self) -> None:
        self._forget()
        # Ending a file that could not be written fails again, and has been told already.
        with contextlib.suppress(OSError, pa.ArrowException):
            self._files.close()
        self._path.unlink(missing_ok=True)
