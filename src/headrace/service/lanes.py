"""Who computes now: long reads take turns at it, batch by batch.

A process that has more to compute at once than there are processors is slow for all in it: whoever holds Python's lock
when the system takes their processor away keeps every other waiting. A look-up takes that lock some twenty times.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator

_LOOK_S = 0.05
_LASTS_S = 0.1
"""Who computes for longer keeps nobody waiting: it may be waiting for storage itself, or go on for minutes."""


class Lanes:
    """For long reads: as many as there are processors, and one fewer while short calls are under way.

    Args:
        processors: None are all of the machine.
    """

    def __init__(self, processors: int | None = None) -> None:
        self._processors = processors or os.cpu_count() or 1
        self._short = 0
        self._taken: dict[threading.Event, float] = {}
        self._row: deque[threading.Event] = deque()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def short(self) -> Iterator[None]:
        """Within, something is done that takes a moment."""
        with self._lock:
            self._short += 1
        try:
            yield
        finally:
            with self._lock:
                self._short -= 1
                self._call()

    @contextlib.contextmanager
    def one(self, check: Callable[[], None]) -> Iterator[None]:
        """Within, one lane is the caller's, who waits for it.

        Args:
            check: called while they wait; what it raises ends that.
        """
        called = threading.Event()
        with self._lock:
            self._row.append(called)
            self._call()
        try:
            while not called.wait(_LOOK_S):
                check()
                with self._lock:
                    self._call()
            yield
        finally:
            with self._lock:
                if self._taken.pop(called, None) is None:
                    self._row.remove(called)
                self._call()

    def _call(self) -> None:
        """Give free lanes to the first of those who wait."""
        if not self._row:
            return
        now = time.monotonic()
        lanes = max(1, self._processors - 1) if self._short else self._processors
        free = lanes - sum(now - since < _LASTS_S for since in self._taken.values())
        for _ in range(min(free, len(self._row))):
            called = self._row.popleft()
            self._taken[called] = now
            called.set()
