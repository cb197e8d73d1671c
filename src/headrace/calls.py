"""The calls under way on a store: who is inside, and that nobody comes in once it is closed."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from types import FunctionType
from typing import Any, ClassVar, TypeVar

from headrace.errors import Cancelled, InvalidArgument, Unsupported

Item = TypeVar("Item")
Made = TypeVar("Made")

_PATIENCE = 5.0
_AGAIN = 0.05
_FAREWELL = 0.5


class Calls:
    """The one gate to a store, for all threads of the process that opened it.

    Libraries in C++ and Rust bring the process down if it ends while a thread is inside them, so what closes the
    store, at the end of the program if nobody has before, waits for the others to come out.

    Raises:
        Unsupported: this is a fork of a process that had opened a store. Their threads are not in it, for which they
            would wait for ever.
    """

    _first: ClassVar[int | None] = None
    """The process in which those libraries were first used."""

    def __init__(self) -> None:
        self._process = os.getpid()
        if Calls._first not in (None, self._process):
            raise Unsupported(
                "this process is a fork of one that had connected to a store, and the libraries beneath fail in forks",
                hint="start processes with the spawn or forkserver method, or before the first connection",
            )
        Calls._first = self._process
        self._closed = False
        self._inside: Counter[int] = Counter()
        self._changed = threading.Condition()

    @property
    def is_ours(self) -> bool:
        """Whether this is the process that opened the store, and not a fork of it."""
        return os.getpid() == self._process

    def check(self) -> None:
        """Raises what a call would raise."""
        if not self.is_ours:
            raise Unsupported(
                "the store was opened in another process",
                hint="connect in each process, and start processes with the spawn or forkserver method",
            )
        if self._closed and not threading.main_thread().is_alive():
            raise Cancelled(
                "the program is ending",
                hint="wait for the threads that use the store before the program ends",
            )
        if self._closed:
            raise InvalidArgument("the store is closed", hint="connect again")

    @contextlib.contextmanager
    def one(self) -> Iterator[None]:
        """Within, what the store is made of is not closed."""
        self.check()  # before the lock, which a fork may have copied while it was held
        thread = threading.get_ident()
        with self._changed:
            self.check()
            self._inside[thread] += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside[thread] -= 1
                self._inside += Counter()  # which drops those that have left
                self._changed.notify_all()

    def steps(self, items: Generator[Item, None, None]) -> Generator[Item, None, None]:
        """The same items. Each is a call of its own: nobody waits for who holds a stream and does not read."""
        with contextlib.closing(items):
            while True:
                with self.one():
                    try:
                        item = next(items)
                    except StopIteration:
                        return
                yield item

    def close(self, interrupt: Callable[[], None] = lambda: None) -> bool:
        """Let nobody in any more, and wait for the other threads, which `interrupt` is to bring out.

        False if some are still inside: what they use must be left as it is.
        """
        deadline = time.monotonic() + _PATIENCE
        with self._changed:
            self._closed = True
            others = self._others()
            while self._others() and time.monotonic() < deadline:
                interrupt()
                self._changed.wait(_AGAIN)
        if not threading.main_thread().is_alive():
            # They are about to tell why they end, and a thread cut off in that holds the lock of stderr for ever.
            deadline = time.monotonic() + _FAREWELL
            for thread in threading.enumerate():
                if thread.ident in others:
                    thread.join(max(0.0, deadline - time.monotonic()))
        return not self._others()

    def _others(self) -> set[int]:
        return set(self._inside) - {threading.get_ident()}


def counted(backend: type[Made]) -> type[Made]:
    """A class decorator: every public method, but `close`, is one of the object's `calls`."""
    for name, method in list(vars(backend).items()):
        if isinstance(method, FunctionType) and not name.startswith("_") and name != "close":
            setattr(backend, name, _counted(method))
    return backend


def _counted(method: FunctionType) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self.calls.one():
            return method(self, *args, **kwargs)

    return call
