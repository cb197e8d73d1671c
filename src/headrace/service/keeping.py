"""A result that is written down while it is computed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from headrace.cache.period import Period
from headrace.cache.results import Draft
from headrace.calls import Calls
from headrace.errors import HeadraceError
from headrace.planning.canonical import Canonical
from headrace.service.cache import Cache

_CHEAP_BYTES_PER_SECOND = 100e6
_CHEAP_BYTES = 8 << 20
"""What comes faster than it could be written without anybody noticing is kept when it is asked for again."""


class Keeping:
    """Writes down a result that is computed, if that is worth it.

    Args:
        project, groups: what it is of, for people.
        ahead: nobody has asked for it yet.
        until: when it ceases to be given.
    """

    def __init__(
        self,
        cache: Cache,
        asked: Canonical,
        schema: pa.Schema,
        project: str,
        groups: Sequence[str],
        *,
        ahead: bool = False,
        until: Period | None = None,
    ) -> None:
        self._results = cache.results
        self._least_seconds = cache.least_seconds
        self._asked = asked
        self._schema = schema
        self._project = project
        self._groups = tuple(groups)
        self._ahead = ahead
        self._until = until
        self._again = ahead or cache.was_asked(asked.key)
        self._first: list[pa.RecordBatch] = []
        self._bytes = 0
        self._draft: Draft | None = None
        self._wanted = True
        self.seconds = 0.0

    @property
    def is_wanted(self) -> bool:
        """Whether it may still be kept."""
        return self._wanted

    def watched(self, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches of the result, which are written down on their way."""
        while True:
            begun = time.perf_counter()
            try:
                batch = next(rows, None)
            finally:
                self.seconds += time.perf_counter() - begun
            if batch is None:
                return
            self._add(batch)
            yield batch

    def add_all(self, rows: Iterator[pa.RecordBatch]) -> None:
        """Unless it turns out on the way that it is not kept."""
        for _ in self.watched(rows):
            if not self._wanted:
                return

    def end(self) -> str | None:
        """Have it found from now on, which takes a moment; gives its id, or None if it is not kept."""
        self._results.computed(self.seconds, ahead=self._ahead)
        if self._wanted and self._draft is None and self.seconds >= self._least_seconds:
            self._write(self._first)
        draft, self._draft = self._draft, None
        if draft is None:
            return None
        entry = draft.keep(self._project, self._groups, self.seconds, ahead=self._ahead, until=self._until)
        return None if entry is None else entry.id

    def end_soon(self, calls: Calls, then: Callable[[], None]) -> None:
        """As `end`, while nobody waits, as one of the calls of the store; `then` is called after that."""

        def end() -> None:
            try:
                with calls.one():
                    self.end()
            except HeadraceError:  # the store is being closed
                self.discard()
            finally:
                then()

        threading.Thread(target=end, name="headrace-keep").start()

    def discard(self) -> None:
        self._wanted = False
        self._first = []
        if self._draft is not None:
            self._draft.discard()
            self._draft = None

    def _add(self, batch: pa.RecordBatch) -> None:
        if not self._wanted:
            return
        self._bytes += batch.nbytes
        if not self._again and self._bytes > max(_CHEAP_BYTES, _CHEAP_BYTES_PER_SECOND * self.seconds):
            self.discard()
        elif self._draft is None and self.seconds < self._least_seconds and self._bytes < _CHEAP_BYTES:
            self._first.append(batch)
        else:
            self._write([*self._first, batch])
            self._first = []

    def _write(self, batches: list[pa.RecordBatch]) -> None:
        if self._draft is None:
            self._draft = self._results.draft(self._asked, self._schema)
        if self._draft is None or not all(map(self._draft.add, batches)):
            self.discard()
