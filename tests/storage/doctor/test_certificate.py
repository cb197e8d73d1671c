"""What is read of certificates, beside what another reader finds in them."""

from __future__ import annotations

import contextlib
import datetime as dt
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from headrace.storage.doctor.certificate import read_der, read_pem
from service.certificates import Authority

NAMES = [
    x509.NameAttribute(x509.NameOID.COUNTRY_NAME, "SE"),
    x509.NameAttribute(x509.NameOID.LOCALITY_NAME, "hdfs"),
    x509.NameAttribute(x509.NameOID.COMMON_NAME, "proj__ann"),
    x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, "Å" * 200),
]


def made(ends: dt.datetime, *hosts: x509.GeneralName) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        x509.CertificateBuilder(x509.Name([]), x509.Name(NAMES), key.public_key(), 1 << 150)
        .not_valid_before(dt.datetime(1999, 12, 31, 23, 59, 59))
        .not_valid_after(ends)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    )
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)


@pytest.mark.parametrize("year", [2030, 2049, 2050, 9999])
def test_what_it_says(year: int) -> None:
    ends = dt.datetime(year, 1, 2, 3, 4, 5)
    hosts = [x509.DNSName("nn.example"), x509.IPAddress(ip_address("::1")), x509.RFC822Name("a@b.c")]
    found = read_der(made(ends, *hosts))
    assert (found.user, found.locality, found.names) == ("proj__ann", "hdfs", ("nn.example", "::1"))
    assert found.begins == dt.datetime(1999, 12, 31, 23, 59, 59, tzinfo=dt.UTC)
    assert found.ends == ends.replace(tzinfo=dt.UTC)
    assert read_der(made(ends)).names == ()


def test_days_left() -> None:
    now = dt.datetime.now(dt.UTC).replace(tzinfo=None)
    assert read_der(made(now + dt.timedelta(days=14, minutes=1))).days_left == 14
    assert read_der(made(now - dt.timedelta(minutes=1))).days_left == -1


def test_a_file_of_several(tmp_path: Path) -> None:
    root = Authority(tmp_path, "root")
    text = (
        b"subject=/CN=x\n"
        + root.cert.read_bytes()
        + b"junk\n"
        + Authority(tmp_path, "sub", root).cert.read_bytes()
    )
    assert [certificate.user for certificate in read_pem(text)] == ["root", "sub"]


@pytest.mark.filterwarnings("ignore:Parsed a serial number")
def test_what_is_damaged_is_refused() -> None:
    der = made(dt.datetime(2030, 1, 1), x509.DNSName("nn.example"))
    for end in range(len(der)):
        with pytest.raises(ValueError, match="parsing"):
            read_der(der[:end])
    for at in range(0, len(der), 3):
        for byte in (0x00, 0x30, 0x81, 0xFF):
            with contextlib.suppress(ValueError):
                read_der(der[:at] + bytes([byte]) + der[at + 1 :])
    for text in (b"none", b"-----BEGIN CERTIFICATE-----\nAAA\n-----END CERTIFICATE-----\n"):
        with pytest.raises(ValueError, match="PEM"):
            read_pem(text)
