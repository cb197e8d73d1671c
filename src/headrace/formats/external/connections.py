"""Open connections to databases of others, kept for the next read."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import Protocol

_KEPT = 4
_KEPT_S = 60.0


class Closable(Protocol):
    def close(self) -> None: ...


class Connections:
    """Those of one store that nobody uses now, by what they were opened with.

    To connect may take as long as to read: a password is checked, and the driver asks for the database's types.
    """

    def __init__(self) -> None:
        self._idle: list[tuple[tuple[str, ...], float, Closable]] = []
        self._lock = threading.Lock()
        self._process = os.getpid()

    def take(self, key: tuple[str, ...]) -> Closable | None:
        """One for nobody else to use; it may have been closed by the database meanwhile."""
        with self._lock:
            if os.getpid() != self._process:  # those of the parent of a fork, which uses them
                return None
            gone = self._expired()
            found = next((i for i, (of, _, _) in enumerate(self._idle) if of == key), None)
            taken = None if found is None else self._idle.pop(found)[2]
        _close(gone)
        return taken

    def put(self, key: tuple[str, ...], connection: Closable) -> None:
        with self._lock:
            if os.getpid() != self._process:
                gone = [connection]
            else:
                self._idle.append((key, time.monotonic(), connection))
                gone = self._expired()
        _close(gone)

    def close(self) -> None:
        with self._lock:
            gone = [connection for _, _, connection in self._idle] if os.getpid() == self._process else []
            self._idle.clear()
        _close(gone)

    def _expired(self) -> list[Closable]:
        until = time.monotonic() - _KEPT_S
        kept = [one for one in self._idle if one[1] > until][-_KEPT:]
        gone = [connection for _, _, connection in self._idle if all(connection is not k[2] for k in kept)]
        self._idle = kept
        return gone


def _close(connections: list[Closable]) -> None:
    for connection in connections:
        with contextlib.suppress(Exception):  # whatever its driver says to that
            connection.close()
