"""What a root says of the store that lies in it."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from headrace.errors import CorruptTable
from headrace.storage.files import Files

MARKS = ".headrace/store-*.json"
"""Where they lie under the root."""

_NAME = re.compile(r"store-([0-9a-f]{32})\.json")


class Mark(msgspec.Struct, frozen=True):
    """Tells the store from every other.

    Args:
        store: an id of 32 hexadecimal digits, which the registry has too.
        registry: where that was when the mark was made; None is in the store's own folder.
    """

    store: str
    registry: str | None


class Marks:
    """Those of a root: one, but while several stores claim it.

    Each has a file of its own, since not every storage lets a file be put only where none is: whoever finds another
    beside its own has lost.

    Args:
        folder: that they are in.
        put: writes a file: its bytes, and its path.
        remove: removes the file at a path.
    """

    def __init__(
        self, folder: str, files: Files, put: Callable[[bytes, str], None], remove: Callable[[str], None]
    ) -> None:
        self._folder = folder
        self._files = files
        self._put = put
        self._remove = remove

    def stores(self) -> list[str]:
        """Their ids, in order."""
        found = map(_NAME.fullmatch, self._files.names(self._folder))
        return sorted(match[1] for match in found if match is not None)

    def read(self, store: str) -> Mark:
        """Raises CorruptTable, which names the file."""
        path = self._path(store)
        try:
            mark = msgspec.json.decode(self._files.read(path), type=Mark)
            if not (mark.registry or "-").isprintable():
                raise msgspec.DecodeError("a character that cannot be printed")
        except (msgspec.DecodeError, FileNotFoundError) as error:
            raise CorruptTable(
                f"{path} does not say where the registry of this store is: {error}",
                hint="name the registry of the store, which needs nothing of it",
            ) from None
        return mark

    def add(self, mark: Mark) -> None:
        self._put(msgspec.json.encode(mark), self._path(mark.store))

    def remove(self, store: str) -> None:
        self._remove(self._path(store))

    def _path(self, store: str) -> str:
        return f"{self._folder}/store-{store}.json"
