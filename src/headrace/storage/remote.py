"""Tables in HDFS, HopsFS, S3, and their kin."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

from headrace.config import given_uri, is_remote
from headrace.errors import HeadraceError, InvalidArgument
from headrace.storage.base import Hold
from headrace.storage.failure import stored
from headrace.storage.folder import Folder
from headrace.storage.mark import Marks
from headrace.storage.places import Places
from headrace.storage.workspace import Workspace

_AT_ONCE = 4


class RemoteStorage:
    """A `Storage` under a URI.

    Args:
        root: the URI.
        work: a folder of this machine.
        hold: these storages have no locks, so that whoever writes to one store shares this.
    """

    def __init__(self, places: Places, root: str, work: Path, hold: Hold) -> None:
        self.places = places
        self._root = places.folder(root)
        self.files = places.files(f"{self._root.uri}/")
        self._hold = hold
        self.work = Workspace(work)

    @property
    def marks(self) -> Marks:
        def put(data: bytes, path: str) -> None:
            draft = self.work.new_path()
            with stored(str(draft)):
                draft.write_bytes(data)
            self.files.put(draft, path)

        return Marks(self._under_root(".headrace").uri, self.files, put, self.files.remove_file)

    def folder(self, location: str) -> Folder:
        return self.places.folder(location) if is_remote(location) else self._under_root(location)

    def _under_root(self, path: str) -> Folder:
        root = self._root
        return Folder(
            f"{root.uri.rstrip('/')}/{path}", f"{root.shown.rstrip('/')}/{path}", root.files, root.options
        )

    def given_location(self, location: str) -> str:
        if not is_remote(location):
            raise InvalidArgument(
                f"location={location!r} is no URI, and the store is at {self._root.shown}",
                hint="name the folder of the table as s3://bucket/path, hdfs://host:port/path or the like",
            )
        given = given_uri(location)
        if f"{self.places.folder(given).uri}/".startswith(f"{self._root.uri.rstrip('/')}/"):
            raise InvalidArgument(
                f"{location} is inside the store {self._root.shown}: its tables have feature groups of their own",
                hint="use get_feature_group",
            )
        return given

    def move(self, folder: Path, location: str) -> None:
        """File by file: nobody looks there before all of it is registered."""
        files = [path for path in folder.rglob("*") if path.is_file()]
        to = self.folder(location)
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            # Each result, so that what failed is told.
            list(
                threads.map(lambda path: self.files.put(path, f"{to.uri}/{path.relative_to(folder)}"), files)
            )

    def remove(self, location: str) -> bool:
        try:
            self.files.remove(self.folder(location).uri)
        except (HeadraceError, OSError):
            return False
        return True

    def held(self, locations: Iterable[str], *, alone: bool = False) -> AbstractContextManager[None]:
        # By what the registry calls them: the root may be spelled in several ways.
        return self._hold(locations, alone=alone)

    def close(self) -> None:
        self.work.close()
        self.places.close()
