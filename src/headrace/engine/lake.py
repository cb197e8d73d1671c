"""Files that are not of this machine, as DuckDB reads them."""

from __future__ import annotations

import datetime as dt
import io
import re
import threading
from typing import Any, BinaryIO

from fsspec import AbstractFileSystem

from headrace.storage.remote_files import RemoteFiles

# As snapshots write it, where a path holds what DuckDB takes for a pattern.
_ESCAPED = re.compile(r"\[([*?\[])\]")
_NEVER = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)


class Lake(AbstractFileSystem):  # type: ignore[misc]
    """A file system of DuckDB: whole paths as they stand in snapshots, whose files are there and never change."""

    cachable = False

    def __init__(self, files: RemoteFiles) -> None:
        super().__init__()
        self.protocol = files.place.uri.partition("://")[0]
        self._files = files

    def glob(self, path: str, maxdepth: int | None = None, **_: Any) -> list[str]:
        return [_ESCAPED.sub(r"\1", path)]

    def open(self, path: str, *_: Any, **__: Any) -> _LakeFile:
        return _LakeFile(self._files, path)

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        return {"name": path, "size": _LakeFile(self._files, path).size, "type": "file"}

    def modified(self, path: str) -> dt.datetime:
        return _NEVER


class _LakeFile(io.RawIOBase):
    """A file that several threads read at once, each with a place in it of its own."""

    def __init__(self, files: RemoteFiles, path: str) -> None:
        self._files = files
        self._path = path
        self._own = threading.local()
        self.size = self._raw.seek(0, io.SEEK_END)

    @property
    def _raw(self) -> BinaryIO:
        found: BinaryIO | None = getattr(self._own, "raw", None)
        if found is None:
            found = self._own.raw = self._files.raw(self._path)
        return found

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._raw.seek(offset, whence)

    def tell(self) -> int:
        return self._raw.tell()

    def read(self, size: int = -1) -> bytes:
        return self._raw.read(size)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True
