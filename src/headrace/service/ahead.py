"""Computes joins before they are asked for, while nobody asks for anything."""

from __future__ import annotations

import contextlib
import datetime as dt
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from headrace.cache.foresight import First, foreseen, is_day_off, is_due
from headrace.cache.moving import Moving, moving
from headrace.errors import Cancelled, HeadraceError
from headrace.model.ask import Ask
from headrace.service.store import Store
from headrace.service.watch import Watch

_REST_S = 2.0
_RESTS = 10
"""As many times as long as it took, so that looking for what is due takes little where there is much to look at."""
_GIVEN_UP_AFTER = 3
"""Results of one template in a row that nobody asked for."""
_AGAIN_AFTER = 3
"""Asks after which a template that was given up is tried once more."""
_MOST_TEMPLATES = 1_000
_FIRSTS = 64
_SHARE = 0.05
"""Of the time that is spent on what users ask for: so much may be spent on what they then do not ask for."""
_PROVEN_SHARE = 0.25
"""As `_SHARE`, of the time that was spent ahead on what they did ask for."""
_GRACE = 8
"""Results that may go without a hit beside these shares."""
_LONGEST_S = 300.0
"""That one result may take, with all tries of it that users have stopped."""
_LONGEST_WAIT = dt.timedelta(days=8)
"""For which a result of before the service was started may still be asked for."""
_BYTES_SHARE = 4
"""The part of the cache for what nobody has asked for yet."""
_log = logging.getLogger("headrace.cache")


class _Made(NamedTuple):
    """What was computed ahead.

    Args:
        versions: of the tables.
        entry_id: None where it was not worth keeping.
        last: the number of the template's first ask that it is for at the latest.
    """

    versions: tuple[int, ...]
    entry_id: str | None
    last: int


class _Template:
    """Reads that differ in what moves alone, of one project."""

    def __init__(self, project: str) -> None:
        self.project = project
        self.read: Moving | None = None
        self.asked: dict[First, None] = {}
        self.made: dict[tuple[int, ...], _Made] = {}
        self.spent = 0.0
        self.in_vain = 0
        self.seen = 0
        self.resting_until = 0
        self.is_replaced = False

    def add(self, read: Moving, ask: Ask) -> None:
        first = First(read.values, ask.versions, ask.at)
        self.read = read
        if first in self.asked:
            return
        self.asked[first] = None
        self.is_replaced = False
        self.seen += 1
        while len(self.asked) > _FIRSTS:
            self.asked.pop(next(iter(self.asked)))
        made = self.made.get(first.values)
        if made is not None and made.versions == first.versions:
            if made.entry_id is None:  # it was computed, and is not kept
                self.in_vain_once_more(first.values)
            else:
                del self.made[first.values]
                self.in_vain = 0

    def is_followed_by(self, other: _Template) -> bool:
        """Whether the other one was asked what this one was expected to be asked next."""
        assert self.read is not None
        assert other.read is not None
        return (
            self.project == other.project
            and self.read.tables == other.read.tables
            and self.read.holes == other.read.holes
            and other.read.values in self.made
        )

    def outlived(self) -> Iterator[str | None]:
        """Ids of what was computed for an ask that was to come before one that came."""
        for values, made in list(self.made.items()):
            if self.is_replaced or self.seen > made.last:
                self.in_vain_once_more(values)
                yield made.entry_id

    def in_vain_once_more(self, values: tuple[int, ...]) -> None:
        del self.made[values]
        self.in_vain += 1
        if self.in_vain >= _GIVEN_UP_AFTER:
            self.resting_until = self.seen + _AGAIN_AFTER

    @property
    def is_given_up(self) -> bool:
        return self.in_vain >= _GIVEN_UP_AFTER and self.seen < self.resting_until


