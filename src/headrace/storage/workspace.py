"""What a store needs of this machine's disk, wherever its tables lie."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from headrace.storage.failure import stored
from headrace.storage.kept_tables import KeptTables
from headrace.storage.notes import Notes
from headrace.storage.scratch import Scratch
from headrace.storage.spool import Room, Spool

# Four calls with as much as one may hold, or hundreds of small ones; a service of a few GB has it to spare beside what
# its queries take.
_SPOOLED_BYTES = 256 << 20


class Workspace:
    """A folder of Headrace's own, made if it is missing.

    `sent_limit` are bytes of disk that rows which a caller sends may take; None is what there is.

    Raises:
        Unavailable, LimitExceeded, PermissionDenied: the folder cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._room = Room(_SPOOLED_BYTES)
        self.sent_limit: int | None = None
        self._unregistered = Notes(folder / "unregistered")
        with stored(str(folder)):
            self._scratch = Scratch(folder)

    @property
    def statistics(self) -> KeptTables:
        """Statistics of snapshots."""
        return KeptTables(self._folder / "statistics")

    @property
    def results(self) -> Path:
        """Where results are kept by a service that does so."""
        return self._folder / "results"

    @contextlib.contextmanager
    def registering(self, location: str, registry: str) -> Iterator[None]:
        """Within, a folder is moved to a location that the registry does not know, and is told to it."""
        with contextlib.ExitStack() as noted:
            with stored(str(self._folder)):
                noted.enter_context(self._unregistered.of(location, registry))
            yield

    def settle(self, registry: str, is_known: Callable[[str], bool], remove: Callable[[str], bool]) -> None:
        """Remove what killed processes had moved, and not told to this registry: what it does not know."""
        with stored(str(self._folder)):
            self._unregistered.settle(registry, is_known, remove)

    @property
    def spill(self) -> Path:
        """Where the query engine may put what does not fit into memory."""
        return self._scratch.path / "spill"

    def new_path(self) -> Path:
        """A path that nothing has had; what a killed process leaves there is removed by the next."""
        return self._scratch.new_path()

    def new_folder(self) -> Path:
        folder = self.new_path()
        with stored(str(folder)):
            folder.mkdir()
        return folder

    def discard(self, folder: Path) -> None:
        """Remove what is left of a folder."""
        shutil.rmtree(folder, ignore_errors=True)

    def spool(self, *, of_caller: bool = False) -> Spool:
        """For rows that a caller sends, or for those of a table."""
        limit = self.sent_limit if of_caller else None
        return Spool(self._scratch.new_path(".arrow"), self._room, limit)

    def close(self) -> None:
        self._scratch.close()
