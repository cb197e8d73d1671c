"""The folder of one table."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from headrace.storage.files import Files, LocalFiles


@dataclasses.dataclass(frozen=True)
class Folder:
    """Where a table lies.

    Args:
        uri: for the Delta library, which the paths of its files begin with.
        shown: for people.
        files: those in it.
        options: what the Delta library is told of the storage.
    """

    uri: str
    shown: str
    files: Files
    options: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)

    @classmethod
    def local(cls, path: str) -> Folder:
        """A folder of this machine."""
        return cls(path, path, LocalFiles())
