"""Hadoop's RPC, as a client and as NameNodes that fail on purpose: both ends of the tunnel."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

SIMPLE, SASL = 0, 0xDF
CONTEXT = -3
SUCCESS, ERROR, FATAL = 0, 1, 2
STANDBY = "org.apache.hadoop.ipc.StandbyException"
STARTING = "org.apache.hadoop.ipc.RetriableException"
TRUE, FALSE = b"\x02\x08\x01", b"\x02\x08\x00"

Field = int | bytes


@dataclass(frozen=True)
class Request:
    connection: int
    call: int
    retries: int
    client: bytes
    method: str


@dataclass(frozen=True)
class Answer:
    body: bytes = TRUE
    status: int = SUCCESS
    exception: str = ""


def thrown(exception: str) -> Answer:
    return Answer(b"", ERROR, exception)


DROP = None
"""Instead of an answer: the connection is closed."""
SILENCE = Answer(status=-1)
"""Instead of an answer: nothing, and the connection stays."""

Behaviour = Callable[[Request], Answer | None]


def in_turn(*answers: Answer | None) -> Behaviour:
    """Each request gets the next of the answers, and those after them the last."""
    left = list(answers)
    return lambda _request: left.pop(0) if len(left) > 1 else left[0]


class NameNode:
    """Answers each call as `behave` says; over TLS where there is a context."""

    def __init__(self, behave: Behaviour, context: ssl.SSLContext | None = None, port: int = 0) -> None:
        self.behave, self.context = behave, context
        self.requests: list[Request] = []
        self.openings: list[bytes] = []
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port: int = self._listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.drop()

    def drop(self) -> None:
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                accepted, _ = self._listener.accept()
                number = len(self._open)
                self._open.append(accepted)
                threading.Thread(target=self._serve, args=(accepted, number), daemon=True).start()

    def _serve(self, accepted: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError, EOFError), contextlib.ExitStack() as stack:
            stack.enter_context(accepted)
            peer = accepted
            if self.context is not None:
                peer = stack.enter_context(self.context.wrap_socket(accepted, server_side=True))
                self._open[number] = peer
            self.openings.append(receive(peer, 7))
            while True:
                request = _request(number, receive_frame(peer))
                self.requests.append(request)
                if request.call < 0:
                    continue
                answer = self.behave(request)
                if answer is DROP:
                    return
                if answer is not SILENCE:
                    peer.sendall(_response(request, answer))


class Client:
    """Calls through the tunnel, as a client of HDFS does."""

    def __init__(self, port: int, auth: int = SIMPLE) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.id = b"client-of-16-byt"
        self._next = 0
        self.socket.sendall(b"hrpc\x09\x00" + bytes([auth]))
        if auth == SIMPLE:
            self.socket.sendall(frame(self._header(CONTEXT, -1), b"\x1a\x05alice"))

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def ask(self, method: str) -> int:
        call, self._next = self._next, self._next + 1
        self.socket.sendall(frame(self._header(call, 0), fields((1, method.encode())), b"\x08\x07"))
        return call

    def hear(self) -> tuple[int, Answer]:
        header, body = _split(receive_frame(self.socket))
        found = dict(parse(header))
        call, status = found[1], found[2]
        assert isinstance(call, int)
        assert isinstance(status, int)
        message = found.get(4, b"")
        assert isinstance(message, bytes)
        self.error = _text(found.get(5, b""))
        return call, Answer(body, status, message.decode())

    def call(self, method: str) -> Answer:
        call = self.ask(method)
        heard, answer = self.hear()
        assert heard == call
        return answer

    def is_closed(self) -> bool:
        return is_closed(self.socket)

    def _header(self, call: int, retries: int) -> bytes:
        return fields((1, 2), (2, 0), (3, zigzag(call)), (4, self.id), (5, zigzag(retries)))


def is_refused(port: int) -> bool:
    """Whether the tunnel ends a new connection, be it before all is sent that a client begins with."""
    try:
        with Client(port) as client:
            return client.is_closed()
    except ConnectionError:
        return True


def is_closed(peer: socket.socket) -> bool:
    """Whether nothing more comes; waits for it."""
    try:
        return peer.recv(1) == b""
    except ConnectionError:
        return True


def frame(*messages: bytes) -> bytes:
    body = b"".join(varint(len(message)) + message for message in messages)
    return struct.pack(">I", len(body)) + body


def receive_frame(peer: socket.socket) -> bytes:
    return receive(peer, *struct.unpack(">I", receive(peer, 4)))


def receive(peer: socket.socket, length: int) -> bytes:
    received = b""
    while len(received) < length:
        part = peer.recv(length - len(received))
        if not part:
            raise EOFError
        received += part
    return received


def _request(connection: int, received: bytes) -> Request:
    header, rest = _split(received)
    found = dict(parse(header))
    call, retries, client = found[3], found[5], found[4]
    assert isinstance(call, int)
    assert isinstance(retries, int)
    assert isinstance(client, bytes)
    call = call >> 1 ^ -(call & 1)
    method = _text(dict(parse(_split(rest)[0]))[1]) if call >= 0 else ""
    return Request(connection, call, retries >> 1 ^ -(retries & 1), client, method)


def _response(request: Request, answer: Answer) -> bytes:
    found: list[tuple[int, Field]] = [(1, request.call), (2, answer.status), (3, 9)]
    if answer.exception:
        found += [(4, answer.exception.encode()), (5, b"as the test says")]
    header = fields(*found)
    body = varint(len(header)) + header + answer.body
    return struct.pack(">I", len(body)) + body


def _text(value: Field) -> str:
    assert isinstance(value, bytes)
    return value.decode()


def _split(received: bytes) -> tuple[bytes, bytes]:
    length, start = _varint(received, 0)
    return received[start : start + length], received[start + length :]


def fields(*values: tuple[int, Field]) -> bytes:
    return b"".join(
        varint(number << 3) + varint(value)
        if isinstance(value, int)
        else varint(number << 3 | 2) + varint(len(value)) + value
        for number, value in values
    )


def parse(message: bytes) -> Iterator[tuple[int, Field]]:
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        value, at = _varint(message, at)
        if tag & 7 == 2:
            yield tag >> 3, message[at : at + value]
            at += value
        else:
            yield tag >> 3, value


def zigzag(number: int) -> int:
    return (number << 1 ^ number >> 31) & 0xFFFFFFFF


def varint(number: int) -> bytes:
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(encoded) + bytes([number])


def _varint(message: bytes, at: int) -> tuple[int, int]:
    number, shift = 0, 0
    while True:
        byte = message[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, at


def calls(requests: Iterable[Request]) -> list[tuple[str, int, int]]:
    """Method, call id and count of retries of what were calls."""
    return [(request.method, request.call, request.retries) for request in requests if request.call >= 0]
