"""The options that name a store, common to every command that works on one."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.config import (
    REGISTRY_VARIABLE,
    STORE_VARIABLE,
    TOKEN_VARIABLE,
    default_store,
    find_store,
    given_token,
    pems,
)
from headrace.errors import InvalidArgument
from headrace.tls import TLS

if TYPE_CHECKING:
    from headrace.client.store import FeatureStore

_PANEL = "Store"

Option = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE",
        help="What the storage is told by its own keys, such as AWS_REGION=eu-north-1; repeat it for each.",
        rich_help_panel=_PANEL,
    ),
]
ServerName = Annotated[
    str | None,
    typer.Option(help="Name in the server's certificate, if not the host's.", rich_help_panel=_PANEL),
]
Verify = Annotated[
    str, typer.Option(help="full: chain and name; chain: the chain alone.", rich_help_panel=_PANEL)
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


@dataclasses.dataclass(frozen=True)
class Target:
    """What a command works on. `store` is None where none was named."""

    store: str | None
    project: str
    tls: TLS | None
    json: bool
    registry: str | None = None
    options: dict[str, str] | None = None
    token_file: Path | None = None

    @property
    def named(self) -> str:
        """The store. Raises InvalidArgument where none was named."""
        if self.store is None:
            raise InvalidArgument(
                "no store is named",
                hint=f"give --store with a folder, a URI or a service, or set {STORE_VARIABLE}",
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

        if not self.remote:
            find_store(self.named)
            if self.token_file is not None:
                raise InvalidArgument(
                    "--token-file is for a service, and this store is not one", hint="leave it out"
                )
        return connect(
            self.named,
            project=self.project,
            tls=self.tls,
            token=given_token(self.token_file) if self.remote else None,
            registry=self.registry,
            storage_options=self.options,
            timeout=timeout if self.remote else None,
        )


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
            help="Folder, or s3://, gs://, abfss://, hdfs://, hopsfs://; or a service: grpc://host:port, "
            f"grpc+tls://host:port, grpc+unix:///path. By default what {STORE_VARIABLE} names.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    project: Annotated[
        str, typer.Option(help="Namespace of groups and views.", rich_help_panel=_PANEL)
    ] = "default",
    registry: Annotated[
        str | None,
        typer.Option(
            help=f"SQLAlchemy URL of the registry of a store that is no service; by default what "
            f"{REGISTRY_VARIABLE} names, or SQLite in a folder.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    option: Option = None,
    pems_dir: Annotated[
        Path | None,
        typer.Option(
            help="Folder with ca_chain.pem, client_cert.pem and client_key.pem, for grpc+tls and hopsfs.",
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
    server_name: ServerName = None,
    verify: Verify = "full",
    token_file: Annotated[
        Path | None,
        typer.Option(
            help=f"File with a token, for a service that takes them; by default what {TOKEN_VARIABLE} holds.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    json: Json = False,
) -> Target:
    tls = certificates(pems_dir, tls_ca, tls_cert, tls_key, server_name, verify)
    named = store or default_store()
    return Target(named, project, tls, json, registry, storage_options(option), token_file)


def certificates(
    pems_dir: Path | None,
    ca: Path | None,
    cert: Path | None,
    key: Path | None,
    server_name: str | None,
    verify: str,
) -> TLS | None:
    """What the options name; None where they name nothing. Raises InvalidArgument, TLSError."""
    if pems_dir and (ca or cert or key):
        raise InvalidArgument(
            "--pems-dir names all certificates", hint="leave out --tls-ca, --tls-cert and --tls-key"
        )
    tls = TLS.from_dir(pems_dir) if pems_dir else TLS(ca, cert, key) if ca or cert or key else None
    if server_name is None and verify == "full":
        return tls
    tls = tls or pems() or TLS(None)
    # Checked by TLS itself, which takes only the two that there are.
    return TLS(tls.ca, tls.cert, tls.key, server_name=server_name, verify=verify)  # type: ignore[arg-type]


def storage_options(given: list[str] | None) -> dict[str, str] | None:
    """What `--option` was given. Raises InvalidArgument."""
    if not given:
        return None
    for text in given:
        if "=" not in text.strip("="):
            # Not which: it may be a key.
            raise InvalidArgument("an --option has no value", hint="write --option KEY=VALUE")
    return {key: value for key, _, value in (text.partition("=") for text in given)}
