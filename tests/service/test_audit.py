"""The audit log: a line for each call, refused ones too, and no call without one."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headrace as hr
from headrace.config import store_config
from headrace.service.audit import AuditLog
from headrace.service.door import Access
from headrace.service.record import CallRecord
from headrace.wiring import Service
from service.certificates import Authority


def lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[Path], hr.FeatureStore]]:
    services: list[Service] = []
    stores: list[hr.FeatureStore] = []

    def start(file: Path) -> hr.FeatureStore:
        config = store_config(str(tmp_path / "lake"))
        services.append(Service(config, ["grpc://127.0.0.1:0"], audit_log=file))
        stores.append(hr.connect(services[-1].listening[0], project="shop", timeout=60))
        return stores[-1]

    yield start
    for store in stores:
        store.close()
    for service in services:
        service.stop()


def test_a_line_says_who_did_what_and_no_value(serve, tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    store = serve(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    people = store.create_feature_group("people", primary_key=["id"])
    people.insert(pa.table({"id": [1, 2], "name": ["topsecret", "b"]}))
    people.filter(people["name"] == "topsecret").read().to_arrow()
    store.sql("SELECT * FROM people WHERE name = 'topsecret'").to_arrow()
    told = lines(file)
    assert [line["call"] for line in told] == [
        "hello", "create_group", "insert", "get_group", "prepare", "read", "prepare", "read",
    ]  # fmt: skip
    assert {(line["project"], line["user"], line["outcome"]) for line in told} == {("shop", None, "OK")}
    read = told[5]
    assert (read["feature_groups"], read["rows"], read["files_scanned"]) == (["people@v1"], 1, 1)
    assert {line["peer"].rsplit(":", 1)[0] for line in told} == {"ipv4:127.0.0.1"}
    assert "topsecret" not in file.read_text()


def test_a_query_that_is_refused_names_its_tables(serve, tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    store = serve(file)
    store.create_feature_group("people", primary_key=["id"]).insert(pa.table({"id": [1]}))
    for sql, names in {
        "SELECT * FROM secrets JOIN people USING (id)": ["secrets", "people"],
        "SELECT nothing FROM people": ["people"],
        "SELECT * FROM other.secrets AT (VERSION => 7)": ["other.secrets"],
        "SELECT getenv('PATH') FROM people": [],
    }.items():
        with pytest.raises((hr.NotFound, hr.SqlRejected)):
            store.sql(sql).to_arrow()
        line = lines(file)[-1]
        assert sorted(line["feature_groups"]) == sorted(names)
        assert line["outcome"] in ("NOT_FOUND", "SQL_REJECTED")


def test_it_follows_a_rotation_and_keeps_what_is_there(serve, tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    file.write_text('{"call":"before"}\n')
    file.chmod(0o640)
    store = serve(file)
    file.rename(tmp_path / "audit.1")
    store.list_feature_groups()
    assert [line["call"] for line in lines(tmp_path / "audit.1")] == ["before", "hello"]
    assert [line["call"] for line in lines(file)] == ["list_groups"]
    assert stat.S_IMODE((tmp_path / "audit.1").stat().st_mode) == 0o640


def test_no_call_is_answered_that_nobody_could_tell_of(
    serve, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "audit"
    folder.mkdir()
    store = serve(folder / "log")
    (folder / "log").unlink()
    folder.rmdir()
    store.list_feature_groups()  # whose line is the first that cannot be written
    with pytest.raises(hr.Unavailable, match="audit log cannot be written"):
        store.list_feature_groups()
    health = store.health()
    assert not health.ready
    assert "audit log" in health.problems[0]
    assert sum('"call":"list_groups"' in record.getMessage() for record in caplog.records) == 2
    folder.mkdir()
    store.list_feature_groups()
    first, second = lines(folder / "log")
    assert (first["missing"], second["call"]) == (3, "list_groups")


def test_a_full_disk_tears_no_line(tmp_path: Path) -> None:
    log = AuditLog(Path("/dev/full"))
    log.keep(CallRecord("r", "default"))
    with pytest.raises(hr.Unavailable):
        log.check()
    log.close()


def test_a_file_that_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(hr.InvalidArgument, match="audit log"):
        Service(
            store_config(str(tmp_path / "lake")), ["grpc://127.0.0.1:0"], audit_log=tmp_path / "no" / "log"
        )


def test_who_is_refused_is_told_too(tmp_path: Path) -> None:
    pems = tmp_path / "pems"
    pems.mkdir()
    own, clients = Authority(pems, "own"), Authority(pems, "clients")
    service = Service(
        store_config(str(tmp_path / "lake")),
        ["grpc+tls://127.0.0.1:0"],
        hr.TLS(None, *own.issue("service")),
        Access(clients.cert, r"([a-z]+)\.users"),
        audit_log=tmp_path / "log",
    )
    try:
        for names in (("anna.users",), ("elsewhere",)):
            shown = () if names is None else clients.issue("client", names)
            expected = pytest.raises(hr.Unauthenticated) if names != ("anna.users",) else nullcontext()
            with expected:
                hr.connect(service.listening[0], tls=hr.TLS(own.cert, *shown), timeout=60).close()
    finally:
        service.stop()
    told = [(line["user"], line["outcome"], line["call"]) for line in lines(tmp_path / "log")]
    assert told == [("anna", "OK", "hello"), (None, "UNAUTHENTICATED", "hello")]
    assert all(line["peer"].startswith("ipv4:127.0.0.1:") for line in lines(tmp_path / "log"))


def test_a_process_writes_whole_lines(tmp_path: Path) -> None:
    """Two of them, as when a service takes over from another."""
    one, two = AuditLog(tmp_path / "log"), AuditLog(tmp_path / "log")
    for number in range(50):
        (one if number % 2 else two).keep(CallRecord(str(number), "default"))
    assert [line["request_id"] for line in lines(tmp_path / "log")] == [str(n) for n in range(50)]
    one.close()
    two.close()
