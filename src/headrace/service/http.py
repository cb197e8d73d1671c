"""`/live`, `/ready` and `/metrics` over HTTP, for what watches a service and speaks nothing else."""

from __future__ import annotations

import contextlib
import io
import ipaddress
import json
import logging
import os
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from headrace.errors import AuthError, HeadraceError, InvalidArgument, PermissionDenied, TLSError, Unavailable
from headrace.tls import TLS

_log = logging.getLogger("headrace.service")
_MOST_AT_ONCE = 8
_PATIENCE_S = 5.0
"""For the request; and then for taking the answer."""
_MOST_HEAD_BYTES = 8_192
_TEXT = "text/plain; charset=utf-8"
# What gRPC makes of the first name in a certificate, by the kinds that Python tells.
_NAMES = ("DNS", "email", "URI", "IP Address")
_OTHER = "other types of SAN"


class Answer(NamedTuple):
    status: HTTPStatus
    body: bytes = b""
    kind: str = _TEXT


class Caller(NamedTuple):
    """What a caller shows: the name in a certificate, empty if none was shown, and the headers for authorization."""

    peer: bytes
    authorization: tuple[str, ...]


Page = Callable[[Caller | None], Answer]
"""Answers one path; None is who calls in the clear, where nobody is asked."""


class HttpServer:
    """Answers at one address, a request a connection, until it is closed.

    Args:
        listen: `http://127.0.0.1:9090`, or `https://host:port`; port 0 is any free one.
        pages: by their paths.
        secure: makes the TLS of an https address, anew for each connection.

    Raises:
        Unavailable: the address is taken, or not this machine's. InvalidArgument: it is none. TLSError.
    """

    def __init__(
        self, listen: str, pages: Mapping[str, Page], secure: Callable[[], ssl.SSLContext] | None
    ) -> None:
        parts = urlsplit(listen)
        try:
            address = (parts.hostname or "", parts.port)
        except ValueError as error:
            raise InvalidArgument(f"cannot listen on {listen}: {error}") from None
        if not address[0] or address[1] is None:
            raise InvalidArgument(
                f"cannot listen on {listen}: it names no host and port", hint="write http://127.0.0.1:9090"
            )
        if secure is not None:
            secure()
        self._listen = listen
        try:
            family = socket.getaddrinfo(*address, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
            self._server = _Server((address[0], address[1]), pages, secure, family)
        except (OSError, OverflowError) as error:
            told = getattr(error, "strerror", None) or error
            raise Unavailable(f"cannot listen on {listen}: {told}") from None
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            name="headrace-http",
            kwargs={"poll_interval": 0.1},
            daemon=True,
        )
        self._thread.start()

    @property
    def listening(self) -> str:
        """The address, with the port that was found for port 0."""
        return f"{self._listen.rsplit(':', 1)[0]}:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(HTTPServer):
    """A thread for each of a few requests. Where there are more, the one that has been there for longest is ended: who
    asks for a page sends that at once, and who only holds a connection keeps nobody out.
    """

    request_queue_size = 16

    def __init__(
        self,
        address: tuple[str, int],
        pages: Mapping[str, Page],
        secure: Callable[[], ssl.SSLContext] | None,
        family: int,
    ) -> None:
        self.address_family = family
        self.pages = pages
        self._secure = secure
        self._room = threading.BoundedSemaphore(_MOST_AT_ONCE)
        self._inside: deque[socket.socket] = deque()
        self._lock = threading.Lock()
        super().__init__(address, _Request)

    def server_bind(self) -> None:
        """Without the base class's look-up of the host's name, which may take long."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._room.acquire(blocking=False):
            self._end_first()
            if not self._room.acquire(timeout=_PATIENCE_S):
                self.shutdown_request(request)
                return
        with contextlib.ExitStack() as unless_begun:
            unless_begun.callback(self._room.release)
            # A way of its own to the connection, of which TLS takes the first away.
            held = request.dup()
            unless_begun.callback(self._let_go, held)
            with self._lock:
                self._inside.append(held)
            threading.Thread(
                target=self._answer,
                args=(request, held, client_address),
                name="headrace-http-call",
                daemon=True,
            ).start()
            unless_begun.pop_all()

    def _let_go(self, held: socket.socket) -> None:
        with self._lock:
            self._inside.remove(held)
        held.close()

    def _end_first(self) -> None:
        with self._lock:
            if self._inside:
                with contextlib.suppress(OSError):  # it has just ended
                    self._inside[0].shutdown(socket.SHUT_RDWR)

    def _answer(self, request: socket.socket, held: socket.socket, client_address: Any) -> None:
        try:
            request.settimeout(_PATIENCE_S)
            if self._secure is not None:
                request = self._secure().wrap_socket(request, server_side=True)
            self.finish_request(request, client_address)
        except OSError:
            pass  # TLS's errors, too: who calls otherwise than is asked for is told by the connection's end
        except Exception:
            _log.exception("a request over HTTP failed")
        finally:
            self._let_go(held)
            self.shutdown_request(request)
            self._room.release()


class _Request(BaseHTTPRequestHandler):
    """One request, whose head is read within bounds before anything is made of it."""

    server: _Server
    server_version = "headrace"
    sys_version = ""

    def setup(self) -> None:
        self.connection = self.request
        self.rfile = io.BytesIO(_head(self.request))
        self.wfile = self._answer = io.BytesIO()

    def finish(self) -> None:
        self.request.sendall(self._answer.getvalue())

    def do_GET(self) -> None:
        try:
            page = self.server.pages.get(urlsplit(self.path).path)
            answer = Answer(HTTPStatus.NOT_FOUND) if page is None else page(self._caller())
        except ValueError:
            answer = Answer(HTTPStatus.BAD_REQUEST)
        except PermissionDenied:
            answer = Answer(HTTPStatus.FORBIDDEN)
        except AuthError:
            answer = Answer(HTTPStatus.UNAUTHORIZED)
        except HeadraceError:
            answer = Answer(HTTPStatus.SERVICE_UNAVAILABLE)
        self._send(answer)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Without the base class's page, which repeats what it was sent."""
        if not hasattr(self, "request_version") or self.request_version == "HTTP/0.9":
            self.request_version = "HTTP/1.0"
        known = code != HTTPStatus.NOT_IMPLEMENTED
        self._send(Answer(HTTPStatus(code if known else HTTPStatus.METHOD_NOT_ALLOWED)))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """A probe every few seconds is nothing to write down."""

    def _send(self, answer: Answer) -> None:
        body = answer.body or f"{answer.status} {answer.status.phrase}\n".encode()
        self.close_connection = True
        self.send_response(answer.status)
        for name, value in {
            "Content-Type": answer.kind,
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "Connection": "close",
        }.items():
            self.send_header(name, value)
        if answer.status == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET")
        self.end_headers()
        self.wfile.write(body)

    def _caller(self) -> Caller | None:
        if not isinstance(self.connection, ssl.SSLSocket):
            return None
        name = peer_name(self.connection.getpeercert() or {})
        return Caller(name, tuple(self.headers.get_all("Authorization", ())))


