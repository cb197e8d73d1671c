"""One file of a storage elsewhere."""

from __future__ import annotations

import io
import itertools
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from typing import BinaryIO

from headrace.errors import CorruptTable, HeadraceError

# What a reader of Parquet asks for first, and again with each statement; small files are kept whole.
_TAIL_BYTES = 64 << 10
_SMALL_BYTES = 512 << 10
# One connection carries less than this machine's memory does.
_PIECE_BYTES = 8 << 20
_MOST_PIECES = 4


class RemoteFile:
    """A file that does not change, read by any number of threads.

    Args:
        shown: its path, for people.
        opened: opens it as the Delta library gives it: for one thread at a time.
        reached: within, its errors become ours.
        trouble: what keeps all of the storage from being reached.
        threads: read the pieces of what is large.
    """

    def __init__(
        self,
        shown: str,
        opened: Callable[[], BinaryIO],
        reached: Callable[[], AbstractContextManager[None]],
        trouble: Callable[[], HeadraceError | None],
        threads: Executor,
    ) -> None:
        self._shown = shown
        self._opened = opened
        self._reached = reached
        self._trouble = trouble
        self._threads = threads
        self._idle: deque[BinaryIO] = deque()
        first = self._take()
        self.size = first.seek(0, io.SEEK_END)
        self._idle.append(first)
        self._tail: bytes | None = None
        self._tail_start = 0 if self.size <= _SMALL_BYTES else self.size - _TAIL_BYTES

    def read_at(self, offset: int, size: int) -> bytes:
        """The bytes from there on, fewer at the end of the file."""
        size = max(0, min(size, self.size - offset))
        if offset >= self._tail_start:
            if self._tail is None:
                self._tail = self._piece(self._tail_start, self.size - self._tail_start)
            begin = offset - self._tail_start
            return self._tail[begin : begin + size]
        count = min(_MOST_PIECES, size // _PIECE_BYTES)
        if count < 2:
            return self._piece(offset, size)
        cuts = [offset + size * i // count for i in range(count + 1)]
        first, *rest = itertools.pairwise(cuts)
        others = [self._threads.submit(self._piece, a, b - a) for a, b in rest]
        return b"".join([self._piece(first[0], first[1] - first[0]), *(other.result() for other in others)])

    def _piece(self, offset: int, size: int) -> bytes:
        with self._reached():
            try:
                return self._read(self._take(), offset, size)
            except OSError as error:
                trouble = self._trouble()
                if trouble is not None:
                    raise trouble from error
            # The machine that it was read from may be gone: opened anew, it is read from others. What other threads
            # have opened may be of that machine, too.
            self._idle.clear()
            return self._read(self._whole(self._opened()), offset, size)

    def _read(self, raw: BinaryIO, offset: int, size: int) -> bytes:
        raw.seek(offset)
        found = raw.read(size)
        if len(found) < size:  # what is open may still be as long as the file was
            raise OSError(f"{self._shown} gave {len(found)} of {size} bytes")
        self._idle.append(raw)
        return found

    def _whole(self, raw: BinaryIO) -> BinaryIO:
        """Raises CorruptTable for a file that has another length by now."""
        found = raw.seek(0, io.SEEK_END)
        if found != self.size:
            raise CorruptTable(
                f"{self._shown} was {self.size} bytes long, and is {found} now",
                hint="another program changed it: bring it back from a copy, or restore an earlier snapshot",
            )
        return raw

    def _take(self) -> BinaryIO:
        """One that no other thread uses: to open one more asks the storage for it."""
        try:
            return self._idle.pop()
        except IndexError:
            with self._reached():
                return self._opened()


class RemoteCursor(io.RawIOBase):
    """A place in a file."""

    def __init__(self, file: RemoteFile) -> None:
        self._file = file
        self._place = 0

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._file.size}[whence]
        self._place = start + offset
        return self._place

    def tell(self) -> int:
        return self._place

    def read(self, size: int = -1) -> bytes:
        found = self._file.read_at(self._place, self._file.size if size < 0 else size)
        self._place += len(found)
        return found

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True
