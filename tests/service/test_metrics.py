"""What a service counts and measures."""

from __future__ import annotations

import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from prometheus_client.parser import text_string_to_metric_families

import headrace as hr
from headrace.config import store_config
from headrace.wiring import Service

SLOW = "SELECT count(*) AS n FROM big AS a JOIN big AS b ON a.id % 1000 = b.id % 1000 JOIN big AS c ON a.id % 999 = c.id % 999"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    config = store_config(str(tmp_path_factory.mktemp("store") / "lake"))
    started = Service(config, ["grpc://127.0.0.1:0"], concurrency=1, http="http://127.0.0.1:0")
    yield started
    started.stop()


@pytest.fixture(scope="module")
def store(service: Service) -> Iterator[hr.FeatureStore]:
    with hr.connect(service.listening[0], timeout=60) as connected:
        big = connected.create_feature_group("big", primary_key=["id"])
        for start in (0, 200_000):
            big.insert(pa.table({"id": range(start, start + 200_000)}), mode="append")
        yield connected


def samples(service: Service) -> dict[str, float]:
    with urllib.request.urlopen(f"{service.http}/metrics", timeout=20) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        text = answer.read().decode()
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f"{k}={v}" for k, v in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


def test_calls_rows_and_files(service: Service, store: hr.FeatureStore) -> None:
    big = store.get_feature_group("big")
    before = samples(service)
    assert big.filter(big["id"] < 10).read().to_arrow().num_rows == 10
    with pytest.raises(hr.NotFound):
        store.get_feature_group("a_group_of_this_name")
    after = samples(service)

    def more(name: str) -> float:
        return after[name] - before.get(name, 0.0)

    assert more("headrace_call_seconds_count{kind=read,outcome=ok}") == 1
    assert more("headrace_call_seconds_bucket{kind=read,le=+Inf,outcome=ok}") == 1
    assert more("headrace_call_seconds_count{kind=get_group,outcome=error}") == 1
    assert more("headrace_errors_total{code=NOT_FOUND}") == 1
    assert more("headrace_rows_total{kind=read}") == 10
    assert more("headrace_bytes_total{direction=sent}") > 80
    assert more("headrace_files_total{how=scanned}") == 1
    assert more("headrace_files_total{how=pruned}") == 1
    assert more("headrace_wait_seconds_count") == 1
    assert after["headrace_rows_total{kind=insert}"] == 400_000
    assert after["process_resident_memory_bytes"] > 10_000_000
    assert after["headrace_engine_memory_bytes"] >= 0
    assert after["headrace_engine_spilled_bytes"] == 0
    assert after["headrace_draining"] == 0
    assert not any("a_group_of_this_name" in name or "big" in name for name in after)


def test_who_runs_who_waits_and_who_is_refused(service: Service, store: hr.FeatureStore) -> None:
    before = samples(service)

    def read() -> None:
        with pytest.raises((hr.Cancelled, hr.Busy)):
            store.sql(SLOW).to_arrow()

    asked = [threading.Thread(target=read) for _ in range(6)]  # four may wait, of one caller
    for one in asked:
        one.start()
    deadline = time.monotonic() + 20
    while samples(service)["headrace_sql_memory_bytes"] < 10_000_000:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert samples(service)["headrace_sql_processes"] >= 1
    while samples(service).get("headrace_rejected_total", 0) < 1:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    now = samples(service)
    assert now["headrace_queries_running"] == 1
    assert now["headrace_queries_waiting"] == 4
    assert now["headrace_call_seconds_count{kind=read,outcome=busy}"] == 1
    for query in store.queries.list()[::-1]:
        store.queries.cancel(query.id)
    for one in asked:
        one.join(20)
    after = samples(service)
    assert after["headrace_cancelled_total"] - before["headrace_cancelled_total"] == 5
    assert (after["headrace_queries_running"], after["headrace_queries_waiting"]) == (0, 0)


def test_what_nobody_knows_makes_no_new_label(service: Service, store: hr.FeatureStore) -> None:
    with pytest.raises(hr.HeadraceError):
        store._backend._wire.ask("an invented action", {}, None)  # type: ignore[arg-type]
    found = samples(service)
    assert found["headrace_call_seconds_count{kind=unknown,outcome=error}"] == 1
    assert not any("invented" in name for name in found)


def test_two_services_of_a_process_count_apart(service: Service, tmp_path: Path) -> None:
    other = Service(store_config(str(tmp_path / "lake")), ["grpc://127.0.0.1:0"], http="http://127.0.0.1:0")
    try:
        assert "headrace_call_seconds_count{kind=hello,outcome=ok}" not in samples(other)
    finally:
        other.stop()
