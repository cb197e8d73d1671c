"""Whether a service can do its work now."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.service.queries import Queries

if TYPE_CHECKING:
    from headrace.service.store import Store

_log = logging.getLogger("headrace.service")
_PATIENCE_S = 2.0
_GOOD_FOR_S = 1.0
"""However many ask, so seldom the registry and the storage are."""


class Look:
    """One look at the registry and the storage, in a thread of its own: either may not answer."""

    def __init__(self, store: Store) -> None:
        self._found: list[str] = []
        self._ended: float | None = None
        self._done = threading.Event()
        threading.Thread(target=self._run, args=(store,), name="headrace-health", daemon=True).start()

    @property
    def is_old(self) -> bool:
        """Never while it is under way: of those that do not answer there is one thread."""
        return self._ended is not None and time.monotonic() - self._ended > _GOOD_FOR_S

    def problems(self) -> list[str]:
        """In words; none if all is well."""
        if self._done.wait(_PATIENCE_S):
            return self._found
        return [f"the registry or the storage did not answer within {_PATIENCE_S:g} seconds"]

    def _run(self, store: Store) -> None:
        try:
            with store.calls.one():
                known = store.registry.store()
                found = store.storage.marks.stores()
            if known is not None and known.id not in found:
                self._found.append("the storage holds no sign of the store: it may be gone, or not mounted")
        except HeadraceError as error:
            self._found.append(error.message)
        except Exception as error:
            _log.exception("the look at the registry and the storage failed")
            self._found.append(f"{type(error).__name__}: {error}")
        finally:
            self._ended = time.monotonic()
            self._done.set()


class Health:
    """Looks at what a service needs.

    Args:
        check: raises what keeps it from answering calls.
    """

    def __init__(self, store: Store, queries: Queries, check: Callable[[], None] = lambda: None) -> None:
        self._store = store
        self._queries = queries
        self._check = check
        self._lock = threading.Lock()
        self._look: Look | None = None
        self._last: list[str] = []

    def problems(self) -> tuple[str, ...]:
        """What keeps the service from its work, in words; nothing if it is ready. Takes two seconds at most."""
        found = []
        try:
            self._check()
        except HeadraceError as error:
            found.append(error.message)
        found += self._newest().problems()
        self._tell(found)
        return (*(["the service is about to stop"] if self._queries.draining else []), *found)

    def _tell(self, found: list[str]) -> None:
        """In the log, for whom could be told why may not be known just then."""
        if found == self._last:
            return
        self._last = found
        if found:
            _log.warning("not ready: %s", "; ".join(found))
        else:
            _log.info("ready again")

    def _newest(self) -> Look:
        with self._lock:
            if self._look is None or self._look.is_old:
                self._look = Look(self._store)
            return self._look
