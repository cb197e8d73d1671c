"""Tokens that the store issues, at a service: whom they name, where they are taken, and what is told of bad ones."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.flight as fl
import pytest
from adbc_driver_flightsql import DatabaseOptions, dbapi
from adbc_driver_manager import OperationalError

import headrace as hr
from headrace import protocol
from headrace.client.address import Address
from headrace.config import store_config
from headrace.service.door import Access
from headrace.wiring import Service
from service.certificates import Authority

LOOPBACK = "grpc://127.0.0.1:0"
SECURE = "grpc+tls://127.0.0.1:0"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tokens")


@pytest.fixture(scope="module")
def authority(folder: Path) -> Authority:
    return Authority(folder, "authority")


@pytest.fixture(scope="module")
def identity(authority: Authority) -> hr.TLS:
    return hr.TLS(None, *authority.issue("service"))


@pytest.fixture(scope="module")
def owner(folder: Path) -> Iterator[hr.FeatureStore]:
    with hr.connect(folder / "lake") as store:
        yield store


@pytest.fixture(scope="module")
def service(
    owner: hr.FeatureStore, folder: Path, authority: Authority, identity: hr.TLS
) -> Iterator[Service]:
    """It asks for a certificate at its first address, and for a token at the other two."""
    access = Access(authority.cert, tokens=True)
    config = store_config(str(folder / "lake"))
    started = Service(config, [SECURE], identity, access, token_listen=[SECURE, LOOPBACK])
    yield started
    started.stop()


@pytest.fixture(scope="module")
def plain(service: Service) -> str:
    """Where callers on this machine show a token."""
    return service.listening[2]


def who(url: str, **options: object) -> str:
    """The user as whom one is known there."""
    with (
        hr.connect(url, project="nobodys", timeout=60, **options) as store,
        pytest.raises(hr.PermissionDenied) as caught,
    ):
        store.create_feature_group("g", primary_key=["id"])
    return caught.value.message.split()[0]


def refused(url: str, *headers: tuple[bytes, bytes], **options: object) -> hr.HeadraceError:
    """What a call with such headers is told."""
    given = [(protocol.VERSION_HEADER.encode(), str(protocol.PROTOCOL_VERSION).encode()), *headers]
    client = fl.FlightClient(url, **options)
    with pytest.raises(pa.ArrowException) as caught:
        list(client.do_action(fl.Action("list_groups", b"{}"), fl.FlightCallOptions(headers=given)))
    client.close()
    return protocol.decode_error(bytes(caught.value.extra_info))


class TestWho:
    def test_a_token_names_its_user(self, owner, service, plain, authority) -> None:
        token = owner.tokens.create("anna").text
        assert who(plain, token=token) == "anna"
        assert who(service.listening[1], token=token, tls=hr.TLS(authority.cert)) == "anna"

    def test_a_client_of_flight_sql(self, owner, folder, service, authority) -> None:
        with hr.connect(folder / "lake", project="sql") as store:
            store.create_feature_group("weather", primary_key=["id"]).insert([{"id": 7}])
            store.grants.add("anna", "reader")
        options = {
            DatabaseOptions.TLS_ROOT_CERTS.value: Path(authority.cert).read_text(),
            DatabaseOptions.AUTHORIZATION_HEADER.value: f"Bearer {owner.tokens.create('anna').text}",
            DatabaseOptions.RPC_CALL_HEADER_PREFIX.value + "headrace-project": "sql",
        }
        name = DatabaseOptions.TLS_OVERRIDE_HOSTNAME.value

        def asked(options: dict[str, str]) -> object:
            url = service.listening[1]
            with dbapi.connect(url, autocommit=True, db_kwargs=options) as conn, conn.cursor() as cur:
                cur.execute("SELECT id FROM weather")
                return cur.fetchone()

        assert asked(options) == asked({**options, name: "localhost"}) == (7,)
        with pytest.raises(OperationalError, match="elsewhere"):
            asked({**options, name: "elsewhere"})

    def test_it_goes_before_a_certificate(self, owner, service, authority) -> None:
        tls = hr.TLS(authority.cert, *authority.issue("ben", ()))
        assert who(service.listening[0], tls=tls) == "ben"
        assert who(service.listening[0], tls=tls, token=owner.tokens.create("anna").text) == "anna"

    def test_a_bad_one_is_not_mended_by_a_certificate(self, service, authority) -> None:
        tls = hr.TLS(authority.cert, *authority.issue("ben", ()))
        with pytest.raises(hr.Unauthenticated):
            hr.connect(service.listening[0], tls=tls, token=f"hr_{'0' * 16}_{'0' * 64}", timeout=60)

    def test_nobody(self, service, plain, authority) -> None:
        with pytest.raises(hr.Unauthenticated, match=r"asks for a token.*HEADRACE_TOKEN"):
            hr.connect(plain, timeout=60)
        with pytest.raises(hr.Unauthenticated, match=r"asks for a certificate.*--token-listen"):
            hr.connect(
                service.listening[0],
                tls=hr.TLS(authority.cert),
                token=f"hr_{'0' * 16}_{'0' * 64}",
                timeout=60,
            )

    def test_a_certificate_is_not_looked_at_where_none_is_asked_for(self, service, authority) -> None:
        tls = hr.TLS(authority.cert, *authority.issue("ben", ()))
        with pytest.raises(hr.Unauthenticated, match="asks for a token"):
            hr.connect(service.listening[1], tls=tls, timeout=60)

    def test_across_restarts_and_services(self, owner, folder, plain) -> None:
        made = owner.tokens.create("anna")
        other = Service(store_config(str(folder / "lake")), [LOOPBACK], access=Access(tokens=True))
        with hr.connect(other.listening[0], token=made.text, timeout=60) as store:
            assert who(plain, token=made.text) == "anna"
            with hr.connect(plain, token=made.text, timeout=60) as first:
                first.tokens.revoke(made.id)
            with pytest.raises(hr.Unauthenticated):
                store.list_feature_groups()
        other.stop()


class TestOwn:
    def test_users_make_and_see_and_revoke_their_own(self, owner, plain) -> None:
        owner.grants.add("cleo", "admin")
        bens = owner.tokens.create("ben")
        with hr.connect(plain, token=owner.tokens.create("cleo").text, timeout=60) as store:
            made = store.tokens.create(expires="1h", description="second")
            assert (made.user, made.description) == ("cleo", "second")
            assert store.tokens.create("cleo").user == "cleo"
            assert {token.user for token in store.tokens.list()} == {"cleo"}
            with pytest.raises(hr.PermissionDenied, match="cleo may make no token of ben"):
                store.tokens.create("ben")
            with pytest.raises(hr.NotFound):
                store.tokens.revoke(bens.id)
            assert who(plain, token=made.text) == "cleo"
            store.tokens.revoke(made.id)
        with pytest.raises(hr.Unauthenticated):
            hr.connect(plain, token=made.text, timeout=60)
        assert who(plain, token=bens.text) == "ben"
        owner.grants.remove("cleo")

    @pytest.mark.parametrize(
        ("user", "options"),
        [
            (None, {}),
            ("", {}),
            ("a\nb", {}),
            ("anna", {"expires": "unlimited"}),
            ("anna", {"expires": "0s"}),
            ("anna", {"expires": "367d"}),
            ("anna", {"expires": "soon"}),
            ("anna", {"description": "x" * 501}),
            ("anna", {"description": None}),
        ],
    )
    def test_what_is_none(self, owner, user, options) -> None:
        before = owner.tokens.list()
        with pytest.raises(hr.InvalidArgument):
            owner.tokens.create(user, **options)
        assert owner.tokens.list() == before


class TestRefused:
    def test_all_that_is_wrong_looks_alike(self, owner, plain) -> None:
        anna, gone = owner.tokens.create("anna"), owner.tokens.create("anna")
        owner.tokens.revoke(gone.id)
        _, own, secret = anna.text.split("_")
        told = {
            str(refused(plain, *((b"authorization", value) for value in values)))
            for values in (
                [f"Bearer {gone.text}".encode()],
                [f"Bearer hr_{'0' * 16}_{secret}".encode()],
                [f"Bearer hr_{gone.id}_{secret}".encode()],
                [f"Bearer hr_{own}_{'0' * 64}".encode()],
                [f"Bearer  {anna.text}".encode()],
                [f"Bearer {anna.text} {anna.text}".encode()],
                [f"Basic {anna.text}".encode()],
                [anna.text.encode()],
                [b"Bearer"],
                [b""],
                [b"Bearer ..", b"Bearer .."],
                [f"Bearer {anna.text}".encode(), f"Bearer {anna.text}".encode()],
                [b"Bearer x", f"Bearer {anna.text}".encode()],
                [f"Bearer {anna.text}, Bearer {anna.text}".encode()],
                [b"Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm5hIn0."],
                [b"Bearer " + b"x" * 5_000],
            )
        }
        assert len(told) == 1, told
        assert anna.id not in told.pop()

    def test_one_that_has_expired(self, owner, plain, service) -> None:
        made = owner.tokens.create("anna", expires="1us")
        error = refused(plain, (b"authorization", f"Bearer {made.text}".encode()))
        assert type(error) is hr.Unauthenticated
        assert "expired" in error.message
        wrong = refused(plain, (b"authorization", f"Bearer hr_{made.id}_{'0' * 64}".encode()))
        assert "expired" not in wrong.message

    @pytest.mark.parametrize("size", [20_000, 2_000_000])
    def test_huge_ones_end_their_call_alone(self, owner, plain, size) -> None:
        client = fl.FlightClient(plain)
        options = fl.FlightCallOptions(headers=[(b"authorization", b"Bearer " + b"x" * size)], timeout=20)
        with pytest.raises((pa.ArrowException, OSError)):
            list(client.do_action(fl.Action("list_groups", b"{}"), options))
        client.close()
        assert who(plain, token=owner.tokens.create("anna").text) == "anna"

    def test_no_secret_is_told_or_logged(self, owner, plain, caplog, capfd) -> None:
        made = owner.tokens.create("anna")
        secret = made.text.split("_")[2]
        owner.tokens.revoke(made.id)
        with caplog.at_level(logging.DEBUG):
            for value in (f"Bearer {made.text}", f"Basic {made.text}", made.text):
                assert secret not in str(vars(refused(plain, (b"authorization", value.encode()))))
            with pytest.raises(hr.Unauthenticated) as caught:
                hr.connect(plain, token=made.text, timeout=60)
        assert secret not in f"{caught.value!r}{vars(caught.value)}{caplog.text}{capfd.readouterr()}"


class TestAddresses:
    @pytest.mark.parametrize(
        ("listen", "token_listen", "access", "told"),
        [
            (["grpc://0.0.0.0:0"], [], Access(tokens=True), "read"),
            ([LOOPBACK], [LOOPBACK], Access(tokens=True), "--listen takes tokens"),
            ([LOOPBACK], [LOOPBACK], Access(), "--tokens"),
            (["grpc+tls://0.0.0.0:0"], [], Access(), "--tokens"),
        ],
    )
    def test_that_are_refused(self, folder, identity, listen, token_listen, access, told) -> None:
        tls = identity if any("tls" in uri for uri in listen) else None
        with pytest.raises(hr.InvalidArgument) as caught:
            Service(store_config(str(folder / "refused")), listen, tls, access, token_listen=token_listen)
        assert told in str(caught.value)

    def test_beside_certificates(self, folder, identity, authority) -> None:
        config, access = store_config(str(folder / "refused")), Access(authority.cert, tokens=True)
        for listen, token_listen, told in (
            ([LOOPBACK], [], "certificate"),
            ([SECURE], ["grpc://0.0.0.0:0"], "read"),
            ([SECURE], ["http://0.0.0.0:0"], "no address"),
        ):
            with pytest.raises(hr.InvalidArgument) as caught:
                Service(config, listen, identity, access, token_listen=token_listen)
            assert told in str(caught.value)
        with pytest.raises(hr.InvalidArgument, match="--tokens"):
            Service(config, [SECURE], identity, Access(authority.cert), token_listen=[SECURE])

    def test_of_other_machines_by_tls(self, folder, identity) -> None:
        tokens = Access(tokens=True)
        Service(store_config(str(folder / "wide")), ["grpc+tls://0.0.0.0:0"], identity, tokens).stop()

    def test_a_service_that_takes_none(self, owner, folder, authority, identity) -> None:
        """Who shows a token means to be named by it."""
        config = store_config(str(folder / "lake"))
        started = Service(config, [SECURE], identity, Access(authority.cert))
        tls = hr.TLS(authority.cert, *authority.issue("ben", ()))
        assert who(started.listening[0], tls=tls) == "ben"
        with pytest.raises(hr.Unauthenticated, match="none that this service takes"):
            hr.connect(started.listening[0], tls=tls, token=owner.tokens.create("anna").text, timeout=60)
        started.stop()


class TestClient:
    @pytest.mark.parametrize(
        "token",
        ["", "two words", "line\nbreak", "line\n", "nul\0", "é", "\ud800", "x" * 7_001, b"hr_x_y", 5, "a=b"],
    )
    def test_what_cannot_be_sent(self, token) -> None:
        with pytest.raises(hr.InvalidArgument, match="token") as caught:
            hr.connect("grpc://127.0.0.1:1", token=token)
        if token and token != 5:
            assert str(token) not in str(caught.value)

    @pytest.mark.parametrize("url", ["grpc://10.0.0.1:8815", "grpc://example.org", "grpc+tcp://0.0.0.0:1"])
    def test_where_others_could_read_it(self, url) -> None:
        with pytest.raises(hr.InvalidArgument, match=r"could read the token.*grpc\+tls") as caught:
            hr.connect(url, token="hr_hidden")
        assert "hidden" not in str(caught.value)

    def test_of_no_service(self, tmp_path) -> None:
        with pytest.raises(hr.InvalidArgument, match="token is for a service"):
            hr.connect(tmp_path, token="x")

    def test_it_stands_in_no_representation(self) -> None:
        assert "secret" not in repr(Address("grpc://127.0.0.1:1", None, "secret"))


def test_every_action_wants_a_token(owner, plain) -> None:
    """Also greetings, and what lists what can be asked for."""
    client = fl.FlightClient(plain)
    options = fl.FlightCallOptions(
        headers=[(protocol.VERSION_HEADER.encode(), str(protocol.PROTOCOL_VERSION).encode())]
    )
    calls: list[Callable[[], object]] = [
        lambda: list(client.do_action(fl.Action("hello", b'{"protocol":1,"version":"x"}'), options)),
        lambda: list(client.list_actions(options)),
        lambda: client.get_flight_info(fl.FlightDescriptor.for_command(b"{}"), options),
        lambda: client.do_get(fl.Ticket(b"x"), options).read_all(),
    ]
    for call in calls:
        with pytest.raises(pa.ArrowException) as caught:
            call()
        assert type(protocol.decode_error(bytes(caught.value.extra_info))) is hr.Unauthenticated
    client.close()
