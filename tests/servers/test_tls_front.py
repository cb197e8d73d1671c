"""What the front before a NameNode demands, and that it does."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from servers import pki as certificates
from servers.pki import Pki
from servers.tls_front import TlsFront, Version


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return Pki(tmp_path_factory.mktemp("front") / "pki")


@pytest.fixture
def start(pki: Pki, tmp_path: Path) -> Iterator[Callable[..., TlsFront]]:
    """Starts a front before a door that nobody answers at: what is asked here is asked of the front."""
    with contextlib.ExitStack() as stack:
        door = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

        def started(folder: Path | None = None, **versions: Version) -> TlsFront:
            namenode = f"127.0.0.1:{door.getsockname()[1]}"
            front = TlsFront(namenode, folder or pki.server(), tmp_path / "front.log", **versions)
            return stack.enter_context(front)

        yield started


def _context(pems: Path, lowest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = lowest
    if lowest < ssl.TLSVersion.TLSv1_2:
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
    context.load_verify_locations(pems / "ca_chain.pem")
    if (pems / "client_cert.pem").exists():
        context.load_cert_chain(
            pems / "client_cert.pem", pems / "client_key.pem", password=lambda: pytest.fail("encrypted")
        )
    return context


def _connect(front: TlsFront, context: ssl.SSLContext) -> ssl.SSLSocket:
    plain = socket.create_connection(("127.0.0.1", front.port), 10)
    return context.wrap_socket(plain, server_hostname="127.0.0.1")


def _stays_open(connection: ssl.SSLSocket) -> bool:
    """With TLS 1.3, a client hears only after its handshake that it is refused."""
    connection.settimeout(0.5)
    try:
        return connection.recv(1) != b""
    except TimeoutError:
        return True


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated")
@pytest.mark.parametrize("version", ["TLSv1_1", "TLSv1_2", "TLSv1_3"])
def test_it_speaks_one_version_alone(start: Callable[..., TlsFront], pki: Pki, version: Version) -> None:
    front = start(minimum=version, maximum=version)
    with _connect(front, _context(pki.client(), ssl.TLSVersion.TLSv1_1)) as connection:
        assert connection.version() == version.replace("_", ".")
        assert _stays_open(connection)
    assert front.counts()["accepted"] == 1


def test_a_version_too_old_is_no_version(start: Callable[..., TlsFront], pki: Pki) -> None:
    front = start(minimum="TLSv1_1", maximum="TLSv1_1")
    with pytest.raises(ssl.SSLError, match="VERSION"):
        _connect(front, _context(pki.client()))


@pytest.mark.parametrize("who", ["nobody", "stranger", "expired"])
def test_only_its_own_clients_are_let_in(
    start: Callable[..., TlsFront], pki: Pki, tmp_path: Path, who: str
) -> None:
    front = start()
    match who:
        case "nobody":
            pems = pki.server()
        case "stranger":
            pems = Pki(tmp_path / "other").client()
            certificates.replace(pems, pki.client(), "ca_chain.pem")
        case _:
            pems = pki.client("late", days=(-2, -1))
    with pytest.raises(ssl.SSLError, match=r"(?i)alert"), _connect(front, _context(pems)) as connection:
        connection.recv(1)
    assert front.counts()["refused"] == 1


def test_a_certificate_is_replaced_while_connections_live(
    start: Callable[..., TlsFront], pki: Pki, tmp_path: Path
) -> None:
    folder = pki.server("renewed")
    front = start(folder)
    context = _context(pki.client())
    with _connect(front, context) as old:
        certificates.replace(folder, Pki(tmp_path / "other").server())
        with pytest.raises(ssl.SSLCertVerificationError):
            _connect(front, context)
        assert _stays_open(old)
        front.cut()
        assert not _stays_open(old)


def test_a_server_of_another_host_is_told(start: Callable[..., TlsFront], pki: Pki) -> None:
    front = start(pki.server("elsewhere", hosts=("namenode.example",)))
    with pytest.raises(ssl.SSLCertVerificationError, match=r"doesn't match|not valid for"):
        _connect(front, _context(pki.client()))


def test_keys_that_do_not_fit_or_are_encrypted(pki: Pki) -> None:
    pems = pki.client("mixed")
    certificates.replace(pems, pki.client("other"), "client_key.pem")
    with pytest.raises(ssl.SSLError, match="KEY_VALUES_MISMATCH"):
        _context(pems)
    with pytest.raises(pytest.fail.Exception, match="encrypted"):
        _context(pki.client("locked", password=b"secret"))
