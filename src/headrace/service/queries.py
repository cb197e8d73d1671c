"""What callers have the service do now: seen, and stopped."""

from __future__ import annotations

import contextlib
import datetime as dt
import threading
import time
from collections.abc import Callable, Iterator

from headrace.errors import Busy, Cancelled, NotFound
from headrace.protocol import QueryInfo, QueryState
from headrace.service.admission import Admission, Turn


class Queries:
    """The work under way in one service.

    Args:
        admission: gives its turns.
    """

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
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
        return self._admission.running

    @property
    def waiting(self) -> int:
        """Those that wait for one."""
        return self._admission.waiting

    def start(self, user: str | None, project: str, kind: str, gone: Callable[[], bool]) -> Query:
        """Waits for its turn, and gives the query, to be closed.

        Raises:
            Busy. Cancelled: somebody stopped it, or its caller has gone.
        """
        with self._lock:
            self.check_open()
            self._number += 1
            query = Query(self, str(self._number), user, project, kind, gone)
            self._known[query.id] = query
        try:
            query.turn = self._admission.enter((user, project), query.check)
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
    ) -> None:
        self._queries = queries
        self._gone = gone
        self._kind = kind
        self._started = dt.datetime.now(dt.UTC)
        self._cancelled: str | None = None
        self._stop: Callable[[], None] = lambda: None
        self.id = query_id
        self.user = user
        self.project = project
        self.rows = 0
        self.turn: Turn | None = None

    def stops(self, stop: Callable[[], None]) -> None:
        """What is to be called, from another thread, if somebody stops the query."""
        self._stop = stop
        self.check()

    @contextlib.contextmanager
    def still(self, rows: int = 0) -> Iterator[None]:
        """Within, nothing is worked on: the caller takes rows that were made, or makes some."""
        assert self.turn is not None
        self.rows += rows
        self.turn.pause()
        yield
        self.turn.go_on()
        self.check_cancelled()

    def check_cancelled(self) -> None:
        """Raises Cancelled if somebody stopped it."""
        if self._cancelled is not None:
            raise Cancelled(self._cancelled)

    def check(self) -> None:
        """Raises Cancelled if nobody wants it any more."""
        self.check_cancelled()
        if self._gone():
            raise Cancelled("the caller has gone")

    def is_unwanted(self) -> bool:
        """Whether somebody stopped it, or its caller has gone."""
        return self._cancelled is not None or self._gone()

    def cancel(self, why: str = "the query was cancelled") -> None:
        self._cancelled = why
        self._stop()

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
