"""Whether a service is alive and ready: who is told, and who is told why not."""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn

import pytest

import headrace as hr
from headrace.config import store_config
from headrace.service.door import Access
from headrace.service.http import peer_name
from headrace.wiring import Service
from service.certificates import Authority


def get(
    url: str,
    tls: ssl.SSLContext | None = None,
    method: str = "GET",
    headers: Mapping[str, str] = MappingProxyType({}),
) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, headers=dict(headers), method=method), timeout=20, context=tls
        ) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read().decode()


@pytest.fixture(scope="module")
def open_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    config = store_config(str(tmp_path_factory.mktemp("open") / "lake"))
    started = Service(config, ["grpc://127.0.0.1:0"], http="http://127.0.0.1:0")
    yield started
    started.stop()


class TestOpen:
    def test_it_is_ready(self, open_service: Service) -> None:
        assert get(f"{open_service.http}/live") == (200, "200 OK\n")
        assert get(f"{open_service.http}/ready?verbose") == (200, "200 OK\n")
        with hr.connect(open_service.listening[0], timeout=60) as store:
            health = store.health()
        assert (health.ready, health.problems) == (True, ())

    @pytest.mark.parametrize(("path", "method", "status"), [("/", "GET", 404), ("/live", "POST", 405)])
    def test_it_answers_nothing_else(
        self, open_service: Service, path: str, method: str, status: int
    ) -> None:
        assert get(f"{open_service.http}{path}", method=method)[0] == status

    @pytest.mark.parametrize(
        "sent",
        [
            b"GET /live HTTP/1.0\r\nX: " + b"x" * 10_000,
            b"\x16\x03\x01\x00\r\n\r\n",
            b"GET /live HTTP/9.9\r\n\r\n",
            b"GET http://[x/live HTTP/1.1\r\n\r\n",
        ],
        ids=["long", "TLS", "version", "address"],
    )
    def test_what_is_no_request(self, open_service: Service, sent: bytes) -> None:
        host, port = str(open_service.http).removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(sent)
            answer = b""
            try:
                while came := connection.recv(1024):
                    answer += came
            except ConnectionResetError:
                pass
        assert b" 200 " not in answer
        assert b"x" * 100 not in answer
        assert get(f"{open_service.http}/live")[0] == 200

    def test_who_says_nothing_keeps_nobody_out(self, open_service: Service) -> None:
        host, port = str(open_service.http).removeprefix("http://").split(":")
        silent = [socket.create_connection((host, int(port))) for _ in range(40)]
        begun = time.monotonic()
        for _ in range(3):
            assert get(f"{open_service.http}/live")[0] == 200
        assert time.monotonic() - begun < 4
        for connection in silent:
            connection.close()

    @pytest.mark.parametrize("lacks", ["files", "threads"])
    def test_a_shortage_passes(
        self, open_service: Service, monkeypatch: pytest.MonkeyPatch, lacks: str
    ) -> None:
        start = threading.Thread.start

        def no_file(_: socket.socket) -> NoReturn:
            raise OSError(24, "Too many open files")

        def no_thread(thread: threading.Thread) -> None:
            if thread.name == "headrace-http-call":
                raise RuntimeError("can't start new thread")
            start(thread)

        with monkeypatch.context() as short:
            if lacks == "files":
                short.setattr(socket.socket, "dup", no_file)
            else:
                short.setattr(threading.Thread, "start", no_thread)
            for _ in range(12):
                with pytest.raises(OSError, match=r"."):
                    get(f"{open_service.http}/live")
        begun = time.monotonic()
        assert get(f"{open_service.http}/live")[0] == 200
        assert time.monotonic() - begun < 4


