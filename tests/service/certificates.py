"""A small certificate authority."""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

_DAY = dt.timedelta(days=1)


class Authority:
    """Writes certificates and keys into `folder`: its own is `<name>.pem`, signed by itself or by one above."""

    def __init__(self, folder: Path, name: str, above: Authority | None = None) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        now = dt.datetime.now(dt.UTC)
        signs = above or self
        own = signs._certificate(self._name, self._key, (), now - _DAY, now + _DAY, authority=True)
        self.cert = folder / f"{name}.pem"
        self.cert.write_bytes(own)

    def issue(
        self,
        name: str,
        hosts: Sequence[str] = ("localhost", "127.0.0.1"),
        *,
        days: tuple[float, float] = (-1, 1),
        password: bytes | None = None,
    ) -> tuple[Path, Path]:
        """A certificate for these hosts, and its key; `days` from now are those that it is good for."""
        key = ec.generate_private_key(ec.SECP256R1())
        now = dt.datetime.now(dt.UTC)
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        files = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        files[0].write_bytes(
            self._certificate(subject, key, hosts, now + days[0] * _DAY, now + days[1] * _DAY)
        )
        secret = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
        files[1].write_bytes(
            key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, secret)
        )
        return files

    def _certificate(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        hosts: Sequence[str],
        start: dt.datetime,
        end: dt.datetime,
        authority: bool = False,
    ) -> bytes:
        made = (
            x509.CertificateBuilder(issuer_name=self._name, subject_name=subject, public_key=key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(start)
            .not_valid_after(end)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        if hosts:
            made = made.add_extension(x509.SubjectAlternativeName([_name(h) for h in hosts]), critical=False)
        return made.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
