"""TLS to the NameNodes: whom the tunnel trusts, who trusts it, and what it says where that fails."""

from __future__ import annotations

import shutil
import ssl
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from headrace_native import CertificateError, Tunnel

from native.wire import DROP, ERROR, Answer, Client, NameNode, calls, in_turn
from service.certificates import Authority

pytestmark = pytest.mark.slow

Start = Callable[..., NameNode]
Open = Callable[..., Tunnel]

YES = Answer()


@pytest.fixture(scope="module")
def pems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pems")


@pytest.fixture(scope="module")
def authority(pems: Path) -> Authority:
    return Authority(pems, "authority")


@pytest.fixture(scope="module")
def stranger(pems: Path) -> Authority:
    return Authority(pems, "stranger")


@pytest.fixture(scope="module")
def files(authority: Authority) -> dict[str, Path]:
    """What a tunnel is given."""
    cert, key = authority.issue("client")
    return {"ca": authority.cert, "cert": cert, "key": key}


@pytest.fixture(scope="module")
def identity(authority: Authority) -> tuple[Path, Path]:
    """A NameNode's."""
    return authority.issue("namenode")


def server(identity: tuple[Path, Path], ca: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*identity)
    context.load_verify_locations(ca)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def only(context: ssl.SSLContext, version: ssl.TLSVersion) -> ssl.SSLContext:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = version
    return context


def fails(opened: Tunnel) -> str:
    """Asks, and gives the error that comes at once."""
    with Client(opened.port) as client:
        answer = client.call("create")
        assert (answer.status, answer.exception) == (ERROR, "java.io.IOException")
        assert opened.failure is not None
        assert client.error.endswith(opened.failure)
    return opened.failure


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_mutual_tls(
    namenode: Start,
    tunnel: Open,
    authority: Authority,
    files: dict[str, Path],
    identity: Any,
    version: ssl.TLSVersion,
) -> None:
    node = namenode(in_turn(YES, DROP, YES), only(server(identity, authority.cert), version))
    opened = tunnel(node, **files)
    with Client(opened.port) as client:
        assert client.call("mkdirs") == YES
        assert client.call("rename2") == YES
    assert calls(node.requests) == [("mkdirs", 0, 0), ("rename2", 1, 0), ("rename2", 1, 1)]
    assert opened.secure


def test_large_answers(
    namenode: Start, tunnel: Open, authority: Authority, files: Any, identity: Any
) -> None:
    large = Answer(bytes(8 << 20))
    node = namenode(in_turn(large), server(identity, authority.cert))
    with Client(tunnel(node, answer_timeout=20.0, outage_timeout=60.0, **files).port) as client:
        for _ in range(4):
            client.ask("getListing")
        for _ in range(4):
            assert client.hear()[1] == large


def test_tls_that_is_too_old(
    namenode: Start, tunnel: Open, authority: Authority, files: dict[str, Path], identity: Any
) -> None:
    context = server(identity, authority.cert)
    context.set_ciphers("ALL:@SECLEVEL=0")
    node = namenode(in_turn(YES), only(context, ssl.TLSVersion.TLSv1_1))
    opened = tunnel(node, **files)
    begun = time.monotonic()
    assert "ProtocolVersion" in fails(opened)
    assert opened.failure_kind == "tls"
    assert time.monotonic() - begun < 3


def test_a_namenode_without_tls(namenode: Start, tunnel: Open, files: dict[str, Path]) -> None:
    opened = tunnel(namenode(in_turn(YES)), connect_timeout=0.5, outage_timeout=1.0, **files)
    assert "may not speak TLS" in fails(opened)


def test_a_namenode_with_tls_and_a_tunnel_without(
    namenode: Start, tunnel: Open, authority: Authority, identity: Any
) -> None:
    opened = tunnel(namenode(in_turn(YES), server(identity, authority.cert)), outage_timeout=1.0)
    fails(opened)
    assert opened.failure_kind in ("unreachable", "refused")


def test_another_name(namenode: Start, tunnel: Open, authority: Authority, files: dict[str, Path]) -> None:
    node = namenode(in_turn(YES), server(authority.issue("other", ["nn1.example.com"]), authority.cert))
    opened = tunnel(node, **files)
    assert "another name" in fails(opened)
    assert opened.failure_kind == "tls"
    for options in ({"server_name": "nn1.example.com"}, {"verify": "chain"}):
        with Client(tunnel(node, **files, **options).port) as client:
            assert client.call("mkdirs") == YES


@pytest.mark.parametrize("verify", ["full", "chain"])
def test_a_namenode_of_another_authority(
    namenode: Start, tunnel: Open, authority: Authority, stranger: Authority, files: Any, verify: str
) -> None:
    node = namenode(in_turn(YES), server(stranger.issue("imposter"), authority.cert))
    opened = tunnel(node, verify=verify, **files)
    assert fails(opened) == f"NameNode {node.address} shows a certificate that the given CA did not issue"
    assert opened.failure_kind == "tls"


