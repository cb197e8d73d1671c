"""`headrace serve`: where it listens, whom it warns, how it stops."""

from __future__ import annotations

import datetime as dt
import ipaddress
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import headrace as hr
from cli.helpers import BIG, CLEAN, Ran, headrace
from conftest import Server, start_server


def test_people_read_where_it_listens(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "headrace", "serve", "--root", str(tmp_path / "lake")]
    command += ["--listen", "grpc://127.0.0.1:0", "--listen", "grpc://localhost:0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=CLEAN
    ) as process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline(), process.stdout.readline()]
            for line in lines:
                words = line.split()
                assert words[:3] == ["serving", str(tmp_path / "lake"), "at"]
                assert words[4] == "(open:"
                hr.connect(words[3], timeout=10).close()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (0, "", "")


def test_several_addresses_are_one_store(serve: Callable[..., Server]) -> None:
    with tempfile.TemporaryDirectory(prefix="headrace-") as folder:
        server = serve(None, "--listen", f"grpc+unix://{folder}/s")
        first, second = server.urls
        assert second == f"grpc+unix://{folder}/s"
        with hr.connect(first) as one, hr.connect(second) as two:
            one.create_feature_group("weather", primary_key=["origin"])
            assert [group.name for group in two.list_feature_groups()] == ["weather"]


@pytest.fixture
def reading(lake: Path, tmp_path: Path) -> Iterator[tuple[Server, Iterator]]:
    """A service with a client that has taken the first rows of many, and waits."""
    started = start_server(lake, tmp_path / "log")
    with started.connect() as fs:
        batches = iter(fs.get_feature_group("big").read().to_reader(1000))
        next(batches)
        yield started, batches
    started.stop()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_whatever_its_clients_do(reading: tuple[Server, Iterator], number: signal.Signals) -> None:
    server, batches = reading
    server.process.send_signal(number)
    assert server.process.wait(10) == 0
    with pytest.raises(hr.HeadraceError):
        assert sum(batch.num_rows for batch in batches) < BIG
    assert "ended calls that were still running" in server.log.read_text()


def test_it_waits_for_nobody_where_nobody_reads(serve: Callable[..., Server]) -> None:
    server = serve()
    assert server.stop() == 0
    assert server.log.read_text() == ""


@pytest.mark.parametrize("listen", ["grpc://0.0.0.0:0", "grpc://[::]:0", "grpc+tls://0.0.0.0:0"])
def test_it_is_not_open_to_other_machines(tmp_path: Path, listen: str) -> None:
    pems = tmp_path / "pems"
    make_certificate(pems)
    own = ["--tls-cert", pems / "client_cert.pem", "--tls-key", pems / "client_key.pem"]
    options = own if "tls" in listen else []
    ran = headrace("serve", "--root", tmp_path / "lake", "--listen", listen, *options, "--json")
    assert (ran.code, ran.error["code"]) == (2, "INVALID_ARGUMENT")
    assert "nobody would be asked who they are" in ran.error["message"]


def test_an_address_that_is_taken(service: str, tmp_path: Path) -> None:
    ran = headrace("serve", "--root", tmp_path / "lake", "--listen", service, "--json")
    assert (ran.code, ran.error["code"]) == (8, "UNAVAILABLE")
    assert service in ran.error["message"]


def test_tls_needs_a_certificate(tmp_path: Path) -> None:
    ran = headrace("serve", "--root", tmp_path / "lake", "--listen", "grpc+tls://127.0.0.1:0", "--json")
    assert (ran.code, ran.error["code"]) == (2, "INVALID_ARGUMENT")
    assert ran.error["hint"] == "give --tls-cert and --tls-key"


@pytest.mark.parametrize(
    "options", [["--cache", "20"], ["--cache", "0"], ["--cache", "much"], ["--no-predict"]]
)
def test_a_cache_of_hardly_anything_is_refused(tmp_path: Path, options: list[str]) -> None:
    ran = headrace("serve", "--root", tmp_path / "lake", "--listen", "grpc://127.0.0.1:0", *options, "--json")
    assert (ran.code, ran.error["code"]) == (2, "INVALID_ARGUMENT")
    assert not (tmp_path / "lake" / ".headrace" / "results").exists()


def make_certificate(folder: Path) -> None:
    """A self-signed certificate for this machine, under the names that --pems-dir expects."""
    secret = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "headrace test")])
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder(issuer_name=name, subject_name=name, public_key=secret.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(names, critical=False)
        .sign(secret, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    folder.mkdir()
    for file in ("ca_chain.pem", "client_cert.pem"):
        (folder / file).write_bytes(made.public_bytes(pem))
    (folder / "client_key.pem").write_bytes(
        secret.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    )


def test_commands_reach_a_service_over_tls(
    serve: Callable[..., Server], command: Callable[..., Ran], tmp_path: Path
) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    make_certificate(ours)
    make_certificate(theirs)
    own = ("--tls-cert", f"{ours}/client_cert.pem", "--tls-key", f"{ours}/client_key.pem")
    url = serve(None, *own, listen="grpc+tls://127.0.0.1:0").url
    status = ("status", "--store", url, "--json")
    assert command(*status, "--pems-dir", ours).json["reachable"] is True
    assert command(*status, "--tls-ca", ours / "ca_chain.pem").json["reachable"] is True
    refused = command(*status, "--tls-ca", theirs / "ca_chain.pem")
    assert (refused.code, refused.error["code"]) == (8, "TLS_ERROR")
    checked = command("doctor", "--store", url, "--pems-dir", ours, "--json")
    assert checked.json["ok"] is True


@pytest.mark.parametrize(
    ("listen", "options", "told"),
    [
        ("grpc://127.0.0.1", [], "names no port"),
        ("grpc://:8815", [], "names no host"),
        ("grpc://127.0.0.1:0", ["--tls-cert", "cert.pem", "--tls-key", "key.pem"], "speaks TLS"),
    ],
)
def test_it_does_not_listen_otherwise_than_was_meant(
    tmp_path: Path, listen: str, options: list[str], told: str
) -> None:
    ran = headrace("serve", "--root", tmp_path / "lake", "--listen", listen, *options, "--json")
    assert (ran.code, ran.error["code"]) == (2, "INVALID_ARGUMENT")
    assert told in ran.error["message"]
