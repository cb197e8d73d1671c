"""Tables in folders of this machine."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from headrace.config import REMOTE_SCHEMES, check_folder, given_uri, is_remote
from headrace.errors import InvalidArgument
from headrace.storage.base import Hold
from headrace.storage.failure import stored
from headrace.storage.files import LocalFiles, sync
from headrace.storage.folder import Folder
from headrace.storage.mark import Marks
from headrace.storage.places import Places
from headrace.storage.workspace import Workspace


class LocalStorage:
    """The folder of a store; a `Storage`. `.headrace` in it is its workspace."""

    def __init__(self, root: Path, places: Places, hold: Hold) -> None:
        self.root = root
        self.places = places
        self._hold = hold
        self.work = Workspace(root / ".headrace")

    @property
    def files(self) -> LocalFiles:
        return LocalFiles()

    @property
    def marks(self) -> Marks:
        def put(data: bytes, path: str) -> None:
            draft = self.work.new_path()
            with stored(path):
                draft.write_bytes(data)
                sync(draft)
                draft.rename(path)
                sync(Path(path).parent)

        return Marks(str(self.root / ".headrace"), self.files, put, os.remove)

    def folder(self, location: str) -> Folder:
        if is_remote(location):
            return self.places.folder(location)
        return Folder.local(str(self.root / location))

    def move(self, folder: Path, location: str) -> None:
        """All of it at once."""
        with stored(str(self.root / location)):
            (self.root / location).parent.mkdir(exist_ok=True)
            for path, _, _ in os.walk(folder):
                sync(path)
            os.rename(folder, self.root / location)
            sync((self.root / location).parent)

    def given_location(self, location: str) -> str:
        if is_remote(location):
            given = given_uri(location)
            self.places.folder(given)
            return given
        scheme, colons, path = location.partition("://")
        if colons and scheme.isalnum():
            raise InvalidArgument(
                f"location={location!r} is a URI of a kind that is not known: {scheme}",
                hint=f"give the path: {path}"
                if scheme == "file"
                else f"known are {', '.join(REMOTE_SCHEMES)}",
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

    def remove(self, location: str) -> bool:
        """All of it at once: what a killed process has not yet deleted goes with its scratch."""
        table = self.root / location
        gone = self.work.new_path()
        with contextlib.suppress(OSError):
            os.rename(table, gone)
        for folder in (gone, table):
            shutil.rmtree(folder, ignore_errors=True)
        return not table.exists()

    @contextlib.contextmanager
    def held(self, locations: Iterable[str], *, alone: bool = False) -> Iterator[None]:
        """A table that is not there is held by nobody."""
        named = sorted(set(locations))  # in order, so that no two wait for each other
        with contextlib.ExitStack() as holds:
            for location in named:
                if is_remote(location):
                    holds.enter_context(self._hold([location], alone=alone))
                    continue
                with stored(str(self.root / location)):
                    try:
                        folder = os.open(self.root / location, os.O_RDONLY)
                    except FileNotFoundError:
                        continue
                    holds.callback(os.close, folder)
                    fcntl.flock(folder, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
                    # A process that was forked meanwhile has the folder open, too, and would go on holding it.
                    holds.callback(fcntl.flock, folder, fcntl.LOCK_UN)
            yield

    def close(self) -> None:
        self.work.close()
        self.places.close()
