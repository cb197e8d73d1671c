"""Why an address cannot be listened on: the library that listens tells it to its log alone."""

from __future__ import annotations

import contextlib
import os
import socket
from urllib.parse import urlsplit

from headrace.errors import HeadraceError, InvalidArgument, TLSError, Unavailable


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
        return TLSError(
            f"cannot listen on {uri}: the certificate and the key are damaged, or not of one pair",
            hint="both are PEM, and the key has no password",
        )
    return Unavailable(f"cannot listen on {uri}", hint="what stands against it is in the log")


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
