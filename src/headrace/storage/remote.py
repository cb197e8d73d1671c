"""Tables in HDFS, HopsFS, S3, and their kin."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

from headrace.errors import HeadraceError, InvalidArgument
from headrace.storage.base import Hold
from headrace.storage.failure import stored
from headrace.storage.folder import Folder
from headrace.storage.place import Place
from headrace.storage.remote_files import RemoteFiles
from headrace.storage.workspace import Workspace

_AT_ONCE = 4


class RemoteStorage:
    """A `Storage` under a URI.

    Args:
        place: the bucket or cluster, which is closed with the storage.
        root: the path in it, from / on.
        work: a folder of this machine.
        hold: these storages have no locks, so that whoever writes to one store shares this.
    """

    def __init__(self, place: Place, root: str, work: Path, hold: Hold) -> None:
        self._place = place
        self._root = root.strip("/")
        self._hold = hold
        self.files = RemoteFiles(place)
        self.work = Workspace(work)

    @property
    def lake(self) -> RemoteFiles:
        return self.files

    def new_location(self, project: str, name: str) -> str:
        return f"{project}/{name}-{uuid.uuid4().hex[:12]}"

    def folder(self, location: str) -> Folder:
        place, path = self._place, self._path(location)
        return Folder(f"{place.uri}/{path}", f"{place.shown}/{path}", self.files, place.options)

    def _path(self, location: str) -> str:
        """From the place's root on."""
        if "://" in location:
            return location.removeprefix(f"{self._place.shown}/")
        return f"{self._root}/{location}" if self._root else location

    def given_location(self, location: str) -> str:
        path = location.removeprefix(f"{self._place.shown}/").strip("/")
        if not location.startswith(f"{self._place.shown}/") or not path:
            raise InvalidArgument(
                f"location={location!r} is not where the store is",
                hint=f"name the folder of the table as {self._place.shown}/…",
            )
        if any(part in ("", ".", "..") for part in path.split("/")):
            raise InvalidArgument(f"location={location!r} holds a folder without a name of its own")
        if f"{path}/".startswith(f"{self._root}/" if self._root else ""):
            raise InvalidArgument(
                f"{location} is inside the store: its tables have feature groups of their own",
                hint="use get_feature_group",
            )
        return f"{self._place.shown}/{path}"

    def move(self, folder: Path, location: str) -> None:
        """File by file: nobody looks there before all of it is registered."""
        files = [path for path in folder.rglob("*") if path.is_file()]
        to = self.folder(location)
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            # Each result, so that what failed is told.
            list(
                threads.map(lambda path: self.files.put(path, f"{to.uri}/{path.relative_to(folder)}"), files)
            )

    def remove(self, location: str) -> None:
        with contextlib.suppress(HeadraceError):
            self.files.remove(self.folder(location).uri)

    @contextlib.contextmanager
    def registering(self, location: str, registry: str) -> Iterator[None]:
        with contextlib.ExitStack() as noted:
            with stored(location):
                noted.enter_context(self.work.unregistered.of(location, registry))
            yield

    def settle(self, registry: str, is_known: Callable[[str], bool]) -> None:
        with stored(self._place.shown):
            self.work.unregistered.settle(registry, is_known, self.remove)

    def held(self, locations: Iterable[str], *, alone: bool = False) -> AbstractContextManager[None]:
        return self._hold([self.folder(location).shown for location in locations], alone=alone)

    def close(self) -> None:
        self.work.close()
        self._place.close()
