"""Composes the parts: the embedded store, the client of a service, the service. The only file that knows all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.metadata import version

from headrace.client.address import SCHEMES, Address
from headrace.client.remote import RemoteBackend
from headrace.client.store import FeatureStore
from headrace.config import TLS, StoreConfig, store_config
from headrace.errors import InvalidArgument, Unavailable
from headrace.model.name import check_name
from headrace.registry.registry import Registry
from headrace.registry.tables import HEAD
from headrace.service.server import Server
from headrace.service.store import ProjectStore, Store


def connect(
    target: str | os.PathLike[str],
    *,
    project: str = "default",
    registry: str | None = None,
    tls: TLS | None = None,
    storage_options: dict[str, str] | None = None,
    memory_limit: str | None = None,
    timeout: float | None = None,
) -> FeatureStore:
    """Open a project of a store, here or at a service: same calls, results and errors.

    Args:
        target: a local folder, which is created; or `grpc://host:port`, `grpc+tls://…`, `grpc+unix:///path`.
        project: namespace of feature groups and views.
        registry: SQLAlchemy URL of the registry of a local store; SQLite in its folder by default.
        tls: certificates for `grpc+tls`.
        memory_limit: what queries of a local store may hold in memory, such as "4GB".
        timeout: seconds to wait for a service's answer; None waits for ever.

    Raises:
        Unavailable, TLSError, InvalidName, InvalidArgument.
    """
    check_name("project", project)
    uri = os.fspath(target)
    if uri.split("://")[0] in SCHEMES and "://" in uri:
        if registry is not None or memory_limit is not None or storage_options is not None:
            raise InvalidArgument(
                "registry, memory_limit and storage_options are the service's, not its client's"
            )
        if timeout is not None and timeout <= 0:
            raise InvalidArgument(f"timeout={timeout!r} is not a positive number of seconds")
        return FeatureStore(RemoteBackend(Address(uri, tls), project, timeout))
    if tls is not None or timeout is not None:
        raise InvalidArgument("tls and timeout are for a service, and this is a local store")
    config = store_config(uri, registry=registry, memory_limit=memory_limit, storage_options=storage_options)
    return FeatureStore(_Embedded(config, project))


class _Embedded(ProjectStore):
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
    """

    def __init__(self, config: StoreConfig, listen: Sequence[str], tls: TLS | None = None) -> None:
        self._store = Store(config)
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

    def stop(self) -> None:
        """Finish the calls under way, take no new ones, and close the store."""
        for _, server in self._servers:
            server.shutdown()
        self._servers.clear()
        self._store.close()

    def _server(self, uri: str, tls: TLS | None) -> Server:
        if uri.split("://")[0] not in SCHEMES:
            raise InvalidArgument(f"{uri!r} is no address", hint="write grpc://127.0.0.1:8815")
        secure = uri.startswith("grpc+tls://")
        if secure and (tls is None or tls.read_identity() is None):
            raise InvalidArgument(
                f"{uri} needs a certificate and a key", hint="give --tls-cert and --tls-key"
            )
        try:
            return Server(self._store, uri, tls.read_identity() if secure and tls else None)
        except OSError as error:
            raise Unavailable(f"cannot listen on {uri}: {error}") from None


def _with_port(uri: str, port: int) -> str:
    if uri.startswith("grpc+unix://"):
        return uri
    return f"{uri.rsplit(':', 1)[0]}:{port}"
