"""TLS between client and service, and all that goes wrong with it: told at once, and in words."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headrace as hr
from conftest import Server
from headrace.config import store_config
from headrace.wiring import Service
from servers.daemon import free_ports
from service.certificates import Authority

SOON = 15
"""Seconds; on a quiet machine every refusal takes less than one."""


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
def secure(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., str]]:
    """Gives the address of a service with such a certificate."""
    services: dict[str, Service] = {}

    def start(name: str = "good", *hosts: str, **options: Any) -> str:
        if name not in services:
            cert, key = authority.issue(name, hosts, **options) if hosts else authority.issue(name, **options)
            config = store_config(str(tmp_path_factory.mktemp(name) / "lake"))
            services[name] = Service(config, ["grpc+tls://127.0.0.1:0"], hr.TLS(None, cert, key))
        return services[name].listening[0]

    yield start
    for service in services.values():
        service.stop()


def works(url: str, tls: hr.TLS | None) -> None:
    with hr.connect(url, tls=tls, timeout=60) as store:
        group = store.get_or_create_feature_group("numbers", primary_key=["id"])
        group.insert(pa.table({"id": range(100)}))
        assert group.read().to_arrow().num_rows == 100


def fails(url: str, tls: hr.TLS | None = None) -> hr.HeadraceError:
    start = time.monotonic()
    with pytest.raises(hr.HeadraceError) as caught:
        hr.connect(url, tls=tls, timeout=60).close()
    assert time.monotonic() - start < SOON
    assert "Socket closed" not in str(caught.value)
    return caught.value


class TestTrust:
    def test_a_good_certificate(self, secure: Callable[..., str], authority: Authority) -> None:
        works(secure(), hr.TLS(authority.cert))
        works(secure().replace("127.0.0.1", "localhost"), hr.TLS(authority.cert))

    def test_a_client_with_a_certificate_of_its_own(
        self, secure: Callable[..., str], authority: Authority
    ) -> None:
        works(secure(), hr.TLS(authority.cert, *authority.issue("client")))

    @pytest.mark.parametrize("verify", ["full", "chain"])
    def test_another_authority(self, secure: Callable[..., str], stranger: Authority, verify: Any) -> None:
        error = fails(secure(), hr.TLS(stranger.cert, verify=verify))
        assert type(error) is hr.TLSError
        assert not error.retryable
        assert secure() in error.message
        assert "CA" in str(error.hint)

    @pytest.mark.parametrize("tls", [None, hr.TLS(None)])
    def test_the_authorities_of_the_system(self, secure: Callable[..., str], tls: hr.TLS | None) -> None:
        assert type(fails(secure(), tls)) is hr.TLSError

    @pytest.mark.parametrize("verify", ["full", "chain"])
    @pytest.mark.parametrize(
        ("name", "days", "words"), [("old", (-3, -1), "expired"), ("early", (1, 3), "not yet")]
    )
    def test_a_certificate_out_of_its_time(
        self, secure: Callable[..., str], authority: Authority, name: str, days: Any, words: str, verify: Any
    ) -> None:
        error = fails(secure(name, days=days), hr.TLS(authority.cert, verify=verify))
        assert type(error) is hr.TLSError
        assert words in error.message


class TestNames:
    @pytest.fixture
    def elsewhere(self, secure: Callable[..., str]) -> str:
        return secure("elsewhere", "elsewhere.example")

    def test_another_host(self, elsewhere: str, authority: Authority) -> None:
        error = fails(elsewhere, hr.TLS(authority.cert))
        assert type(error) is hr.TLSError
        assert "127.0.0.1" in error.message
        assert "name" in str(error.hint)

    def test_the_name_that_is_expected(self, elsewhere: str, authority: Authority) -> None:
        works(elsewhere, hr.TLS(authority.cert, server_name="elsewhere.example"))
        error = fails(elsewhere, hr.TLS(authority.cert, server_name="nowhere.example"))
        assert type(error) is hr.TLSError
        assert "nowhere.example" in error.message

    def test_any_name(
        self, elsewhere: str, authority: Authority, stranger: Authority, secure: Callable[..., str]
    ) -> None:
        for url in (elsewhere, secure("wild", "*.example.org"), secure("good")):
            works(url, hr.TLS(authority.cert, verify="chain"))
        works(elsewhere, hr.TLS(authority.cert, verify="chain", server_name="nowhere.example"))
        assert type(fails(elsewhere, hr.TLS(stranger.cert, verify="chain"))) is hr.TLSError

    @pytest.mark.parametrize("name", ["elsewhere.example", "10.0.0.1"])
    def test_any_name_outside_the_extension_for_names(
        self, secure: Callable[..., str], authority: Authority, stranger: Authority, name: str
    ) -> None:
        url = secure(name, hosts=())
        works(url, hr.TLS(authority.cert, verify="chain"))
        assert type(fails(url, hr.TLS(stranger.cert, verify="chain"))) is hr.TLSError
        assert type(fails(url, hr.TLS(authority.cert))) is hr.TLSError

    @pytest.mark.parametrize(
        "name",
        ["", "nul\0", "é" * 300, "a" * 64, ".".join("a" * 200), ".", "\ud800", "two\nlines", b"host", 5],
    )
    def test_that_no_host_has(self, name: Any) -> None:
        with pytest.raises(hr.InvalidArgument, match="server_name"):
            hr.TLS(None, server_name=name)


class TestFiles:
    @pytest.fixture
    def broken(self, tmp_path: Path) -> Path:
        (tmp_path / "empty.pem").write_text("")
        (tmp_path / "text.pem").write_text("not a certificate")
        for kind, name in [("CERTIFICATE", "torn.pem"), ("PRIVATE KEY", "torn.key")]:
            (tmp_path / name).write_text(f"-----BEGIN {kind}-----\ntorn\n-----END {kind}-----\n")
        (tmp_path / "folder.pem").mkdir()
        return tmp_path

    FILES = ("missing.pem", "empty.pem", "text.pem", "torn.pem", "folder.pem")

    @pytest.mark.parametrize("file", FILES)
    @pytest.mark.parametrize("verify", ["full", "chain"])
    def test_an_authority(self, secure: Callable[..., str], broken: Path, file: str, verify: Any) -> None:
        error = fails(secure(), hr.TLS(broken / file, verify=verify))
        assert type(error) is hr.TLSError
        assert str(broken / file) in error.message
        assert error.details == {"file": str(broken / file)}

    @pytest.mark.parametrize("file", FILES)
    def test_a_certificate(
        self, secure: Callable[..., str], authority: Authority, broken: Path, file: str
    ) -> None:
        _, key = authority.issue("client")
        error = fails(secure(), hr.TLS(authority.cert, broken / file, key))
        assert type(error) is hr.TLSError
        assert error.details == {"file": str(broken / file)}

    @pytest.mark.parametrize("file", ["missing.key", "empty.pem", "torn.key", "torn.pem"])
    def test_a_key(self, secure: Callable[..., str], authority: Authority, broken: Path, file: str) -> None:
        cert, _ = authority.issue("client")
        error = fails(secure(), hr.TLS(authority.cert, cert, broken / file))
        assert type(error) is hr.TLSError
        assert error.details == {"file": str(broken / file)}

    def test_a_key_of_another_certificate(self, secure: Callable[..., str], authority: Authority) -> None:
        cert, _ = authority.issue("client")
        _, key = authority.issue("client2")
        error = fails(secure(), hr.TLS(authority.cert, cert, key))
        assert type(error) is hr.TLSError
        assert error.details == {"file": str(key)}

    def test_a_key_with_a_password(self, secure: Callable[..., str], authority: Authority) -> None:
        cert, key = authority.issue("locked", password=b"secret")
        error = fails(secure(), hr.TLS(authority.cert, cert, key))
        assert type(error) is hr.TLSError
        assert "password" in error.message

    def test_of_a_service(self, authority: Authority, broken: Path) -> None:
        cert, key = authority.issue("server")
        _, other = authority.issue("server2")
        for identity, file in [
            ((broken / "missing.pem", key), "missing.pem"),
            ((broken / "text.pem", key), "text.pem"),
            ((cert, broken / "missing.key"), "missing.key"),
            ((broken / "torn.pem", key), None),
            ((cert, broken / "torn.key"), None),
            ((cert, other), None),
        ]:
            with pytest.raises(hr.TLSError) as caught:
                Service(
                    store_config(str(broken / "lake")), ["grpc+tls://127.0.0.1:0"], hr.TLS(None, *identity)
                )
            assert (str(broken / file) if file else "certificate") in caught.value.message


class TestWithoutTLS:
    """On one side alone."""

    def test_a_client_without(self, secure: Callable[..., str]) -> None:
        error = fails(secure().replace("grpc+tls", "grpc"))
        assert type(error) is hr.TLSError
        assert "speaks TLS" in error.message
        assert "grpc+tls://" in str(error.hint)

    @pytest.mark.parametrize("verify", ["full", "chain"])
    def test_a_service_without(self, server: Server, authority: Authority, verify: Any) -> None:
        error = fails(server.url.replace("grpc", "grpc+tls"), hr.TLS(authority.cert, verify=verify))
        assert type(error) is hr.TLSError
        assert "grpc://" in str(error.hint)


class TestNobody:
    @pytest.fixture
    def port(self) -> int:
        return free_ports(1)[0]

    @pytest.mark.parametrize("verify", ["full", "chain"])
    def test_at_the_port(self, port: int, authority: Authority, verify: Any) -> None:
        for url, tls in [
            (f"grpc://127.0.0.1:{port}", None),
            (f"grpc+tls://127.0.0.1:{port}", hr.TLS(authority.cert, verify=verify)),
            ("grpc+unix:///nobody/headrace.sock", None),
        ]:
            error = fails(url, tls)
            assert type(error) is hr.Unavailable
            assert error.retryable
            assert url in error.message
            assert "Connection refused" in error.message or "No such file" in error.message

    def test_of_that_name(self) -> None:
        error = fails("grpc://no.such.host.invalid:8815")
        assert type(error) is hr.Unavailable
        assert "no.such.host.invalid" in error.message

    @pytest.mark.parametrize("scheme", ["grpc", "grpc+tls"])
    def test_who_answers(self, authority: Authority, scheme: str) -> None:
        """Somebody takes the call and says nothing."""
        with socket.create_server(("127.0.0.1", 0)) as door:
            url = f"{scheme}://127.0.0.1:{door.getsockname()[1]}"
            tls = hr.TLS(authority.cert) if scheme == "grpc+tls" else None
            with pytest.raises(hr.Timeout) as caught:
                hr.connect(url, tls=tls, timeout=1)
            assert "1 seconds" in caught.value.message

    def test_who_answers_a_look_at_the_name(self, authority: Authority) -> None:
        with socket.create_server(("127.0.0.1", 0)) as door:
            url = f"grpc+tls://127.0.0.1:{door.getsockname()[1]}"
            assert type(fails(url, hr.TLS(authority.cert, verify="chain"))) is hr.Unavailable
