"""Tables in folders of this machine."""

from __future__ import annotations

import os
import re
import shutil
import uuid
from pathlib import Path

import pyarrow as pa

_SPOOL = re.compile(r"(?P<pid>[0-9]+)-[0-9a-f]+\.arrow")
_IN_MEMORY_BYTES = 64 << 20


class LocalStorage:
    """The folder of a store: `<project>/<group>-<unique>` are tables, `.headrace` is its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._spool = root / ".headrace" / "spool"
        self._spool.mkdir(parents=True, exist_ok=True)
        self._sweep()

    @property
    def spill(self) -> Path:
        """Where the query engine may put what does not fit into memory."""
        return self.root / ".headrace" / f"spill-{os.getpid()}"

    def new_location(self, project: str, name: str) -> str:
        """A location that no table has had: what is left of a deleted one is never taken for the new."""
        return f"{project}/{name}-{uuid.uuid4().hex[:12]}"

    def uri(self, location: str) -> str:
        return str(self.root / location)

    def remove(self, location: str) -> None:
        shutil.rmtree(self.root / location, ignore_errors=True)

    def close(self) -> None:
        shutil.rmtree(self.spill, ignore_errors=True)

    def spool(self) -> Spool:
        return Spool(self._spool)

    def _sweep(self) -> None:
        """Remove what processes that were killed have left."""
        for path in self._spool.iterdir():
            match = _SPOOL.fullmatch(path.name)
            if match and not _is_running(int(match["pid"])):
                path.unlink(missing_ok=True)
        for folder in (self.root / ".headrace").glob("spill-*"):
            if not _is_running(int(folder.name.removeprefix("spill-"))):
                shutil.rmtree(folder, ignore_errors=True)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class Spool:
    """Record batches kept for reading more than once: in memory while they are few, then in a file.

    The file is mapped into memory, so that its pages are the system's to drop.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._batches: list[pa.RecordBatch] = []
        self._bytes = 0
        self._path: Path | None = None
        self._writer: pa.ipc.RecordBatchFileWriter | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        if self._writer is None:
            self._batches.append(batch)
            self._bytes += batch.nbytes
            if self._bytes > _IN_MEMORY_BYTES:
                self._open(batch.schema)
        else:
            self._writer.write_batch(batch)

    def _open(self, schema: pa.Schema) -> None:
        self._path = self._folder / f"{os.getpid()}-{uuid.uuid4().hex}.arrow"
        self._sink = pa.OSFile(str(self._path), "wb")
        self._writer = pa.ipc.new_file(self._sink, schema)
        for batch in self._batches:
            self._writer.write_batch(batch)
        self._batches = []

    def table(self, schema: pa.Schema) -> pa.Table:
        """All batches; call once, after the last `add`."""
        if self._writer is None:
            return pa.Table.from_batches(self._batches, schema)
        self._writer.close()
        self._sink.close()
        return pa.ipc.open_file(pa.memory_map(str(self._path))).read_all()

    def close(self) -> None:
        if self._path is not None:
            self._path.unlink(missing_ok=True)
