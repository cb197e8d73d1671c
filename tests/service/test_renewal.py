"""Certificates that are replaced while a service runs."""

from __future__ import annotations

import logging
import os
import signal
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from cryptography import x509

import headrace as hr
from conftest import Server
from headrace.config import store_config
from headrace.service.door import Access
from headrace.wiring import Service
from service.certificates import Authority

SECURE = "grpc+tls://127.0.0.1:0"
ROWS = pa.table({"id": range(400_000), "text": pa.repeat("x" * 100, 400_000)})
"""More than sockets hold."""


@pytest.fixture
def pems(tmp_path: Path) -> Path:
    """The folder in which a service has its own certificate, `own.pem` and `own.key`, and its clients' authority."""
    (tmp_path / "pems").mkdir()
    return tmp_path / "pems"


@pytest.fixture
def old(tmp_path: Path) -> Authority:
    (tmp_path / "old").mkdir()
    return Authority(tmp_path / "old", "old")


@pytest.fixture
def new(tmp_path: Path) -> Authority:
    (tmp_path / "new").mkdir()
    return Authority(tmp_path / "new", "new")


def put(pems: Path, authority: Authority) -> None:
    """In place of what is there, each file in one step."""
    for source, name in zip(
        (*authority.issue("own"), authority.cert), ("own.pem", "own.key", "ca.pem"), strict=True
    ):
        (pems / "next").write_bytes(source.read_bytes())
        (pems / "next").replace(pems / name)


@pytest.fixture
def service(pems: Path, old: Authority, tmp_path: Path) -> Iterator[Service]:
    """It asks for certificates at its first address, and for tokens at its second."""
    put(pems, old)
    with hr.connect(tmp_path / "lake") as owner:
        owner.grants.add("anna", "admin")
        owner.create_feature_group("numbers", primary_key=["id"]).insert(ROWS)
    access = Access(pems / "ca.pem", tokens=True)
    own = hr.TLS(None, pems / "own.pem", pems / "own.key")
    started = Service(store_config(str(tmp_path / "lake")), [SECURE], own, access, token_listen=[SECURE])
    yield started
    started.stop()


def shown(url: str, old: Authority, new: Authority) -> str:
    """Whose certificate a service shows to who connects now."""
    host, port = url.removeprefix("grpc+tls://").split(":")
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection((host, int(port)), 5) as plain, context.wrap_socket(plain) as secure:
        told = x509.load_der_x509_certificate(secure.getpeercert(binary_form=True) or b"")
    (name,) = told.issuer.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return str(name.value)


def renewed(service: Service, is_done: Callable[[], bool]) -> None:
    service.renew()
    deadline = time.monotonic() + 20
    while True:
        try:
            if is_done():
                return
        except OSError:
            pass  # nobody listens just now
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_who_is_there_stays_and_who_comes_sees_the_new_ones(service, pems, old, new) -> None:
    certified, tokened = service.listening
    annas = hr.TLS(old.cert, *old.issue("anna", ()))
    with hr.connect(certified, tls=annas, timeout=60) as store:
        reader = store.get_feature_group("numbers").read().to_reader(1000)
        rows = next(reader).num_rows
        put(pems, new)
        renewed(service, lambda: {shown(url, old, new) for url in service.listening} == {"new"})
        assert service.listening == [certified, tokened]
        rows += sum(batch.num_rows for batch in reader)
        assert rows == ROWS.num_rows, "the stream that had begun went on to its end"
    with pytest.raises(hr.TLSError):
        hr.connect(certified, tls=annas, timeout=60)
    with pytest.raises(hr.TLSError, match="refuses the certificate"):
        hr.connect(certified, tls=hr.TLS(new.cert, *old.issue("anna", ())), timeout=60)
    with hr.connect(certified, tls=hr.TLS(new.cert, *new.issue("anna", ())), timeout=60) as store:
        made = store.tokens.create()
        assert store.get_feature_group("numbers").read(limit=5).to_arrow().num_rows == 5
    with hr.connect(tokened, tls=hr.TLS(new.cert), token=made.text, timeout=60) as store:
        assert store.get_feature_group("numbers").read(limit=5).to_arrow().num_rows == 5


