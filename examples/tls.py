"""TLS: a service with a certificate, and clients that check it. Needs `cryptography`, to make certificates."""

import datetime as dt
import ipaddress
import json
import subprocess
import sys
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import headrace as hr


def make_certificate(cert: Path, key: Path) -> None:
    """A self-signed certificate for this machine, good for a day."""
    secret = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "headrace example")])
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder(issuer_name=name, subject_name=name, public_key=secret.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(secret, hashes.SHA256())
    )
    cert.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    key.write_bytes(
        secret.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    )


make_certificate(Path("cert.pem"), Path("key.pem"))
make_certificate(Path("other.pem"), Path("other_key.pem"))

command = [sys.executable, "-m", "headrace", "serve", "--root", "./lake", "--json"]
command += ["--listen", "grpc+tls://127.0.0.1:0", "--tls-cert", "cert.pem", "--tls-key", "key.pem"]
service = subprocess.Popen(command, stdout=subprocess.PIPE)
try:
    assert service.stdout is not None
    (url,) = json.loads(service.stdout.readline())["listening"]

    with hr.connect(url, tls=hr.TLS(ca="cert.pem")) as fs:
        fs.create_feature_group("planes", primary_key=["tailnum"]).insert([{"tailnum": "N14228"}])

    try:
        hr.connect(url, tls=hr.TLS(ca="other.pem"), timeout=10)
    except hr.TLSError as error:
        print(error)
    else:
        raise AssertionError("a service with a certificate of somebody else was trusted")
finally:
    service.terminate()
    service.wait()
