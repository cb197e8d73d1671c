"""What is kept of each call: its kind, names, rows, files, phases and end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.flight as fl
import pytest

import headrace as hr
from headrace import protocol
from headrace.config import store_config
from headrace.service.admission import Admission
from headrace.service.door import Access, Door
from headrace.service.health import Health
from headrace.service.named import names_in
from headrace.service.queries import Queries
from headrace.service.record import OK, CallRecord, Records
from headrace.service.server import Server
from headrace.service.store import Store

ROWS = 100_000


class Kept:
    """The records of a service, and who waits for them."""

    def __init__(self) -> None:
        self.records: list[CallRecord] = []

    def during(self, act: Callable[[], object], *kinds: str) -> list[CallRecord]:
        """Those of the calls that this makes; a stream that was left may end a little later."""
        self.records.clear()
        act()
        deadline = time.monotonic() + 10
        while len(self.records) < len(kinds):
            assert time.monotonic() < deadline, self.records
            time.sleep(0.01)
        assert tuple(record.kind for record in self.records) == kinds
        return self.records


@pytest.fixture(scope="module")
def kept() -> Kept:
    return Kept()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, kept: Kept) -> Iterator[Server]:
    with Store(store_config(str(tmp_path_factory.mktemp("store") / "lake"))) as store:
        queries = Queries(Admission(4, 32, 30), Admission(4, 32, 30))
        records, health = Records((kept.records.append,)), Health(store, queries)
        started = Server(store, "grpc://127.0.0.1:0", None, Door(Access()), queries, records, health)
        yield started
        started.shutdown()


@pytest.fixture(scope="module")
def store(server: Server) -> Iterator[hr.FeatureStore]:
    with hr.connect(f"grpc://127.0.0.1:{server.port}", timeout=60) as connected:
        big = connected.create_feature_group("big", primary_key=["id"])
        for start in (0, ROWS):
            big.insert(pa.table({"id": range(start, start + ROWS), "s": ["x" * 50] * ROWS}), mode="append")
        connected.create_feature_view("all_big", big)
        yield connected


def test_a_read_knows_its_rows_and_files(store: hr.FeatureStore, kept: Kept) -> None:
    big = store.get_feature_group("big")
    found = big.filter(big["id"] < 10)
    prepared, *reads = kept.during(lambda: found.read().to_arrow(), "prepare", "read")
    assert [p for p, *_ in prepared.phases()] == ["prepare"]
    (read,) = reads
    assert (read.rows, read.files, read.outcome) == (10, (1, 1), OK)
    assert read.names.groups == ("big@v1",)
    assert read.sent > 10 * 8
    phases = read.phases()
    assert [phase for phase, *_ in phases] == ["queue", "run", "stream"]
    assert all(start <= end for _, start, end in phases)
    assert phases[-1][2] == read.seconds
    assert 0 <= read.waited < read.seconds
    assert read.peer.startswith("ipv4:127.0.0.1:")


def test_several_streams_count_each_file_once(store: hr.FeatureStore, kept: Kept) -> None:
    big = store.get_feature_group("big")
    records = kept.during(lambda: big.read().to_arrow(), "prepare", "read", "read")
    assert sum(record.rows for record in records) == 2 * ROWS
    assert [record.files for record in records[1:]] == [(1, 0), (1, 0)]


def test_views_and_the_groups_beneath_them(store: hr.FeatureStore, kept: Kept) -> None:
    view = store.get_feature_view("all_big")
    prepared, *_ = kept.during(lambda: view.batch_data().to_arrow(), "prepare", "read", "read")
    assert prepared.names == (("big@v1",), ("all_big@v1",), ())


def test_sql_is_told_by_its_tables(store: hr.FeatureStore, kept: Kept) -> None:
    asked = "SELECT count(*) AS n FROM big WHERE s = 'a secret'"
    prepared, read = kept.during(lambda: store.sql(asked).to_arrow(), "prepare", "read")
    assert prepared.names.groups == read.names.groups == ("big@v1",)
    assert read.files == (2, 0)
    assert "secret" not in repr(kept.records)


def test_an_insert_knows_what_it_received(store: hr.FeatureStore, kept: Kept) -> None:
    group = store.create_feature_group("some", primary_key=["id"])
    insert, _ = kept.during(lambda: group.insert(pa.table({"id": range(1000)})), "insert", "get_group")
    assert (insert.rows, insert.outcome, insert.names.groups) == (1000, OK, ("some@v1",))
    assert insert.received >= 8000
    assert [phase for phase, *_ in insert.phases()] == ["queue", "run"]


def test_a_stream_that_is_left_is_cancelled(store: hr.FeatureStore, kept: Kept) -> None:
    # More than what sockets and gRPC hold of a stream that nobody reads.
    rows = 20 * ROWS
    huge = store.create_feature_group("huge", primary_key=["id"])
    huge.insert(pa.table({"id": range(rows), "s": ["x" * 50] * rows}), mode="append")

    def leave() -> None:
        batches = iter(huge.read().to_reader(1_000))
        next(batches)
        del batches

    _, read = kept.during(leave, "prepare", "read")
    assert read.outcome == "CANCELLED"
    assert 0 < read.rows < rows


def test_errors_are_told_by_their_codes(store: hr.FeatureStore, kept: Kept) -> None:
    def fail() -> None:
        with pytest.raises(hr.NotFound) as caught:
            store.get_feature_group("no_such")
        assert caught.value.request_id == kept.records[0].request_id

    (failed,) = kept.during(fail, "get_group")
    assert (failed.outcome, failed.names.groups) == ("NOT_FOUND", ("no_such",))


def test_a_grant_is_told_with_its_user(store: hr.FeatureStore, kept: Kept) -> None:
    (added,) = kept.during(lambda: store.grants.add("anna", "reader", group="big"), "add_grant")
    assert added.names == (("big",), (), ("anna",))


def call(server: Server, action: str, headers: dict[str, str]) -> None:
    options = fl.FlightCallOptions(10, headers=[(k.encode(), v.encode()) for k, v in headers.items()])
    with fl.FlightClient(("127.0.0.1", server.port)) as flight:
        list(flight.do_action(fl.Action(action, b"{}"), options))


def test_what_is_sent_cannot_forge_a_line(server: Server, kept: Kept) -> None:
    headers = {
        protocol.VERSION_HEADER: "1",
        protocol.REQUEST_HEADER: "x" * 500,
        protocol.PROJECT_HEADER: "a b",
    }
    with pytest.raises(fl.FlightError):
        call(server, "list_groups", headers)
    record = kept.records[-1]
    assert (record.request_id, record.project, record.outcome) == ("x" * 64, "a b", "INVALID_NAME")
    command = protocol.InsertCommand("a\nb\x1b[31m" + "c" * 999, "upsert", "key")
    (name,) = names_in("insert", command).groups
    assert name == "a\ufffdb\ufffd[31m" + "c" * (255 - 8)


def test_calls_that_are_none(server: Server, kept: Kept) -> None:
    with pytest.raises(fl.FlightError):
        call(server, "no such action", {protocol.VERSION_HEADER: "1"})
    assert (kept.records[-1].kind, kept.records[-1].outcome) == ("unknown", "UNSUPPORTED")
    assert len(kept.records[-1].request_id) == 16
    with pytest.raises(fl.FlightError):
        call(server, "hello", {})
    assert (kept.records[-1].kind, kept.records[-1].outcome) == ("hello", "UNSUPPORTED")
