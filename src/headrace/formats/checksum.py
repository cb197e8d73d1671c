"""The checksum of a file."""

from __future__ import annotations

import zlib

import pyarrow as pa

_PIECE_BYTES = 1 << 20


def crc32(file: pa.NativeFile) -> int:
    """That of all its bytes, from where it stands."""
    found = 0
    while piece := file.read_buffer(_PIECE_BYTES):
        found = zlib.crc32(piece, found)
    return found
