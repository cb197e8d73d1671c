"""Messages that were valid until something happened to them: a typed error or an answer that is the caller's own."""

from __future__ import annotations

import contextlib
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.flight as fl
import pytest

import headrace as hr
from conftest import Server, start_server
from headrace import protocol
from headrace.errors import error_types
from headrace.model.query import Query, Source
from headrace.model.request import ReadRequest
from headrace.service.actions import ACTIONS
from headrace.service.flight_sql.messages import unwrapped, wrapped

SECRET = "belongs-to-nobody-else"
CALL_S = 20.0
CODES = {kind.code for kind in error_types()}
SCHEMA = pa.schema({"id": pa.int64(), "name": pa.string()})
ODD: list[object] = [
    None,
    True,
    -1,
    0,
    2**31,
    2**63,
    2**64,
    1e308,
    "",
    "x" * 5_000,
    "../x",
    "\u202e",
    [],
    {},
    [[]],
]
# What ends or changes what the other messages are about.
LEFT_OUT = {"create_token", "delete_group", "revoke_token", "remove_grant", "add_grant", "vacuum"}


class Caller:
    """A user with messages that they may send, and what was given to them."""

    def __init__(self, url: str, token: str, group: str) -> None:
        self.client = fl.FlightClient(url)
        self.token = token
        self.group = group
        request = ReadRequest(kind="query", query=Query(Source(f"{group}@v1")))
        self.commands = [
            protocol.encode(request),
            protocol.encode(ReadRequest(kind="query", sql=f"SELECT * FROM {group}")),
            wrapped("CommandStatementQuery", query=f"SELECT * FROM {group}"),
            wrapped("CommandGetTables", include_schema=True, table_name_filter_pattern="%"),
            wrapped("CommandGetDbSchemas", catalog="headrace"),
            wrapped("CommandGetPrimaryKeys", table=group),
            wrapped("CommandGetSqlInfo", info=[1, 2]),
            *(wrapped(f"CommandGet{what}") for what in ("Catalogs", "TableTypes", "XdbcTypeInfo")),
        ]
        self.tickets = []
        for command in self.commands:
            info = self.client.get_flight_info(fl.FlightDescriptor.for_command(command), self.options())
            self.tickets += [endpoint.ticket.ticket for endpoint in info.endpoints]
        asked = wrapped("ActionCreatePreparedStatementRequest", query=f"SELECT * FROM {group} WHERE id > ?")
        (made,) = self.client.do_action(fl.Action("CreatePreparedStatement", asked), self.options())
        handle = unwrapped(made.body.to_pybytes())[1].prepared_statement_handle
        self.commands.append(wrapped("CommandPreparedStatementQuery", prepared_statement_handle=handle))
        named: dict[str, object] = {"name": group, "version": 1, "ref": f"{group}@v1", "tags": {}, "id": "x"}
        named |= {"protocol": 1, "idempotency_key": "k", "call": "c", "snapshot": 0, "zorder": [], "limit": 3}
        self.actions = [(name, msgspec.json.encode(named)) for name in ACTIONS if name not in LEFT_OUT]
        self.actions += [("explain", protocol.encode(request)), ("CreatePreparedStatement", asked)]
        self.actions += [("ClosePreparedStatement", asked), ("CancelFlightInfo", b"\n\x02ab")]
        self.puts = [
            protocol.encode(protocol.InsertCommand(f"{group}@v1", "upsert", "k")),
            wrapped("CommandStatementIngest", table=group, definition={"if_not_exist": 2, "if_exists": 2}),
            self.commands[-1],
        ]

    def options(self, project: str = "default") -> fl.FlightCallOptions:
        headers = [(protocol.VERSION_HEADER, "1"), (protocol.PROJECT_HEADER, project)]
        headers.append((protocol.AUTHORIZATION_HEADER, f"Bearer {self.token}"))
        return fl.FlightCallOptions(timeout=CALL_S, headers=[(k.encode(), v.encode()) for k, v in headers])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("mutated")
    started = start_server(folder / "lake", folder / "log", "--tokens", "--query-seconds", "5")
    yield started
    started.stop()


