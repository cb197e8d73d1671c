"""What callers send is bounded before it is all there."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import headrace as hr
from headrace import protocol
from headrace.config import store_config
from headrace.service.limits import Limits
from headrace.wiring import Service

NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
BATCH = pa.table(
    {
        "id": [1] * 65_536,
        "at": pa.array([NOON] * 65_536, pa.timestamp("us", "UTC")),
        "text": ["x" * 100] * 65_536,
    }
).to_batches()[0]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[hr.FeatureStore]:
    limits = Limits(memory=500_000_000, disk=50_000_000)
    service = Service(store_config(str(tmp_path / "lake")), ["grpc://127.0.0.1:0"], limits=limits)
    with hr.connect(service.listening[0], timeout=60) as connected:
        yield connected
    service.stop()


class Endless:
    """Batches until somebody has enough."""

    def __init__(self) -> None:
        self.sent = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        while self.sent < 1_000:
            self.sent += 1
            yield BATCH

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(BATCH.schema, iter(self))


def test_a_spine_takes_no_more_disk_than_a_query_may(store: hr.FeatureStore, tmp_path: Path) -> None:
    group = store.create_feature_group("g", primary_key=["id"], event_time="at")
    group.insert(pa.table({"id": [1], "at": [NOON], "x": [1]}))
    view = store.create_feature_view("v", group.select())
    spine = pa.Table.from_batches([BATCH])
    prepared = view.batch_data(spine=spine)._prepared
    endless = Endless()
    with pytest.raises(hr.LimitExceeded, match="bytes of disk"):
        list(store._backend._wire.exchange(protocol.ReadCommand(prepared), endless.reader()))
    assert endless.sent < 200
    assert store.queries.list() == []
    assert not list((tmp_path / "lake" / ".headrace").rglob("*.arrow"))
    assert view.batch_data(spine=spine).to_arrow()["x"].to_pylist() == [1] * 65_536


def test_rows_of_a_spine_are_no_more_than_the_bytes_that_were_sent(store: hr.FeatureStore) -> None:
    """The engine has numbers, times and keys for each, also of columns of nulls, which take none on the way."""
    group = store.create_feature_group("g", primary_key=["id"], event_time="at")
    group.insert(pa.table({"id": [1], "at": [NOON], "x": [1]}))
    view = store.create_feature_view("v", group.select())
    few, many = (pa.table({"id": pa.nulls(n), "at": pa.nulls(n)}) for n in (10, 10_000_000))
    assert view.training_data(spine=few).to_arrow()["x"].null_count == 10
    with pytest.raises(hr.LimitExceeded, match="rows and 0 bytes of values"):
        view.training_data(spine=many).to_arrow()


def test_the_time_in_which_a_spine_comes_is_the_callers(tmp_path: Path) -> None:
    config = store_config(str(tmp_path / "timed"))
    service = Service(config, ["grpc://127.0.0.1:0"], limits=Limits(memory=500_000_000, seconds=3.0))
    with hr.connect(service.listening[0], timeout=60) as store:
        group = store.create_feature_group("g", primary_key=["id"], event_time="at")
        group.insert(pa.table({"id": [1], "at": [NOON], "x": [1]}))
        spine = pa.table({"id": [1], "at": [NOON]})
        prepared = store.create_feature_view("v", group.select()).batch_data(spine=spine)._prepared

        def slowly() -> Iterator[pa.RecordBatch]:
            for _ in range(4):
                time.sleep(1)
                yield from spine.to_batches()

        rows = pa.RecordBatchReader.from_batches(spine.schema, slowly())
        found = list(store._backend._wire.exchange(protocol.ReadCommand(prepared), rows))
        assert sum(batch.num_rows for batch in found) == 4
    service.stop()


def test_rows_to_insert_take_no_more_either(store: hr.FeatureStore) -> None:
    group = store.create_feature_group("g", primary_key=["id"], event_time="at")
    endless = Endless()
    with pytest.raises(hr.LimitExceeded, match="bytes of disk"):
        group.insert(endless.reader(), mode="append")
    assert endless.sent < 200
    assert group.history() == []


@pytest.mark.parametrize("ask", ["list_feature_groups", "list_feature_views"])
def test_patterns_are_no_longer_than_names(store: hr.FeatureStore, ask: str) -> None:
    group = store.create_feature_group("g", primary_key=["id"])
    group.insert(pa.table({"id": [1]}))
    store.create_feature_view("v", group.select("id"))
    with pytest.raises(hr.InvalidArgument, match="longer than any name"):
        getattr(store, ask)(name="[" * 20_000)
    with pytest.raises(hr.InvalidArgument, match="is refused"):
        getattr(store, ask)(search="word " * 20_000)
