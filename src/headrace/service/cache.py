"""Kept results, and what belongs to them, of one store."""

from __future__ import annotations

from headrace.cache.results import Results
from headrace.engine.kept import Kept
from headrace.service.asked import Asked
from headrace.service.flights import Flights

_ASKED = 10_000


class Cache:
    """Kept results, what is being computed, and what was asked, of one store.

    Args:
        asked: None where nothing is to be computed ahead.
        least_seconds: what is computed faster is not kept: to write it takes a few milliseconds, too.
    """

    def __init__(self, results: Results, asked: Asked | None, least_seconds: float = 0.02) -> None:
        self.results = results
        self.least_seconds = least_seconds
        self.asked = asked
        self.flights = Flights()
        self._before: Kept[bool] = Kept(_ASKED)

    def close(self) -> None:
        if self.asked is not None:
            self.asked.close()
        self.results.close()

    def was_asked(self, key: str) -> bool:
        """Whether this is not the first time."""
        before = self._before.get(key) is not None
        self._before.put(key, True)
        return before
