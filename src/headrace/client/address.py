"""Where a service is, and why it may not be reached."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import socket
import ssl
from typing import Any
from urllib.parse import urlsplit

import pyarrow.flight as fl

from headrace.config import TLS
from headrace.errors import HeadraceError, InvalidArgument, TLSError, Unavailable

SCHEMES = ("grpc", "grpc+tcp", "grpc+tls", "grpc+unix")
_PROBE_SECONDS = 5.0


@dataclasses.dataclass(frozen=True)
class Address:
    """A service's URI, and the certificates to use with `grpc+tls`."""

    uri: str
    tls: TLS | None = None

    def __post_init__(self) -> None:
        scheme = urlsplit(self.uri).scheme
        if scheme not in SCHEMES:
            raise InvalidArgument(
                f"{self.uri!r} is no service", hint="write grpc://, grpc+tls:// or grpc+unix://"
            )
        if self.tls is not None and scheme != "grpc+tls":
            raise InvalidArgument(f"tls needs a grpc+tls:// address, and {self.uri!r} is none")
        if scheme != "grpc+unix":
            host, _ = self.endpoint
            if not host:
                raise InvalidArgument(f"{self.uri!r} names no host", hint="write grpc://host:port")

    @property
    def endpoint(self) -> tuple[str, int]:
        parts = urlsplit(self.uri)
        try:
            return parts.hostname or "", parts.port or 8815
        except ValueError:
            raise InvalidArgument(f"{self.uri!r} has no valid port") from None

    def connect(self) -> fl.FlightClient:
        """A client; nothing is sent yet. Raises TLSError for certificates that cannot be used."""
        # A service on this host is reached directly, whatever proxy the environment names.
        options: dict[str, object] = {"generic_options": [("grpc.enable_http_proxy", 0)]}
        uri = self.uri
        if urlsplit(uri).scheme == "grpc+tls":
            host, port = self.endpoint
            uri = f"grpc+tls://{host if ':' not in host else f'[{host}]'}:{port}"
            if self.tls is not None:
                options |= self._tls_options(self.tls)
        return fl.FlightClient(uri, **options)

    def _tls_options(self, tls: TLS) -> dict[str, object]:
        options: dict[str, object] = {}
        authority, identity = tls.read_ca(), tls.read_identity()
        if authority is not None:
            options["tls_root_certs"] = authority
        if identity is not None:
            options["cert_chain"], options["private_key"] = identity
        name = tls.server_name if tls.verify == "full" else self._name_shown(tls)
        if name is not None:
            options["override_hostname"] = name
        return options

    def _name_shown(self, tls: TLS) -> str | None:
        """A name that the server's certificate bears: expecting it leaves the chain as the only check."""
        names = self._handshake(tls)
        return names[0] if names else tls.server_name

    def _handshake(self, tls: TLS | None) -> list[str]:
        """Shake hands, check as `tls` says, and return the names in the server's certificate."""
        context = ssl.create_default_context()
        if tls is not None:
            if tls.ca is not None:
                context = ssl.create_default_context(cafile=os.fspath(tls.ca))
            if tls.cert is not None and tls.key is not None:
                context.load_cert_chain(os.fspath(tls.cert), os.fspath(tls.key))
            context.check_hostname = tls.verify == "full"
        context.set_alpn_protocols(["h2"])
        name = (tls and tls.server_name) or self.endpoint[0]
        with (
            socket.create_connection(self.endpoint, _PROBE_SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=name) as secure,
        ):
            secure.settimeout(0.5)
            with contextlib.suppress(TimeoutError):
                secure.read(1)  # TLS 1.3 tells a refused client certificate with the first bytes read
            shown: Any = (secure.getpeercert() or {}).get("subjectAltName", ())
        return [value for kind, value in shown if kind in ("DNS", "IP Address")]


def diagnose(address: Address) -> HeadraceError | None:
    """Why a TLS service does not answer, found by a handshake of our own; None if that tells nothing."""
    if urlsplit(address.uri).scheme != "grpc+tls":
        return None
    try:
        address._handshake(address.tls)
    except ssl.SSLCertVerificationError as error:
        return TLSError(
            f"the certificate of {address.uri} is refused: {error.verify_message}",
            hint="give the CA that signed it, and the name that it bears, with tls=headrace.TLS(…)",
        )
    except ssl.SSLError as error:
        return TLSError(f"no TLS connection to {address.uri}: {error.reason or error}")
    except OSError as error:
        return Unavailable(f"the service at {address.uri} does not answer: {error.strerror or error}")
    return None