class Ahead:
    """Looks at what was asked, and computes what will be.

    Args:
        is_busy: users have the service do something.
        now: gives the time, with its zone.
    """

    def __init__(
        self,
        store: Store,
        is_busy: Callable[[], bool],
        now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
    ) -> None:
        self._now = now
        self._store = store
        self._is_busy = is_busy
        self._templates: dict[tuple[str, str], _Template] = {}
        self._last = 0
        self._watch = Watch()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Work from now on, in a thread of its own, until `close`."""
        cache = self._store.cache
        assert cache is not None
        cache.results.give_up_older(self._now() - _LONGEST_WAIT)
        self._thread = threading.Thread(target=self._work, name="headrace-ahead", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ending.set()
        if self._thread is not None:
            self._thread.join()
        self._watch.close()

    def step(self) -> int:
        """Compute what is due now, unless users come; gives how many results that were."""
        self._learn()
        made = 0
        for template in list(self._templates.values()):
            if self._is_wanted_elsewhere():
                break
            with contextlib.suppress(HeadraceError):
                made += self._foresee(template)
        return made

    def _work(self) -> None:
        rest = _REST_S
        while not self._ending.wait(rest):
            if self._is_busy():
                continue
            begun = time.monotonic()
            try:
                self.step()
            except HeadraceError as error:
                _log.warning("nothing is computed ahead: %s", error.message)
            except Exception:
                _log.exception("computing ahead failed")
            rest = max(_REST_S, _RESTS * (time.monotonic() - begun))

    def _is_wanted_elsewhere(self) -> bool:
        return self._ending.is_set() or self._is_busy()

    def _learn(self) -> None:
        asks = True
        while asks:
            last = self._last
            found, self._last = self._store.registry.history.since(last)
            asks = self._last > last
            for project, ask in found:
                if self._ending.is_set():
                    return
                # What nobody but a program of its own could ask is nothing to learn from.
                with contextlib.suppress(ValueError, OverflowError):
                    self._learn_from(project, ask)
            while len(self._templates) > _MOST_TEMPLATES:
                self._templates.pop(next(iter(self._templates)))

    def _learn_from(self, project: str, ask: Ask) -> None:
        read = moving(ask.request)
        key = project, read.template
        template = self._templates.pop(key, None) or _Template(project)
        self._templates[key] = template  # the last asked last
        template.add(read, ask)
        for other in self._templates.values():
            if other.made and other is not template and other.is_followed_by(template):
                other.is_replaced = True

    def _foresee(self, template: _Template) -> int:
        cache = self._store.cache
        assert cache is not None
        for entry_id in template.outlived():
            if entry_id is not None:
                cache.results.give_up(entry_id)
        if template.read is None or template.is_replaced or template.is_given_up:
            return 0
        if len(template.made) >= _GIVEN_UP_AFTER:
            return 0
        asked = self._asked_before(template)
        if is_day_off(asked, self._now()):
            return 0
        made = 0
        for steps, values in enumerate(foreseen(asked, template.read.holes, self._now()), 1):
            if self._is_wanted_elsewhere() or not cache.results.has_room_ahead(
                _SHARE, _PROVEN_SHARE, _GRACE, _BYTES_SHARE
            ):
                break
            with contextlib.suppress(HeadraceError, OverflowError, ValueError, IndexError):
                made += self._compute(template, asked, values, template.seen + steps)
        return made

    def _asked_before(self, template: _Template) -> list[First]:
        """What tells how the template goes on: what was asked of it, or of one whose place it has just taken.

        So it is when tables have got another column, which users ask for from then on.
        """
        asked = list(template.asked)
        if len(asked) > 1 or template.read is None:
            return asked
        for other in self._templates.values():
            if other is template or other.read is None or other.project != template.project:
                continue
            if other.read.holes != template.read.holes or other.read.tables != template.read.tables:
                continue
            if asked[0].values in foreseen(list(other.asked), other.read.holes, asked[0].at):
                return [*other.asked, *asked]
        return asked

    def _compute(
        self, template: _Template, asked: Sequence[First], values: tuple[int, ...], last: int
    ) -> int:
        """Have the read with these values kept, if its tables are there and as far as they usually are."""
        reads = self._store.project(template.project).cached
        assert reads is not None
        assert template.read is not None
        with self._store.calls.one():
            prepared = reads.prepare(template.read.request(values), self._is_wanted_elsewhere)
        first = First(values, tuple(prepared.snapshots.values()), self._now())
        made = template.made.get(values)
        if made is not None and made.versions == first.versions:
            return 0
        if first in template.asked or not is_due(asked, values, first.versions):
            return 0
        if made is not None:  # nobody has asked for it before its tables went on
            template.in_vain_once_more(values)
            if made.entry_id is not None:
                reads.cache.results.give_up(made.entry_id)
            if template.is_given_up:
                return 0
        entry_id, begun = None, time.monotonic()
        until = begun + _LONGEST_S - template.spent

        def is_enough() -> bool:
            return self._is_wanted_elsewhere() or time.monotonic() > until

        try:
            with self._store.calls.one():
                entry_id = reads.compute_ahead(prepared, lambda stop: self._watch.over(is_enough, stop))
            template.spent = 0.0
        except Cancelled:
            template.spent += time.monotonic() - begun
            if time.monotonic() <= until:
                raise  # users came, and it is tried again when they have gone
            template.spent = 0.0
            template.made[values] = _Made(first.versions, None, last)
            reads.cache.results.computed(0.0, ahead=True)  # one more that nobody asks for
            raise
        except HeadraceError:
            template.made[values] = _Made(first.versions, None, last)
            raise
        template.made[values] = _Made(first.versions, entry_id, last)
        return int(entry_id is not None)
