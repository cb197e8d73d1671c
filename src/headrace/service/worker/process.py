"""A worker's own side: reads what its service asks for, one thing at a time, in a store of its own."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import re
import resource
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pyarrow as pa

from headrace.errors import Cancelled, HeadraceError, InternalError, LimitExceeded
from headrace.protocol import ErrorBody
from headrace.service.limits import parse_size
from headrace.service.sql_reading import SqlReader
from headrace.service.store import Store
from headrace.service.worker.channel import Ask, Channel, Stop, Told

_MESSAGES: msgspec.json.Decoder[Ask | Stop] = msgspec.json.Decoder(Ask | Stop)
_HEADROOM = 512 << 20
"""Bytes beside what a query may hold: for rows on their way."""
_UNCOUNTED_SHARE = 2
"""Of the memory of a query, which DuckDB may take beside it: it counts blocks, not what its allocator makes of them, a
tenth to a quarter more where threads free and take by turns.
"""
_KEPT_SHARE = 4
"""Of the memory of a query, which the allocators may keep after it: much of that they use again."""
_log = logging.getLogger("headrace.worker")


class Worker:
    """Answers its service until that goes.

    Args:
        rows: the pipe for rows.
        keeps: bytes that it may hold between queries; None is unlimited.
    """

    def __init__(self, store: Store, channel: Channel, rows: int, keeps: int | None) -> None:
        self._store = store
        self._channel = channel
        self._rows = rows
        self._keeps = keeps
        self._asked: queue.SimpleQueue[Ask] = queue.SimpleQueue()
        self._stop: Callable[[], None] | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def serve(self) -> None:
        threading.Thread(target=self._listen, daemon=True).start()
        while True:
            asked = self._asked.get()
            try:
                told = self._done(asked)
            except HeadraceError as error:
                told = Told(error=_body(error))
            except BrokenPipeError:
                return  # the service has gone
            except MemoryError:
                told = Told(error=_body(LimitExceeded("the query needs more memory than it may have")))
            except Exception as error:
                _log.exception("a query failed")
                told = Told(error=_body(InternalError(f"{type(error).__name__}: {error}")))
            spent = self._keeps is not None and _held() > self._keeps
            self._channel.send(msgspec.structs.replace(told, spent=spent))

    def _listen(self) -> None:
        """Hears what is said while something is done."""
        while True:
            message = self._channel.receive(_MESSAGES)
            if message is None:
                os._exit(0)  # nobody waits for what is still being done
            if isinstance(message, Stop):
                with self._lock:
                    self._stopped = True
                    if self._stop is not None:
                        self._stop()
            else:
                with self._lock:
                    self._stopped = False
                self._asked.put(message)

    def _done(self, asked: Ask) -> Told:
        sql = self._store.project(asked.project, asked.user).sql
        assert isinstance(sql, SqlReader)
        if asked.kind == "run":
            assert asked.prepared is not None
            return Told(files=self._run(sql, asked))
        with self._stopping(self._store.engine.interrupt):
            if asked.kind == "parameters":
                return Told(parameters=tuple(sql.parameters(asked.sql)))
            assert asked.request is not None
            if asked.kind == "explain":
                return Told(text=sql.explain(asked.request))
            return Told(prepared=sql.prepare(asked.request))

    def _run(self, sql: SqlReader, asked: Ask) -> int:
        """Sends the rows, whose stream ends in any case: how is in the answer."""
        assert asked.prepared is not None
        schema = pa.ipc.read_schema(pa.py_buffer(asked.prepared.schema_ipc))
        with (
            os.fdopen(os.dup(self._rows), "wb") as pipe,
            pa.ipc.new_stream(pa.PythonFile(pipe, "w"), schema) as stream,
        ):
            rows = sql.run(asked.prepared, None, 0, 1)
            with self._stopping(rows.cancel), contextlib.closing(rows.batches()) as batches:
                for batch in batches:
                    stream.write_batch(batch)
                    pipe.flush()
        return rows.files.scanned if rows.files else 0

    @contextlib.contextmanager
    def _stopping(self, stop: Callable[[], None]) -> Iterator[None]:
        with self._lock:
            if self._stopped:
                raise Cancelled("the query was cancelled")
            self._stop = stop
        try:
            yield
        finally:
            with self._lock:
                self._stop = None


def _body(error: HeadraceError) -> ErrorBody:
    return ErrorBody(error.code, error.message, error.hint, error.details)


def _held() -> int:
    """Bytes of memory that this process has taken; 0 where the system does not tell."""
    told = re.search(r"VmData:\s*([0-9]+) kB", Path("/proc/self/status").read_text())
    return 0 if told is None else int(told[1]) * 1024


def _bound_memory(limit: int) -> int:
    """Beyond it, taking memory fails in this process alone. Gives how much may be held between queries, so that the
    next has its limit.
    """
    base = _held() + _HEADROOM
    most = base + limit + limit // _UNCOUNTED_SHARE
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return base + limit // _KEPT_SHARE


def work(control: int, rows: int) -> None:
    """Be a worker until the service goes.

    Args:
        control: the socket for messages.
        rows: the pipe for rows.
    """
    channel = Channel(socket.socket(fileno=control))
    config = channel.receive_config()
    if config is None:
        return
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        store = Store(config, seals=True)
    except HeadraceError as error:
        _log.error("a process for queries in SQL cannot open the store: %s", error)
        return
    keeps: int | None = None
    if config.memory_limit is not None and sys.platform == "linux":
        keeps = _bound_memory(parse_size(config.memory_limit))
    with contextlib.suppress(ConnectionError):  # the service has gone
        channel.send(Told())
        Worker(store, channel, rows, keeps).serve()
