"""Hadoop's RPC, as far as it takes to ask a NameNode what the Delta library does not ask it.

Source: RpcHeader.proto and IpcConnectionContext.proto of hadoop-common, ClientNamenodeProtocol.proto of
hadoop-hdfs-client.
"""

from __future__ import annotations

import dataclasses
import socket
import struct
import uuid
from collections.abc import Iterator

_PREAMBLE = b"hrpc\x09\x00\x00"
"""Version 9, and who calls is told without a proof: SIMPLE."""
_PROTOCOL = b"org.apache.hadoop.hdfs.protocol.ClientProtocol"
_CONTEXT = -3
_SUCCESS, _FATAL = 0, 2
_LONGEST = 1 << 24

Value = int | bytes


class NotRpc(Exception):
    """What answers does not speak Hadoop's RPC."""


class Refused(Exception):
    """A NameNode's own refusal.

    Args:
        kind: the class of what it threw, without its package.
        fatal: it has ended the connection.
    """

    def __init__(self, kind: str, message: str, fatal: bool) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message
        self.fatal = fatal


@dataclasses.dataclass(frozen=True)
class Status:
    """Of a file or folder; the time in seconds."""

    owner: str
    changed: float


class NameNodeRpc:
    """One connection, for one thread. Every call raises Refused, NotRpc, OSError.

    Args:
        client: 16 bytes by which a NameNode knows who asks once more; the calls of each connection are numbered from 0.
    """

    def __init__(self, connection: socket.socket, user: str, client: bytes | None = None) -> None:
        self._connection = connection
        self._client = client or uuid.uuid4().bytes
        self._calls = 0
        context = _message((2, _message((1, user.encode()))), (3, _PROTOCOL))
        self._connection.sendall(_PREAMBLE + _frame(self._header(_CONTEXT), context))

    def status(self, path: str) -> Status | None:
        """None if nothing is there."""
        found = _bytes(self._call("getFileInfo", (1, path.encode())), 1)
        if not found:
            return None
        told = _fields(found)
        return Status(_bytes(told, 5).decode(), _number(told, 7) / 1000)

    def make_folder(self, path: str) -> None:
        """With those above it that are missing."""
        self._call("mkdirs", (1, path.encode()), (2, _message((1, 0o755))), (3, 1))

    def rename(self, path: str, to: str) -> None:
        """To a name that nothing may have."""
        self._call("rename2", (1, path.encode()), (2, to.encode()), (3, 0))

    def remove(self, path: str) -> None:
        """With all that is in it."""
        self._call("delete", (1, path.encode()), (2, 1))

    def policy(self, path: str) -> str:
        """The name of the storage policy there."""
        return _bytes(_fields(_bytes(self._call("getStoragePolicy", (1, path.encode())), 1)), 2).decode()

    def encrypts_data(self) -> bool:
        """Whether clients are told to encrypt what they send to DataNodes."""
        defaults = _fields(_bytes(self._call("getServerDefaults"), 1))
        return _number(defaults, 6) == 1

    def _call(self, method: str, *arguments: tuple[int, Value]) -> dict[int, Value]:
        call, self._calls = self._calls, self._calls + 1
        named = _message((1, method.encode()), (2, _PROTOCOL), (3, 1))
        self._connection.sendall(_frame(self._header(call), named, _message(*arguments)))
        header, body = self._answer()
        if _number(header, 2) != _SUCCESS:
            kind = _bytes(header, 4).decode(errors="replace").rpartition(".")[2]
            lines = _bytes(header, 5).decode(errors="replace").splitlines()
            raise Refused(kind, lines[0] if lines else "", _number(header, 2) == _FATAL)
        if _number(header, 1) != call:
            raise NotRpc("the answer is one to another call")
        return body

    def _answer(self) -> tuple[dict[int, Value], dict[int, Value]]:
        (length,) = struct.unpack(">I", self._receive(4))
        if length > _LONGEST:
            raise NotRpc("what comes is no frame of Hadoop's RPC")
        frame = self._receive(length)
        try:
            header, at = _delimited(frame, 0)
            body = _delimited(frame, at)[0] if at < len(frame) else b""
            return _fields(header), _fields(body)
        except (IndexError, ValueError):
            raise NotRpc("what comes is no frame of Hadoop's RPC") from None

    def _receive(self, length: int) -> bytes:
        received = b""
        while len(received) < length:
            more = self._connection.recv(length - len(received))
            if not more:
                raise NotRpc("the connection was closed without an answer")
            received += more
        return received

    def _header(self, call: int) -> bytes:
        return _message((1, 2), (2, 0), (3, _zigzag(call)), (4, self._client), (5, _zigzag(0)))


def _frame(*messages: bytes) -> bytes:
    body = b"".join(_varint(len(message)) + message for message in messages)
    return struct.pack(">I", len(body)) + body


def _message(*fields: tuple[int, Value]) -> bytes:
    parts = []
    for number, value in fields:
        if isinstance(value, int):
            parts.append(_varint(number << 3) + _varint(value))
        else:
            parts.append(_varint(number << 3 | 2) + _varint(len(value)) + value)
    return b"".join(parts)


def _fields(message: bytes) -> dict[int, Value]:
    """The last of each number."""
    return dict(_each(message))


def _each(message: bytes) -> Iterator[tuple[int, Value]]:
    at = 0
    while at < len(message):
        tag, at = _read_varint(message, at)
        kind, value = tag & 7, b""
        if kind == 0:
            number, at = _read_varint(message, at)
            yield tag >> 3, number
            continue
        if kind == 2:
            value, at = _delimited(message, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = message[at : at + size], at + size
        else:
            raise ValueError("a kind of field that is not known")
        yield tag >> 3, value


def _delimited(data: bytes, at: int) -> tuple[bytes, int]:
    length, at = _read_varint(data, at)
    if at + length > len(data):
        raise ValueError("a message that ends early")
    return data[at : at + length], at + length


def _number(fields: dict[int, Value], number: int) -> int:
    value = fields.get(number, 0)
    return value if isinstance(value, int) else 0


def _bytes(fields: dict[int, Value], number: int) -> bytes:
    value = fields.get(number, b"")
    return value if isinstance(value, bytes) else b""


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at
        if shift > 63:
            raise ValueError("a number that is too long")


def _varint(number: int) -> bytes:
    written = bytearray()
    while number >= 0x80:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*written, number])


def _zigzag(number: int) -> int:
    return (number << 1 ^ number >> 31) & 0xFFFFFFFF