@pytest.mark.parametrize("verify", ["full", "chain"])
def test_a_namenode_whose_certificate_expired(
    namenode: Start, tunnel: Open, authority: Authority, files: dict[str, Path], verify: str
) -> None:
    old = authority.issue("old", days=(-2, -1))
    opened = tunnel(namenode(in_turn(YES), server(old, authority.cert)), verify=verify, **files)
    assert "expired" in fails(opened)
    assert opened.failure_kind == "tls"


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_tunnel_that_the_namenode_does_not_trust(
    namenode: Start, tunnel: Open, stranger: Authority, files: Any, identity: Any, version: ssl.TLSVersion
) -> None:
    opened = tunnel(namenode(in_turn(YES), only(server(identity, stranger.cert), version)), **files)
    assert "refused our certificate with the TLS alert UnknownCA" in fails(opened)
    assert opened.failure_kind == "tls"


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_namenode_that_trusts_another_authority_of_the_name(
    namenode: Start,
    tunnel: Open,
    files: Any,
    identity: Any,
    version: ssl.TLSVersion,
    tmp_path: Path,
) -> None:
    twin = Authority(tmp_path, "authority")
    opened = tunnel(namenode(in_turn(YES), only(server(identity, twin.cert), version)), **files)
    assert "refused our certificate with the TLS alert DecryptError" in fails(opened)
    assert opened.failure_kind == "tls"


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_tunnel_without_a_certificate(
    namenode: Start, tunnel: Open, authority: Authority, files: Any, identity: Any, version: ssl.TLSVersion
) -> None:
    node = namenode(in_turn(YES), only(server(identity, authority.cert), version))
    fails(tunnel(node, ca=files["ca"], outage_timeout=1.0))


def test_one_namenode_of_two_is_trusted(
    namenode: Start, tunnel: Open, authority: Authority, stranger: Authority, files: Any, identity: Any
) -> None:
    imposter = namenode(in_turn(YES), server(stranger.issue("imposter2"), authority.cert))
    right = namenode(in_turn(YES), server(identity, authority.cert))
    with Client(tunnel(imposter, right, **files).port) as client:
        assert client.call("mkdirs") == YES
    assert imposter.requests == []


def test_renewed_certificates_are_taken_up(
    namenode: Start,
    tunnel: Open,
    stranger: Authority,
    authority: Authority,
    files: Any,
    identity: Any,
    tmp_path: Path,
) -> None:
    mine = {name: tmp_path / f"{name}.pem" for name in files}
    for name, file in files.items():
        shutil.copy(file, mine[name])
    node = namenode(in_turn(YES), server(identity, stranger.cert))
    opened = tunnel(node, **mine)
    fails(opened)
    renewed = dict(zip(("cert", "key"), stranger.issue("renewed"), strict=True))
    shutil.copy(renewed["cert"], mine["cert"])
    fails(opened)
    shutil.copy(renewed["key"], mine["key"])
    with Client(opened.port) as client:
        assert client.call("mkdirs") == YES
        mine["key"].unlink()
        node.drop()
        assert client.call("mkdirs") == YES


def test_files_that_cannot_be_used(authority: Authority, files: dict[str, Path], tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("no PEM here\n")
    damaged = tmp_path / "damaged.pem"
    damaged.write_text("-----BEGIN CERTIFICATE-----\n%%%\n-----END CERTIFICATE-----\n")
    cut = tmp_path / "cut.pem"
    noise = tmp_path / "noise.pem"
    noise.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    _, secret = authority.issue("secret", password=b"secret")
    key = serialization.load_pem_private_key(files["key"].read_bytes(), None)
    legacy = tmp_path / "legacy.pem"
    legacy.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    _, other_key = authority.issue("another")
    old_cert, old_key = authority.issue("expired", days=(-4, -2))
    young_cert, young_key = authority.issue("young", days=(2, 4))
    cut.write_text("-----BEGIN PRIVATE KEY-----\nAAAA\n")
    for changed, file, says in [
        *(({name: tmp_path / "none"}, tmp_path / "none", "cannot be read: No such file") for name in files),
        ({"ca": tmp_path}, tmp_path, "cannot be read"),
        ({"ca": empty}, empty, "holds no certificate in PEM"),
        ({"ca": files["key"]}, files["key"], "holds no certificate in PEM"),
        ({"cert": empty}, empty, "holds no certificate in PEM"),
        ({"key": empty}, empty, "holds no private key in PEM"),
        ({"key": files["cert"]}, files["cert"], "holds no private key in PEM"),
        *(({name: damaged}, damaged, "is damaged") for name in ("ca", "cert")),
        *(({name: cut}, cut, "is cut off") for name in files),
        *(({name: noise}, noise, "certificate that can") for name in ("ca", "cert")),
        ({"key": secret}, secret, "is encrypted: decrypt it"),
        ({"key": legacy}, legacy, "is encrypted: decrypt it"),
        ({"key": other_key}, other_key, f"is not the key of the certificate in {files['cert']}"),
        ({"cert": old_cert, "key": old_key}, old_cert, "has expired, 2 days ago"),
        ({"cert": young_cert, "key": young_key}, young_cert, "is not valid yet"),
    ]:
        with pytest.raises(CertificateError, match=says) as raised:
            Tunnel(["127.0.0.1:8020"], **(files | changed))  # type: ignore[arg-type]
        assert raised.value.file == str(file)
        assert str(raised.value).startswith(f"{file}: ")


def test_a_mark_before_the_first_line(authority: Authority, files: dict[str, Path], tmp_path: Path) -> None:
    """Editors of Windows write one, and end lines otherwise."""
    marked = {}
    for name, path in files.items():
        marked[name] = tmp_path / f"{name}-marked.pem"
        marked[name].write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    with pytest.raises(CertificateError, match="is not the key"):
        Tunnel(["127.0.0.1:8020"], **(marked | {"key": authority.issue("strange")[1]}))
    Tunnel(["127.0.0.1:8020"], **marked).close()
