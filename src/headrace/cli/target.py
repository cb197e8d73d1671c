"""The options that name a store, common to every command that works on one."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.config import STORE_VARIABLE, TLS, default_store, find_store
from headrace.errors import InvalidArgument

if TYPE_CHECKING:
    from headrace.client.store import FeatureStore

_PANEL = "Store"

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


@dataclasses.dataclass(frozen=True)
class Target:
    """What a command works on. `store` is None where none was named."""

    store: str | None
    project: str
    tls: TLS | None
    json: bool

    @property
    def named(self) -> str:
        """The store. Raises InvalidArgument where none was named."""
        if self.store is None:
            raise InvalidArgument(
                "no store is named",
                hint=f"give --store FOLDER or --store grpc://host:port, or set {STORE_VARIABLE}",
            )
        return self.store

    @property
    def remote(self) -> bool:
        return self.named.split("://")[0].startswith("grpc") and "://" in self.named

    def connect(self, timeout: float | None = None) -> FeatureStore:
        """Open the store, which must be there: nothing is created.

        Args:
            timeout: seconds to wait for a service.

        Raises:
            NotFound: the folder is no store. Unavailable, TLSError, InvalidName, InvalidArgument.
        """
        from headrace.connection import connect

        if self.remote:
            return connect(self.named, project=self.project, tls=self.tls, timeout=timeout)
        find_store(self.named)
        return connect(self.named, project=self.project, tls=self.tls)


def on_store(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options that name a store, in place of its first parameter."""
    common = inspect.signature(_target, eval_str=True).parameters
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]

    def run(**given: Any) -> None:
        command(_target(**{name: given.pop(name) for name in common}), **given)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature([*own, *common.values()])  # type: ignore[attr-defined]
    return run


def _target(
    *,
    store: Annotated[
        str | None,
        typer.Option(
            help="Folder, or a service: grpc://host:port, grpc+tls://host:port, grpc+unix:///path. "
            f"By default what {STORE_VARIABLE} names.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    project: Annotated[
        str, typer.Option(help="Namespace of groups and views.", rich_help_panel=_PANEL)
    ] = "default",
    pems_dir: Annotated[
        Path | None,
        typer.Option(
            help="Folder with ca_chain.pem, client_cert.pem and client_key.pem, for grpc+tls.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    tls_ca: Annotated[
        Path | None,
        typer.Option(help="Certificates to trust, PEM; the system's by default.", rich_help_panel=_PANEL),
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(help="Own certificate chain, PEM.", rich_help_panel=_PANEL)
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(help="Own private key, PEM.", rich_help_panel=_PANEL)
    ] = None,
    json: Json = False,
) -> Target:
    named = tls_ca or tls_cert or tls_key
    if pems_dir and named:
        raise InvalidArgument(
            "--pems-dir names all certificates", hint="leave out --tls-ca, --tls-cert and --tls-key"
        )
    tls = TLS.from_dir(pems_dir) if pems_dir else TLS(tls_ca, tls_cert, tls_key) if named else None
    return Target(store or default_store(), project, tls, json)
