"""What is in a snapshot, as a short text: two with one digest have the same rows."""

from __future__ import annotations

import hashlib
import weakref

import pyarrow as pa

from headrace.engine.kept import Kept
from headrace.formats.base import Snapshot

_KEPT = 1024


class Digests:
    """Tells digests, and keeps them for the lists of files that are in use."""

    def __init__(self) -> None:
        # By the list itself, which snapshots share that show other columns, as long as somebody has it.
        self._known: Kept[tuple[weakref.ref[pa.Table], str]] = Kept(_KEPT)

    def of(self, snapshot: Snapshot) -> str:
        """Of files that are not replaced, it says which they are, and which of their rows are deleted."""
        known = self._known.get(id(snapshot.files))
        if known is None or known[0]() is not snapshot.files:
            known = weakref.ref(snapshot.files), _files(snapshot.files)
            self._known.put(id(snapshot.files), known)
        if not snapshot.deleted:
            return f"{snapshot.version} {known[1]}"
        gone = hashlib.sha256()
        for path in sorted(snapshot.deleted):
            gone.update(f"{path}\n".encode())
            gone.update(snapshot.deleted[path].tobytes())
        return f"{snapshot.version} {known[1]} {gone.hexdigest()[:32]}"


def _files(files: pa.Table) -> str:
    """In whatever order they are listed, which hangs on how the log was read."""
    found = hashlib.sha256()
    for path, size in sorted(zip(files["path"].to_pylist(), files["size_bytes"].to_pylist(), strict=True)):
        found.update(f"{path}\n{size}\n".encode())
    return found.hexdigest()[:32]
