"""SIGINT and SIGTERM: with either all that was started ends, and what was made for it is removed."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """Args:
    asked: the signal that came; None while none has. A library may swallow the exception that tells of it.
    """

    def __init__(self) -> None:
        self.asked: signal.Signals | None = None

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = signal.Signals(number)
        raise KeyboardInterrupt


@contextlib.contextmanager
def stoppable() -> Iterator[Stop]:
    """Both raise KeyboardInterrupt, unless whoever started this process has it ignore them."""
    stop = Stop()
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    heard = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
    for number in heard:
        signal.signal(number, stop._ask)
    try:
        yield stop
    finally:
        for number, handler in heard.items():
            signal.signal(number, handler)
