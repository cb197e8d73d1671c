"""The checksum of a file."""

from __future__ import annotations

import zlib
from pathlib import Path

_PIECE_BYTES = 1 << 20


def crc32(path: Path) -> int:
    found = 0
    with path.open("rb", buffering=0) as file:
        while piece := file.read(_PIECE_BYTES):
            found = zlib.crc32(piece, found)
    return found
