"""Stops work that nobody wants any more."""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator

_POLL_SECONDS = 0.1
_log = logging.getLogger(__name__)


class Watch:
    """One thread for all calls that give rows. Close it when there are none any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._calls: dict[int, tuple[Callable[[], bool], Callable[[], None]]] = {}
        self._wake = threading.Event()
        self._closed = False
        threading.Thread(target=self._run, name="headrace-watch", daemon=True).start()

    @contextlib.contextmanager
    def over(self, gone: Callable[[], bool], cancel: Callable[[], None]) -> Iterator[None]:
        """Within, `cancel` is called soon after `gone` turns true, and again while it is; afterwards neither is.

        All others wait while either is called, so they return at once.
        """
        key = next(self._numbers)
        with self._lock:
            self._calls[key] = (gone, cancel)
        self._wake.set()
        try:
            yield
        finally:
            with self._lock:
                del self._calls[key]

    def close(self) -> None:
        with self._lock:
            self._closed = True
        self._wake.set()

    def _run(self) -> None:
        while True:
            self._wake.wait()
            if self._closed:
                return
            self._look()
            time.sleep(_POLL_SECONDS)

    def _look(self) -> None:
        """A call of its own, so that the waiting thread holds nothing of the calls that it has seen."""
        with self._lock:
            for gone, cancel in self._calls.values():
                try:
                    if gone():
                        cancel()
                except Exception:  # of one call; the others are watched all the same, and this one again
                    _log.exception("a call that nobody wants any more could not be stopped")
            if not self._calls and not self._closed:
                self._wake.clear()
