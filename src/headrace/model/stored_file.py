"""The files that hold the rows of training datasets, and what tells that one is the file that was written."""

from __future__ import annotations

import msgspec

FILE_MARK = b"headrace.file"
"""In the schema of a Parquet or an Arrow file: the mark of the file."""


class StoredFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file with rows of one split; `path` is in the folder of the dataset, or whole.

    Args:
        mark: what no other file has. CSV files cannot bear it.
        crc32: of a CSV file, all of whose bytes are read anyway. Parquet has checksums for its pages, and Arrow is
            mapped in order not to be read.
    """

    path: str
    rows: int
    size_bytes: int
    mark: str
    crc32: int | None = None
