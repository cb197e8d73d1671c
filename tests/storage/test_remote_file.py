"""Reads from files elsewhere: of their ends, of small ones, and in pieces at once."""

from __future__ import annotations

import contextlib
import io
import random
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO

import pyarrow as pa
import pytest
from pyarrow import csv

from headrace.errors import CorruptTable, Unavailable
from headrace.storage.remote_file import RemoteCursor, RemoteFile

CONTENT = random.Random(1).randbytes(21 << 20)


class Opened:
    """Counts opens and what is read, and refuses two threads at once in one file, as the Delta library does."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.reads: list[int] = []
        self.opens = 0

    def __call__(self) -> BinaryIO:
        reads = self.reads
        self.opens += 1

        class File(io.BytesIO):
            def __init__(self, content: bytes) -> None:
                super().__init__(content)
                self._used = threading.Lock()

            def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
                assert self._used.acquire(blocking=False)
                if whence == io.SEEK_END:
                    self._used.release()
                return super().seek(place, whence)

            def read(self, size: int | None = -1) -> bytes:
                found = super().read(size)
                reads.append(len(found))
                self._used.release()
                return found

        return File(self.content)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


@pytest.mark.parametrize("size", [0, 1, 1 << 16, 1 << 20, 21 << 20])
def test_any_part(threads: ThreadPoolExecutor, size: int) -> None:
    content = CONTENT[:size]
    file = RemoteFile("f", Opened(content), contextlib.nullcontext, lambda: None, threads)
    assert file.size == size
    chance = random.Random(2)
    for _ in range(100):
        start, length = chance.randint(0, size), chance.randint(0, size + 10)
        assert file.read_at(start, length) == content[start : start + length]


def test_the_end_is_read_once(threads: ThreadPoolExecutor) -> None:
    opened = Opened(CONTENT)
    file = RemoteFile("f", opened, contextlib.nullcontext, lambda: None, threads)
    for length in (8, 16_384, 65_536):
        assert file.read_at(len(CONTENT) - length, length) == CONTENT[-length:]
    assert opened.reads == [65_536]


def test_what_one_thread_has_opened_another_one_reads(threads: ThreadPoolExecutor) -> None:
    opened = Opened(CONTENT)
    file = RemoteFile("f", opened, contextlib.nullcontext, lambda: None, threads)
    assert file.read_at(3, 10) == CONTENT[3:13]
    assert threads.submit(file.read_at, 13, 10).result() == CONTENT[13:23]
    assert opened.opens == 1


def test_a_small_file_is_read_once(threads: ThreadPoolExecutor) -> None:
    opened = Opened(CONTENT[:500_000])
    file = RemoteFile("f", opened, contextlib.nullcontext, lambda: None, threads)
    assert file.read_at(400_000, 100_000) + file.read_at(0, 10) == CONTENT[400_000:500_000] + CONTENT[:10]
    assert opened.reads == [500_000]


def test_what_is_large_is_read_in_pieces(threads: ThreadPoolExecutor) -> None:
    opened = Opened(CONTENT)
    file = RemoteFile("f", opened, contextlib.nullcontext, lambda: None, threads)
    assert file.read_at(5, 20 << 20) == CONTENT[5 : (20 << 20) + 5]
    assert sorted(opened.reads) == [10 << 20] * 2


def test_a_piece_that_fails(threads: ThreadPoolExecutor) -> None:
    class Failing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() > 8 << 20:
                raise OSError("away")
            return super().read(size)

    file = RemoteFile("f", lambda: Failing(CONTENT), contextlib.nullcontext, lambda: None, threads)
    with pytest.raises(OSError, match="away"):
        file.read_at(0, 20 << 20)


def test_a_file_is_opened_anew_where_a_read_fails(threads: ThreadPoolExecutor) -> None:
    left = [2]

    class Failing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if left[0]:
                left[0] -= 1
                raise OSError("this machine is gone")
            return super().read(size)

    opened: list[BinaryIO] = []

    def again() -> BinaryIO:
        opened.append(Failing(CONTENT))
        return opened[-1]

    file = RemoteFile("f", again, contextlib.nullcontext, lambda: None, threads)
    left[0] = 1
    assert file.read_at(3, 10) == CONTENT[3:13]
    assert len(opened) == 2


def test_a_file_that_was_cut_short_is_named(threads: ThreadPoolExecutor) -> None:
    class Ranged(io.BytesIO):
        """Refuses what begins behind its end, as S3 does, and remembers how long it was."""

        def __init__(self, content: bytes) -> None:
            super().__init__(content)
            self._length = len(content)

        def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
            return super().seek(self._length) if whence == io.SEEK_END else super().seek(place, whence)

        def read(self, size: int | None = -1) -> bytes:
            if self.tell() >= len(self.getvalue()):
                raise OSError("416 Range Not Satisfiable")
            return super().read(size)

    left = [CONTENT]
    file = RemoteFile("s3://lake/f", lambda: Ranged(left[0]), contextlib.nullcontext, lambda: None, threads)
    left[0] = CONTENT[:1000]
    file._idle[0].truncate(1000)
    for offset in (990, 2000):
        with pytest.raises(CorruptTable, match=r"s3://lake/f was 22020096 bytes long, and is 1000 now"):
            file.read_at(offset, 100)


def test_what_another_thread_had_opened_is_not_read_after_a_failure(threads: ThreadPoolExecutor) -> None:
    class Gone(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError("this machine is gone")

    class Returned(deque[BinaryIO]):
        """To which another thread gives back what it had."""

        def clear(self) -> None:
            super().clear()
            self.append(Gone(CONTENT))

    files: list[BinaryIO] = [Gone(CONTENT), io.BytesIO(CONTENT)]
    file = RemoteFile("f", lambda: files.pop(0), contextlib.nullcontext, lambda: None, threads)
    file._idle = Returned(file._idle)
    assert file.read_at(3, 10) == CONTENT[3:13]


def test_what_keeps_the_storage_away_is_told_instead(threads: ThreadPoolExecutor) -> None:
    class Failing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError("away")

    trouble = Unavailable("no NameNode answers")
    file = RemoteFile("f", lambda: Failing(CONTENT), contextlib.nullcontext, lambda: trouble, threads)
    with pytest.raises(Unavailable, match="no NameNode"):
        file.read_at(3, 10)


def test_a_place_is_the_files_own_whoever_reads(threads: ThreadPoolExecutor) -> None:
    """Arrow reads ahead with a thread for each block."""
    rows = [f"{number},text of {number}" for number in range(50_000)]
    content = "\n".join(["id,text", *rows]).encode()
    opened = Opened(content)
    cursor = RemoteCursor(RemoteFile("f", opened, contextlib.nullcontext, lambda: None, threads))
    read = csv.open_csv(pa.PythonFile(cursor, "r"), csv.ReadOptions(block_size=10_000)).read_all()
    assert read["id"].to_pylist() == list(range(50_000))
    cursor.seek(0)
    pieces = [threads.submit(cursor.read, 1000).result() for _ in range(5)]
    assert b"".join(pieces) == content[:5000]
    assert cursor.seek(-4, io.SEEK_END) == len(content) - 4
    assert cursor.seek(2, io.SEEK_CUR) == len(content) - 2
    assert cursor.read() == content[-2:]
