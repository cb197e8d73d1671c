"""The file of the rows that a training dataset was made of."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa

from headrace.errors import CorruptTable
from headrace.formats.checksum import crc32
from headrace.model.dataset import StoredSpine
from headrace.storage.failure import stored
from headrace.storage.files import Files

_BATCH_ROWS = 65_536


def write_spine(path: Path, spine: pa.Table) -> StoredSpine:
    """Write a file that is not there yet, down to the disk.

    As a stream, because an Arrow file takes no dictionary that differs from batch to batch.
    """
    with stored(str(path)):
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, spine.schema) as writer:
            for batch in spine.to_batches(_BATCH_ROWS):
                writer.write_batch(batch)
        with path.open("rb") as written:
            os.fsync(written.fileno())
            size = os.fstat(written.fileno()).st_size
        with pa.OSFile(str(path)) as written:
            return StoredSpine(spine.num_rows, size, crc32(written))


def read_spine(files: Files, path: str, written: StoredSpine) -> pa.Table:
    """The rows, mapped into memory where that can be.

    Raises CorruptTable if the file is not there, or not as it was written. A damaged one could end the process
    that believes what it says of lengths, or give other rows.
    """
    try:
        with files.view(path) as file:
            if (file.size(), crc32(file)) != (written.size_bytes, written.crc32):
                raise CorruptTable(f"{path} is not as it was written")
            file.seek(0)
            with pa.ipc.open_stream(file) as stream:
                return stream.read_all()
    except (pa.ArrowException, OSError) as error:
        raise CorruptTable(f"{path} cannot be read: {error}") from error
