"""Files that are not of this machine, as DuckDB reads them."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import re
import threading
from collections.abc import Iterator
from typing import Any

from fsspec import AbstractFileSystem

from headrace.config import REMOTE_SCHEMES
from headrace.engine.kept import Kept
from headrace.engine.passed import packed
from headrace.errors import CorruptTable, HeadraceError
from headrace.formats.folder.table import DATED
from headrace.storage.places import Places
from headrace.storage.remote_file import RemoteCursor, RemoteFile

# As snapshots write it, where a path holds what DuckDB takes for a pattern.
_ESCAPED = re.compile(r"\[([*?\[])\]")
_KEPT_FILES = 256
_NEVER = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)


class Lake(AbstractFileSystem):  # type: ignore[misc]
    """A file system of DuckDB: whole paths as they stand in snapshots, whose files are there and never change."""

    cachable = False

    protocol = (*REMOTE_SCHEMES, DATED)

    def __init__(self, places: Places) -> None:
        super().__init__()
        self._places = places
        self._files: Kept[RemoteFile] = Kept(_KEPT_FILES)

    def glob(self, path: str, maxdepth: int | None = None, **_: Any) -> list[str]:
        return [_ESCAPED.sub(r"\1", path)]

    def open(self, path: str, *_: Any, **__: Any) -> _LakeFile:
        with _passing(path):
            return _LakeFile(self._file(path), path)

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        with _passing(path):
            return {"name": path, "size": self._file(path).size, "type": "file"}

    def modified(self, path: str) -> dt.datetime:
        return _NEVER

    def _file(self, path: str) -> RemoteFile:
        """One object for each, which keeps the footer: DuckDB opens a file several times in a statement."""
        found = self._files.get(path)
        if found is None:
            stored = path.split("/", 3)[3] if path.startswith(f"{DATED}://") else path
            found = self._places.files(stored).file(stored)
            self._files.put(path, found)
        return found


class _LakeFile(io.RawIOBase):
    """DuckDB's threads share a file, and each has a place of its own in it."""

    def __init__(self, file: RemoteFile, path: str) -> None:
        self._file = file
        self._path = path
        self._own = threading.local()

    def _cursor(self) -> RemoteCursor:
        if not hasattr(self._own, "cursor"):
            self._own.cursor = RemoteCursor(self._file)
        cursor: RemoteCursor = self._own.cursor
        return cursor

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._cursor().seek(offset, whence)

    def tell(self) -> int:
        return self._cursor().tell()

    def read(self, size: int = -1) -> bytes:
        with _passing(self._path):
            return self._cursor().read(size)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


@contextlib.contextmanager
def _passing(path: str) -> Iterator[None]:
    """DuckDB keeps of an error what it says, alone: so it says all of it."""
    try:
        yield
    except FileNotFoundError:
        raise OSError(packed(CorruptTable(f"{path} is lost: it is not there"))) from None
    except HeadraceError as error:
        raise OSError(packed(error)) from error
