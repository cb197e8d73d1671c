"""Writes down what is asked, meanwhile: nobody waits for it, and where it cannot be written, it is forgotten."""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import logging
import queue
import threading
from collections.abc import Callable

import msgspec

from headrace.engine.kept import Kept
from headrace.errors import HeadraceError
from headrace.model.ask import Ask
from headrace.model.request import Prepared, ReadRequest
from headrace.registry.history import History

_WAITING = 1_000
_AT_ONCE = 200
_LARGEST_BYTES = 64_000
_REMEMBERED = 2_000
_REST_S = 0.5
_log = logging.getLogger("headrace.cache")


class Asked:
    """What is asked of one service.

    Args:
        now: gives the time, with its zone.
    """

    def __init__(
        self, history: History, now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC)
    ) -> None:
        self.now = now
        self._history = history
        # Only first asks tell anything, and dashboards ask the same again and again.
        self._before: Kept[bool] = Kept(_REMEMBERED)
        self._waiting: queue.Queue[tuple[str, Ask]] = queue.Queue(_WAITING)
        self._writing = threading.Lock()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._write, name="headrace-asked", daemon=True)
        self._thread.start()

    def note(self, project: str, request: ReadRequest, prepared: Prepared) -> None:
        """Remember a read that came, pinned to nothing, and what it was pinned to."""
        versions = tuple(prepared.snapshots.values())
        request = msgspec.structs.replace(request, locations={}, schemas={})
        told = msgspec.msgpack.encode([request, versions])
        key = project, hashlib.sha256(told).digest()
        if len(told) > _LARGEST_BYTES or self._before.get(key) is not None:
            return
        with contextlib.suppress(queue.Full):
            self._waiting.put_nowait((project, Ask(request, versions, self.now())))
            self._before.put(key, True)

    def flush(self) -> None:
        """Write down what has come so far, or wait until another thread has."""
        with self._writing:
            found: list[tuple[str, Ask]] = []
            while len(found) < _AT_ONCE and not self._waiting.empty():
                found.append(self._waiting.get())
            if not found:
                return
            try:
                self._history.add(found)
            except HeadraceError as error:
                _log.warning("what was asked is not remembered: %s", error.message)

    def close(self) -> None:
        self._ending.set()
        self._thread.join()

    def _write(self) -> None:
        while not self._ending.wait(_REST_S):
            self.flush()
        self.flush()
