"""Where a service is, and why it may not be reached."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import socket
import ssl
import sys
import time
from typing import Any
from urllib.parse import urlsplit

import pyarrow.flight as fl

from headrace.errors import HeadraceError, InvalidArgument, TLSError, Unauthenticated, Unavailable
from headrace.model.address import is_of_this_machine, is_secure
from headrace.model.text import check_text
from headrace.tls import TLS

SCHEMES = ("grpc", "grpc+tcp", "grpc+tls", "grpc+unix")
_HINT = "see whether headrace serve runs there, and listens at this address"
_KNOCK_SECONDS = 5.0
_ALERT_SECONDS = 0.5
_MOMENT_SECONDS = 0.2
# An address in `sockaddr_un`, which ends with a NUL.
_SOCKET_BYTES = 107 if sys.platform == "linux" else 103
_CHANNEL_OPTIONS = (
    # A service on this host is reached directly, whatever proxy the environment names.
    ("grpc.enable_http_proxy", 0),
    # A service that is back is found soon, however long it was away.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # A machine that is gone ends a call, also one that only waits for rows. A service takes a ping in five minutes, and
    # lets go of who sends more.
    ("grpc.keepalive_time_ms", 310_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.http2.max_pings_without_data", 0),
    # Errors travel as metadata, and that of a wide frame names many columns.
    ("grpc.max_metadata_size", 16 << 20),
    ("grpc.absolute_max_metadata_size", 16 << 20),
)

# RFC 6750, 2.1. gRPC takes headers of 8 KiB in all.
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_LONGEST_TOKEN = 7_000

# A name of labels of up to 63 characters, or an IPv6 address, with a zone perhaps.
_HOST = re.compile(
    r"[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?"
    r"|[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*(%[A-Za-z0-9_.-]+)?"
)
_IPV4 = re.compile(r"[0-9]+(\.[0-9]+){3}")


@dataclasses.dataclass(frozen=True)
class Address:
    """A service's URI, the certificates to use with `grpc+tls`, and the token to show."""

    uri: str
    tls: TLS | None = None
    token: str | None = dataclasses.field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_text("address", self.uri)
        try:
            scheme = urlsplit(self.uri).scheme
        except ValueError as error:
            raise InvalidArgument(f"{self.uri!r} is no address: {error}") from None
        if scheme not in SCHEMES:
            raise InvalidArgument(
                f"{self.uri!r} is no service", hint="write grpc://, grpc+tls:// or grpc+unix://"
            )
        if self.tls is not None and scheme != "grpc+tls":
            raise InvalidArgument(f"tls needs a grpc+tls:// address, and {self.uri!r} is none")
        if self.token is not None:
            self._check_token()
        path = urlsplit(self.uri).path
        if scheme == "grpc+unix":
            if not 0 < len(path.encode()) <= _SOCKET_BYTES or "\0" in path:
                raise InvalidArgument(
                    f"{self.uri!r} names no socket: its path has 1 to {_SOCKET_BYTES} bytes, none of them NUL",
                    hint="write grpc+unix:///path",
                )
        else:
            host, _ = self.endpoint
            if path not in ("", "/"):
                raise InvalidArgument(
                    f"{self.uri!r} goes on after host and port with {path!r}", hint="write grpc://host:port"
                )
            if not host:
                raise InvalidArgument(f"{self.uri!r} names no host", hint="write grpc://host:port")
            if not _HOST.fullmatch(host):
                raise InvalidArgument(f"{self.uri!r} names no host: {host!r} cannot be one")

    def _check_token(self) -> None:
        """Raises InvalidArgument, which does not repeat it."""
        if not isinstance(self.token, str) or not _TOKEN.fullmatch(self.token):
            raise InvalidArgument(
                "token is no token: one has letters and digits of ASCII, and - . _ ~ + / = between them, in one line",
                hint="give what headrace token create has shown, without blanks and line breaks",
            )
        if len(self.token) > _LONGEST_TOKEN:
            raise InvalidArgument(
                f"the token has {len(self.token):,} characters, and {_LONGEST_TOKEN:,} can be sent",
                hint="have its issuer leave out claims that nobody needs",
            )
        if not (is_secure(self.uri) or is_of_this_machine(self.uri)):
            raise InvalidArgument(
                f"everybody on the way to {self.uri} could read the token", hint="write grpc+tls://host:port"
            )

    @property
    def endpoint(self) -> tuple[str, int]:
        parts = urlsplit(self.uri)
        try:
            return parts.hostname or "", parts.port or 8815
        except ValueError:
            raise InvalidArgument(f"{self.uri!r} has no valid port") from None

    def connect(self) -> fl.FlightClient:
        """A client. Nothing is sent yet, but that `verify="chain"` asks the service for its name.

        Raises:
            TLSError: certificates that cannot be used. With `verify="chain"` what `look` raises.
        """
        options: dict[str, object] = {"generic_options": list(_CHANNEL_OPTIONS)}
        if self.tls is not None:
            options |= self._tls_options(self.tls)
        scheme, uri = urlsplit(self.uri).scheme, self.uri
        if scheme != "grpc+unix":
            host, port = self.endpoint
            uri = f"{scheme}://{host if ':' not in host else f'[{host}]'}:{port}"
        return fl.FlightClient(uri, **options)

    def look(self) -> list[str]:
        """Knock at the service's door, check its certificate as `tls` says, and return the names in it.

        Raises:
            TLSError: no certificate to trust, or no TLS where it is expected, or the other way round.
            Unavailable: nobody is there.
        """
        try:
            with self._knock() as plain:
                return self._handshake(plain) if is_secure(self.uri) else self._refuse_tls(plain)
        except ssl.SSLCertVerificationError as error:
            raise TLSError(
                f"the certificate of {self.uri} is refused: {error.verify_message}",
                hint="give the CA that signed it, and the name that it bears, with tls=headrace.TLS(…) or --tls-ca",
            ) from None
        except ssl.SSLError as error:
            raise TLSError(
                f"no TLS connection to {self.uri}: {error.reason or error}",
                hint="a service without TLS is at grpc://",
            ) from None
        except TimeoutError:
            raise Unavailable(
                f"the service at {self.uri} does not answer within {_KNOCK_SECONDS:g} seconds", hint=_HINT
            ) from None
        except OSError as error:
            raise Unavailable(
                f"the service at {self.uri} does not answer: {error.strerror or error}", hint=_HINT
            ) from None

    def _tls_options(self, tls: TLS) -> dict[str, object]:
        options: dict[str, object] = {}
        authority, identity = tls.read_ca(), tls.read_identity()
        _context(tls)
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
        names = self.look()
        return names[0] if names else tls.server_name

    def _knock(self) -> socket.socket:
        if urlsplit(self.uri).scheme != "grpc+unix":
            return socket.create_connection(self.endpoint, _KNOCK_SECONDS)
        door = socket.socket(socket.AF_UNIX)
        try:
            door.settimeout(_KNOCK_SECONDS)
            door.connect(urlsplit(self.uri).path)
        except OSError:
            door.close()
            raise
        return door

    def _handshake(self, plain: socket.socket) -> list[str]:
        name = (self.tls and self.tls.server_name) or self.endpoint[0]
        with _context(self.tls).wrap_socket(plain, server_hostname=name) as secure:
            shown: Any = secure.getpeercert() or {}
            secure.settimeout(_ALERT_SECONDS)
            with contextlib.suppress(TimeoutError):
                # TLS 1.3 tells a refused client certificate with the first bytes read, and gRPC by their absence.
                if not secure.read(1):
                    raise self._unwelcome()
        names = [value for kind, value in shown.get("subjectAltName", ()) if kind in ("DNS", "IP Address")]
        return names or [
            # gRPC takes no address from there, but that of a name in full, which ends with a dot, for a name.
            f"{v}." if _IPV4.fullmatch(v) else v
            for part in shown.get("subject", ())
            for k, v in part
            if k == "commonName"
        ]

    def _unwelcome(self) -> HeadraceError:
        """What a service means that closes the connection once it has seen, or not, who calls."""
        shown = None if self.tls is None else self.tls.cert
        if shown is None:
            return Unauthenticated(
                f"the service at {self.uri} asks for a certificate of its clients, and none was shown",
                hint="give one with tls=headrace.TLS(ca, cert, key), or --tls-cert and --tls-key; "
                "a token alone is taken at its --token-listen address",
            )
        file = os.fspath(shown)
        return TLSError(
            f"the service at {self.uri} refuses the certificate in {file}",
            hint="it trusts the authorities in its --client-ca; and a certificate is good for a time",
            details={"file": file},
        )

    def _refuse_tls(self, plain: socket.socket) -> list[str]:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            plain.settimeout(_ALERT_SECONDS)
            context.wrap_socket(plain).close()
        except OSError:
            return []
        raise TLSError(
            f"the service at {self.uri} speaks TLS", hint="write grpc+tls://, and give its CA with tls=…"
        )


