"""Who a caller is, and what follows from it for everything that can be asked of a service."""

from __future__ import annotations

import contextlib
import datetime as dt
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.flight as fl
import pytest

import headrace as hr
from headrace import protocol
from headrace.config import store_config
from headrace.model.definition import write_schema
from headrace.model.query import Query
from headrace.model.request import ReadRequest
from headrace.service.actions import ACTIONS
from headrace.service.door import Access
from headrace.wiring import Service
from service.certificates import Authority

NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)


def rows(*ids: int) -> pa.Table:
    at = pa.array([NOON] * len(ids), pa.timestamp("us", "UTC"))
    return pa.table(
        {"id": [*ids], "at": at, "public": [f"p{i}" for i in ids], "secret": [i + 0.125 for i in ids]}
    )


ROWS = rows(1, 2)


def sql_read(sql: str) -> ReadRequest:
    return ReadRequest(kind="query", sql=sql)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("pems"), "authority")


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Which signs what clients show."""
    return Authority(tmp_path_factory.mktemp("clients"), "clients")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "lake"


@pytest.fixture
def owner(root: Path) -> Iterator[hr.FeatureStore]:
    with hr.connect(root) as store:
        yield store


@pytest.fixture
def serve(root: Path, authority: Authority, clients: Authority) -> Iterator[Callable[..., str]]:
    services: list[Service] = []

    def start(by: str = "certificate", **access: str) -> str:
        identity = hr.TLS(None, *authority.issue("service"))
        config, listen = store_config(str(root)), ["grpc+tls://127.0.0.1:0"]
        asked = Access(clients.cert, **access, tokens=True)
        services.append(Service(config, listen, identity, asked, token_listen=listen))
        return services[-1].listening[["certificate", "token"].index(by)]

    yield start
    for service in services:
        service.stop()


@pytest.fixture
def enter(
    request: pytest.FixtureRequest,
    serve: Callable[..., str],
    authority: Authority,
    clients: Authority,
    owner: hr.FeatureStore,
) -> Iterator[Callable[..., hr.FeatureStore]]:
    """Connects as a user, by a certificate in which these names stand; or by a token."""
    url: list[str] = []
    stores: list[hr.FeatureStore] = []
    by = getattr(request, "param", "certificate")

    def connect(user: str, names: tuple[str, ...] = (), project: str = "default") -> hr.FeatureStore:
        if not url:
            url.append(serve(by))
        token = owner.tokens.create(user).text if by == "token" else None
        shown = clients.issue(user, names) if by == "certificate" else ()
        tls = hr.TLS(authority.cert, *shown)
        stores.append(hr.connect(url[0], tls=tls, token=token, project=project, timeout=60))
        return stores[-1]

    yield connect
    for store in stores:
        store.close()


@pytest.fixture
def flights(owner: hr.FeatureStore) -> hr.FeatureGroup:
    group = owner.create_feature_group("flights", primary_key=["id"], event_time="at")
    group.insert(ROWS)
    return group


class TestWho:
    def test_nobody(self, serve, authority) -> None:
        with pytest.raises(hr.Unauthenticated, match="asks for a certificate") as caught:
            hr.connect(serve(), tls=hr.TLS(authority.cert), timeout=60)
        assert "Socket closed" not in str(caught.value)

    def test_one_whom_another_authority_knows(self, serve, authority, tmp_path) -> None:
        stranger = Authority(tmp_path, "stranger")
        with pytest.raises(hr.TLSError):
            hr.connect(serve(), tls=hr.TLS(authority.cert, *stranger.issue("anna")), timeout=60)

    @pytest.mark.parametrize(
        ("common", "alternative", "user"),
        [
            ("anna", (), "anna"),
            ("cn", ("anna.example",), "anna.example"),
            ("cn", ("anna.example", "other.example"), "anna.example"),
            ("cn", ("10.0.0.1",), "10.0.0.1"),
        ],
    )
    def test_the_first_alternative_name_goes_before_the_common_name(
        self, owner, enter, common, alternative, user
    ) -> None:
        owner.grants.add(user, "reader")
        assert [grant.user for grant in enter(common, alternative).grants.list()] == [user]

    def test_a_pattern_tells_which_part_of_a_name_is_the_user(self, owner, serve, authority, clients) -> None:
        url = serve(user_pattern=r"([a-z]+)\.users\.example")
        owner.grants.add("anna", "reader")
        tls = hr.TLS(authority.cert, *clients.issue("cn", ("anna.users.example",)))
        with hr.connect(url, tls=tls, timeout=60) as store:
            assert [grant.user for grant in store.grants.list()] == ["anna"]
        tls = hr.TLS(authority.cert, *clients.issue("cn2", ("anna.users.example.evil",)))
        with pytest.raises(hr.Unauthenticated, match="names no user"):
            hr.connect(url, tls=tls, timeout=60)

    @pytest.mark.parametrize("pattern", ["(", "(a)(b)"])
    def test_patterns_that_are_none(self, clients, pattern) -> None:
        with pytest.raises(hr.InvalidArgument):
            Access(clients.cert, pattern)

    def test_a_pattern_needs_certificates(self) -> None:
        with pytest.raises(hr.InvalidArgument):
            Access(None, "(.*)")

    def test_who_shows_no_token_is_told_so_before_anything_is_read(self, serve, authority) -> None:
        """Whatever call it is, and whatever it carries."""
        client = fl.connect(serve("token"), tls_root_certs=authority.cert.read_bytes())
        descriptor, nothing = fl.FlightDescriptor.for_command(b"?"), pa.schema([("a", pa.int64())])

        def put() -> None:
            writer, answers = client.do_put(descriptor, nothing)
            writer.done_writing()
            answers.read()
            writer.close()

        def exchange() -> None:
            _, reader = client.do_exchange(descriptor)
            reader.read_chunk()

        for call in (
            lambda: list(client.do_action(fl.Action("hello", b"?"))),
            lambda: client.get_flight_info(descriptor),
            lambda: client.get_schema(descriptor),
            lambda: client.do_get(fl.Ticket(b"?")).read_all(),
            lambda: list(client.list_flights()),
            put,
            exchange,
        ):
            with pytest.raises((fl.FlightUnauthenticatedError, OSError), match="asks for a token"):
                call()

    def test_addresses_at_which_nobody_could_show_a_certificate(self, root, clients) -> None:
        with pytest.raises(hr.InvalidArgument, match="grpc\\+tls"):
            Service(store_config(str(root)), ["grpc://127.0.0.1:0"], None, Access(clients.cert))


def test_grants_of_columns_that_are_not_there(owner: hr.FeatureStore, flights: hr.FeatureGroup) -> None:
    with pytest.raises(hr.UnknownColumn, match="flights has no column 'pubic'"):
        owner.grants.add("anna", "reader", group="flights", columns=["public", "pubic"])
    assert owner.grants.list() == []
    owner.create_feature_group("flights", primary_key=["id"], version=2).insert(rows(1).select(["id"]))
    owner.grants.add("anna", "reader", group="flights", columns=["public"])  # which the first version has
    owner.create_feature_group("empty", primary_key=["id"])
    owner.grants.add("anna", "reader", group="empty", columns=["later"])


@pytest.mark.parametrize("enter", ["certificate", "token"], indirect=True)
class TestRights:
    def test_a_key_of_a_write_is_of_one_user(self, owner, flights, enter) -> None:
        for user in ("anna", "bob"):
            owner.grants.add(user, "writer")
        first = enter("anna").get_feature_group("flights").insert(rows(3), idempotency_key="nightly")
        assert enter("anna").get_feature_group("flights").insert(rows(3), idempotency_key="nightly") == first
        with pytest.raises(hr.InvalidArgument, match="a write of anna"):
            enter("bob").get_feature_group("flights").insert(rows(4), idempotency_key="nightly")
        assert flights.read(["id"]).to_arrow().num_rows == 3

    def test_rows_of_a_stranger_are_not_taken_in(self, owner, flights, enter) -> None:
        """Of a spine, for which nothing may be looked up."""
        view = owner.create_feature_view("v", flights.select())
        spine = pa.table({"id": [1], "at": [NOON]})
        prepared = view.batch_data(spine=spine)._prepared
        sent = 0

        def endless() -> Iterator[pa.RecordBatch]:
            nonlocal sent
            while sent < 1_000:
                sent += 1
                yield from pa.table({"id": [1] * 65_536, "at": [NOON] * 65_536}).to_batches()

        wire = enter("stranger")._backend._wire
        reader = pa.RecordBatchReader.from_batches(spine.schema, endless())
        with pytest.raises(hr.NotFound):
            list(wire.exchange(protocol.ReadCommand(prepared), reader))
        assert sent < 200

    def test_without_any_nothing_is_there(self, owner, flights, enter) -> None:
        owner.create_feature_view("v", flights.select())
        stranger = enter("stranger")
        assert stranger.list_feature_groups() == []
        assert stranger.list_feature_views() == []
        with pytest.raises(hr.NotFound) as denied:
            stranger.get_feature_group("flights")
        with pytest.raises(hr.NotFound) as absent:
            stranger.get_feature_group("flightz")
        assert denied.value.message.replace("flights", "flightz") == absent.value.message
        assert denied.value.hint == absent.value.hint
        with pytest.raises(hr.NotFound):
            stranger.get_feature_view("v")
        with pytest.raises(hr.NotFound):
            stranger.sql("SELECT * FROM flights").to_arrow()

    def test_a_reader(self, owner, flights, enter) -> None:
        owner.grants.add("anna", "reader")
        store = enter("anna")
        group = store.get_feature_group("flights")
        assert group.read().to_arrow().num_rows == 2
        for refused in (
            lambda: group.insert(ROWS),
            lambda: group.delete(filter=group["id"] == 1),
            group.compact,
            lambda: group.vacuum(),
            lambda: group.restore(snapshot=0),
            lambda: group.set_tags({"a": "b"}),
            lambda: group.add_features({"more": pa.int64()}),
            lambda: store.create_feature_group("g", primary_key=["id"]),
            lambda: store.create_feature_view("v", group.select()),
            lambda: store.delete_feature_group("flights", 1),
            lambda: store.register_feature_group("g", "/tmp/x", format="delta", primary_key=["id"]),
            lambda: store.grants.add("anna", "admin"),
            lambda: store.grants.remove("anna"),
        ):
            with pytest.raises(hr.PermissionDenied, match=r"anna may not .* in project default"):
                refused()
        assert flights.read().to_arrow().sort_by("id").equals(ROWS)

    def test_a_writer(self, owner, flights, enter) -> None:
        owner.grants.add("anna", "writer")
        store = enter("anna")
        store.get_feature_group("flights").insert(rows(3))
        view = store.create_feature_view("v", store.get_feature_group("flights").select())
        assert view.create_training_dataset().read().to_arrow().num_rows == 3
        store.delete_feature_view("v", 1, force=True)
        for refused in (
            lambda: store.delete_feature_group("flights", 1),
            lambda: store.get_feature_group("flights").vacuum(),
            lambda: store.register_feature_group("g", "/tmp/x", format="delta", primary_key=["id"]),
            lambda: store.create_external_feature_group(
                "g", driver="sqlite", uri="file:/etc/passwd", table="t", primary_key=["id"]
            ),
            lambda: store.grants.add("ben", "reader"),
        ):
            with pytest.raises(hr.PermissionDenied):
                refused()

    def test_an_admin(self, owner, flights, enter) -> None:
        owner.grants.add("anna", "admin")
        store = enter("anna")
        store.grants.add("ben", "reader", group="flights")
        assert [(g.user, g.role, g.group) for g in store.grants.list()] == [
            ("anna", "admin", None),
            ("ben", "reader", "flights"),
        ]
        store.delete_feature_group("flights", 1)
        assert [g.user for g in store.grants.list()] == ["anna"], (
            "another that takes the name is another group"
        )

    def test_each_project_by_itself(self, owner, flights, enter) -> None:
        owner.grants.add("anna", "admin")
        assert len(enter("anna").list_feature_groups()) == 1
        assert enter("anna", project="other").grants.list() == []
        with pytest.raises(hr.PermissionDenied, match="project other"):
            enter("anna", project="other").create_feature_group("g", primary_key=["id"])

    def test_writes_tell_whose_they_are(self, owner, flights, enter) -> None:
        owner.grants.add("anna", "writer")
        group = enter("anna").get_feature_group("flights")
        group.insert(ROWS)
        group.insert(ROWS, mode="overwrite")
        group.delete(keys=pa.table({"id": [1]}))
        group.delete(filter=group["id"] == 2)
        group.add_features({"more": pa.int64()})
        group.insert(rows(3).append_column("more", pa.array([1])))
        group.compact()
        group.restore(1)
        assert {commit.user for commit in group.history(limit=7)} == {"anna"}
        assert owner.get_feature_group("flights").history(limit=1)[0].user == "anna"
        assert flights.history()[-1].user is None

    def test_of_one_group(self, owner, flights, enter) -> None:
        other = owner.create_feature_group("others", primary_key=["id"])
        other.insert(ROWS)
        owner.create_feature_view("both", flights.select().join(other, on="id", prefix="o_"))
        owner.create_feature_view("one", flights.select())
        owner.grants.add("anna", "writer", group="flights")
        store = enter("anna")
        assert [group.name for group in store.list_feature_groups()] == ["flights"]
        assert [view.name for view in store.list_feature_views()] == ["one"]
        store.get_feature_group("flights").insert(ROWS)
        assert store.get_feature_view("one").batch_data().to_arrow().num_rows == 2
        with pytest.raises(hr.NotFound):
            store.get_feature_view("both")
        with pytest.raises(hr.NotFound):
            store.sql("SELECT * FROM flights JOIN others USING (id)").to_arrow()
        with pytest.raises(hr.PermissionDenied):
            store.create_feature_group("g", primary_key=["id"])

    def test_of_some_columns(self, owner, flights, enter) -> None:
        view = owner.create_feature_view("v", flights.select())
        view.create_training_dataset()
        owner.grants.add("anna", "reader", group="flights", columns=["public"])
        store = enter("anna")
        group = store.get_feature_group("flights")
        assert group.schema.names == ["id", "at", "public"]
        assert [g.schema.names for g in store.list_feature_groups()] == [["id", "at", "public"]]
        seen = ROWS.select(["id", "at", "public"])
        assert group.read().to_arrow().sort_by("id").equals(seen)
        assert store.sql("SELECT * FROM flights ORDER BY id").to_arrow().equals(seen)
        assert group.statistics().to_arrow()["feature"].to_pylist() == ["id", "at", "public"]
        assert group.changes(since=-1).to_arrow().column_names[:3] == ["id", "at", "public"]
        assert "secret" not in group.changes(since=-1).to_arrow().column_names
        assert "secret" not in group.read().explain()
        assert store.list_feature_views() == []
        for refused in (
            lambda: group.read(["secret"]).to_arrow(),
            lambda: store.sql("SELECT secret FROM flights").to_arrow(),
            lambda: store.sql("SELECT id FROM flights WHERE secret > 2").to_arrow(),
            lambda: store.sql("SELECT f.secret FROM flights f").to_arrow(),
            lambda: group.statistics(["secret"]).to_arrow(),
            lambda: store.get_historical_features(
                pa.table({"id": [1], "event_time": [NOON]}), ["flights:secret"]
            ).to_arrow(),
            lambda: group.read(snapshot=1).to_arrow().column("secret"),
        ):
            with pytest.raises((hr.UnknownColumn, hr.SqlRejected, hr.NotFound, KeyError)) as caught:
                refused()
            assert ".125" not in str(caught.value)
        with pytest.raises(hr.NotFound):
            store.get_feature_view("v")
        with pytest.raises(hr.PermissionDenied):
            group.insert(ROWS)

    def test_no_column_is_seen_by_what_was_made_to_look_prepared(self, owner, flights, enter) -> None:
        """A read that was prepared comes back from its caller, who may put anything there."""
        owner.grants.add("anna", "reader", group="flights", columns=["public"])
        store = enter("anna")
        made = store.get_feature_group("flights").with_columns(secret="id * 1.0")
        assert made.read().to_arrow().sort_by("id")["secret"].to_pylist() == [1.0, 2.0]
        assert made.filter(made["secret"] > 1.05).read().to_arrow()["id"].to_pylist() == [2]
        backend = store._backend
        honest = backend.prepare(sql_read("SELECT public FROM flights")).request
        for sql in ("SELECT secret FROM flights", "SELECT public FROM flights WHERE secret > 0"):
            for changes in (
                {"query": Query(honest.tables["flights"].query.source, made._model.steps)},
                {"query": Query(msgspec.structs.replace(honest.tables["flights"].query.source, since=-1))},
                {"labels": ("secret",)},
                {"kind": "batch"},
            ):
                tables = {"flights": msgspec.structs.replace(honest.tables["flights"], **changes)}
                forged = msgspec.structs.replace(honest, sql=sql, tables=tables)
                with pytest.raises((hr.InvalidArgument, hr.SqlRejected)) as caught:
                    backend.read(backend.prepare(forged), None)
                assert ".125" not in str(caught.value)
                prepared = msgspec.structs.replace(
                    backend.prepare(honest),
                    request=forged,
                    schema_ipc=write_schema(pa.schema([("secret", pa.float64())])),
                    tickets=(),
                )
                with pytest.raises((hr.InvalidArgument, hr.SqlRejected)):
                    backend.read(prepared, pa.table({"id": [1]}))

    def test_definitions_tell_of_no_other_columns(self, owner, enter, tmp_path) -> None:
        files = tmp_path / "files"
        files.mkdir()
        (files / "a.csv").write_text("id,public,secret\n1,a,007\n")
        types = pa.schema([("public", pa.string()), ("secret", pa.string())])
        owner.register_feature_group("files", files, format="csv", primary_key=["id"], schema=types)
        owner.grants.add("anna", "reader", group="files", columns=["public"])
        group = enter("anna").get_feature_group("files")
        assert group.schema.names == ["id", "public"]
        assert b"secret" not in msgspec.msgpack.encode(group._group.definition)
        assert group.read().to_arrow().to_pylist() == [{"id": 1, "public": "a"}]

    def test_explain_tells_no_query_of_an_external_group(self, owner, enter, tmp_path) -> None:
        with contextlib.closing(sqlite3.connect(tmp_path / "people.db")) as database, database:
            database.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, salary INTEGER)")
            database.execute("INSERT INTO people VALUES (1, 'ben', 100001)")
        query = "SELECT id, name, salary FROM people WHERE salary > 100000"
        owner.create_external_feature_group(
            "people", driver="sqlite", uri=f"file:{tmp_path / 'people.db'}", query=query, primary_key=["id"]
        )
        owner.grants.add("anna", "reader", group="people", columns=["name"])
        group = enter("anna").get_feature_group("people")
        assert group.read().to_arrow().to_pylist() == [{"id": 1, "name": "ben"}]
        assert "salary" not in group.read().explain()
        assert "salary > 100000" in owner.get_feature_group("people").read().explain()

    def test_what_is_taken_back_is_gone_at_once(self, owner, flights, enter) -> None:
        owner.grants.add("anna", "reader")
        store = enter("anna")
        group = store.get_feature_group("flights")
        prepared = group.read()
        assert prepared.to_arrow().num_rows == 2
        owner.grants.remove("anna")
        for refused in (prepared.to_arrow, lambda: prepared.to_reader().read_all(), lambda: group.history()):
            with pytest.raises(hr.NotFound):
                refused()
        owner.grants.add("anna", "reader")
        assert prepared.to_arrow().num_rows == 2


class TestGrants:
    @pytest.mark.parametrize(
        ("user", "role", "options"),
        [
            ("", "reader", {}),
            ("a\nb", "reader", {}),
            ("x" * 256, "reader", {}),
            ("anna", "boss", {}),
            ("anna", "admin", {"group": "flights"}),
            ("anna", "writer", {"group": "flights", "columns": ["public"]}),
            ("anna", "reader", {"columns": ["public"]}),
            ("anna", "reader", {"group": "flights", "columns": "public"}),
            ("anna", "reader", {"group": "No Name"}),
        ],
    )
    def test_what_is_none(self, owner, flights, user, role, options) -> None:
        with pytest.raises(hr.InvalidArgument):
            owner.grants.add(user, role, **options)
        assert owner.grants.list() == []

    def test_of_what_is_not_there(self, owner) -> None:
        with pytest.raises(hr.NotFound):
            owner.grants.add("anna", "reader", group="flights")
        with pytest.raises(hr.NotFound, match="anna has no grant"):
            owner.grants.remove("anna")

    def test_the_last_one_counts(self, owner, flights) -> None:
        owner.grants.add("anna", "admin")
        owner.grants.add("anna", "reader")
        owner.grants.add("anna", "reader", group="flights", columns=["public"])
        assert owner.grants.list() == [
            hr.Grant("anna", "reader"),
            hr.Grant("anna", "reader", "flights", ("public",)),
        ]


def test_every_action_asks_who_calls(serve, authority, clients) -> None:
    """Without a name that the service knows, none does anything; nor do reads, writes and listings."""
    url = serve(user_pattern="nobody")
    tls = hr.TLS(authority.cert, *clients.issue("anna"))
    cert, key = tls.read_identity()
    client = fl.FlightClient(url, tls_root_certs=tls.read_ca(), cert_chain=cert, private_key=key)
    headers = [(protocol.VERSION_HEADER.encode(), str(protocol.PROTOCOL_VERSION).encode())]
    options = fl.FlightCallOptions(headers=headers)
    descriptor = fl.FlightDescriptor.for_command(b"{}")

    def put() -> None:
        writer, answers = client.do_put(descriptor, pa.schema([]), options)
        writer.done_writing()
        answers.read()
        writer.close()

    def exchange() -> None:
        _, reader = client.do_exchange(descriptor, options)
        reader.read_chunk()

    calls = [
        *(lambda name=name: list(client.do_action(fl.Action(name, b"{}"), options)) for name in ACTIONS),
        lambda: list(client.list_actions(options)),
        lambda: list(client.list_flights(b"", options)),
        lambda: client.get_flight_info(descriptor, options),
        lambda: client.do_get(fl.Ticket(b"{}"), options).read_all(),
        put,
        exchange,
    ]
    for call in calls:
        with pytest.raises(pa.ArrowException) as caught:
            call()
        assert type(protocol.decode_error(bytes(caught.value.extra_info))) is hr.Unauthenticated


class TestTickets:
    def test_of_another_user(self, owner, flights, enter) -> None:
        for user in ("anna", "ben"):
            owner.grants.add(user, "reader")
        theirs = enter("anna").get_feature_group("flights").read()._prepared.tickets
        wire = enter("ben")._backend._wire
        with pytest.raises(hr.Unauthenticated, match="ticket"):
            wire.table(theirs)
        assert enter("anna")._backend._wire.table(theirs).num_rows == 2

    def test_one_that_expired_is_renewed(self, owner, flights, enter, monkeypatch) -> None:
        owner.grants.add("anna", "reader")
        result = enter("anna").get_feature_group("flights").read()
        flights.insert(rows(3))
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + 10_000)
        assert result.to_arrow().num_rows == 2, "still of the snapshot that it was prepared for"
        assert sum(batch.num_rows for batch in result.to_reader()) == 2
