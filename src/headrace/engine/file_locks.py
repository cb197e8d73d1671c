"""Locks for what is found out of files."""

from __future__ import annotations

import posixpath
import threading
from collections.abc import Sequence

_LOCKS = 64


class FileLocks:
    """A lock for the files of each folder, so that what one storage keeps waiting, other tables do not wait for.

    Two folders may share one by chance.
    """

    def __init__(self) -> None:
        self._locks = [threading.Lock() for _ in range(_LOCKS)]

    def of(self, paths: Sequence[str]) -> threading.Lock:
        """That of the folder of the first of them."""
        folder = posixpath.dirname(paths[0]) if paths else ""
        return self._locks[hash(folder) % _LOCKS]
