"""The workers of a service, and what they are asked."""

from __future__ import annotations

import contextlib
import re
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import msgspec
import pyarrow as pa

from headrace import protocol
from headrace.config import StoreConfig
from headrace.errors import (
    Busy,
    Cancelled,
    HeadraceError,
    InternalError,
    LimitExceeded,
    Unavailable,
)
from headrace.service.worker.channel import Ask, Channel, Stop, Told
from headrace.service.worker.nursery import Nursery

_TOLD: msgspec.json.Decoder[Told] = msgspec.json.Decoder(Told)
_START_S = 60.0
_ASK_S = 30.0
"""For what gives no rows."""
_LOOK_S = 0.1
_ENDED_S = 5.0
_GRACE_S = 0.6
"""After which what does not stop is ended."""
_PATIENCE_S = 30.0
_EVICTED_S = 5.0
"""Who takes no rows for so long gives way to who waits."""
_HELD = re.compile(r"RssAnon:\s*([0-9]+) kB")
_OUT_OF_MEMORY = (-signal.SIGKILL, -signal.SIGABRT)


class Workers:
    """Processes that run users' statements, one each. They start when they are needed, and some of them stay.

    Args:
        config: of the store as each of them opens it, with what one query may hold in memory.
        most: processes at once.
        kept: those that stay while they have nothing to do.
    """

    def __init__(self, config: StoreConfig, most: int, kept: int) -> None:
        self._config = config
        self._most = most
        self._kept = kept
        self._nursery = Nursery()
        self._idle: list[WorkerProcess] = []
        self._busy: set[WorkerProcess] = set()
        self._starting = 0
        self._closed = False
        self._changed = threading.Condition()

    def load(self) -> None:
        """Load what workers need, meanwhile, so that the first who asks need not wait for that."""
        self._nursery.load()

    def held(self) -> tuple[int, int]:
        """How many processes there are, and bytes of memory that they hold; 0 where the system does not tell."""
        with self._changed:
            workers = [*self._idle, *self._busy]
        return len(workers), sum(worker.held for worker in workers)

    @contextlib.contextmanager
    def one(self, check: Callable[[], None]) -> Iterator[WorkerProcess]:
        """A worker of the caller's own.

        Args:
            check: called while they wait; what it raises ends that.

        Raises:
            Busy: all are taken. Unavailable: it does not start.
        """
        worker = self._taken(check)
        try:
            yield worker
        finally:
            with self._changed:
                self._busy.discard(worker)
                if worker.is_well and not self._closed and len(self._idle) < self._kept:
                    self._idle.append(worker)
                else:
                    worker.end()
                self._changed.notify()

    def _taken(self, check: Callable[[], None]) -> WorkerProcess:
        deadline = time.monotonic() + _PATIENCE_S
        with self._changed:
            while True:
                if self._closed:
                    raise Unavailable("the service is stopping")
                while self._idle:
                    worker = self._idle.pop()
                    if worker.is_well:
                        self._busy.add(worker)
                        return worker
                    worker.end()
                if len(self._busy) + self._starting < self._most:
                    self._starting += 1
                    break
                self._evict()
                if time.monotonic() > deadline:
                    raise Busy("all processes for queries in SQL are taken", retry_after=1.0)
                self._changed.wait(0.1)
                check()
        try:
            worker = WorkerProcess(self._nursery, self._config)
        except BaseException:
            with self._changed:
                self._starting -= 1
                self._changed.notify()
            raise
        with self._changed:
            self._starting -= 1
            self._busy.add(worker)
        return worker

    def _evict(self) -> None:
        """End the query whose rows nobody has taken for longest."""
        still = [
            w
            for w in self._busy
            if w.still_since is not None and time.monotonic() - w.still_since > _EVICTED_S
        ]
        if still:
            worker = min(still, key=lambda w: w.still_since or 0.0)
            worker.evict()
            self._busy.discard(worker)  # whoever has it may not come back for long

    def interrupt(self) -> None:
        """Stop what all do."""
        with self._changed:
            for worker in self._busy:
                worker.stop()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            for worker in (*self._idle, *self._busy):
                worker.end()
            self._idle.clear()
            self._changed.notify_all()
        self._nursery.close()


