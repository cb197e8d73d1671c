"""Certificates as PEM files."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Literal

from headrace.errors import InvalidArgument, TLSError


@dataclasses.dataclass(frozen=True)
class TLS:
    """Certificates as PEM files: one type for Flight and for HopsFS.

    Args:
        ca: the certificates to trust; None trusts the system's.
        cert, key: what this side shows of itself; both or neither.
        server_name: the name to expect in the server's certificate, where it is not the host's.
        verify: "full" checks chain and name; "chain" the chain alone.
    """

    ca: str | os.PathLike[str] | None
    cert: str | os.PathLike[str] | None = None
    key: str | os.PathLike[str] | None = None
    _: dataclasses.KW_ONLY
    server_name: str | None = None
    verify: Literal["full", "chain"] = "full"

    def __post_init__(self) -> None:
        for name, file in (("ca", self.ca), ("cert", self.cert), ("key", self.key)):
            if file is not None:
                _check_path(name, file)
        if (self.cert is None) != (self.key is None):
            raise InvalidArgument("TLS needs cert and key together, or neither")
        if self.verify not in ("full", "chain"):
            raise InvalidArgument(f"verify={self.verify!r} is refused", hint='use "full" or "chain"')
        if self.server_name is not None and not _is_host(self.server_name):
            raise InvalidArgument(f"server_name={self.server_name!r} is the name of no host")

    @classmethod
    def from_dir(
        cls,
        path: str | os.PathLike[str],
        *,
        server_name: str | None = None,
        verify: Literal["full", "chain"] = "full",
    ) -> TLS:
        """The `PEMS_DIR` convention: `ca_chain.pem`, `client_cert.pem`, `client_key.pem`."""
        _check_path("the folder of certificates", path)
        ca, cert, key = (Path(path) / f"{name}.pem" for name in ("ca_chain", "client_cert", "client_key"))
        return cls(ca, cert, key, server_name=server_name, verify=verify)

    def read_ca(self) -> bytes | None:
        """The certificates to trust, as PEM; None for the system's. Raises TLSError."""
        return None if self.ca is None else _read_pem(self.ca, b"CERTIFICATE")

    def read_identity(self) -> tuple[bytes, bytes] | None:
        """Certificate chain and private key."""
        if self.cert is None or self.key is None:
            return None
        return _read_pem(self.cert, b"CERTIFICATE"), _read_pem(self.key, b"PRIVATE KEY")


def given_tls(tls: object) -> TLS | None:
    """What a caller gave as certificates. Raises InvalidArgument."""
    if isinstance(tls, TLS | None):
        return tls
    # Not what it is: a key may be given by its text.
    raise InvalidArgument(
        f"tls= is of type {type(tls).__name__}, which is refused",
        hint='write headrace.TLS("ca.pem"), or headrace.TLS.from_dir(folder)',
    )


def _check_path(name: str, given: object) -> None:
    """Raises InvalidArgument, which does not repeat what may be a key."""
    try:
        path = os.fspath(given)  # type: ignore[call-overload]
    except TypeError:
        path = None
    if not isinstance(path, str):
        raise InvalidArgument(f"{name} is of type {type(given).__name__}, and no path")
    if "-----BEGIN" in path or "\n" in path:
        raise InvalidArgument(
            f"{name} is the text of a PEM file, and not its path",
            hint="write it to a file that none but you can read, and name that",
        )


def _is_host(name: object) -> bool:
    try:
        return isinstance(name, str) and name.isprintable() and 0 < len(name.encode("idna")) <= 253
    except UnicodeError:
        return False


def _read_pem(path: str | os.PathLike[str], what: bytes) -> bytes:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise TLSError(
            f"cannot read {os.fspath(path)}: {error.strerror}", details={"file": os.fspath(path)}
        ) from None
    if b"-----BEGIN" not in data or what not in data:
        raise TLSError(
            f"{os.fspath(path)} holds no PEM {what.decode().lower()}", details={"file": os.fspath(path)}
        )
    return data
