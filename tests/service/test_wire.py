"""Clients that speak another protocol, or none: a typed error whatever they send, and a service that goes on."""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import os
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.flight as fl
import pytest

import headrace as hr
from conftest import Server, fresh
from headrace import protocol
from headrace.config import store_config
from headrace.model.query import Query, Source
from headrace.model.request import Prepared, ReadRequest
from headrace.registry.registry import Registry
from headrace.service.tickets import Tickets

SCHEMA = pa.schema({"id": pa.int64(), "value": pa.float64()})
GARBAGE = [b"", b"garbage", b"\xff\x00{", b"[]", b"{}", b"null", b'{"type":"other"}']
DELETE = {"ref": "numbers@v1", "idempotency_key": "k"}
TIMED = {"name": "timed", "version": 0, "primary_key": ["id"], "event_time": "t"}
NUMBERS = {"source": {"group": "numbers@v1"}}
CHANGES = {"source": {"group": "numbers@v1", "since": 0}}
HALF = {"type": "share", "low": 0.0, "high": 0.5}
NOT_TEXT = base64.b64encode(
    pa.schema({"column": pa.int64()}).serialize().to_pybytes().replace(b"column", b"\xff\xfe\xfd\xfc\xfb\xfa")
).decode()
EARLY = {"type": "span", "end": "2026-01-01T00:00:00Z"}
FIRST_REQUESTS = """
import sys, threading
import msgspec
from headrace import protocol
from headrace.errors import InvalidArgument
from headrace.model.definition import ViewDefinition
from headrace.model.request import ReadRequest
from headrace.service.received import decode as read

query = {"source": {"group": "a@v1"}, "steps": [{"step": "join", "right": {"source": {"group": "b@v1"}}}]}
request = {"kind": "query", "query": query, "point_in_time": {"limit": 1}}
bodies = {
    protocol.ReadCommand: {"type": "read", "prepared": {"request": request}},
    ReadRequest: request,
    ViewDefinition: {"name": "v", "version": 1, "query": query},
    protocol.GroupBody: {"definition": {"name": "g", "version": 1, "tags": {}}},
    protocol.SetTags: {"name": "g", "version": 1, "tags": {}},
    protocol.DeleteRows: {"ref": "g@v1", "idempotency_key": "k", "condition": None},
}

def decode(kind, body):
    start.wait()
    for _ in range(20):
        try:
            read(body, kind)
        except InvalidArgument:
            pass

sys.setswitchinterval(1e-6)
for kind, body in bodies.items():
    start = threading.Barrier(6)
    told = msgspec.json.encode(body)
    threads = [threading.Thread(target=decode, args=[kind, told]) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""
DEEP = b'{"kind":"query","query":' + b'{"source":' * 100_000


def joined(source: dict[str, Any]) -> dict[str, Any]:
    """A query that joins a source, which must be no such one."""
    return NUMBERS | {"steps": [{"step": "join", "right": {"source": source}, "prefix": "x_"}]}


@pytest.fixture(scope="module")
def project() -> str:
    return fresh("wire")


@pytest.fixture(scope="module")
def group(server: Server, project: str) -> Iterator[Any]:
    with server.connect(project=project) as store:
        made = store.create_feature_group("numbers", primary_key=["id"], schema=SCHEMA)
        made.insert(pa.table({"id": range(10), "value": [1.0] * 10}))
        yield made


@pytest.fixture(scope="module")
def ticket(group: Any) -> dict[str, Any]:
    return opened(group.read()._prepared.tickets[0])


def opened(ticket: bytes) -> dict[str, Any]:
    """What a ticket is for, which anybody can read."""
    return msgspec.json.decode(ticket[40:])


class Wire:
    """Calls of a client that is not ours; each gives the error that the service answered with."""

    def __init__(self, url: str, project: str, key: bytes) -> None:
        self.client = fl.FlightClient(url)
        self.key = key
        self.headers = {
            protocol.VERSION_HEADER: str(protocol.PROTOCOL_VERSION),
            protocol.PROJECT_HEADER: project,
            protocol.REQUEST_HEADER: "wire-1",
        }

    @property
    def options(self) -> fl.FlightCallOptions:
        headers = [(name.encode(), value.encode()) for name, value in self.headers.items()]
        return fl.FlightCallOptions(timeout=60, headers=headers)

    def act(self, action: str, body: object) -> Any:
        sent = body if isinstance(body, bytes) else msgspec.json.encode(body)
        return list(self.client.do_action(fl.Action(action, sent), self.options))

    def info(self, descriptor: fl.FlightDescriptor) -> Any:
        return self.client.get_flight_info(descriptor, self.options)

    def get(self, ticket: object) -> pa.Table:
        sent = ticket if isinstance(ticket, bytes) else self._sealed(msgspec.json.encode(ticket))
        return self.client.do_get(fl.Ticket(sent), self.options).read_all()

    def _sealed(self, command: bytes) -> bytes:
        """A ticket such as only a service of this store makes."""
        tickets = Tickets(self.key)
        told = struct.pack(">Q", int(time.time()) + 60) + command
        return tickets._sealed(None, self.headers[protocol.PROJECT_HEADER], told) + told

    def put(self, descriptor: fl.FlightDescriptor, *metadata: bytes, rows: int = 1) -> Any:
        writer, answers = self.client.do_put(descriptor, SCHEMA, self.options)
        try:
            writer.write_batch(pa.record_batch({"id": range(rows), "value": [1.0] * rows}, SCHEMA))
            for word in metadata:
                writer.write_metadata(word)
            writer.done_writing()
            return answers.read()
        finally:
            writer.close()

    def exchange(
        self, descriptor: fl.FlightDescriptor, schema: pa.Schema | None = SCHEMA, rows: pa.Table | None = None
    ) -> pa.Table:
        writer, reader = self.client.do_exchange(descriptor, self.options)
        try:
            if schema is not None:
                writer.begin(schema)
            if rows is not None:
                writer.write_table(rows)
            writer.done_writing()
            return reader.read_all()
        finally:
            writer.close()


@pytest.fixture
def wire(server: Server, project: str, group: Any) -> Iterator[Wire]:
    with contextlib.closing(Registry.open(store_config(str(server.root)).registry)) as registry:
        made = Wire(server.url, project, registry.secret("tickets"))
    yield made
    made.client.close()


def refused(call: Callable[..., Any], *arguments: Any, **options: Any) -> hr.HeadraceError:
    with pytest.raises((fl.FlightError, pa.ArrowException)) as caught:
        call(*arguments, **options)
    return protocol.decode_error(bytes(caught.value.extra_info))


def command(body: object) -> fl.FlightDescriptor:
    return fl.FlightDescriptor.for_command(body if isinstance(body, bytes) else protocol.encode(body))


@pytest.mark.parametrize("version", ["0", "2", "99", "", "one", "x" * 3000, None])
def test_another_protocol(wire: Wire, version: str | None) -> None:
    if version is None:
        del wire.headers[protocol.VERSION_HEADER]
    else:
        wire.headers[protocol.VERSION_HEADER] = version
    for call in (
        lambda: wire.act("hello", {"protocol": 2, "version": "9"}),
        lambda: wire.info(command(b"from the future")),
        lambda: wire.put(command(b"from the future")),
        lambda: wire.exchange(command(b"from the future")),
        *([lambda: wire.get(b"from the future")] if version else []),  # clients of others may
    ):
        error = refused(call)
        assert type(error) is hr.Unsupported
        assert "protocol" in error.message
        assert "same headrace version" in str(error.hint)
        assert error.request_id == "wire-1"


def test_a_client_without_any_header(wire: Wire) -> None:
    wire.headers = {}
    assert type(refused(wire.act, "hello", b"{}")) is hr.Unsupported


def test_an_action_of_a_newer_client(wire: Wire) -> None:
    error = refused(wire.act, "teleport", {})
    assert type(error) is hr.Unsupported
    assert "'teleport'" in error.message


def test_a_project_that_is_none(wire: Wire) -> None:
    wire.headers[protocol.PROJECT_HEADER] = "../up"
    assert type(refused(wire.act, "get_group", {"name": "numbers"})) is hr.InvalidName


@pytest.mark.parametrize("body", [*GARBAGE[:4], DEEP], ids=range(5))
def test_bodies_that_are_none(wire: Wire, body: bytes) -> None:
    for action in wire.client.list_actions(wire.options):
        if action.type == "CloseSession":  # which has nothing to say
            continue
        error = refused(wire.act, action.type, body)
        assert type(error) is hr.InvalidArgument
        assert "request" in error.message


@pytest.mark.parametrize("body", GARBAGE, ids=range(len(GARBAGE)))
def test_commands_and_tickets_that_are_none(wire: Wire, body: bytes) -> None:
    for call in (wire.info, wire.put, wire.exchange):
        assert type(refused(call, command(body))) is hr.InvalidArgument
    assert type(refused(wire.get, body)) is hr.Unauthenticated


def test_names_that_are_no_text(wire: Wire) -> None:
    keys = pa.BufferOutputStream()
    with pa.ipc.new_stream(keys, pa.schema({"identity": pa.int64()})) as stream:
        stream.write_table(pa.table({"identity": [1]}))
    spoiled = keys.getvalue().to_pybytes().replace(b"identity", b"ident\xff\xfey")
    body = DELETE | {"keys_ipc": base64.b64encode(spoiled).decode()}
    assert type(refused(wire.act, "delete_rows", body)) is hr.InvalidArgument
    assert type(refused(wire.act, "get_group", b'{"name":"\xff"}')) is hr.InvalidArgument


def test_a_path_where_a_command_is_due(wire: Wire) -> None:
    for call in (wire.info, wire.put, wire.exchange):
        assert type(refused(call, fl.FlightDescriptor.for_path("numbers"))) is hr.InvalidArgument


def test_arrow_data_that_is_none(wire: Wire) -> None:
    bytes_ = base64.b64encode(b"not Arrow at all").decode()
    definition = {"name": "other", "version": 0, "primary_key": ["id"]}
    for action, body in [
        ("create_group", {"definition": definition, "schema_ipc": bytes_}),
        ("delete_rows", {"ref": "numbers@v1", "idempotency_key": "k", "keys_ipc": bytes_}),
        (
            "explain",
            {"kind": "training", "query": {"source": {"group": "numbers@v1"}}, "spine_schema": bytes_},
        ),
    ]:
        assert type(refused(wire.act, action, body)) is hr.InvalidArgument, action


@pytest.mark.parametrize(
    ("action", "body", "error"),
    [
        ("get_group", {"name": "numbers", "version": -1}, hr.InvalidArgument),
        ("get_group", {"name": "numbers", "version": 2**70}, hr.InvalidArgument),
        ("get_group", {"name": "numbers", "version": "1"}, hr.InvalidArgument),
        ("get_group", {"name": "n" * 1000}, hr.NotFound),
        ("history", {"ref": "numbers@v1", "limit": -1}, hr.InvalidArgument),
        ("history", {"ref": "numbers@v1@v2"}, hr.InvalidName),
        ("outcome", {"ref": "numbers@v1", "idempotency_key": "", "call": "x"}, hr.InvalidArgument),
        ("outcome", {"ref": "numbers@v1", "idempotency_key": "k"}, hr.InvalidArgument),
        ("list_groups", {"tags": {f"t{i}": "x" for i in range(101)}}, hr.InvalidArgument),
        ("list_views", {"tags": {f"t{i}": "x" for i in range(5_000)}}, hr.InvalidArgument),
        (
            "create_group",
            {"definition": TIMED | {"tags": {f"t{i}": "" for i in range(101)}}},
            hr.InvalidArgument,
        ),
        ("explain", {"kind": "query", "query": NUMBERS, "spine_schema": NOT_TEXT}, hr.InvalidArgument),
        ("history", {"ref": "numbers@v1", "limit": 2**63}, hr.InvalidArgument),
        ("history", {"ref": "numbers@v1", "limit": 2**70}, hr.InvalidArgument),
        ("delete_rows", {"ref": "numbers@v1", "idempotency_key": "k"}, hr.InvalidArgument),
        ("delete_rows", DELETE | {"condition": {"node": "null", "column": {"name": "no"}}}, hr.UnknownColumn),
        (
            "delete_rows",
            DELETE | {"condition": {"node": "null", "column": {"name": "id", "group": "other@v1"}}},
            hr.UnknownColumn,
        ),
        ("delete_rows", DELETE | {"condition": {"node": "or", "operands": []}}, hr.InvalidArgument),
        ("delete_rows", DELETE | {"condition": {"node": "and", "operands": []}}, hr.InvalidArgument),
        ("get_group", {"name": "\n" * 100_000}, hr.NotFound),
        ("create_group", {"definition": TIMED | {"partition_by": ["a", "a"]}}, hr.InvalidArgument),
        ("create_group", {"definition": TIMED | {"ttl": 0}}, hr.InvalidArgument),
        ("create_group", {"definition": TIMED | {"ttl": -2}}, hr.InvalidArgument),
        ("create_group", {"definition": TIMED | {"ttl": 2**80}}, hr.InvalidArgument),
        ("create_group", {"definition": TIMED | {"min_age": -1}}, hr.InvalidArgument),
        ("create_group", {"definition": TIMED | {"ttl": 1, "min_age": 2}}, hr.InvalidArgument),
        ("explain", {"kind": "query"}, hr.InvalidArgument),
        ("explain", {"kind": "query", "view": "none@v1"}, hr.NotFound),
        ("explain", {"kind": "query", "query": {"source": {"group": ""}}}, hr.InvalidArgument),
        ("explain", {"kind": "query", "query": joined({"group": ""})}, hr.InvalidArgument),
        (
            "explain",
            {"kind": "query", "query": joined({"group": "numbers@v1", "since": 0})},
            hr.InvalidArgument,
        ),
        ("explain", {"kind": "query", "query": CHANGES, "latest": True}, hr.InvalidArgument),
        ("explain", {"kind": "query", "query": CHANGES, "parts": [HALF]}, hr.InvalidArgument),
        ("explain", {"kind": "query", "query": CHANGES, "ordered": True}, hr.InvalidArgument),
        ("explain", {"kind": "query", "query": NUMBERS, "parts": [EARLY]}, hr.InvalidArgument),
        ("explain", {"kind": "query", "query": NUMBERS, "parts": [HALF, HALF]}, hr.InvalidArgument),
        ("explain", {"kind": "query", "query": NUMBERS, "parts": [HALF, EARLY]}, hr.InvalidArgument),
        ("explain", {"kind": "query", "query": NUMBERS, "parts": [HALF] * 300}, hr.InvalidArgument),
        ("explain", {"kind": "stored"}, hr.InvalidArgument),
        ("explain", {"kind": "stored", "stored": {"view": "none@v1", "version": 1}}, hr.NotFound),
        (
            "add_features",
            {"ref": "numbers@v1", "schema_ipc": "AAAA", "idempotency_key": "k"},
            hr.InvalidArgument,
        ),
        ("register_group", {"definition": TIMED}, hr.InvalidArgument),
        ("register_group", {"definition": TIMED | {"location": "../up"}}, hr.InvalidArgument),
        ("get_dataset", {"name": "none@v1"}, hr.NotFound),
        ("delete_dataset", {"name": "none@v1", "version": 1}, hr.NotFound),
        ("explain", {"kind": "query", "query": NUMBERS, "parts": [HALF], "latest": True}, hr.InvalidArgument),
        ("explain", {"kind": "query", "query": NUMBERS, "parts": [HALF | {"low": 0.6}]}, hr.InvalidArgument),
        ("explain", {"kind": "query", "query": NUMBERS, "parts": [HALF | {"high": 2}]}, hr.InvalidArgument),
        (
            "explain",
            {"kind": "query", "query": NUMBERS, "parts": [HALF | {"stratify": "x"}]},
            hr.UnknownColumn,
        ),
        (
            "explain",
            {"kind": "query", "query": {"source": {"group": "numbers@v1", "since": -7}}},
            hr.InvalidArgument,
        ),
        ("create_view", {"name": "v", "version": 1, "query": {"source": {"group": ""}}}, hr.InvalidArgument),
        ("restore", {"ref": "numbers@v1", "snapshot": -1, "idempotency_key": "k"}, hr.SnapshotNotFound),
        ("restore", {"ref": "none@v1", "snapshot": 0, "idempotency_key": "k"}, hr.NotFound),
        ("restore", {"ref": "numbers@v1", "snapshot": 0, "idempotency_key": ""}, hr.InvalidArgument),
        ("compact", {"ref": "numbers@v1", "zorder": ["x"]}, hr.UnknownColumn),
        ("compact", {"ref": "numbers@v1", "zorder": ["id", "id"]}, hr.InvalidArgument),
        ("vacuum", {"ref": "numbers@v1", "retention_hours": -1, "dry_run": False}, hr.InvalidArgument),
        ("vacuum", {"ref": "numbers@v1", "retention_hours": 2**62, "dry_run": False}, hr.InvalidArgument),
    ],
)
def test_arguments_that_no_client_of_ours_sends(
    wire: Wire, action: str, body: Any, error: type[hr.HeadraceError]
) -> None:
    assert isinstance(refused(wire.act, action, body), error)


def test_where_a_table_lies_is_not_the_clients_to_say(wire: Wire) -> None:
    definition = {"name": "moved", "version": 0, "primary_key": ["id"], "location": "../../elsewhere"}
    (answer,) = wire.act("create_group", {"definition": definition | {"adopted": True}})
    made = msgspec.json.decode(bytes(answer.body))["definition"]
    assert (".." in made["location"], made.get("adopted", False)) == (False, False)


@pytest.mark.parametrize(("part", "parts"), [(1, 1), (-1, 2), (0, 0), (0, -3), (1, 10**9)])
def test_parts_that_a_read_has_not(wire: Wire, ticket: dict[str, Any], part: int, parts: int) -> None:
    error = refused(wire.get, {**ticket, "part": part, "parts": parts})
    assert type(error) is hr.InvalidArgument


def test_a_ticket_with_its_snapshot_changed(wire: Wire, ticket: dict[str, Any]) -> None:
    def at(snapshot: int | None) -> dict[str, Any]:
        changed = msgspec.json.decode(msgspec.json.encode(ticket))
        changed["prepared"]["request"]["query"]["source"]["snapshot"] = snapshot
        return changed

    assert wire.get(at(1)).num_rows == 10
    assert type(refused(wire.get, at(77))) is hr.SnapshotNotFound
    assert type(refused(wire.get, at(-1))) is hr.SnapshotNotFound
    assert type(refused(wire.get, at(None))) is hr.InvalidArgument


@pytest.mark.parametrize(
    "changes",
    [
        {"sql": "SELECT 1 AS one"},
        {"statistics": True, "query": CHANGES},
        {"statistics": True, "spine_schema": "AAAA"},
        {"spine_schema": NOT_TEXT},
    ],
    ids=["sql", "statistics of changes", "statistics of a spine", "a name that is no text"],
)
def test_a_ticket_for_another_kind_of_read(
    wire: Wire, ticket: dict[str, Any], changes: dict[str, Any]
) -> None:
    changed = msgspec.json.decode(msgspec.json.encode(ticket))
    changed["prepared"]["request"] |= changes
    assert isinstance(refused(wire.get, changed), hr.InvalidArgument)


def test_a_ticket_that_goes_the_wrong_way(wire: Wire, ticket: dict[str, Any]) -> None:
    body = msgspec.json.encode(ticket)
    assert type(refused(wire.exchange, command(body))) is hr.InvalidArgument
    assert type(refused(wire.exchange, command(body), None)) is hr.InvalidArgument
    assert type(refused(wire.put, command(body))) is hr.InvalidArgument


@pytest.mark.parametrize(
    "changes",
    [
        *(
            {what: 2**bits}
            for what in ("limit", "snapshot", "rows", "max_age", "min_age")
            for bits in (63, 70)
        ),
        {"max_age": 0},
        {"min_age": -1},
        *(
            {what: "2024-01-01T00:00:00"}
            for what in ("as_of", "now", "start", "end", "known_at", "timestamp")
        ),
        *({what: "0001-01-01T00:00:00+14:00"} for what in ("as_of", "now", "start", "end", "known_at")),
        {"end": "9999-12-31T23:59:59-14:00"},
    ],
    ids=str,
)
def test_numbers_and_times_that_no_client_of_ours_sends(
    wire: Wire, ticket: dict[str, Any], changes: dict[str, Any]
) -> None:
    """Of a read, of a join in it, of a call, and in a ticket."""
    bodies = []
    if changes.keys() & {"limit", "now"}:
        bodies.append(read() | changes)
    elif changes.keys() & {"snapshot", "timestamp"}:
        bodies.append(read(source=changes))
    elif "rows" in changes:
        bodies.append(read({"step": "limit"} | changes))
    else:
        bodies.append(read(point_in_time=changes))
    if changes.keys() & {"max_age", "min_age"}:
        right = {"source": {"group": "numbers@v1"}}
        bodies.append(read({"step": "join", "prefix": "other_", "right": right} | changes))
    for body in bodies:
        sent = msgspec.json.encode(body)
        assert type(refused(wire.info, command(sent))) is hr.InvalidArgument
        assert type(refused(wire.act, "explain", sent)) is hr.InvalidArgument
        prepared = {**ticket["prepared"], "request": {**ticket["prepared"]["request"], **body}}
        assert type(refused(wire.exchange, command({**ticket, "prepared": prepared}))) is hr.InvalidArgument


def read(*steps: dict[str, Any], source: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    query = {"source": {"group": "numbers@v1", "snapshot": 1} | (source or {}), "steps": steps}
    return {"kind": "query", "query": query, **options}


@pytest.mark.parametrize(
    "given",
    [
        pa.table({"id": pa.array(["1"]), "t": pa.array([0], pa.timestamp("us"))}),
        pa.table({"id": pa.array([1], pa.int32()), "t": pa.array([0], pa.timestamp("us"))}),
        pa.table({"id": pa.array([1]), "t": pa.array([0])}),
        pa.table({"id": pa.array([1])}),
        pa.table({"other": pa.array([1]), "t": pa.array([0], pa.timestamp("us"))}),
        pa.table({"t": pa.array([0], pa.timestamp("us")), "id": pa.array([1])}),
    ],
    ids=lambda given: str(given.schema),
)
def test_a_spine_that_was_not_prepared(wire: Wire, given: pa.Table) -> None:
    wanted = pa.schema({"id": pa.int64(), "t": pa.timestamp("us")})
    request = ReadRequest(
        kind="batch", query=Query(Source("numbers@v1")), spine_schema=wanted.serialize().to_pybytes()
    )
    info = wire.info(command(request))
    prepared = msgspec.json.decode(bytes(info.app_metadata), type=Prepared)
    exchange = command(protocol.ReadCommand(prepared))
    good = pa.table({"id": [1], "t": pa.array([0], pa.timestamp("us"))}, wanted)
    assert wire.exchange(exchange, wanted, good).column("value").to_pylist() == [1.0]
    assert type(refused(wire.exchange, exchange, given.schema, given)) is hr.SchemaMismatch


@pytest.fixture(scope="module")
def view(server: Server, project: str) -> Iterator[Any]:
    with server.connect(project=project) as store:
        made = store.create_feature_group("events", primary_key=["id"], event_time="at")
        made.insert([{"id": i, "at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC)} for i in range(10)])
        yield store.create_feature_view("events", made.select())


def test_a_limit_of_a_dataset_that_is_none(wire: Wire, view: Any) -> None:
    view.create_training_dataset()
    for recomputed in (False, True):
        stored = {"view": "events@v1", "version": 1, "recomputed": recomputed}
        good = {"kind": "stored", "stored": stored, "limit": 3}
        (endpoint,) = wire.info(command(msgspec.json.encode(good))).endpoints
        ticket = opened(endpoint.ticket.ticket)
        assert wire.get(ticket).num_rows == 3
        bad = good | {"limit": -1}
        for call in (wire.info, lambda sent: wire.act("explain", sent.command)):
            assert type(refused(call, command(msgspec.json.encode(bad)))) is hr.InvalidArgument
        ticket["prepared"]["request"]["limit"] = -1
        assert type(refused(wire.get, ticket)) is hr.InvalidArgument


@pytest.mark.parametrize(
    "change",
    [
        {"key": ""},
        {"key": "k" * 513},
        {"description": "a\0"},
        {"splits": [{"name": "a", "part": HALF | {"high": 0.9999995}}]},
    ],
    ids=str,
)
def test_a_dataset_that_no_client_of_ours_asks_for(wire: Wire, view: Any, change: dict[str, Any]) -> None:
    asked = {
        "name": "events@v1",
        "version": 0,
        "request": {"kind": "training", "view": "events@v1"},
        "splits": [{"name": "all"}],
        "format": "parquet",
        "key": "k",
    }
    sent = msgspec.json.encode({"type": "dataset", "asked": asked | change})
    assert type(refused(wire.put, command(sent), protocol.complete(1))) is hr.InvalidArgument
    assert change.get("key") not in [d._definition.key for d in view.list_training_datasets()]


@pytest.mark.parametrize(
    "words",
    [(), (b"nonsense",), (b"",), (b"complete",), (b"complete 0",), (b"complete 2",)],
)
def test_rows_that_are_not_said_to_be_complete(wire: Wire, group: Any, words: tuple[bytes, ...]) -> None:
    insert = command(protocol.InsertCommand("numbers@v1", "append", "incomplete"))
    assert type(refused(wire.put, insert, *words)) is hr.Cancelled
    assert len(group.history()) == 2


@pytest.mark.parametrize("rows", [0, 1])
def test_rows_after_they_were_said_to_be_complete(wire: Wire, group: Any, rows: int) -> None:
    """Also of a stream that ends, or breaks off, before they come."""
    insert = command(protocol.InsertCommand("numbers@v1", "append", "early"))

    def put() -> Any:
        writer, answers = wire.client.do_put(insert, SCHEMA, wire.options)
        try:
            writer.write_metadata(protocol.complete(1 - rows))
            writer.write_batch(pa.record_batch({"id": range(rows), "value": [1.0] * rows}, SCHEMA))
            writer.done_writing()
            return answers.read()
        finally:
            writer.close()

    assert type(refused(put)) is hr.Cancelled
    assert len(group.history()) == 2


def test_an_insert_into_nothing(wire: Wire) -> None:
    insert = command(protocol.InsertCommand("nothing@v1", "append", "key"))
    assert type(refused(wire.put, insert, protocol.complete(1))) is hr.NotFound


def test_a_ticket_for_a_deleted_group(server: Server, wire: Wire, project: str) -> None:
    with server.connect(project=project) as store:
        doomed = store.create_feature_group("doomed", primary_key=["id"])
        doomed.insert([{"id": 1}])
        result = doomed.read()
        store.delete_feature_group("doomed", 1)
        assert type(refused(wire.get, result._prepared.tickets[0])) is hr.NotFound
        with pytest.raises(hr.NotFound, match="doomed"):
            result.to_arrow()


def test_errors_of_a_newer_service() -> None:
    error = protocol.decode_error(
        msgspec.json.encode({"code": "QUOTA_SPENT", "message": "wait", "hint": "pay", "more": 1})
    )
    assert type(error) is hr.InternalError
    assert (error.message, error.hint) == ("QUOTA_SPENT: wait", "pay")
    assert type(protocol.decode_error(b"\x00garbage")) is hr.InternalError


def test_senders_that_stall_hold_up_nobody_else(server: Server, project: str, group: Any) -> None:
    """More than there are processors: the wheel waits for rows in threads that all tables share."""
    go_on = threading.Event()

    def slowly(number: int) -> None:
        def rows() -> Iterator[pa.RecordBatch]:
            yield pa.record_batch({"id": [number], "value": [0.0]}, SCHEMA)
            go_on.wait(60)

        with server.connect(project=project) as store:
            reader = pa.RecordBatchReader.from_batches(SCHEMA, rows())
            store.get_feature_group("slow").insert(reader, mode="append")

    with server.connect(project=project, timeout=20) as store:
        for name in ("slow", "other"):
            made = store.create_feature_group(name, primary_key=["id"], schema=SCHEMA)
            made.insert(pa.table({"id": [-1], "value": [1.0]}))
        with ThreadPoolExecutor() as pool:
            senders = [pool.submit(slowly, number) for number in range((os.cpu_count() or 1) + 1)]
            try:
                time.sleep(1)
                made.insert(pa.table({"id": [1], "value": [1.0]}))
                store.create_feature_group("new", primary_key=["id"], schema=SCHEMA)
                assert made.read().to_arrow().num_rows == 2
                assert not any(sender.done() for sender in senders)
            finally:
                go_on.set()
            for sender in senders:
                sender.result()
        assert store.get_feature_group("slow").read().to_arrow().num_rows == 1 + len(senders)


def test_the_first_requests_of_a_service_come_at_once() -> None:
    """In a process of its own, for what it risks: that of all who ask."""
    ran = subprocess.run([sys.executable, "-c", FIRST_REQUESTS], capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_service_goes_on(server: Server, group: Any) -> None:
    """What it did not foresee stands in its log."""
    assert group.read().to_arrow().num_rows == 10
    assert "wire-1" not in server.log.read_text()
