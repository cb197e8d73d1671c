"""What a certificate says: whose it is, for which names, and how long."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
from collections.abc import Iterator

from cryptography import x509


@dataclasses.dataclass(frozen=True)
class Certificate:
    """`names` are those of hosts; `user` and `locality` are the CN and the L of its subject, empty if there is none."""

    user: str
    locality: str
    names: tuple[str, ...]
    begins: dt.datetime
    ends: dt.datetime

    @property
    def days_left(self) -> int:
        """Whole ones; less than 0 once it has expired."""
        return (self.ends - dt.datetime.now(dt.UTC)).days


def read_pem(text: bytes) -> list[Certificate]:
    """All that are in a text. Raises ValueError if one of them is damaged, or there is none."""
    with _damage():
        return [_told(found) for found in x509.load_pem_x509_certificates(text)]


def read_der(der: bytes) -> Certificate:
    """Raises ValueError if it is damaged."""
    with _damage():
        return _told(x509.load_der_x509_certificate(der))


@contextlib.contextmanager
def _damage() -> Iterator[None]:
    try:
        yield
    except (x509.InvalidVersion, x509.DuplicateExtension, x509.UnsupportedGeneralNameType) as error:
        raise ValueError(str(error)) from None


def _told(found: x509.Certificate) -> Certificate:
    def subject(kind: x509.ObjectIdentifier) -> str:
        return next((str(each.value) for each in found.subject.get_attributes_for_oid(kind)), "")

    return Certificate(
        subject(x509.NameOID.COMMON_NAME),
        subject(x509.NameOID.LOCALITY_NAME),
        _names(found),
        found.not_valid_before_utc,
        found.not_valid_after_utc,
    )


def _names(found: x509.Certificate) -> tuple[str, ...]:
    try:
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    return tuple(str(name.value) for name in names if isinstance(name, x509.DNSName | x509.IPAddress))
