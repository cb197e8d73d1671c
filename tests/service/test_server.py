"""What a service does when its callers do not wait for its answers."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.flight as fl
import pytest

import headrace as hr
from headrace import protocol
from headrace.config import store_config
from headrace.service.admission import Admission
from headrace.service.door import Access, Door
from headrace.service.health import Health
from headrace.service.queries import Queries
from headrace.service.record import Records
from headrace.service.server import Server
from headrace.service.store import Store

ROWS = pa.table({"id": [1, 2], "value": [1.0, 2.0]})
PATIENCE = 3.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(store_config(str(tmp_path / "lake"))) as opened:
        yield opened


@pytest.fixture
def server(store: Store) -> Iterator[Server]:
    queries = Queries(Admission(4, 32, 30), Admission(4, 32, 30))
    started = Server(
        store, "grpc://127.0.0.1:0", None, Door(Access()), queries, Records(), Health(store, queries)
    )
    yield started
    started.shutdown()


@pytest.fixture
def client(server: Server) -> Iterator[hr.FeatureStore]:
    with hr.connect(f"grpc://127.0.0.1:{server.port}") as connected:
        connected.create_feature_group("numbers", primary_key=["id"]).insert(ROWS)
        yield connected


def impatient() -> fl.FlightCallOptions:
    headers = {protocol.VERSION_HEADER: str(protocol.PROTOCOL_VERSION)}
    return fl.FlightCallOptions(PATIENCE, headers=[(k.encode(), v.encode()) for k, v in headers.items()])


def test_a_writer_that_does_not_wait_is_no_failure(
    store: Store, server: Server, client: hr.FeatureStore, caplog: pytest.LogCaptureFixture
) -> None:
    log = store.table(store.registry.get_group("default", "numbers", 1))
    command = protocol.encode(protocol.InsertCommand("numbers@v1", "upsert", "k"))
    with caplog.at_level(logging.INFO, "headrace"), fl.FlightClient(("127.0.0.1", server.port)) as flight:
        with log.writing:
            writer, answers = flight.do_put(
                fl.FlightDescriptor.for_command(command), ROWS.schema, impatient()
            )
            writer.write_table(ROWS)
            writer.write_metadata(protocol.complete(ROWS.num_rows))
            writer.done_writing()
            assert answers.read() is None
            with pytest.raises(fl.FlightTimedOutError):
                writer.close()
        numbers = client.get_feature_group("numbers")
        deadline = time.monotonic() + 30
        while len(numbers.history()) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        server.shutdown()  # waits for the answer that nobody takes
    assert [record.getMessage() for record in caplog.records] == []
