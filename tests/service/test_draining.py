"""How a service ends: no new queries, time for those under way, and then an end."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import headrace as hr
from conftest import Server
from servers.daemon import free_ports
from service.test_health import get

SLOW = "SELECT count(*) AS n FROM big AS a JOIN big AS b ON a.id % 1000 = b.id % 1000 JOIN big AS c ON a.id % 999 = c.id % 999"
ROWS = 400_000


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("drained") / "lake"
    with hr.connect(root) as store:
        big = store.create_feature_group("big", primary_key=["id"])
        big.insert(pa.table({"id": range(ROWS), "s": ["x" * 50] * ROWS}), mode="append")
    return root


@pytest.fixture
def start(lake: Path, serve: Callable[..., Server], unused_port: int) -> Callable[[float], Server]:
    return lambda seconds: serve(
        lake, "--drain-seconds", str(seconds), "--http", f"http://127.0.0.1:{unused_port}"
    )


@pytest.fixture
def unused_port() -> int:
    return free_ports(1)[0]


@pytest.fixture
def ready(unused_port: int) -> Callable[[], int]:
    return lambda: get(f"http://127.0.0.1:{unused_port}/ready")[0]


def until(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_what_runs_finishes_and_nothing_new_begins(start, ready) -> None:
    server = start(60)
    with server.connect(timeout=60) as store:
        big = store.get_feature_group("big")
        assert ready() == 200
        batches: Iterator[pa.RecordBatch] = iter(big.read().to_reader(1_000))
        rows = next(batches).num_rows
        server.process.send_signal(signal.SIGTERM)
        until(lambda: ready() == 503)
        for refused in (lambda: big.read().to_arrow(), lambda: big.insert(pa.table({"id": [1], "s": ["x"]}))):
            with pytest.raises(hr.Busy, match="about to stop") as caught:
                refused()
            assert caught.value.retryable
            assert 1 <= caught.value.retry_after <= 60
        health = store.health()
        assert (health.ready, health.problems) == (False, ("the service is about to stop",))
        assert server.process.poll() is None
        assert rows + sum(batch.num_rows for batch in batches) == ROWS
        assert server.process.wait(10) == 0
    assert server.log.read_text() == ""


def written(store: hr.FeatureStore, name: str, between: Callable[[], object]) -> hr.Commit:
    """Two rows that are given one by one, with something done between them."""
    group = store.create_feature_group(name, primary_key=["id"], schema=pa.schema({"id": pa.int64()}))

    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"id": [1]})
        between()
        yield pa.record_batch({"id": [2]})

    return group.insert(pa.RecordBatchReader.from_batches(group.schema, batches()), mode="append")


def held(lake: Path, name: str) -> tuple[list[int], int]:
    """The ids in a group, and how many commits it has."""
    with hr.connect(lake) as store:
        group = store.get_feature_group(name)
        return sorted(group.read().to_arrow()["id"].to_pylist()), len(group.history())


def test_a_write_under_way_finishes(lake, start, ready) -> None:
    server = start(60)

    def stop() -> None:
        until(store.queries.list)
        server.process.send_signal(signal.SIGTERM)
        until(lambda: ready() == 503)

    with server.connect(timeout=60) as store:
        assert written(store, "finished", stop).rows_inserted == 2
    assert server.process.wait(10) == 0
    assert held(lake, "finished") == ([1, 2], 2)


def test_a_write_that_does_not_finish_changes_nothing(lake, start) -> None:
    server = start(1)

    def stop() -> None:
        until(store.queries.list)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(10) == 0

    with server.connect(timeout=60) as store, pytest.raises(hr.HeadraceError) as caught:
        written(store, "unfinished", stop)
    assert isinstance(caught.value, hr.Cancelled | hr.Unavailable), repr(caught.value)
    assert held(lake, "unfinished") == ([], 1)


def test_what_does_not_finish_is_ended_and_told(start) -> None:
    server = start(1)
    failures: list[hr.HeadraceError] = []
    with server.connect(timeout=60) as store:

        def read() -> None:
            with pytest.raises(hr.HeadraceError) as caught:
                store.sql(SLOW).to_arrow()
            failures.append(caught.value)

        asked = threading.Thread(target=read)
        asked.start()
        until(store.queries.list)
        begun = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        asked.join(20)
        assert server.process.wait(10) == 0
    assert 0.9 < time.monotonic() - begun < 6
    assert [(type(error), error.message) for error in failures] == [(hr.Cancelled, "the service stops")]
    assert "ended calls that were still running" in server.log.read_text()


@pytest.mark.parametrize("seconds", [0.05, 0.2, 0.5])
def test_a_second_signal_to_an_idle_one_is_no_failure(start, seconds) -> None:
    server = start(60)
    server.process.send_signal(signal.SIGTERM)
    time.sleep(seconds)
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(10) in (0, 1)


def test_a_second_signal_ends_it_at_once(start) -> None:
    server = start(600)
    with server.connect(timeout=60) as store:
        batches = iter(store.get_feature_group("big").read().to_reader(1_000))
        next(batches)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        assert server.process.poll() is None
        begun = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(10) == 1
        assert time.monotonic() - begun < 2
    assert "ended at once" in server.log.read_text()
