"""One address of a service, which stays while the servers that listen there give way to others."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from headrace.errors import HeadraceError
from headrace.service.pems import Pems
from headrace.service.server import Server

_log = logging.getLogger("headrace.service")
_AGAIN_S = 0.002
_LATER_S = 0.5
_LONG_S = 5.0


class Entrance:
    """Listens from now on, until it is closed.

    The library that listens has its certificates for ever. So new ones need a new server, which can listen once the old
    one has let go of the port: for some milliseconds nobody does, and clients are refused.

    Args:
        start: makes the server for an address, with certificates if it has any.
    """

    def __init__(self, uri: str, pems: Pems | None, start: Callable[[str, Pems | None], Server]) -> None:
        self._start = start
        self._pems = pems
        self._server: Server | None = start(uri, pems)
        self.uri = _with_port(uri, self._server.port)
        self._leaving: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def renew(self, pems: Pems) -> None:
        """Show these certificates to who comes from now on. Calls under way go on to their end."""
        if self._pems is None:
            return
        self._pems = pems
        self._leave()
        since, told = time.monotonic(), False
        while not self._closed.is_set():
            try:
                self._server = self._start(self.uri, pems)
            except HeadraceError as error:
                long = time.monotonic() - since > _LONG_S
                if long and not told:
                    _log.error("nobody listens, and it is tried again and again: %s", error.message)
                told |= long
                self._closed.wait(_LATER_S if long else _AGAIN_S)
            else:
                break
        if self._closed.is_set():
            self._leave()

    def close(self) -> None:
        """Take no new calls."""
        self._closed.set()
        self._leave()

    def join(self) -> None:
        """Wait for the calls under way, of every server that was."""
        for thread in self._leaving:
            thread.join()

    def _leave(self) -> None:
        with self._lock:
            server, self._server = self._server, None
            self._leaving = [thread for thread in self._leaving if thread.is_alive()]
            if server is not None:
                leaving = threading.Thread(target=server.shutdown, name="headrace-leaving", daemon=True)
                leaving.start()
                self._leaving.append(leaving)


def _with_port(uri: str, port: int) -> str:
    if uri.startswith("grpc+unix://"):
        return uri
    return f"{uri.rsplit(':', 1)[0]}:{port}"
