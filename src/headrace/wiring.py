"""Composes the parts: the embedded store, the service. The only file that knows all."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from headrace.client.address import SCHEMES
from headrace.config import StoreConfig
from headrace.engine.spark_session import SparkEngine
from headrace.errors import InvalidArgument, MissingDependency, Unavailable
from headrace.model.address import is_of_this_machine, is_secure
from headrace.registry.registry import Registry
from headrace.registry.tables import HEAD
from headrace.service.admission import Admission
from headrace.service.ahead import Ahead
from headrace.service.audit import AuditLog
from headrace.service.door import Access, Door
from headrace.service.entrance import Entrance
from headrace.service.health import Health
from headrace.service.limits import UNLIMITED, Limits, memory_of_machine, parse_size
from headrace.service.pems import PemFiles, Pems
from headrace.service.project import ProjectStore
from headrace.service.queries import Queries
from headrace.service.record import CallRecord, Records
from headrace.service.renewal import Renewal
from headrace.service.server import Server
from headrace.service.spans import trace
from headrace.service.spark_choice import SparkChoice
from headrace.service.store import Store
from headrace.service.worker.pool import Workers
from headrace.tls import TLS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.service.http import HttpServer

_FEWEST = 4
_WAITING_EACH = 8
_PATIENCE_S = 30.0
_WORKERS_EACH = 3
"""Processes for SQL, for each query that runs: of some nobody takes the rows."""


class Embedded(ProjectStore):
    """A project of a store that nobody else uses, and that is closed with it."""

    def __init__(
        self,
        config: StoreConfig,
        project: str,
        *,
        spark: SparkSession | str | None = None,
        spark_above: str | int | None = None,
    ) -> None:
        if spark is None and spark_above is not None:
            raise InvalidArgument("spark_above says what goes to Spark, and no spark= is given")
        choice = None
        if spark is not None:
            above = spark_above if isinstance(spark_above, int | None) else parse_size(spark_above)
            choice = SparkChoice(SparkEngine.of(spark), above)
        self._spark = choice
        self._own = Store(config, spark=choice)
        super().__init__(self._own, project)
        self.service_version = version("headrace")

    def close(self) -> None:
        self._own.close()
        if self._spark is not None:
            self._spark.engine.close()


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
        token_listen: addresses for callers who have a token and no certificate, where `access` asks for certificates
            at the others.
        concurrency: queries that run at once, twice as many as processors by default. Others wait: eight for each of
            these, for half a minute; more are Busy.
        limits: what each may take; of memory, by default, its share of what all may.
        audit_log: a file to which a line is appended for each call.
        cache_bytes: what results of joins may take on this machine's disk; None keeps none.
        predicts: joins are computed before they are asked for, where it can be told which.
        http: an address for `/live`, `/ready` and `/metrics`: `http://127.0.0.1:9090`, or `https://host:port`, with the
            service's own certificate.

    Raises:
        InvalidArgument: an address would be open to other machines, or its callers could not say who they are.
        MissingDependency: what is asked for needs a package that is not installed.
    """

    def __init__(
        self,
        config: StoreConfig,
        listen: Sequence[str],
        tls: TLS | None = None,
        access: Access | None = None,
        concurrency: int | None = None,
        token_listen: Sequence[str] = (),
        *,
        limits: Limits = UNLIMITED,
        audit_log: Path | None = None,
        cache_bytes: int | None = None,
        predicts: bool = True,
        http: str | None = None,
    ) -> None:
        self._access = access or Access()
        running = concurrency or max(_FEWEST, 2 * (os.cpu_count() or 1))
        if tls is not None and not any(map(_shows_certificate, [*listen, *token_listen, http or ""])):
            raise InvalidArgument(
                "a certificate was given, and none of the addresses speaks TLS",
                hint="write grpc+tls://host:port",
            )
        if token_listen and not (self._access.takes_tokens and self._access.takes_certificates):
            raise InvalidArgument(
                "--token-listen is for callers without a certificate, where --listen asks for one",
                hint="it goes with --client-ca, and --tokens or --jwt-keys; without --client-ca, --listen takes tokens",
            )
        limits = _shared(limits, config, running)
        each = dataclasses.replace(config, memory_limit=f"{limits.memory}B")
        turns, small = (Admission(running, _WAITING_EACH * running, _PATIENCE_S) for _ in range(2))
        self._queries = Queries(turns, small, limits)
        self._renewal = Renewal(PemFiles(tls or TLS(None), self._access.client_ca))
        self._workers = Workers(each, _WORKERS_EACH * running, running)
        self._entrances: list[Entrance] = []
        with contextlib.ExitStack() as parts:
            audit = None if audit_log is None else AuditLog(audit_log)
            if audit is not None:
                parts.callback(audit.close)
            self._store = Store(
                config,
                turns=running,
                limits=limits,
                workers=self._workers,
                cache_bytes=cache_bytes,
                remembers=predicts,
            )
            parts.callback(self._store.close)
            self._ahead = Ahead(self._store, self._is_busy)
            parts.callback(self._ahead.close)
            self._door = Door(self._access, _takers(self._access, self._store.registry))
            check = (lambda: None) if audit is None else audit.check
            self._health = Health(self._store, self._queries, check)
            readers: list[Callable[[CallRecord], None]] = [trace] if audit is None else [audit.keep, trace]
            self._http = None if http is None else self._http_server(http, tls, readers)
            if self._http is not None:
                parts.callback(self._http.close)
            self._records = Records(tuple(readers), check)
            self._parts = parts.pop_all()
        try:
            for uri in listen:
                self._open(uri, asks=self._access.takes_certificates)
            for uri in token_listen:
                self._open(uri, asks=False)
            self._renewal.start(self._entrances)
            if cache_bytes is not None and predicts:
                self._ahead.start()
        except BaseException:
            self.stop()
            raise

    @property
    def listening(self) -> list[str]:
        """The addresses, with the ports that were found for port 0."""
        return [entrance.uri for entrance in self._entrances]

    @property
    def http(self) -> str | None:
        """The address of the pages, with the port that was found for port 0."""
        return None if self._http is None else self._http.listening

    def expect_sql(self) -> None:
        """Load what users' SQL needs, meanwhile, so that the first query does not wait for it."""
        self._workers.load()

    def _is_busy(self) -> bool:
        return bool(self._queries.running or self._queries.waiting or self._queries.draining)

    def drain(self, patience: float) -> int:
        """Take no new queries, and wait so many seconds for those under way; gives how many were stopped then."""
        return self._queries.drain(patience)

    def renew(self) -> None:
        """Look at once whether the files of certificates have changed, which is done every few seconds anyway."""
        self._renewal.ask()

    def stop(self) -> None:
        """Finish the calls under way, take no new ones, and close the store."""
        for entrance in self._entrances:
            entrance.close()
        self._renewal.close()
        for entrance in self._entrances:
            entrance.join()
        self._entrances.clear()
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
                hint="listen on 127.0.0.1, or write https://… and give --client-ca, --tokens or --jwt-keys",
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
        metrics = Metrics(self._store, self._queries)
        readers.append(metrics.count)
        found = pages(self._store, self._door, self._health, metrics)
        if scheme == "http" or tls is None:
            return HttpServer(uri, found, None)
        secure = functools.partial(server_context, tls, self._access.client_ca)
        return HttpServer(uri, found, secure)

    def _open(self, uri: str, asks: bool) -> None:
        """Listen at an address. `asks` for certificates of clients."""
        if uri.split("://")[0] not in SCHEMES:
            raise InvalidArgument(f"{uri!r} is no address", hint="write grpc://127.0.0.1:8815")
        secure = is_secure(uri)
        pems = self._renewal.pems if secure else None
        if secure and pems is None:
            raise InvalidArgument(
                f"{uri} needs a certificate and a key", hint="give --tls-cert and --tls-key"
            )
        if self._access.is_open and _can_be_reached(uri):
            raise InvalidArgument(
                f"{uri} can be reached from other machines, and nobody would be asked who they are",
                hint="give --client-ca with the authority of their certificates, or --tokens, "
                "or listen on 127.0.0.1",
            )
        if self._access.takes_tokens and not secure and _can_be_reached(uri):
            raise InvalidArgument(
                f"tokens would be sent to {uri} for everybody on the way to read",
                hint="write grpc+tls://host:port, or listen on 127.0.0.1",
            )
        if asks and not secure:
            raise InvalidArgument(
                f"callers at {uri} could show no certificate, which --client-ca asks for",
                hint="write grpc+tls://host:port",
            )

        def start(uri: str, pems: Pems | None) -> Server:
            identity, client_ca = (None, None) if pems is None else (pems.identity, pems.client_ca)
            asked = client_ca if asks else None
            return Server(
                self._store, uri, identity, self._door, self._queries, self._records, self._health, asked
            )

        try:
            self._entrances.append(Entrance(uri, pems, start))
        except OSError as error:
            raise Unavailable(f"cannot listen on {uri}: {error}") from None


def _shared(limits: Limits, config: StoreConfig, running: int) -> Limits:
    """The limits, with the memory that each query has of what all may hold."""
    if limits.memory is not None:
        return limits
    whole = memory_of_machine() if config.memory_limit is None else parse_size(config.memory_limit)
    return dataclasses.replace(limits, memory=whole // running)


def _takers(access: Access, registry: Registry) -> list[Callable[[str], str | None]]:
    """Those who know tokens. Raises MissingDependency, and what the keys of an issuer raise."""
    takers: list[Callable[[str], str | None]] = [registry.token_user] if access.tokens else []
    if access.issuer is not None:
        try:
            from headrace.service.signed_tokens import SignedTokens
        except ImportError:
            raise MissingDependency(
                "JSON Web Tokens need PyJWT and cryptography", hint='pip install "headrace[jwt]"'
            ) from None
        takers.append(SignedTokens(access.issuer).user_of)
    return takers


def _shows_certificate(uri: str) -> bool:
    return is_secure(uri) or uri.startswith("https://")


def _can_be_reached(uri: str) -> bool:
    """By other machines; what names no host is refused by who listens."""
    return urlsplit(uri).hostname is not None and not is_of_this_machine(uri)
