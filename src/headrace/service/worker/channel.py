"""What a service and its workers tell each other."""

from __future__ import annotations

import contextlib
import pickle
import select
import socket
import struct
import threading
from typing import Any, Literal, TypeVar

import msgspec

from headrace.config import StoreConfig
from headrace.model.request import Prepared, ReadRequest
from headrace.model.struct import know
from headrace.protocol import ErrorBody

_SIZE = struct.Struct(">I")
_MOST_BYTES = 256 << 20

Message = TypeVar("Message")


class Ask(msgspec.Struct, frozen=True, omit_defaults=True, tag="ask"):
    """To do one of these for a caller; the rows of "run" come by a pipe of their own, before the answer."""

    kind: Literal["prepare", "parameters", "explain", "run"]
    project: str
    user: str | None
    request: ReadRequest | None = None
    prepared: Prepared | None = None
    sql: str = ""


class Stop(msgspec.Struct, frozen=True, tag="stop"):
    """To stop what is being done."""


class Told(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of it; `files` are those of the tables that were read.

    Args:
        spent: the worker still holds so much that another query would have less than it may.
    """

    prepared: Prepared | None = None
    parameters: tuple[str, ...] = ()
    text: str = ""
    files: int = 0
    spent: bool = False
    error: ErrorBody | None = None


know(Ask | Stop, Told)


class Channel:
    """Messages over a socket, whole or not at all; several threads may send."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def send(self, message: object) -> None:
        """Raises OSError: the other side has gone."""
        self._send(msgspec.json.encode(message))

    def receive(self, decoder: msgspec.json.Decoder[Message]) -> Message | None:
        """The next message; None once the other side has gone. Raises msgspec.MsgspecError."""
        body = self._receive()
        return None if body is None else decoder.decode(body)

    def send_config(self, config: StoreConfig) -> None:
        """From a service to its own worker, which believes it."""
        self._send(pickle.dumps(config))

    def receive_config(self) -> StoreConfig | None:
        body = self._receive()
        config: StoreConfig | None = None if body is None else pickle.loads(body)
        return config

    def is_ready(self, seconds: float) -> bool:
        """Whether `receive` need not wait, or not for longer than these seconds."""
        return is_readable(self._connection.fileno(), seconds)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._connection.close()

    def _send(self, body: bytes) -> None:
        with self._lock:
            self._connection.sendall(_SIZE.pack(len(body)) + body)

    def _receive(self) -> bytes | None:
        head = self._exactly(_SIZE.size)
        if head is None:
            return None
        (size,) = _SIZE.unpack(head)
        return self._exactly(size) if size <= _MOST_BYTES else None

    def _exactly(self, size: int) -> bytes | None:
        held: Any = bytearray(size)
        view, have = memoryview(held), 0
        while have < size:
            try:
                count = self._connection.recv_into(view[have:])
            except ConnectionError:
                return None
            if count == 0:
                return None
            have += count
        return bytes(held)


def is_readable(file: int, seconds: float) -> bool:
    """Whether reading need not wait, or not for longer than these seconds; whatever number the file has."""
    waiting = select.poll()
    waiting.register(file, select.POLLIN)
    return bool(waiting.poll(seconds * 1000))
