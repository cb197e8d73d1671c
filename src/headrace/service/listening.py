"""Why an address cannot be listened on: the library that listens tells it to its log alone."""

from __future__ import annotations

import contextlib
import os
import socket
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.flight as fl

from headrace.errors import HeadraceError, InvalidArgument, TLSError, Unavailable
from headrace.service.pems import Pems


def check_address(uri: str) -> None:
    """Raises InvalidArgument for what cannot be listened on.

    Raises Unavailable if somebody answers at a Unix socket, which listening would take away from him.
    """
    try:
        parts = urlsplit(uri)
        if parts.scheme != "grpc+unix" and (not parts.hostname or parts.port is None):
            raise InvalidArgument(
                f"cannot listen on {uri}: it names no {'port' if parts.hostname else 'host'}",
                hint="write grpc://127.0.0.1:8815",
            )
    except ValueError as error:
        raise InvalidArgument(f"cannot listen on {uri}: {error}", hint="write scheme://host:port") from None
    if parts.scheme != "grpc+unix":
        return
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as door:
        door.connect(parts.path)
        raise Unavailable(f"cannot listen on {uri}: somebody else does")


def refusal(uri: str) -> HeadraceError:
    """What stands against listening, found by trying it ourselves."""
    try:
        _listen(uri)
    except OSError as error:
        return Unavailable(f"cannot listen on {uri}: {error.strerror or error}")
    except (ValueError, OverflowError) as error:
        return InvalidArgument(f"cannot listen on {uri}: {error}", hint="write scheme://host:port")
    if urlsplit(uri).scheme == "grpc+tls":
        return _damaged(f"cannot listen on {uri}")
    return Unavailable(f"cannot listen on {uri}", hint="what stands against it is in the log")


def check_pems(pems: Pems) -> None:
    """Raises TLSError for certificates that the library cannot listen with."""
    try:
        fl.FlightServerBase(
            "grpc+tls://127.0.0.1:0",
            tls_certificates=[pems.identity],
            verify_client=pems.client_ca is not None,
            root_certificates=pems.client_ca,
        ).shutdown()
    except (OSError, pa.ArrowException):
        raise _damaged("nobody could listen with them") from None


def _damaged(what: str) -> TLSError:
    return TLSError(
        f"{what}: the certificate, the key or the clients' authorities are damaged, "
        "or the first two are not of one pair",
        hint="all are PEM, and the key has no password",
    )


def _listen(uri: str) -> None:
    parts = urlsplit(uri)
    if parts.scheme == "grpc+unix":
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(parts.path)
        os.unlink(parts.path)
        return
    family, kind, number, _, address = socket.getaddrinfo(
        parts.hostname, parts.port or 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    with socket.socket(family, kind, number) as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind(address)
        door.listen(1)