class TestLost:
    """What a service needs goes away while it runs."""

    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        return tmp_path / "lake"

    @pytest.fixture
    def service(self, root: Path, tmp_path: Path) -> Iterator[Service]:
        config = store_config(str(root), registry=f"sqlite:///{tmp_path / 'registry.db'}")
        started = Service(config, ["grpc://127.0.0.1:0"], http="http://127.0.0.1:0")
        yield started
        started.stop()

    def test_the_storage(self, service: Service, root: Path) -> None:
        assert get(f"{service.http}/ready")[0] == 200
        with hr.connect(service.listening[0], timeout=60) as store:
            shutil.rmtree(root)
            time.sleep(1.1)  # for so long, what was seen is believed
            health = store.health()
        assert not health.ready
        status, body = get(f"{service.http}/ready")
        assert status == 503
        assert tuple(json.loads(body)["problems"]) == health.problems
        assert "not mounted" in health.problems[0]
        assert get(f"{service.http}/live")[0] == 200

    def test_the_registry(self, service: Service, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        (tmp_path / "registry.db").unlink()
        status, body = get(f"{service.http}/ready")
        assert status == 503
        assert "registry" in body
        assert "registry" in next(r.getMessage() for r in caplog.records if "not ready" in r.getMessage())


@pytest.fixture(scope="module")
def pems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pems")


@pytest.fixture(scope="module")
def own(pems: Path) -> Authority:
    return Authority(pems, "own")


@pytest.fixture(scope="module")
def clients(pems: Path) -> Authority:
    return Authority(pems, "clients")


@pytest.fixture(scope="module")
def granted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("asked") / "lake"
    with hr.connect(root, project="shop") as store:
        store.grants.add("anna", "admin")
        store.grants.add("::1", "admin")
        store.grants.add("bob", "writer")
    return root


@pytest.fixture(scope="module")
def asking(granted: Path, own: Authority, clients: Authority) -> Iterator[Service]:
    started = Service(
        store_config(str(granted)),
        ["grpc+tls://127.0.0.1:0"],
        hr.TLS(None, *own.issue("service")),
        Access(clients.cert, tokens=True),
        http="https://127.0.0.1:0",
    )
    yield started
    started.stop()


class TestAsked:
    """With certificates: the same callers as over Flight."""

    @pytest.fixture
    def shows(self, own: Authority, clients: Authority) -> object:
        def context(name: str | None, names: tuple[str, ...] = (), by: Authority = clients) -> ssl.SSLContext:
            made = ssl.create_default_context(cafile=str(own.cert))
            if name is not None:
                made.load_cert_chain(*by.issue(name, names))
            return made

        return context

    def test_everybody_learns_whether(self, asking: Service, shows) -> None:
        assert get(f"{asking.http}/live", shows(None)) == (200, "200 OK\n")
        assert get(f"{asking.http}/ready", shows(None)) == (200, "200 OK\n")

    @pytest.mark.parametrize(
        ("name", "names", "status"),
        [
            (None, (), 401),
            ("bob", (), 403),
            ("nobody", (), 403),
            ("anna", (), 200),
            ("other", ("anna", "bob"), 200),
            ("anna", ("bob",), 403),
            ("six", ("::1",), 200),
        ],
    )
    def test_metrics_are_for_admins(self, asking: Service, shows, name, names, status: int) -> None:
        """The first alternative name counts, before the common name."""
        assert get(f"{asking.http}/metrics", shows(name, names))[0] == status

    @pytest.mark.parametrize("names", [(), ("anna",), ("::1", "anna"), ("127.0.0.1",), ("b", "anna")])
    def test_a_certificate_names_the_same_user_as_over_flight(
        self, asking: Service, shows, own, clients, names: tuple[str, ...]
    ) -> None:
        tls = hr.TLS(own.cert, *clients.issue("common", names))
        with hr.connect(asking.listening[0], project="shop", tls=tls, timeout=60) as store:
            try:
                store.grants.add("x", "reader")
                over_flight = 200
            except hr.PermissionDenied:
                over_flight = 403
        assert get(f"{asking.http}/metrics", shows("common", names))[0] == over_flight

    def test_a_token_names_its_user(self, asking: Service, shows, own, clients, granted: Path) -> None:
        with hr.connect(granted, project="shop") as store:
            tokens = {user: store.tokens.create(user).text for user in ("anna", "bob")}
        for token, name, status in (
            (tokens["anna"], None, 200),
            (tokens["anna"], "bob", 200),
            (tokens["bob"], None, 403),
            (tokens["bob"], "anna", 403),
            (f"{tokens['anna']}x", None, 401),
            (f"{tokens['anna']}x", "anna", 401),
        ):
            headers = {"Authorization": f"Bearer {token}"}
            assert get(f"{asking.http}/metrics", shows(name), headers=headers)[0] == status

    def test_a_certificate_of_another_authority(self, asking: Service, shows, tmp_path: Path) -> None:
        with pytest.raises((ssl.SSLError, ConnectionError, urllib.error.URLError)):
            get(f"{asking.http}/live", shows("anna", (), Authority(tmp_path, "stranger")))

    def test_why_not_is_for_admins(self, asking: Service, shows, own, clients, granted: Path) -> None:
        away = granted.with_name("away")
        granted.rename(away)
        try:
            time.sleep(1.1)
            assert get(f"{asking.http}/ready", shows(None)) == (503, "503 Service Unavailable\n")
            assert get(f"{asking.http}/ready", shows("bob")) == (503, "503 Service Unavailable\n")
        finally:
            away.rename(granted)


def test_the_kinds_of_names_in_certificates() -> None:
    subject = ((("commonName", "c"),),)
    assert peer_name({"subject": subject}) == b"c"
    assert peer_name({}) == b""
    for names, expected in (
        ((("email", "a@b"), ("DNS", "d")), b"a@b"),
        ((("URI", "spiffe://x/y"),), b"spiffe://x/y"),
        ((("IP Address", "0:0:0:0:0:0:0:1\n"),), b"::1"),
        ((("DirName", subject),), b"other types of SAN"),
    ):
        assert peer_name({"subject": subject, "subjectAltName": names}) == expected


@pytest.mark.parametrize(
    ("listen", "words"),
    [
        ("http://0.0.0.0:0", "reached from other machines"),
        ("http://localhost.example:0", "reached from other machines"),
        ("https://127.0.0.1:0", "certificate and a key"),
        ("ftp://127.0.0.1:0", "no address"),
        ("http://127.0.0.1", "no host and port"),
        ("http://127.0.0.1:x", "cannot listen"),
    ],
)
def test_addresses_that_are_refused(tmp_path: Path, listen: str, words: str) -> None:
    with pytest.raises(hr.InvalidArgument, match=words):
        Service(store_config(str(tmp_path / "lake")), ["grpc://127.0.0.1:0"], http=listen)


def test_an_address_that_is_taken(tmp_path: Path) -> None:
    config = store_config(str(tmp_path / "lake"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(hr.Unavailable, match="in use"):
            Service(config, ["grpc://127.0.0.1:0"], http=address)


def test_without_prometheus_client(tmp_path: Path) -> None:
    program = f"""
import sys
sys.modules["prometheus_client"] = None  # as if it were not installed
from headrace.cli import main
sys.argv = ["headrace", "serve", "--root", {str(tmp_path / "lake")!r}, "--listen", "grpc://127.0.0.1:0", "--json",
            "--http", "http://127.0.0.1:0"]
main()
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    error = json.loads(ran.stderr)["error"]
    assert (error["code"], ran.returncode) == ("MISSING_DEPENDENCY", 1)
    assert "headrace[metrics]" in error["hint"]
