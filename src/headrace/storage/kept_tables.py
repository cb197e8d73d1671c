"""Small tables that were dear to compute, kept as files beside the tables."""

from __future__ import annotations

import contextlib
import os
import uuid
from pathlib import Path

import pyarrow as pa

_MOST_FILES = 1_000


class KeptTables:
    """Tables by name in a folder, the newest of them. What cannot be kept, or read again, is computed anew."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, name: str) -> pa.Table | None:
        """None if it is not there."""
        try:
            with pa.OSFile(str(self._path(name))) as source:
                return pa.ipc.open_file(source).read_all()
        except (OSError, pa.ArrowException):
            return None

    def put(self, name: str, table: pa.Table) -> None:
        """Keep a table, in the place of an older one of that name."""
        part = self._folder / f"{uuid.uuid4().hex}.part"
        with contextlib.suppress(OSError, pa.ArrowException):
            self._folder.mkdir(exist_ok=True)
            try:
                with pa.OSFile(str(part), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
                    writer.write_table(table)
                os.replace(part, self._path(name))
            finally:
                part.unlink(missing_ok=True)
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        found = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime)
        for path in found[: max(0, len(found) - _MOST_FILES)]:
            path.unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.arrow"