@pytest.mark.parametrize(
    "broken", ["torn cert", "torn key", "torn ca", "other key", "no cert", "no ca", "text"]
)
def test_what_cannot_be_used_leaves_all_as_it_was(service, pems, old, new, caplog, broken) -> None:
    torn = b"-----BEGIN {}-----\ntorn\n-----END {}-----\n"
    match broken:
        case "torn cert" | "torn ca":
            name = "own.pem" if "cert" in broken else "ca.pem"
            (pems / name).write_bytes(torn.replace(b"{}", b"CERTIFICATE"))
        case "torn key":
            (pems / "own.key").write_bytes(torn.replace(b"{}", b"PRIVATE KEY"))
        case "other key":
            (pems / "own.key").write_bytes(new.issue("own")[1].read_bytes())
        case "no cert" | "no ca":
            (pems / ("own.pem" if "cert" in broken else "ca.pem")).unlink()
        case "text":
            (pems / "own.pem").write_text("not a certificate")
    with caplog.at_level(logging.ERROR):
        renewed(service, lambda: "stay as they were" in caplog.text)
    annas = hr.TLS(old.cert, *old.issue("anna", ()))
    hr.connect(service.listening[0], tls=annas, timeout=60).close()
    assert "PRIVATE" not in caplog.text
    put(pems, new)
    renewed(service, lambda: shown(service.listening[0], old, new) == "new")


def test_clients_live_through_it(service, pems, old, new) -> None:
    """Their authorities are those of both; each call succeeds, or says that it may be tried again."""
    both = pems / "both.pem"
    both.write_bytes(old.cert.read_bytes() + new.cert.read_bytes())
    made = hr.connect(service.listening[0], tls=hr.TLS(old.cert, *old.issue("anna", ()))).tokens.create()
    ending = threading.Event()
    failed: list[Exception] = []
    done: list[int] = []

    def call(store: hr.FeatureStore) -> None:
        while not ending.is_set():
            try:
                assert store.get_feature_group("numbers").name == "numbers"
                done.append(1)
            except Exception as error:
                failed.append(error)

    tls = hr.TLS(both)
    stores = [hr.connect(service.listening[1], tls=tls, token=made.text, timeout=60) for _ in range(3)]
    threads = [threading.Thread(target=call, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    try:
        for authority in (new, old, new, old):
            put(pems, authority)
            renewed(service, lambda name=authority.cert.stem: shown(service.listening[1], old, new) == name)
            deadline, calls = time.monotonic() + 20, len(done)
            while len(done) < calls + 20:
                assert time.monotonic() < deadline
                time.sleep(0.01)
    finally:
        ending.set()
        for thread in threads:
            thread.join()
    for store in stores:
        store.close()
    assert [error for error in failed if not getattr(error, "retryable", False)] == []


def test_nothing_is_left_of_those_before(service, pems, old, new) -> None:
    for authority in (new, old):
        put(pems, authority)
        renewed(service, lambda name=authority.cert.stem: shown(service.listening[1], old, new) == name)
    names = [thread.name for thread in threading.enumerate()]
    before = names.count("headrace-watch")
    for authority in (new, old, new):
        put(pems, authority)
        renewed(service, lambda name=authority.cert.stem: shown(service.listening[1], old, new) == name)
    deadline = time.monotonic() + 20
    while True:
        names = [thread.name for thread in threading.enumerate()]
        if names.count("headrace-watch") <= before and names.count("headrace-leaving") == 0:
            break
        assert time.monotonic() < deadline, names
        time.sleep(0.05)


def test_a_touched_file_is_no_new_one(service, pems, old, new) -> None:
    server = service._entrances[0]._server
    os.utime(pems / "own.pem")
    service.renew()
    time.sleep(0.3)
    assert service._entrances[0]._server is server


@pytest.mark.parametrize("by", ["itself", "signal"])
def test_a_service_of_its_own(serve: Callable[..., Server], pems, old, new, by) -> None:
    put(pems, old)
    server = serve(
        None, "--tls-cert", f"{pems}/own.pem", "--tls-key", f"{pems}/own.key", listen="grpc+tls://127.0.0.1:0"
    )
    assert shown(server.url, old, new) == "old"
    put(pems, new)
    start = time.monotonic()
    if by == "signal":
        server.process.send_signal(signal.SIGHUP)
    while True:
        try:
            if shown(server.url, old, new) == "new":
                break
        except OSError:
            pass
        assert time.monotonic() - start < (20 if by == "itself" else 10)
        time.sleep(0.02)
    assert server.stop() == 0
    (line,) = server.log.read_text().splitlines()
    assert line.endswith("INFO headrace.service: new certificates are shown")
