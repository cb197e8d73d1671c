"""Tables in folders of this machine."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from headrace.config import check_folder
from headrace.errors import InvalidArgument
from headrace.storage.failure import stored
from headrace.storage.files import LocalFiles
from headrace.storage.folder import Folder
from headrace.storage.workspace import Workspace


class LocalStorage:
    """The folder of a store; a `Storage`. `.headrace` in it is its workspace."""

    def __init__(self, root: Path, options: Mapping[str, str] | None = None) -> None:
        self.root = root
        self._options = options or {}
        self.work = Workspace(root / ".headrace")

    @property
    def files(self) -> LocalFiles:
        return LocalFiles()

    @property
    def lake(self) -> None:
        return None

    def new_location(self, project: str, name: str) -> str:
        return f"{project}/{name}-{uuid.uuid4().hex[:12]}"

    def folder(self, location: str) -> Folder:
        path = str(self.root / location)
        return Folder(path, path, self.files, self._options)

    def move(self, folder: Path, location: str) -> None:
        """All of it at once."""
        with stored(str(self.root / location)):
            (self.root / location).parent.mkdir(exist_ok=True)
            for path, _, _ in os.walk(folder):
                _sync(path)
            os.rename(folder, self.root / location)
            _sync((self.root / location).parent)

    @contextlib.contextmanager
    def registering(self, location: str, registry: str) -> Iterator[None]:
        with contextlib.ExitStack() as noted:
            with stored(str(self.root / location)):
                noted.enter_context(self.work.unregistered.of(location, registry))
            yield

    def settle(self, registry: str, is_known: Callable[[str], bool]) -> None:
        with stored(str(self.root)):
            self.work.unregistered.settle(registry, is_known, self.remove)

    def given_location(self, location: str) -> str:
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
        """All of it at once: what a killed process has not yet deleted goes with its scratch."""
        table = self.root / location
        gone = self.work.new_path()
        with contextlib.suppress(OSError):
            os.rename(table, gone)
        for folder in (gone, table):
            shutil.rmtree(folder, ignore_errors=True)

    @contextlib.contextmanager
    def held(self, locations: Iterable[str], *, alone: bool = False) -> Iterator[None]:
        """A table that is not there is held by nobody."""
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
        self.work.close()


def _sync(folder: str | Path) -> None:
    """Bring the names in a folder down to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
