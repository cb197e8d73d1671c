"""Who may do what: a service that asks for certificates, and grants. Needs `cryptography`, to make certificates."""

import datetime as dt
import json
import subprocess
import sys
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import headrace as hr

NOW = dt.datetime.now(dt.UTC)
AUTHORITY = ec.generate_private_key(ec.SECP256R1())


def certificate(name: str, public: ec.EllipticCurvePublicKey, host: str | None = None) -> bytes:
    """One that our authority signs: for a host, or for a user, who is its common name."""
    builder = x509.CertificateBuilder(
        issuer_name=x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "our authority")]),
        subject_name=x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]),
        public_key=public,
        serial_number=x509.random_serial_number(),
        not_valid_before=NOW - dt.timedelta(hours=1),
        not_valid_after=NOW + dt.timedelta(days=1),
    ).add_extension(x509.BasicConstraints(ca=name == "our authority", path_length=None), critical=True)
    if host is not None:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
    return builder.sign(AUTHORITY, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def issue(name: str, host: str | None = None) -> hr.TLS:
    key = ec.generate_private_key(ec.SECP256R1())
    Path(f"{name}.pem").write_bytes(certificate(name, key.public_key(), host))
    plain = serialization.NoEncryption()
    Path(f"{name}.key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    )
    return hr.TLS(ca="ca.pem", cert=f"{name}.pem", key=f"{name}.key")


Path("ca.pem").write_bytes(certificate("our authority", AUTHORITY.public_key()))
anna, ben, _ = issue("anna"), issue("ben"), issue("service", "localhost")

# Whoever opens the store itself may do everything, and so grants the first rights.
with hr.connect("./lake") as fs:
    planes = fs.create_feature_group("planes", primary_key=["tailnum"])
    planes.insert([{"tailnum": "N14228", "seats": 149, "price": 51.9}])
    fs.grants.add("anna", "admin")

command = [sys.executable, "-m", "headrace", "serve", "--root", "./lake", "--json", "--client-ca", "ca.pem"]
command += ["--listen", "grpc+tls://localhost:0", "--tls-cert", "service.pem", "--tls-key", "service.key"]
service = subprocess.Popen(command, stdout=subprocess.PIPE)
try:
    assert service.stdout is not None
    (url,) = json.loads(service.stdout.readline())["listening"]

    with hr.connect(url, tls=anna) as fs:
        fs.grants.add("ben", "reader", group="planes", columns=["seats"])
        grants: list[hr.Grant] = fs.grants.list()
        print("\n".join(f"{grant.user}: {grant.role} of {grant.group or 'the project'}" for grant in grants))

    with hr.connect(url, tls=ben) as fs:
        planes = fs.get_feature_group("planes")
        assert planes.schema.names == ["tailnum", "seats"]  # what is not granted is not there
        assert fs.sql("SELECT max(seats) AS seats FROM planes").to_arrow().to_pylist() == [{"seats": 149}]
        try:
            planes.insert([{"tailnum": "N1", "seats": 2}])
        except hr.PermissionDenied as error:
            print(error)

    try:
        hr.connect(url, tls=hr.TLS(ca="ca.pem"), timeout=10)
    except hr.Unauthenticated as error:
        print(error)

    with hr.connect(url, tls=anna) as fs:
        fs.grants.remove("ben", group="planes")
    with hr.connect(url, tls=ben) as fs:
        assert fs.list_feature_groups() == []
finally:
    service.terminate()
    service.wait()
