"""`headrace doctor hdfs` and `headrace doctor hopsfs`: whether a cluster is what Headrace takes it for."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from headrace.cli.checks import conclude
from headrace.cli.target import Json, Option, ServerName, Verify, certificates, storage_options
from headrace.config import hadoop_conf_dir, hadoop_user, pems
from headrace.errors import InvalidArgument, MissingDependency
from headrace.tls import TLS

_Conf = Annotated[
    Path | None, typer.Option(help="Folder with core-site.xml and hdfs-site.xml; by default HADOOP_CONF_DIR.")
]
_Timeout = Annotated[float, typer.Option(help="Seconds to wait in each step.", min=0.1)]


def hdfs(
    uri: Annotated[
        str, typer.Argument(metavar="URI", help="hdfs://nameservice/folder or hdfs://host:port/folder.")
    ],
    option: Option = None,
    conf_dir: _Conf = None,
    timeout: _Timeout = 30,
    json: Json = False,
) -> None:
    """Check what Headrace assumes of HDFS, in a folder that is made for it, and removed."""
    _check("hdfs", uri, None, option, conf_dir, timeout, json)


def hopsfs(
    uri: Annotated[
        str, typer.Argument(metavar="URI", help="hopsfs://nameservice/folder or hopsfs://host:port/folder.")
    ],
    pems_dir: Annotated[
        Path | None,
        typer.Option(
            help="Folder with ca_chain.pem, client_cert.pem and client_key.pem; by default PEMS_DIR."
        ),
    ] = None,
    tls_ca: Annotated[Path | None, typer.Option(help="Certificates to trust, PEM.")] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="Own certificate chain, PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Own private key, PEM.")] = None,
    server_name: ServerName = None,
    verify: Verify = "full",
    option: Option = None,
    conf_dir: _Conf = None,
    timeout: _Timeout = 30,
    json: Json = False,
) -> None:
    """Check certificates, TLS and what Headrace assumes of HopsFS, in a folder that is made for it, and removed."""
    tls = certificates(pems_dir, tls_ca, tls_cert, tls_key, server_name, verify)
    _check("hopsfs", uri, tls or pems(), option, conf_dir, timeout, json)


def _check(
    scheme: str,
    uri: str,
    tls: TLS | None,
    option: list[str] | None,
    conf_dir: Path | None,
    timeout: float,
    json: bool,
) -> None:
    try:  # here, since what these need takes a while to load
        from headrace.storage.doctor.cluster import Asked, check_cluster
    except ImportError as error:
        raise MissingDependency(
            f"the doctor needs {error.name} for {scheme}", hint='pip install "headrace[hdfs]"'
        ) from None

    if urlsplit(uri).scheme != scheme:
        raise InvalidArgument(
            f"{uri!r} is not of {scheme}", hint=f"write {scheme}://host:port/folder, or {scheme}:///folder"
        )
    given = storage_options(option) or {}
    asked = Asked(uri, tls, given, conf_dir or hadoop_conf_dir(), hadoop_user(), timeout)
    with contextlib.closing(check_cluster(asked)) as checks:
        found = list(checks)
    conclude(found, json)
