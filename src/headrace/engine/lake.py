"""Files that are not of this machine, as DuckDB reads them."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import re
from collections.abc import Iterator
from typing import Any

from fsspec import AbstractFileSystem

from headrace.config import REMOTE_SCHEMES
from headrace.engine.passed import packed
from headrace.errors import CorruptTable, HeadraceError
from headrace.storage.places import Places

# As snapshots write it, where a path holds what DuckDB takes for a pattern.
_ESCAPED = re.compile(r"\[([*?\[])\]")
_NEVER = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)


class Lake(AbstractFileSystem):  # type: ignore[misc]
    """A file system of DuckDB: whole paths as they stand in snapshots, whose files are there and never change."""

    cachable = False

    protocol = REMOTE_SCHEMES

    def __init__(self, places: Places) -> None:
        super().__init__()
        self._places = places

    def glob(self, path: str, maxdepth: int | None = None, **_: Any) -> list[str]:
        return [_ESCAPED.sub(r"\1", path)]

    def open(self, path: str, *_: Any, **__: Any) -> _LakeFile:
        return _LakeFile(self._places, path)

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        return {"name": path, "size": self.open(path).size, "type": "file"}

    def modified(self, path: str) -> dt.datetime:
        return _NEVER


class _LakeFile(io.RawIOBase):
    def __init__(self, places: Places, path: str) -> None:
        self._path = path
        with self._passing():
            self._file = places.files(path).file(path)
        self.size = self._file.size

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with self._passing():
            return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def read(self, size: int = -1) -> bytes:
        with self._passing():
            return self._file.read(size)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    @contextlib.contextmanager
    def _passing(self) -> Iterator[None]:
        """DuckDB keeps of an error what it says, alone: so it says all of it."""
        try:
            yield
        except FileNotFoundError:
            raise OSError(packed(CorruptTable(f"{self._path} is lost: it is not there"))) from None
        except HeadraceError as error:
            raise OSError(packed(error)) from error
