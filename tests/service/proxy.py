"""A network that fails when it is told to: between a client and a service."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit


class Proxy:
    """Passes bytes both ways at `url`.

    `deaf()`: from now on what the service says is kept back. `cut()`: connections break, and no new one comes to
    be, until `mend()`. `cut_after(…)`: so it is as soon as so many bytes more were asked, or answered.
    """

    def __init__(self, service: str) -> None:
        self._there = (urlsplit(service).hostname, urlsplit(service).port)
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._answers, self._open = threading.Event(), threading.Event()
        self._left: dict[str, int] = {}
        self._mended = False
        self._turn = threading.RLock()
        self.mend()
        self._door = socket.create_server(("127.0.0.1", 0))
        self.url = f"grpc://127.0.0.1:{self._door.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def deaf(self) -> None:
        self._answers.clear()

    def cut(self) -> None:
        with self._turn:
            self._left = {}
            self._open.clear()
            while self._pairs:
                for end in self._pairs.pop():
                    with contextlib.suppress(OSError):
                        end.shutdown(socket.SHUT_RDWR)

    def cut_after(self, *, mended: bool, **left: int) -> None:
        """`asked=100`, or `answered=100`; if `mended`, connections come to be again at once."""
        self._left, self._mended = left, mended

    def mend(self) -> None:
        with self._turn:
            self._left = {}
            self._answers.set()
            self._open.set()

    def close(self) -> None:
        self._door.close()
        self.cut()
        self._answers.set()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._door.accept()
                if not self._open.is_set():
                    client.close()
                    continue
                service = socket.create_connection(self._there)
                self._pairs.append((client, service))
                for one, other, way in [(client, service, "asked"), (service, client, "answered")]:
                    threading.Thread(target=self._pass, args=(one, other, way), daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket, way: str) -> None:
        with contextlib.suppress(OSError), one, other:
            while data := one.recv(1 << 16):
                if way == "answered":
                    self._answers.wait()
                if not self._is_last(way, data, other):
                    other.sendall(data)
            other.shutdown(socket.SHUT_RDWR)

    def _is_last(self, way: str, data: bytes, other: socket.socket) -> bool:
        """Whether it is cut here; what may still pass is passed on then."""
        with self._turn:
            left = self._left.get(way)
            if left is None:
                return False
            if left > len(data):
                self._left[way] = left - len(data)
                return False
            with contextlib.suppress(OSError):
                other.sendall(data[:left])
            self.cut()
            if self._mended:
                self.mend()
            return True


@contextlib.contextmanager
def between(service: str) -> Iterator[Proxy]:
    proxy = Proxy(service)
    try:
        yield proxy
    finally:
        proxy.close()
