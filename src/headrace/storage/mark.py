"""What a root says of the store that lies in it."""

from __future__ import annotations

import msgspec

from headrace.errors import CorruptTable

MARK = ".headrace/store.json"
"""Where it lies under the root."""


class Mark(msgspec.Struct, frozen=True):
    """Tells the store from every other.

    Args:
        store: an id, which the registry has too.
        registry: where that was when the mark was made; None is in the store's own folder.
    """

    store: str
    registry: str | None

    def encode(self) -> bytes:
        return msgspec.json.encode(self)


def read_mark(data: bytes, shown: str) -> Mark:
    """Raises CorruptTable, which names the file."""
    try:
        return msgspec.json.decode(data, type=Mark)
    except msgspec.DecodeError as error:
        raise CorruptTable(
            f"{shown} does not say which store this is: {error}",
            hint="bring it back from a copy; without one, remove it, if the registry is surely the right one",
        ) from None
