"""What callers have the service do now: seen, and stopped."""

from __future__ import annotations

import contextlib
import datetime as dt
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager

from headrace.errors import Busy, Cancelled, HeadraceError, LimitExceeded, NotFound
from headrace.protocol import QueryInfo, QueryState
from headrace.service.admission import Admission, Turn
from headrace.service.lanes import Lanes
from headrace.service.limits import UNLIMITED, Limits


class Queries:
    """The work under way in one service.

    Args:
        admission: gives its turns.
        small: gives those of look-ups of a few rows, which wait for nothing that takes long.
        limits: of each piece of it.
    """

    def __init__(self, admission: Admission, small: Admission, limits: Limits = UNLIMITED) -> None:
        self._admission = admission
        self._small = small
        self.limits = limits
        self.lanes = Lanes()
        self._known: dict[str, Query] = {}
        self._number = 0
        self._lock = threading.Lock()
        self._ending: float | None = None
        self._left = threading.Condition(self._lock)

    @property
    def draining(self) -> bool:
        """No new work is taken."""
        return self._ending is not None

    def check_open(self) -> None:
        """Raises Busy: no new work is taken."""
        if self._ending is not None:
            seconds = round(max(1.0, self._ending - time.monotonic()), 1)
            raise Busy(
                "the service is about to stop, and takes no new queries",
                hint="try again: another one may have taken its place",
                retry_after=seconds,
            )

    def drain(self, patience: float) -> int:
        """Take no new work, and wait so many seconds for that under way; gives how much was left, and is stopped now.

        Args:
            patience: seconds.
        """
        with self._left:
            self._ending = time.monotonic() + patience
            while self._known and time.monotonic() < self._ending:
                self._left.wait(self._ending - time.monotonic())
            left = list(self._known.values())
        for query in left:
            query.cancel("the service stops")
        return len(left)

    @property
    def running(self) -> int:
        """Those that have a turn."""
        return self._admission.running + self._small.running

    @property
    def waiting(self) -> int:
        """Those that wait for one."""
        return self._admission.waiting + self._small.waiting

    def start(
        self,
        user: str | None,
        project: str,
        kind: str,
        gone: Callable[[], bool],
        ticket: bytes = b"",
        *,
        small: bool = False,
    ) -> Query:
        """Waits for its turn, and gives the query, to be closed.

        Args:
            ticket: by which its rows are fetched, if they are.
            small: it is a look-up of a few rows.

        Raises:
            Busy. Cancelled: somebody stopped it, or its caller has gone.
        """
        with self._lock:
            self.check_open()
            self._number += 1
            query = Query(self, str(self._number), user, project, kind, gone, ticket, small)
            self._known[query.id] = query
        try:
            admission = self._small if small else self._admission
            query.turn = admission.enter((user, project), query.check)
            query.began = time.monotonic()
        except BaseException:
            self._forget(query)
            raise
        return query

    def list(self, user: str | None, project: str, *, all_users: bool) -> list[QueryInfo]:
        """Those of a user in a project, or of all users, the oldest first."""
        with self._lock:
            known = list(self._known.values())
        return [
            query.told() for query in known if query.project == project and (all_users or query.user == user)
        ]

    def cancel(self, user: str | None, project: str, query_id: str, *, all_users: bool) -> None:
        """Raises NotFound: there is none, or it is another's."""
        with self._lock:
            query = self._known.get(query_id)
        if query is None or query.project != project or not (all_users or query.user == user):
            raise NotFound(
                f"project {project} has no query {query_id!r} under way",
                hint="headrace queries list shows them",
            )
        query.cancel()

    def cancel_tickets(
        self, user: str | None, project: str, tickets: Collection[bytes], *, all_users: bool
    ) -> bool:
        """Stop what runs by these tickets; whether there was any."""
        with self._lock:
            known = [query for query in self._known.values() if query.ticket and query.ticket in tickets]
        found = [q for q in known if q.project == project and (all_users or q.user == user)]
        for query in found:
            query.cancel()
        return bool(found)

    def _forget(self, query: Query) -> None:
        with self._left:
            self._known.pop(query.id, None)
            if not self._known:
                self._left.notify_all()


