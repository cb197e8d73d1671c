"""Where the tables of a store lie."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from headrace.storage.files import Files
from headrace.storage.folder import Folder
from headrace.storage.mark import Marks
from headrace.storage.workspace import Workspace

if TYPE_CHECKING:
    from headrace.storage.places import Places


def new_location(project: str, name: str) -> str:
    """A location that no table has had: what is left of a deleted one is never taken for the new."""
    return f"{project}/{name}-{uuid.uuid4().hex[:12]}"


class Hold(Protocol):
    """Holds names, together with others or alone, as `Storage.held` does."""

    def __call__(self, names: Iterable[str], *, alone: bool) -> AbstractContextManager[None]: ...


class Storage(Protocol):
    """Tables by their locations: `<project>/<group>-<unique>` under the store's root, or whole paths of others' tables.

    Raises:
        Unavailable, LimitExceeded, PermissionDenied: the storage cannot be used.
    """

    @property
    def files(self) -> Files:
        """Those of the tables, by the paths that `uri` begins."""
        ...

    @property
    def places(self) -> Places:
        """The buckets and clusters of tables that are not of this machine."""
        ...

    @property
    def work(self) -> Workspace: ...

    @property
    def marks(self) -> Marks:
        """What the root says of the store in it."""
        ...

    def folder(self, location: str) -> Folder: ...

    def given_location(self, location: str) -> str:
        """A table that a user names, outside the store's own. Raises InvalidArgument."""
        ...

    def move(self, folder: Path, location: str) -> None:
        """Put a folder of the workspace where it belongs."""
        ...

    def remove(self, location: str) -> bool:
        """Remove a table, or what there is of it. False where something may be left."""
        ...

    def held(self, locations: Iterable[str], *, alone: bool = False) -> AbstractContextManager[None]:
        """Within, nobody holds one of these tables `alone`, in any process; with it, nobody else holds it at all.

        Waits for the others.
        """
        ...

    def close(self) -> None: ...
