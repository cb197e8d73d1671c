"""Rows one by one: what becomes of them when their sink fails, takes a part, or asks for more."""

from __future__ import annotations

import gc
import io
import os
import socket
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace import rowcodec
from headrace.errors import InvalidArgument

pytestmark = pytest.mark.slow


class Full(io.BytesIO):
    """Fails once, when it is written to for the second time."""

    times = 0

    def write(self, data: Any, /) -> int:
        self.times += 1
        if self.times == 2:
            raise OSError("no space left")
        return super().write(data)


@pytest.mark.parametrize(
    "go_on",
    [lambda encoder: encoder.append((1,)), rowcodec.Encoder.flush, rowcodec.Encoder.close],
    ids=["append", "flush", "close"],
)
def test_nothing_follows_what_the_sink_did_not_take(go_on: Callable[[rowcodec.Encoder], None]) -> None:
    sink = Full()
    encoder = rowcodec.Encoder(sink)
    encoder.append((1,))
    encoder.flush()
    encoder.append((2,))
    with pytest.raises(OSError, match="no space"):
        encoder.flush()
    for _ in range(2):
        with pytest.raises(InvalidArgument, match="rows are lost"):
            go_on(encoder)
    assert sink.times == 2


def test_socket_without_a_buffer() -> None:
    """It takes as much as there is room for, and says how much that was."""
    ours, theirs = socket.socketpair()
    received: list[bytes] = []

    def receive() -> None:
        while data := theirs.recv(1 << 20):
            received.append(data)

    thread = threading.Thread(target=receive)
    thread.start()
    rows = [(n, f"{n}" * 200) for n in range(20_000)]
    with ours:
        ours.settimeout(60)
        with ours.makefile("wb", buffering=0) as sink, rowcodec.Encoder(sink) as encoder:
            for row in rows:
                encoder.append(row)
    thread.join()
    theirs.close()
    assert rowcodec.loads(b"".join(received)) == rows


def test_sink_that_takes_nothing_now() -> None:
    class Busy(io.RawIOBase):
        def write(self, data: Any, /) -> None:
            return None

    encoder = rowcodec.Encoder(Busy())
    encoder.append((1,))
    with pytest.raises(BlockingIOError, match="takes no more"):
        encoder.close()


def test_encoder_that_is_in_use() -> None:
    class Asking:
        def write(self, data: bytes) -> None:
            encoder.append((2,))

    encoder = rowcodec.Encoder(Asking())
    encoder.append((1,))
    with pytest.raises(InvalidArgument, match="in use"):
        encoder.flush()


def test_memory_that_is_kept() -> None:
    """What encoders had is kept for the next ones, but not without end."""

    def kept() -> int:
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    before = 0
    for n in range(40):
        with rowcodec.Encoder(io.BytesIO(), dictionaries=False) as encoder:
            for _ in range(8_000):
                encoder.append({f"column {n}": "x" * 1_500})
        before = before or kept()
    assert kept() - before < 200 << 20


def test_sink_that_holds_its_encoder_is_freed() -> None:
    class Holder:
        def __init__(self) -> None:
            self.encoder = rowcodec.Encoder(self)

        def write(self, data: bytes) -> None:
            pass

    holder = Holder()
    holder.encoder.append((1,))
    there = weakref.ref(holder)
    del holder
    gc.collect()
    assert there() is None
