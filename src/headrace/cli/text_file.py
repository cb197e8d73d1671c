"""Files of text, as bytes."""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType

import pyarrow as pa

_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


def kind_of(path: str) -> str:
    """The ending that says how a file is read, in small letters and without that of its compression."""
    name = Path(path.lower())
    return (Path(name.stem) if name.suffix in _COMPRESSIONS else name).suffix


def open_text(path: str) -> pa.NativeFile:
    """The bytes of a file that may be compressed."""
    return pa.input_stream(path, compression=_COMPRESSIONS.get(Path(path.lower()).suffix))


class Lines:
    """A file as Arrow reads it, of which the last line ends too.

    Arrow may read on in a thread of its own after the reader is gone; when this is closed, it no longer does. A thread
    that is in Python when the program ends would abort it.
    """

    closed = False

    def __init__(self, path: str) -> None:
        self._file = open_text(path)
        self._last = b""
        self._reading = threading.Lock()

    def read(self, size: int) -> bytes:
        with self._reading:
            if self.closed:
                return b""
            data: bytes = self._file.read(size)
            while len(data) < size and (more := self._file.read(size - len(data))):
                data += more
            self._last = data[-1:] or self._last
            if len(data) < size and self._last not in b"\r\n":
                self._last = b"\n"
                data += self._last
            return data

    def close(self) -> None:
        with self._reading:
            self.closed = True
            self._file.close()

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()