def diagnose(address: Address) -> HeadraceError | None:
    """Why a service does not answer, found by a look of our own; None if that tells nothing.

    A second look is taken at what seems to be wrong with certificates: a service that just then lets go of its address,
    to show new ones, closes the connections of whoever has come.
    """
    found = _seen(address)
    if found is None or type(found) is Unavailable:
        return found
    time.sleep(_MOMENT_SECONDS)
    return _seen(address)


def _seen(address: Address) -> HeadraceError | None:
    try:
        address.look()
    except HeadraceError as error:
        return error
    return None


def _context(tls: TLS | None) -> ssl.SSLContext:
    """Checks as `tls` says. Raises TLSError that names the file which cannot be used."""
    context = ssl.create_default_context() if tls is None or tls.ca is None else _trusting(tls.ca)
    if tls is not None and tls.cert is not None and tls.key is not None:
        _trusting(tls.cert)
        try:
            context.load_cert_chain(tls.cert, tls.key, password="")
        except ssl.SSLError:
            file = os.fspath(tls.key)
            raise TLSError(
                f"{file} is not the private key of {os.fspath(tls.cert)}, or has a password",
                details={"file": file},
            ) from None
    if tls is not None:
        context.check_hostname = tls.verify == "full"
    context.set_alpn_protocols(["h2"])
    return context


def _trusting(certificates: str | os.PathLike[str]) -> ssl.SSLContext:
    file = os.fspath(certificates)
    try:
        return ssl.create_default_context(cafile=file)
    except ssl.SSLError:
        raise TLSError(f"{file} holds no certificate that can be read", details={"file": file}) from None
