"""Turns at what is asked of a storage."""

from __future__ import annotations

import threading

from headrace.errors import Unavailable


class Turn:
    """A lock. Where a storage is away, whoever waits for it is told so with the one whose turn it is.

    Else each of several threads would begin to wait when the one before it has given up: four times as long for four.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures = 0
        self._last = Unavailable("")

    def __enter__(self) -> None:
        before = self._failures
        self._lock.acquire()
        if self._failures != before:
            last = self._last
            self._lock.release()
            raise type(last)(last.message, hint=last.hint, details=last.details)

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, Unavailable):
            self._last = error
            self._failures += 1
        self._lock.release()
