"""Somebody who holds something for a while."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager


class Holder:
    """Holds what `hold` gives, from a thread of its own, until it is told to let go."""

    def __init__(self, threads: ThreadPoolExecutor, hold: Callable[[], AbstractContextManager[None]]) -> None:
        self._has, self._go = threading.Event(), threading.Event()
        self._held: Future[None] = threads.submit(self._hold, hold)

    def _hold(self, hold: Callable[[], AbstractContextManager[None]]) -> None:
        with hold():
            self._has.set()
            assert self._go.wait(60)

    def has(self, seconds: float = 60) -> bool:
        return self._has.wait(seconds)

    def let_go(self) -> None:
        self._go.set()
        self._held.result(60)
