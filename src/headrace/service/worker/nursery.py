"""How a service starts its workers, and hears of their end."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import subprocess
import sys
import threading
from typing import BinaryIO

from headrace.errors import Unavailable
from headrace.service.worker.channel import is_readable
from headrace.service.worker.parent import NUMBER

_MOST_BYTES = 1024


class Nursery:
    """The service's side of the parent of its workers, which is started when it is needed."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._parent: socket.socket | None = None
        self._closed = False
        self._lock = threading.Lock()

    def load(self) -> None:
        """Start what loads what workers need, and do not wait for it."""
        with self._lock:
            self._loaded()

    def child(self) -> Child:
        """A new worker, which may yet have to come up."""
        number = next(self._numbers)
        with contextlib.ExitStack() as its, contextlib.ExitStack() as unless_begun:
            try:
                ours, theirs = socket.socketpair()
                its.enter_context(theirs)
                unless_begun.enter_context(ours)
                rows, status = (self._pipe(its, unless_begun) for _ in range(2))
                pid = self._start(number, [theirs.fileno(), rows[1], status[1]])
            except OSError as error:
                raise Unavailable(f"a process for queries in SQL does not start: {error}") from None
            unless_begun.pop_all()
        return Child(self, number, pid, ours, os.fdopen(rows[0], "rb"), status[0])

    @staticmethod
    def _pipe(its: contextlib.ExitStack, unless_begun: contextlib.ExitStack) -> tuple[int, int]:
        """The end to read from, which is ours, and the worker's."""
        ours, theirs = os.pipe()
        unless_begun.callback(os.close, ours)
        its.callback(os.close, theirs)
        return ours, theirs

    def kill(self, number: int) -> None:
        with contextlib.suppress(OSError), self._lock:
            if self._parent is not None:
                self._parent.send(NUMBER.pack(number))

    def close(self) -> None:
        """Workers end once they are let go of."""
        with self._lock:
            self._closed = True
            self._end()

    def _start(self, number: int, files: list[int]) -> int:
        with self._lock:
            told = self._told(number, files)
            if not told:  # it was brought down
                self._end()
                told = self._told(number, files)
        if len(told) != NUMBER.size:
            raise ChildProcessError(told.decode() or "what starts it has ended")
        (pid,) = NUMBER.unpack(told)
        return int(pid)

    def _told(self, number: int, files: list[int]) -> bytes:
        parent = self._loaded()
        try:
            socket.send_fds(parent, [NUMBER.pack(number)], files)
            return parent.recv(_MOST_BYTES)
        except ConnectionError:
            return b""

    def _loaded(self) -> socket.socket:
        if self._closed:
            raise ConnectionError("the service is stopping")
        if self._parent is None:
            self._parent, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "headrace.service.worker.parent", str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    start_new_session=True,
                )
        return self._parent

    def _end(self) -> None:
        if self._parent is None or self._process is None:
            return
        self._parent.close()
        self._process.kill()
        self._process.wait()
        self._parent = self._process = None


class Child:
    """A worker's process, as its service has it.

    Args:
        pid: of its process.
        control: to what it is told, and tells.
        rows: that it gives.
        status: by which its end is told.
    """

    def __init__(
        self, nursery: Nursery, number: int, pid: int, control: socket.socket, rows: BinaryIO, status: int
    ) -> None:
        self.pid = pid
        self.control = control
        self.rows = rows
        self._nursery = nursery
        self._number = number
        self._status: int | None = status
        self._code: int | None = None
        self._lock = threading.Lock()

    def wait(self, seconds: float) -> int | None:
        """Its exit status, negative for a signal; None if nobody knows, or it does not end."""
        with self._lock:
            if self._status is not None and is_readable(self._status, seconds):
                told = os.read(self._status, NUMBER.size)
                if told:
                    (self._code,) = NUMBER.unpack(told)
                os.close(self._status)
                self._status = None
            return self._code

    def kill(self) -> None:
        self._nursery.kill(self._number)
