"""Composes the parts: the embedded store, the service. The only file that knows all."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from headrace.client.address import SCHEMES
from headrace.config import TLS, StoreConfig
from headrace.errors import InvalidArgument, MissingDependency, Unavailable
from headrace.registry.registry import Registry
from headrace.registry.tables import HEAD
from headrace.service.admission import Admission
from headrace.service.audit import AuditLog
from headrace.service.door import Access, Door
from headrace.service.health import Health
from headrace.service.listening import is_of_this_machine
from headrace.service.project import ProjectStore
from headrace.service.queries import Queries
from headrace.service.record import CallRecord, Records
from headrace.service.server import Server
from headrace.service.spans import trace
from headrace.service.store import Store

if TYPE_CHECKING:
    from headrace.service.http import HttpServer

_FEWEST = 4
_WAITING_EACH = 8
_PATIENCE_S = 30.0


class Embedded(ProjectStore):
    """A project of a store that nobody else uses, and that is closed with it."""

    def __init__(self, config: StoreConfig, project: str) -> None:
        self._own = Store(config)
        super().__init__(self._own, project)
        self.service_version = version("headrace")

    def close(self) -> None:
        self._own.close()


def upgrade_registry(url: str) -> str:
    """Bring a registry to the revision that this version needs, which is returned; its content stays.

    Raises:
        Unsupported: a newer Headrace made it. Unavailable, InvalidArgument, MissingDependency.
    """
    Registry.upgrade(url)
    return HEAD


class Service:
    """A store behind one or more Flight addresses, which answer from now on until `stop`.

    Args:
        listen: addresses; see `headrace.service.server.Server`.
        tls: the server's certificate and key, for the `grpc+tls` addresses among them.
        access: how callers say who they are; by default nobody is asked, which is for this machine alone.
        concurrency: queries that run at once, twice as many as processors by default. Others wait: eight for each of
            these, for half a minute; more are Busy.
        audit_log: a file to which a line is appended for each call.
        http: an address for `/live`, `/ready` and `/metrics`: `http://127.0.0.1:9090`, or `https://host:port`, with the
            service's own certificate.

    Raises:
        InvalidArgument: an address would be open to other machines, or its callers could not say who they are.
        MissingDependency: metrics are asked for, and prometheus-client is not installed.
    """

    def __init__(
        self,
        config: StoreConfig,
        listen: Sequence[str],
        tls: TLS | None = None,
        access: Access | None = None,
        concurrency: int | None = None,
        *,
        audit_log: Path | None = None,
        http: str | None = None,
    ) -> None:
        self._access = access or Access()
        running = concurrency or max(_FEWEST, 2 * (os.cpu_count() or 1))
        self._queries = Queries(Admission(running, _WAITING_EACH * running, _PATIENCE_S))
        if tls is not None and not any(_is_secure(uri) for uri in (*listen, http or "")):
            raise InvalidArgument(
                "a certificate was given, and none of the addresses speaks TLS",
                hint="write grpc+tls://host:port",
            )
        with contextlib.ExitStack() as parts:
            audit = None if audit_log is None else AuditLog(audit_log)
            if audit is not None:
                parts.callback(audit.close)
            self._store = Store(config)
            parts.callback(self._store.close)
            check = (lambda: None) if audit is None else audit.check
            self._health = Health(self._store, self._queries, check)
            readers: list[Callable[[CallRecord], None]] = [trace] if audit is None else [audit.keep, trace]
            self._http = None if http is None else self._http_server(http, tls, readers)
            if self._http is not None:
                parts.callback(self._http.close)
            self._records = Records(tuple(readers), check)
            self._parts = parts.pop_all()
        self._servers: list[tuple[str, Server]] = []
        try:
            for uri in listen:
                self._servers.append((uri, self._server(uri, tls)))
        except BaseException:
            self.stop()
            raise

    @property
    def listening(self) -> list[str]:
        """The addresses, with the ports that were found for port 0."""
        return [_with_port(uri, server.port) for uri, server in self._servers]

    @property
    def http(self) -> str | None:
        """The address of the pages, with the port that was found for port 0."""
        return None if self._http is None else self._http.listening

    def drain(self, patience: float) -> int:
        """Take no new queries, and wait so many seconds for those under way; gives how many were stopped then."""
        return self._queries.drain(patience)

    def stop(self) -> None:
        """Finish the calls under way, take no new ones, and close the store."""
        for _, server in self._servers:
            server.shutdown()
        self._servers.clear()
        self._parts.close()

    def _http_server(
        self, uri: str, tls: TLS | None, readers: list[Callable[[CallRecord], None]]
    ) -> HttpServer:
        """Whose pages are told of calls by one more reader."""
        scheme = uri.split("://")[0]
        if scheme not in ("http", "https"):
            raise InvalidArgument(f"{uri!r} is no address for HTTP", hint="write http://127.0.0.1:9090")
        if scheme == "https" and (tls is None or tls.read_identity() is None):
            raise InvalidArgument(
                f"{uri} needs a certificate and a key", hint="give --tls-cert and --tls-key"
            )
        if (scheme == "http" or self._access.is_open) and not is_of_this_machine(uri):
            raise InvalidArgument(
                f"{uri} can be reached from other machines, and nobody would be asked who they are",
                hint="listen on 127.0.0.1, or write https://… and give --client-ca",
            )
        from headrace.service.http import HttpServer, server_context  # which an embedded store does not need

        try:
            from headrace.service.metrics import Metrics
            from headrace.service.pages import pages
        except ImportError:
            raise MissingDependency(
                "prometheus-client is not installed, and --http serves its metrics",
                hint='pip install "headrace[metrics]"',
            ) from None
        metrics = Metrics(self._store.engine, self._queries)
        readers.append(metrics.count)
        found = pages(self._store, Door(self._access), self._health, metrics)
        if scheme == "http" or tls is None:
            return HttpServer(uri, found, None)
        secure = functools.partial(server_context, tls, self._access.client_ca)
        return HttpServer(uri, found, secure)

    def _server(self, uri: str, tls: TLS | None) -> Server:
        if uri.split("://")[0] not in SCHEMES:
            raise InvalidArgument(f"{uri!r} is no address", hint="write grpc://127.0.0.1:8815")
        secure = _is_secure(uri)
        if secure and (tls is None or tls.read_identity() is None):
            raise InvalidArgument(
                f"{uri} needs a certificate and a key", hint="give --tls-cert and --tls-key"
            )
        if self._access.is_open and urlsplit(uri).hostname and not is_of_this_machine(uri):
            raise InvalidArgument(
                f"{uri} can be reached from other machines, and nobody would be asked who they are",
                hint="give --client-ca with the authority of their certificates, or listen on 127.0.0.1",
            )
        if not self._access.is_open and not secure:
            raise InvalidArgument(
                f"callers at {uri} could show no certificate, which --client-ca asks for",
                hint="write grpc+tls://host:port",
            )
        try:
            return Server(
                self._store,
                uri,
                tls.read_identity() if secure and tls else None,
                Door(self._access),
                self._queries,
                self._records,
                self._health,
            )
        except OSError as error:
            raise Unavailable(f"cannot listen on {uri}: {error}") from None


def _is_secure(uri: str) -> bool:
    return uri.startswith(("grpc+tls://", "https://"))


def _with_port(uri: str, port: int) -> str:
    if uri.startswith("grpc+unix://"):
        return uri
    return f"{uri.rsplit(':', 1)[0]}:{port}"