class WorkerProcess:
    """One worker, started and ready.

    Raises:
        Unavailable: it does not start.
    """

    def __init__(self, nursery: Nursery, config: StoreConfig) -> None:
        self._child = nursery.child()
        self._channel = Channel(self._child.control)
        self._ending: HeadraceError | None = None
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()
        self._working = False
        self.is_spent = False
        """It holds so much that another query would have less than it may."""
        self.still_since: float | None = None
        try:
            self._channel.send_config(config)
            ready = self._channel.receive(_TOLD) if self._channel.is_ready(_START_S) else None
        except OSError:
            ready = None
        if ready is None:
            self.end()
            raise Unavailable(
                "a process for queries in SQL does not start", hint="its reason is in the service's log"
            )

    @property
    def held(self) -> int:
        """Bytes of memory that its process holds; 0 where it has ended, or the system does not tell."""
        try:
            told = _HELD.search(Path(f"/proc/{self._child.pid}/status").read_text())
        except OSError:
            return 0
        return 0 if told is None else int(told[1]) * 1024

    @property
    def is_well(self) -> bool:
        """Whether it can be asked for more."""
        # It says nothing unasked, unless that it is gone.
        return not self._working and not self.is_spent and not self._channel.is_ready(0)

    def ask(self, asked: Ask, gone: Callable[[], bool]) -> Told:
        """What it answers.

        Args:
            gone: whether nobody waits for that any more, when it is stopped.

        Raises:
            LimitExceeded: it took too long, or its process ended of it. Else what the worker raises.
        """
        self._begin(asked)
        deadline = time.monotonic() + _ASK_S
        while not self._channel.is_ready(_LOOK_S):
            if gone():
                self.stop()
            if time.monotonic() > deadline:
                self._end(
                    LimitExceeded(f"the query was looked at for {_ASK_S:g} seconds, and not understood")
                )
        return self._received()

    def run(self, asked: Ask) -> Generator[pa.RecordBatch, None, Told]:
        """The rows that it gives, and what it tells after the last. Left early, it is stopped."""
        self._begin(asked)
        batches = self._opened()
        whole = False
        try:
            while (batch := self._next(batches)) is not None:
                self.still_since = time.monotonic()
                yield batch
                self.still_since = None
            whole = True
        finally:
            self.still_since = None
            if not whole:
                self._settle(batches)
        return self._received()

    def stop(self) -> None:
        """Stop what it does; from any thread. It is ended if it does not within the second."""
        with self._lock:
            if not self._working or self._timer is not None:
                return
            with contextlib.suppress(OSError):
                self._channel.send(Stop())
            self._timer = threading.Timer(_GRACE_S, self._end, [Cancelled("the query was cancelled")])
            self._timer.daemon = True
            self._timer.start()

    def evict(self) -> None:
        """End a query whose rows nobody takes."""
        self._end(LimitExceeded("nobody took the rows of the query for seconds, and others waited"))

    def end(self) -> None:
        """End the process."""
        self._child.kill()
        self._child.wait(_START_S)
        self._channel.close()
        with contextlib.suppress(OSError):
            self._child.rows.close()

    def _end(self, why: HeadraceError) -> None:
        with self._lock:
            if self._working and self._ending is None:
                self._ending = why
                self._child.kill()

    def _begin(self, asked: Ask) -> None:
        with self._lock:
            self._working, self._ending = True, None
        try:
            self._channel.send(asked)
        except OSError:
            raise self._fate() from None

    def _received(self) -> Told:
        """The answer, after which it can be asked for more."""
        told = self._channel.receive(_TOLD)
        if told is None:
            raise self._fate()
        with self._lock:
            self._working, self.is_spent = self._ending is not None, told.spent
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        if told.error is not None:
            raise protocol.decode_error(msgspec.json.encode(told.error))
        return told

    def _opened(self) -> pa.RecordBatchReader:
        try:
            return pa.ipc.open_stream(pa.PythonFile(self._child.rows, "r"))
        except (pa.ArrowException, OSError):
            raise self._fate() from None

    def _next(self, batches: pa.RecordBatchReader) -> pa.RecordBatch | None:
        try:
            return next(batches, None)
        except (pa.ArrowException, OSError):
            raise self._fate() from None

    def _settle(self, batches: pa.RecordBatchReader) -> None:
        """Wait until a run that was left early has ended."""
        self.stop()
        with contextlib.suppress(HeadraceError):
            while self._next(batches) is not None:
                pass
            self._received()

    def _fate(self) -> HeadraceError:
        """Why it has gone."""
        status = self._child.wait(_ENDED_S)
        if self._ending is not None:
            return self._ending
        if status in _OUT_OF_MEMORY:
            return LimitExceeded(
                "the process of the query was ended: it took more memory than it may have",
                hint="ask for less at once, or have the service allow more by --query-memory",
            )
        told = f"status {status}" if status is None or status >= 0 else signal.Signals(-status).name
        return InternalError(f"the process of the query ended by itself ({told}); no other query was touched")