@pytest.fixture(scope="module")
def callers(server: Server) -> Iterator[list[Caller]]:
    """Two, who may write one group each, and see no other's."""
    with hr.connect(server.root) as owner, contextlib.ExitStack() as stack:
        made = []
        for user in ("anna", "bert"):
            group = owner.create_feature_group(f"of_{user}", primary_key=["id"], schema=SCHEMA)
            group.insert([{"id": n, "name": f"{SECRET}-{user}"} for n in range(3)])
            owner.grants.add(user, "writer", group=group.name)
            made.append(Caller(server.url, owner.tokens.create(user).text, group.name))
            stack.callback(made[-1].client.close)
        yield made


def changed(chance: random.Random, body: bytes, others: list[bytes]) -> bytes:
    """The message with something wrong about it."""
    match chance.randrange(8):
        case 0 if body:  # some bits
            spoiled = bytearray(body)
            for _ in range(chance.randint(1, 4)):
                spoiled[chance.randrange(len(body))] ^= 1 << chance.randrange(8)
            return bytes(spoiled)
        case 1:
            return body[: chance.randint(0, len(body))]
        case 2:  # a piece of another
            other = chance.choice(others)
            return body[: chance.randint(0, len(body))] + other[chance.randint(0, len(other)) :]
        case 3 if body:  # what may be a length
            at = chance.randrange(len(body))
            return (
                body[:at]
                + bytes([chance.choice((0, 1, 0x7F, 0x80, 0xFF))]) * chance.randint(1, 5)
                + body[at + 1 :]
            )
        case 4:
            return body + chance.randbytes(chance.randint(1, 40))
        case 5 if is_json(body):
            return confused(chance, body)
        case 6:
            return chance.choice(others)
        case 7 if body[:1] == b"{":
            depth = chance.choice((50, 5_000))
            return re.sub(rb":[^,{}\[\]]+", b":" + b"[" * depth + b"]" * depth, body, count=1)
    at = chance.randint(0, len(body))
    return body[:at] + chance.randbytes(chance.randint(1, 8)) + body[at:]


def is_json(body: bytes) -> bool:
    """A seal may begin as JSON does."""
    if body[:1] != b"{":
        return False
    try:
        msgspec.json.decode(body)
    except msgspec.DecodeError:
        return False
    return True


def confused(chance: random.Random, body: bytes) -> bytes:
    """JSON with a value of another type somewhere."""
    tree = msgspec.json.decode(body)
    places: list[tuple[Any, Any]] = []
    left = [tree]
    while left:
        part = left.pop()
        keys = list(part) if isinstance(part, dict) else range(len(part))
        places += [(part, key) for key in keys]
        left += [part[key] for key in keys if isinstance(part[key], dict | list)]
    if places:
        part, key = chance.choice(places)
        part[key] = chance.choice(ODD)
    return msgspec.json.encode(tree)