def _head(connection: socket.socket) -> bytes:
    """The request's line and headers. Raises OSError if they are too long, or take too long."""
    head, deadline = b"", time.monotonic() + _PATIENCE_S
    while b"\r\n\r\n" not in head and b"\n\n" not in head:
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        came = connection.recv(_MOST_HEAD_BYTES - len(head))
        if not came:
            raise ConnectionError("the request broke off, or its head is too long")
        head += came
    connection.settimeout(_PATIENCE_S)
    return head


def peer_name(certificate: Mapping[str, Any]) -> bytes:
    """The name of a certificate that gRPC would hand on: its first subject alternative name, or where it has none, its
    common name; empty for no certificate.

    Args:
        certificate: as `ssl.SSLSocket.getpeercert` gives it.
    """
    for kind, name in certificate.get("subjectAltName", ()):
        if kind not in _NAMES:
            return _OTHER.encode()
        text = str(ipaddress.ip_address(name.strip())) if kind == "IP Address" else name
        return str(text).encode()
    names = [value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"]
    return names[0].encode() if names else b""


def server_context(identity: TLS, client_ca: str | os.PathLike[str] | None) -> ssl.SSLContext:
    """TLS with a certificate of ours; clients may show one of theirs, which must then be signed by `client_ca`.

    Raises:
        TLSError: a file cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(os.fspath(identity.cert or ""), identity.key, password=lambda: "")
        if client_ca is not None:
            context.load_verify_locations(client_ca)
            context.verify_mode = ssl.CERT_OPTIONAL
    except (OSError, ValueError) as error:
        raise TLSError(
            f"the certificate, its key, or the clients' authority cannot be used: {error}",
            hint="all are PEM, and the key has no password",
        ) from None
    return context


def status_page(status: HTTPStatus, problems: tuple[str, ...] | None = None) -> Answer:
    """A bare status; with `problems`, what is wrong, for who may see it."""
    if problems is None:
        return Answer(status)
    return Answer(status, json.dumps({"problems": problems}).encode() + b"\n", "application/json")
