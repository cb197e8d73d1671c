"""The certificates of a service, in files that others replace while it runs."""

from __future__ import annotations

import dataclasses
import os

from headrace.config import stamps
from headrace.tls import TLS


@dataclasses.dataclass(frozen=True)
class Pems:
    """What the files held.

    Args:
        identity: certificate chain and private key, which the service shows.
        client_ca: authorities of the certificates that clients show; None asks for none.
    """

    identity: tuple[bytes, bytes] = dataclasses.field(repr=False)
    client_ca: bytes | None = None


class PemFiles:
    """The files.

    Args:
        tls: names certificate and key.
        client_ca: the authorities' file.
    """

    def __init__(self, tls: TLS, client_ca: str | os.PathLike[str] | None) -> None:
        self._tls = tls
        self._client_ca = TLS(client_ca)
        named = (tls.cert, tls.key, client_ca)
        self._files = [file for file in named if file is not None]

    def read(self) -> Pems | None:
        """None where no certificate is named. Raises TLSError."""
        identity = self._tls.read_identity()
        return None if identity is None else Pems(identity, self._client_ca.read_ca())

    def stamps(self) -> tuple[object, ...]:
        """What differs once one of the files was changed."""
        return stamps(*self._files)