class Sending:
    """Sends messages of a caller, and keeps what is wrong about the answers.

    GetSchema is not asked: the library gives its errors no details, and sends the traceback.
    """

    def __init__(self, chance: random.Random, caller: Caller, other: Caller) -> None:
        self._chance = chance
        self._caller = caller
        self._others = [*other.tickets, *other.commands, *(body for _, body in other.actions)]
        self._forbidden = f"{SECRET}-{other.group.removeprefix('of_')}"
        self.wrong: list[tuple[str, bytes, str]] = []
        self.errors = 0

    def send(self) -> None:
        chance, caller = self._chance, self._caller
        project = "default" if chance.random() < 0.9 else chance.choice(["", "other", "../x", "x" * 3_000])
        options = caller.options(project)
        what = chance.choice(["info", "get", "get", "act", "act", "act", "put", "exchange", "list"])
        body = b""
        call: Callable[[], object]
        if what == "get":
            body = changed(chance, chance.choice(caller.tickets), self._others)
            call = lambda: caller.client.do_get(fl.Ticket(body), options).read_all().to_pylist()  # noqa: E731
        elif what == "act":
            action, valid = chance.choice(caller.actions)
            body = changed(chance, valid, self._others)
            what = f"act {action}"
            call = lambda: self._act(action, body, options)  # noqa: E731
        elif what == "list":
            call = lambda: caller.client.list_actions(options)  # noqa: E731
        else:
            body = changed(
                chance, chance.choice(caller.puts if what == "put" else caller.commands), self._others
            )
            descriptor = fl.FlightDescriptor.for_command(body)
            if what == "info":
                call = lambda: str(caller.client.get_flight_info(descriptor, options).schema)  # noqa: E731
            elif what == "put":
                call = lambda: self._put(descriptor, options)  # noqa: E731
            else:
                call = lambda: self._exchange(descriptor, options)  # noqa: E731
        try:
            told = repr(call())
        except (pa.ArrowException, OSError) as error:
            self.errors += 1
            told = str(error) + self._code(what, body, error)
        if self._forbidden in told or "Traceback" in told:
            self.wrong.append((what, body, told[:500]))

    def _code(self, what: str, body: bytes, error: BaseException) -> str:
        told = bytes(getattr(error, "extra_info", b""))
        try:
            found = msgspec.json.decode(told, type=protocol.ErrorBody)
        except msgspec.MsgspecError:
            found = protocol.ErrorBody("NONE", f"no code: {error}")
        if found.code not in CODES - {"ERROR", "INTERNAL", "CORRUPT_TABLE"}:
            self.wrong.append((what, body[:300], f"{found.code}: {found.message[:500]}"))
        return f"{found}"

    def _act(self, action: str, body: bytes, options: fl.FlightCallOptions) -> list[bytes]:
        return [
            told.body.to_pybytes() for told in self._caller.client.do_action(fl.Action(action, body), options)
        ]

    def _put(self, descriptor: fl.FlightDescriptor, options: fl.FlightCallOptions) -> object:
        writer, answers = self._caller.client.do_put(descriptor, SCHEMA, options)
        with contextlib.closing(writer):
            writer.write_batch(pa.record_batch({"id": [1], "name": ["own"]}, SCHEMA))
            writer.write_metadata(b"complete 1")
            writer.done_writing()
            return answers.read()

    def _exchange(self, descriptor: fl.FlightDescriptor, options: fl.FlightCallOptions) -> object:
        writer, reader = self._caller.client.do_exchange(descriptor, options)
        with contextlib.closing(writer):
            writer.begin(SCHEMA)
            writer.done_writing()
            return reader.read_all().to_pylist()


@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=[pytest.mark.slow, pytest.mark.soak])])
def test_messages_that_something_happened_to(server: Server, callers: list[Caller], count: int) -> None:
    chance = random.Random(count)
    sendings = [Sending(chance, *pair) for pair in (callers, callers[::-1])]
    for number in range(count):
        sendings[number % 2].send()
    wrong = [wrong for sending in sendings for wrong in sending.wrong]
    assert not wrong, wrong[:20]
    assert sum(sending.errors for sending in sendings) > count // 2
    assert server.process.poll() is None
    assert "Traceback" not in server.log.read_text()
    with hr.connect(server.root) as owner:
        group = owner.get_feature_group("of_anna")
        # What she may do she may have done: a restore of the first snapshot is among her messages.
        assert {commit.user for commit in group.history()} <= {None, "anna"}
        assert group.read(snapshot=1).to_arrow().num_rows == 3
        group.read().to_arrow().validate(full=True)


def test_what_was_given_to_another(callers: list[Caller]) -> None:
    anna, bert = callers
    for ticket in bert.tickets:
        with pytest.raises(pa.ArrowException) as caught:
            anna.client.do_get(fl.Ticket(ticket), anna.options()).read_all()
        found = msgspec.json.decode(bytes(caught.value.extra_info), type=protocol.ErrorBody)
        assert found.code == hr.Unauthenticated.code
