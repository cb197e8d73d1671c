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
    be, until `mend()`.
    """

    def __init__(self, service: str) -> None:
        self._there = (urlsplit(service).hostname, urlsplit(service).port)
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._answers, self._open = threading.Event(), threading.Event()
        self.mend()
        self._door = socket.create_server(("127.0.0.1", 0))
        self.url = f"grpc://127.0.0.1:{self._door.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def deaf(self) -> None:
        self._answers.clear()

    def cut(self) -> None:
        self._open.clear()
        while self._pairs:
            for end in self._pairs.pop():
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
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
                for one, other, gate in [(client, service, None), (service, client, self._answers)]:
                    threading.Thread(target=_pass, args=(one, other, gate), daemon=True).start()


def _pass(one: socket.socket, other: socket.socket, gate: threading.Event | None) -> None:
    with contextlib.suppress(OSError), one, other:
        while data := one.recv(1 << 16):
            if gate is not None:
                gate.wait()
            other.sendall(data)
        other.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def between(service: str) -> Iterator[Proxy]:
    proxy = Proxy(service)
    try:
        yield proxy
    finally:
        proxy.close()
