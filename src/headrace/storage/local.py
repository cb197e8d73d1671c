"""Tables in folders of this machine."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from headrace.config import check_folder
from headrace.errors import InvalidArgument
from headrace.storage.failure import stored
from headrace.storage.kept_tables import KeptTables
from headrace.storage.notes import Notes
from headrace.storage.scratch import Scratch
from headrace.storage.spool import Room, Spool

# Four calls with as much as one may hold, or hundreds of small ones; a service of a few GB has it to spare beside what
# its queries take.
_SPOOLED_BYTES = 256 << 20


class LocalStorage:
    """The folder of a store: `<project>/<group>-<unique>` are tables, `.headrace` is its own.

    Raises:
        Unavailable, LimitExceeded: the folder cannot be used.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._room = Room(_SPOOLED_BYTES)
        with stored(str(root)):
            self._scratch = Scratch(root / ".headrace")
        self._notes = Notes(root / ".headrace" / "unregistered")

    @property
    def statistics(self) -> KeptTables:
        """Statistics of snapshots."""
        return KeptTables(self.root / ".headrace" / "statistics")

    @property
    def spill(self) -> Path:
        """Where the query engine may put what does not fit into memory."""
        return self._scratch.path / "spill"

    def new_location(self, project: str, name: str) -> str:
        """A location that no table has had: what is left of a deleted one is never taken for the new."""
        return f"{project}/{name}-{uuid.uuid4().hex[:12]}"

    def uri(self, location: str) -> str:
        return str(self.root / location)

    def new_folder(self) -> Path:
        """A folder for what is to be `moved` when it is whole; that of a killed process is removed by the next."""
        folder = self._scratch.new_path()
        with stored(str(folder)):
            folder.mkdir()
        return folder

    def discard(self, folder: Path) -> None:
        """Remove what is left of a folder that was not moved."""
        shutil.rmtree(folder, ignore_errors=True)

    def move(self, folder: Path, location: str) -> None:
        """Put a folder where it belongs, all of it at once."""
        with stored(str(self.root / location)):
            (self.root / location).parent.mkdir(exist_ok=True)
            for path, _, _ in os.walk(folder):
                _sync(path)
            os.rename(folder, self.root / location)
            _sync((self.root / location).parent)

    @contextlib.contextmanager
    def registering(self, location: str, registry: str) -> Iterator[None]:
        """Within, a folder is moved to a location that the registry does not know, and is told to it."""
        with contextlib.ExitStack() as noted:
            with stored(str(self.root / location)):
                noted.enter_context(self._notes.of(location, registry))
            yield

    def settle(self, registry: str, is_known: Callable[[str], bool]) -> None:
        """Remove what killed processes had moved, and not told to this registry: what it does not know."""
        with stored(str(self.root)):
            self._notes.settle(registry, is_known, self.remove)

    def given_location(self, location: str) -> str:
        """A folder that a user names, outside the store's own. Raises InvalidArgument."""
        scheme, colons, path = location.partition("://")
        if colons and scheme.isalnum():
            raise InvalidArgument(
                f"location={location!r} is a URI: tables are read from folders, and not from {scheme}:// yet",
                hint=f"give the path: {path}" if scheme == "file" else "name a folder where the store is",
            )
        if not os.path.isabs(location):
            raise InvalidArgument(
                f"location={location!r} is no absolute path",
                hint=f"name the folder of the table from / on, where the store is: {os.path.abspath(location)}",
            )
        check_folder(location)
        path = os.path.realpath(location)  # of several names, a table is held and kept whole under one
        check_folder(path)
        if os.path.commonpath([self.root.resolve(), Path(path).resolve()]) == str(self.root.resolve()):
            raise InvalidArgument(
                f"{path} is inside the store {self.root}: its tables have feature groups of their own",
                hint="use get_feature_group",
            )
        return path

    def remove(self, location: str) -> None:
        """Remove a table, all of it at once: what a killed process has not yet deleted goes with its scratch."""
        table = self.root / location
        gone = self._scratch.new_path()
        with contextlib.suppress(OSError):
            os.rename(table, gone)
        for folder in (gone, table):
            shutil.rmtree(folder, ignore_errors=True)

    @contextlib.contextmanager
    def held(self, locations: Iterable[str], *, alone: bool = False) -> Iterator[None]:
        """Within, nobody holds one of these tables `alone`, in any process; with it, nobody else holds it at all.

        Waits for the others. A table that is not there is held by nobody.
        """
        with contextlib.ExitStack() as holds:
            # In order, so that no two wait for each other.
            for location in sorted(set(locations)):
                with stored(str(self.root / location)):
                    try:
                        folder = os.open(self.root / location, os.O_RDONLY)
                    except FileNotFoundError:
                        continue
                    holds.callback(os.close, folder)
                    fcntl.flock(folder, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
            yield

    def close(self) -> None:
        self._scratch.close()

    def spool(self) -> Spool:
        return Spool(self._scratch.new_path(".arrow"), self._room)


def _sync(folder: str | Path) -> None:
    """Bring the names in a folder down to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
