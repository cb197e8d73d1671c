"""Results that are being computed: who asks for the same meanwhile waits for it, instead of computing it as well."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from headrace.errors import Cancelled, HeadraceError

_LOOK_S = 0.05
_STILL_S = 3.0


class Flights:
    """Those of one service."""

    def __init__(self) -> None:
        self._open: dict[str, Flight] = {}
        self._lock = threading.Lock()

    @property
    def number(self) -> int:
        """That are under way."""
        return len(self._open)

    def join(self, key: str) -> tuple[Flight, bool]:
        """The computation of a result, and whether it is for the caller to do, who must end it."""
        with self._lock:
            found = self._open.get(key)
            if found is not None:
                return found, False
            self._open[key] = flight = Flight(lambda: self._forget(key))
            return flight, True

    def _forget(self, key: str) -> None:
        with self._lock:
            self._open.pop(key, None)


class Flight:
    """One computation, at the pace at which its caller takes the rows."""

    def __init__(self, forget: Callable[[], None]) -> None:
        self._forget = forget
        self._ended = threading.Event()
        self._still_since: float | None = None
        self._failure: BaseException | None = None

    def pause(self) -> None:
        """Its caller has rows, and takes no others yet."""
        self._still_since = time.monotonic()

    def go_on(self) -> None:
        self._still_since = None

    def wait(self, check: Callable[[], None]) -> bool:
        """Until it has ended, or its caller takes no rows for a while; whether it was left, so that it is to be done
        again.

        Args:
            check: called meanwhile; what it raises ends that.

        Raises:
            HeadraceError: what the computation has raised, which it would raise again.
        """
        while not self._ended.wait(_LOOK_S):
            check()
            since = self._still_since
            if since is not None and time.monotonic() - since > _STILL_S:
                return False
        if isinstance(self._failure, HeadraceError) and not isinstance(self._failure, Cancelled):
            raise self._failure
        return self._failure is not None

    def fail(self, failure: BaseException) -> None:
        """There will be no result."""
        self._failure = failure

    def end(self) -> None:
        if self._ended.is_set():
            return
        self._forget()
        self._ended.set()
