"""One file of a storage elsewhere."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import BinaryIO


class RemoteFile(io.RawIOBase):
    """A file that several threads may read at once, each with a place in it of its own.

    Args:
        opened: opens it once more, as the Delta library gives it: for one thread at a time.
        reached: within, its errors become ours.
    """

    def __init__(
        self, opened: Callable[[], BinaryIO], reached: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._opened = opened
        self._reached = reached
        self._own = threading.local()
        self.size = self._raw.seek(0, io.SEEK_END)
        self._raw.seek(0)

    @property
    def _raw(self) -> BinaryIO:
        found: BinaryIO | None = getattr(self._own, "raw", None)
        if found is None:
            with self._reached():
                found = self._own.raw = self._opened()
        return found

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._raw.seek(offset, whence)

    def tell(self) -> int:
        return self._raw.tell()

    def read(self, size: int = -1) -> bytes:
        raw = self._raw
        with self._reached():
            return raw.read(size) if size >= 0 else raw.read()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True