class Query:
    """One piece of work, from the moment at which it waits for its turn."""

    def __init__(
        self,
        queries: Queries,
        query_id: str,
        user: str | None,
        project: str,
        kind: str,
        gone: Callable[[], bool],
        ticket: bytes,
        small: bool,
    ) -> None:
        self._queries = queries
        self._gone = gone
        self._kind = kind
        self._small = small
        self._started = dt.datetime.now(dt.UTC)
        self._cancelled: HeadraceError | None = None
        self._stop: Callable[[], None] = lambda: None
        self.id = query_id
        self.user = user
        self.project = project
        self.ticket = ticket
        self.rows = 0
        self.turn: Turn | None = None
        self.began: float | None = None

    def begins_now(self) -> None:
        """What was until now was the time of the caller, who sent what it is about."""
        self.began = time.monotonic()

    def stops(self, stop: Callable[[], None]) -> None:
        """What is to be called, from another thread, if somebody stops the query."""
        self._stop = stop
        self.check()

    def computing(self) -> AbstractContextManager[None]:
        """Within, rows are made. A look-up goes ahead of what takes long, which waits until it may."""
        lanes = self._queries.lanes
        return lanes.short() if self._small else lanes.one(self.check)

    @contextlib.contextmanager
    def still(self) -> Iterator[None]:
        """Within, nothing is worked on: the caller takes rows that were made, or makes some."""
        assert self.turn is not None
        self.turn.pause()
        yield
        self.turn.go_on()
        self.check_cancelled()

    def check_cancelled(self) -> None:
        """Raises Cancelled if somebody stopped it; LimitExceeded: it was stopped, since it took too long."""
        if self._cancelled is not None:
            raise self._cancelled

    @contextlib.contextmanager
    def told_why(self) -> Iterator[None]:
        """Within, what is cancelled tells why."""
        try:
            yield
        except Cancelled:
            self.check_cancelled()
            raise

    def check(self) -> None:
        """Raises Cancelled if nobody wants it any more."""
        self.check_cancelled()
        if self._gone():
            raise Cancelled("the caller has gone")

    def is_unwanted(self) -> bool:
        """Whether somebody stopped it, its caller has gone, or it has had its time. It stops nothing, and at once."""
        return self._cancelled is not None or self._gone() or self._is_late()

    def cancel(self, why: str = "the query was cancelled") -> None:
        if self._cancelled is None:
            self._cancelled = Cancelled(why)
        self._stop()

    def count(self, rows: int) -> None:
        """Rows that are about to be sent. Raises LimitExceeded: they are too many."""
        self.rows += rows
        most = self._queries.limits.rows
        if most is not None and self.rows > most:
            raise LimitExceeded(
                f"the answer has more than {most:,} rows",
                hint="ask for less at once, or have the service allow more by --query-rows",
            )

    def _is_late(self) -> bool:
        seconds = self._queries.limits.seconds
        if seconds is None or self.began is None or time.monotonic() - self.began < seconds:
            return False
        self._cancelled = LimitExceeded(
            f"the query took more than {seconds:g} seconds",
            hint="ask for less at once, or have the service allow more by --query-seconds",
        )
        return True

    def told(self) -> QueryInfo:
        state: QueryState = "waiting" if self.turn is None else "paused" if self.turn.lent else "running"
        seconds = (dt.datetime.now(dt.UTC) - self._started).total_seconds()
        return QueryInfo(
            self.id, self.user or "", self._kind, state, self._started, round(seconds, 3), self.rows
        )

    def close(self) -> None:
        if self.turn is not None:
            self.turn.close()
        self._queries._forget(self)
