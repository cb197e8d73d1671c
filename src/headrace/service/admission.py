"""How many queries run at once, and who is next."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Hashable

from headrace.errors import Busy

_LOOK_S = 0.05
_STILL_S = 0.25
"""A turn of which nothing is made for so long, since nobody takes it, is lent to who waits."""
_MOST_OPEN = 8
"""Times as many as run: what is open holds memory, also while it stands still."""
_SHORTEST_S, _LONGEST_S = 0.1, 60.0
_WEIGHT = 0.2
"""Of the newest turn in the mean of how long turns last."""


class Admission:
    """Turns for those who work: so many at once; the others wait, those of one caller in a row of their own.

    Rows are served one after the other, so that who asks for much waits behind himself.

    Args:
        running: turns at once.
        waiting: those who may wait, over all; of one caller half of them, as of those that are open.
        patience: seconds that one waits.
    """

    def __init__(self, running: int, waiting: int, patience: float) -> None:
        self._free = running
        self._running = running
        self._most = waiting
        self._patience = patience
        self._rows: dict[Hashable, deque[threading.Event]] = {}
        self._coming_back: deque[threading.Event] = deque()
        self._open: set[Turn] = set()
        self._lasts = 1.0
        self._lock = threading.Lock()

    @property
    def running(self) -> int:
        """Turns that were given, and not lent."""
        with self._lock:
            return self._running - self._free

    @property
    def waiting(self) -> int:
        """Those who wait for one, also to come back."""
        with self._lock:
            return sum(map(len, self._rows.values())) + len(self._coming_back)

    def enter(self, caller: Hashable, check: Callable[[], None]) -> Turn:
        """A turn, to be closed.

        Args:
            check: called while they wait; what it raises ends that.

        Raises:
            Busy: too many wait already, or it took too long.
        """
        turn = Turn(self, check, caller)
        with self._lock:
            called = self._queued(caller)
            self._open.add(turn)
        if called is not None:
            try:
                self._wait(called, check, time.monotonic() + self._patience)
            except BaseException:
                with self._lock:
                    self._open.discard(turn)
                    self._give_up(called, caller)
                raise
        return turn

    def _queued(self, caller: Hashable) -> threading.Event | None:
        """Takes a place in the caller's row; None if it is their turn at once."""
        self._lend()
        waiting = sum(map(len, self._rows.values()))
        most = _MOST_OPEN * self._running + self._most
        held = sum(turn.caller == caller for turn in self._open)
        if len(self._open) >= most:
            raise self._busy(waiting, f"{len(self._open)} queries are open whose rows nobody takes")
        if held >= max(1, most // 2):
            raise self._busy(waiting, f"you have {held} queries open whose rows you do not take")
        if self._free and not waiting and not self._coming_back:
            self._free -= 1
            return None
        own = len(self._rows.get(caller, ()))
        if waiting >= self._most:
            raise self._busy(waiting, f"{waiting} queries are waiting, the most for all callers")
        if own >= max(1, self._most // 2):
            raise self._busy(waiting, f"you have {own} queries waiting, the most for one caller")
        called = threading.Event()
        self._rows.setdefault(caller, deque()).append(called)
        return called

    def _wait(self, called: threading.Event, check: Callable[[], None], deadline: float | None) -> None:
        while not called.wait(_LOOK_S):
            check()
            if deadline is not None and time.monotonic() > deadline:
                with self._lock:
                    waiting = sum(map(len, self._rows.values())) - 1
                raise self._busy(waiting, f"there was no room for {self._patience:g} seconds")
            with self._lock:
                self._lend()

    def _give_up(self, called: threading.Event, caller: Hashable) -> None:
        if called.is_set():  # just now
            self._free += 1
            self._call()
            return
        self._rows[caller].remove(called)
        if not self._rows[caller]:
            del self._rows[caller]

    def _lend(self) -> None:
        """Free the turns of those whose rows nobody takes."""
        now = time.monotonic()
        for turn in self._open:
            if turn.still_since is not None and not turn.lent and now - turn.still_since > _STILL_S:
                turn.lent = True
                self._free += 1
        self._call()

    def _call(self) -> None:
        """Give free turns to who comes back, then to the first of each row; a row that was served goes last."""
        while self._free and self._coming_back:
            self._coming_back.popleft().set()
            self._free -= 1
        while self._free and self._rows:
            caller = next(iter(self._rows))
            row = self._rows.pop(caller)
            row.popleft().set()
            if row:
                self._rows[caller] = row
            self._free -= 1

    def _come_back(self, turn: Turn) -> None:
        with self._lock:
            turn.still_since = None
            if not turn.lent:
                return
            called = threading.Event()
            self._coming_back.append(called)
            self._call()
        try:
            self._wait(called, turn.check, None)
        finally:
            with self._lock:
                if not called.is_set():
                    self._coming_back.remove(called)
                elif turn in self._open:
                    turn.lent = False
                else:  # it was closed meanwhile, by who stopped the query
                    self._free += 1
                    self._call()

    def _leave(self, turn: Turn) -> None:
        with self._lock:
            if turn not in self._open:
                return
            self._open.discard(turn)
            self._lasts += _WEIGHT * (time.monotonic() - turn.start - self._lasts)
            if not turn.lent:
                self._free += 1
            turn.lent = False  # so that it does not come back
            self._call()

    def _busy(self, before: int, why: str) -> Busy:
        expected = self._lasts * (before + 1) / self._running
        seconds = round(min(max(expected, _SHORTEST_S), _LONGEST_S), 1)
        return Busy(
            f"{why} (the service runs {self._running} at once)",
            hint=f"try again after {seconds:g} seconds",
            retry_after=seconds,
        )


class Turn:
    """One caller's; kept while they make rows, and lent to others while nobody takes these."""

    def __init__(self, admission: Admission, check: Callable[[], None], caller: Hashable) -> None:
        self._admission = admission
        self.check = check
        self.caller = caller
        self.start = time.monotonic()
        self.still_since: float | None = None
        self.lent = False

    def pause(self) -> None:
        """Nothing is made from now on."""
        self.still_since = time.monotonic()

    def go_on(self) -> None:
        """Waits where the turn was lent. Raises what `check` raises."""
        self._admission._come_back(self)

    def close(self) -> None:
        self._admission._leave(self)
