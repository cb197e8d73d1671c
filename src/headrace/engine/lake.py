"""Files that are not of this machine, as DuckDB reads them."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

from fsspec import AbstractFileSystem

from headrace.storage.remote_file import RemoteFile
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

    def open(self, path: str, *_: Any, **__: Any) -> RemoteFile:
        return self._files.file(path)

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        return {"name": path, "size": self._files.file(path).size, "type": "file"}

    def modified(self, path: str) -> dt.datetime:
        return _NEVER
