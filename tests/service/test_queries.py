"""What a service does now: seen, stopped, and refused where there is no room."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import headrace as hr
from headrace.config import store_config
from headrace.service.admission import Admission
from headrace.service.limits import Limits
from headrace.service.queries import Queries
from headrace.wiring import Service

ROWS = 400_000
SLOW = "SELECT count(*) AS n FROM big AS a JOIN big AS b ON a.id % 1000 = b.id % 1000 JOIN big AS c ON a.id % 999 = c.id % 999"


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., hr.FeatureStore]]:
    services: list[Service] = []
    stores: list[hr.FeatureStore] = []

    def start(concurrency: int | None = None) -> hr.FeatureStore:
        services.append(
            Service(store_config(str(tmp_path / "lake")), ["grpc://127.0.0.1:0"], concurrency=concurrency)
        )
        stores.append(hr.connect(services[-1].listening[0], timeout=60))
        big = stores[-1].create_feature_group("big", primary_key=["id"])
        big.insert(pa.table({"id": range(ROWS), "s": ["x" * 50] * ROWS}))
        return stores[-1]

    yield start
    for store in stores:
        store.close()
    for service in services:
        service.stop()


def until(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Asked(threading.Thread):
    """A read by itself, and what became of it."""

    def __init__(self, read: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self._read = read
        self.failure: hr.HeadraceError | None = None
        self.start()

    def run(self) -> None:
        try:
            self._read()
        except hr.HeadraceError as error:
            self.failure = error


def test_one_that_runs_is_seen_and_stopped(serve) -> None:
    store = serve()
    assert store.queries.list() == []
    asked = Asked(store.sql(SLOW).to_arrow)
    until(store.queries.list)
    (query,) = store.queries.list()
    assert (query.kind, query.state, query.rows) == ("read", "running", 0)
    start = time.monotonic()
    store.queries.cancel(query.id)
    asked.join(10)
    assert time.monotonic() - start < 5
    assert type(asked.failure) is hr.Cancelled
    assert store.queries.list() == []
    with pytest.raises(hr.NotFound, match="no query"):
        store.queries.cancel(query.id)


def test_one_that_waits_is_stopped(serve) -> None:
    store = serve(1)
    running = Asked(store.sql(SLOW).to_arrow)
    until(store.queries.list)
    waiting = Asked(store.get_feature_group("big").read().to_arrow)
    until(lambda: len(store.queries.list()) == 2)
    first, second = store.queries.list()
    assert (first.state, second.state) == ("running", "waiting")
    store.queries.cancel(second.id)
    waiting.join(5)
    assert type(waiting.failure) is hr.Cancelled
    store.queries.cancel(first.id)
    running.join(5)
    assert store.get_feature_group("big").read(["id"]).to_arrow().num_rows == ROWS


def test_one_whose_rows_nobody_takes_makes_room(serve) -> None:
    store = serve(1)
    group = store.get_feature_group("big")
    batches = iter(group.read().to_reader(1_000))
    rows = next(batches).num_rows
    assert group.read(["id"]).to_arrow().num_rows == ROWS
    assert [query.state for query in store.queries.list()] == ["paused"]
    assert rows + sum(batch.num_rows for batch in batches) == ROWS


def test_one_that_stands_still_is_stopped_and_told_so(serve) -> None:
    store = serve(1)
    batches = iter(store.get_feature_group("big").read().to_reader(1_000))
    next(batches)
    (query,) = store.queries.list()
    store.queries.cancel(query.id)
    until(lambda: store.queries.list() == [])
    with pytest.raises(hr.Cancelled):
        sum(batch.num_rows for batch in batches)


def test_rows_that_come_from_the_same_service(serve) -> None:
    """Who reads and writes at once needs two turns, and there is one."""
    store = serve(1)
    copy = store.create_feature_group("copy", primary_key=["id"])
    copy.insert(store.get_feature_group("big").read().to_reader())
    assert copy.read(["id"]).to_arrow().num_rows == ROWS


def test_an_insert_is_stopped(serve) -> None:
    store = serve()
    group = store.create_feature_group("slow", primary_key=["id"])
    schema = pa.schema({"id": pa.int64()})
    go_on = threading.Event()

    def rows() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"id": [1]}, schema)
        go_on.wait(10)
        yield pa.record_batch({"id": [2]}, schema)

    asked = Asked(lambda: group.insert(pa.RecordBatchReader.from_batches(schema, rows())))
    until(lambda: [q for q in store.queries.list() if q.rows == 1])
    (query,) = store.queries.list()
    assert query.kind == "insert"
    store.queries.cancel(query.id)
    go_on.set()
    asked.join(10)
    assert isinstance(asked.failure, hr.HeadraceError)
    assert group.history() == []


def test_to_look_whether_it_is_wanted_stops_nothing() -> None:
    """All calls wait while the watch looks, and to stop one may take a second."""
    queries = Queries(Admission(1, 1, 1), Admission(1, 1, 1), Limits(seconds=0.01))
    query = queries.start("anna", "p", "read", lambda: False)
    query.stops(lambda: pytest.fail("it was stopped"))
    time.sleep(0.05)
    assert query.is_unwanted()
    with pytest.raises(hr.LimitExceeded):
        query.check()
    query.close()


def test_where_there_is_no_room(serve) -> None:
    store = serve(1)
    asked = [Asked(store.sql(SLOW).to_arrow) for _ in range(12)]
    until(lambda: sum(one.failure is not None for one in asked) == 7)  # one runs, four wait
    refused = [one.failure for one in asked if one.failure]
    assert {type(error) for error in refused} == {hr.Busy}
    assert all(error.retry_after > 0 for error in refused)
    assert len(store.queries.list()) == 5
    for query in store.queries.list()[::-1]:
        store.queries.cancel(query.id)
    for one in asked:
        one.join(10)
    assert {type(one.failure) for one in asked} == {hr.Busy, hr.Cancelled}


def test_many_clients_at_once(serve) -> None:
    store = serve(2)
    group = store.get_feature_group("big")
    found: list[int] = []
    asked = [
        Asked(lambda n=n: found.append(group.read(["id"], group["id"] < n).to_arrow().num_rows))
        for n in range(16)
    ]
    for one in asked:
        one.join(60)
    assert {type(one.failure) for one in asked} <= {type(None), hr.Busy}
    assert set(found) <= set(range(16))
    assert len(found) >= 8
    assert store.queries.list() == []
