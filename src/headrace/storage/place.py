"""Where a store lies that is not in a folder of this machine, and how it is reached."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from headrace.errors import HeadraceError


def _nothing() -> None:
    return None


@dataclasses.dataclass(frozen=True)
class Place:
    """A bucket or a cluster.

    Args:
        shown: its URI as its users write it, without a path: `hopsfs://prod`.
        uri: the one that the Delta library is given.
        options: what the Delta library is told beside it.
        hint: what to do where it is out of reach.
        trouble: what keeps it from being reached, where that has shown itself.
        close: lets go of what is open to reach it.
        has_folders: folders are there also when nothing is in them.
    """

    shown: str
    uri: str
    options: Mapping[str, str] = dataclasses.field(repr=False)
    hint: str | None = None
    trouble: Callable[[], HeadraceError | None] = _nothing
    close: Callable[[], None] = _nothing
    has_folders: bool = False
