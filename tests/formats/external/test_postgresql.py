"""A real PostgreSQL: its types, what it decides, what it refuses, and what becomes of a read when it goes away."""

from __future__ import annotations

import datetime as dt
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import psutil
import psycopg
import pytest

import headrace as hr
from formats.external_cases import VALUES, check
from headrace.errors import HeadraceError
from headrace.formats.external.connections import Connections
from headrace.formats.external.postgresql import _with_an_end
from headrace.formats.external.table import ExternalTable
from headrace.model.external import ExternalSource
from postgres import postgres_database, postgres_url

__all__ = ["postgres_database", "postgres_url"]

PASSWORD = "hush-Zq7!x"
NOON = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)


@pytest.fixture
def execute(postgres_database: str) -> Callable[[str], list]:
    def run(sql: str) -> list:
        with psycopg.connect(postgres_database, autocommit=True) as connection:
            found = connection.execute(sql)
            return found.fetchall() if found.description else []

    return run


@pytest.fixture
def store(tmp_path: Path, postgres_database: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("THEIRS", postgres_database)
    with hr.connect(tmp_path / "lake") as opened:
        yield opened


def create(store: hr.FeatureStore, table: str | None = "t", key: str = "id", **options: object):
    options = {"driver": "postgresql", "uri": "env:THEIRS", "table": table, "primary_key": [key]} | options
    return store.create_external_feature_group("g", **options)


def test_types(store, execute) -> None:
    execute("CREATE TYPE mood AS ENUM ('good', 'bad')")
    execute(
        """CREATE TABLE t (id int8, i2 int2, i4 int4, r real, d float8, n numeric, m numeric(10, 2), n0 numeric(5),
        b bool, s text, v varchar(5), c char(5), y bytea, day date, ti time, ts timestamp, tz timestamptz, iv interval,
        u uuid, j jsonb, ia int[], ta text[], na numeric[], ip inet, e mood, o oid, big numeric(60, 2))"""
    )
    execute(
        """INSERT INTO t VALUES (1, 2, 3, 1.5, 2.5, 1e20, 1.25, 7, true, 's', 'v', 'c', '\\x00ff', '2026-01-02',
        '12:30', '2026-01-02 12:00', '2026-01-02 12:00Z', '1 day', '00000000-0000-0000-0000-000000000001', '{"a": 1}',
        '{1,NULL}', '{a}', '{1.5}', '127.0.0.1', 'good', 4294967295, 1.5)"""
    )
    group = create(store)
    table = group.read().to_arrow()
    found = {field.name: (str(field.type), table[field.name][0].as_py()) for field in table.schema}
    assert found == {
        "id": ("int64", 1),
        "i2": ("int16", 2),
        "i4": ("int32", 3),
        "r": ("float", 1.5),
        "d": ("double", 2.5),
        "n": ("double", 1e20),
        "m": ("decimal128(10, 2)", Decimal("1.25")),
        "n0": ("decimal128(5, 0)", Decimal(7)),
        "b": ("bool", True),
        "s": ("string", "s"),
        "v": ("string", "v"),
        "c": ("string", "c"),
        "y": ("binary", b"\0\xff"),
        "day": ("date32[day]", dt.date(2026, 1, 2)),
        "ti": ("string", "12:30:00"),
        "ts": ("timestamp[us]", dt.datetime(2026, 1, 2, 12)),
        "tz": ("timestamp[us, tz=UTC]", NOON),
        "iv": ("string", "1 day"),
        "u": ("string", "00000000-0000-0000-0000-000000000001"),
        "j": ("string", '{"a": 1}'),
        "ia": ("list<element: int32>", [1, None]),
        "ta": ("list<element: string>", ["a"]),
        "na": ("string", "{1.5}"),
        "ip": ("string", "127.0.0.1/32"),
        "e": ("string", "good"),
        "o": ("string", "4294967295"),
        "big": ("double", 1.5),
    }
    assert group.read(filter=group["id"] == 1).to_arrow() == table
    assert group.read(["ia", "u"], filter=group["m"] == Decimal("1.25")).to_arrow() == table.select(
        ["ia", "u"]
    )


def test_a_number_that_is_none(store, execute) -> None:
    execute("CREATE TABLE t (id int, m numeric(4, 2)); INSERT INTO t VALUES (1, 'NaN')")
    with pytest.raises(hr.BadData, match="column 'm'"):
        create(store).read().to_arrow()


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz", "date[]", "timestamptz[]"])
@pytest.mark.parametrize("value", ["infinity", "-infinity", "0044-03-15 BC", "10000-01-01"])
def test_times_that_are_none(store, execute, kind, value) -> None:
    value = f"{{{value}}}" if kind.endswith("[]") else value
    execute(f"CREATE TABLE t (id int, at {kind}); INSERT INTO t VALUES (1, NULL), (2, '{value}')")
    with pytest.raises(hr.BadData, match="column 'at'"):
        create(store).read().to_arrow()


def test_the_first_time_and_the_last(store, execute) -> None:
    execute("CREATE TABLE t (id int, day date, at timestamp)")
    execute(
        "INSERT INTO t VALUES (1, '0001-01-01', '0001-01-01'), (2, '9999-12-31', '9999-12-31 23:59:59.999999')"
    )
    assert create(store).read().to_arrow().sort_by("id").drop(["id"]).to_pylist() == [
        {"day": dt.date.min, "at": dt.datetime.min},
        {"day": dt.date.max, "at": dt.datetime.max},
    ]


def test_arrays_of_several_dimensions_are_not_made_one(store, execute) -> None:
    execute(
        "CREATE TABLE t (id int, a int[]); INSERT INTO t VALUES (1, '{1,2}'), (2, '{}'), (3, '{{1,2},{3,4}}')"
    )
    group = create(store)
    assert group.read(filter=group["id"] < 3).to_arrow().sort_by("id")["a"].to_pylist() == [[1, 2], []]
    with pytest.raises(hr.BadData, match="'a' holds an array of several dimensions"):
        group.read().to_arrow()


@pytest.mark.parametrize("how", ["uri", "environment"])
def test_text_in_whatever_encoding_the_client_is_set_to(
    store, execute, monkeypatch, how, postgres_database
) -> None:
    execute("CREATE TABLE t (id int, s text); INSERT INTO t VALUES (1, 'é'), (2, 'Ã©')")
    if how == "uri":
        sign = "&" if "?" in postgres_database else "?"
        monkeypatch.setenv("THEIRS", f"{postgres_database}{sign}client_encoding=LATIN1")
    else:
        monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    group = create(store)
    assert group.read().to_arrow().sort_by("id")["s"].to_pylist() == ["é", "Ã©"]
    assert group.read(["id"], group["s"] == "é").to_arrow()["id"].to_pylist() == [1]


def test_bytes_that_are_no_text(store, execute, postgres_database, monkeypatch) -> None:
    execute("DROP DATABASE IF EXISTS bytes_alone")
    execute("CREATE DATABASE bytes_alone ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    parts = urlsplit(postgres_database)
    url = parts._replace(path="/bytes_alone").geturl()
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE t (id int, s text, a text[])")
            connection.execute("INSERT INTO t VALUES (1, 'a', '{b}')")
            monkeypatch.setenv("THEIRS", url)
            group = create(store)
            assert group.read(["s", "a"]).to_arrow().to_pylist() == [{"s": "a", "a": ["b"]}]
            text = "convert_from('\\xff41'::bytea, 'SQL_ASCII')"
            connection.execute(f"INSERT INTO t VALUES (2, {text}, ARRAY[{text}])")
        for column in ("s", "a"):
            with pytest.raises(hr.BadData, match="feature group g"):
                group.read([column]).to_arrow()
    finally:
        store.close()
        execute("DROP DATABASE bytes_alone WITH (FORCE)")


class TestUnique:
    """What PostgreSQL promises needs not be looked for in the rows."""

    @pytest.mark.parametrize(
        ("made", "expected"),
        [
            ("id int PRIMARY KEY, a int", ("id",)),
            ("id int, a int, PRIMARY KEY (id, a)", ("id", "a")),
            ("id int NOT NULL UNIQUE, a int", ("id",)),
            ("id int UNIQUE, a int", None),  # null may be there many times
            ("id int NOT NULL UNIQUE DEFERRABLE, a int", None),  # not at every moment
            ("id int, a int", None),
        ],
    )
    def test_constraints(self, store, execute, made, expected) -> None:
        execute(f"CREATE TABLE t ({made})")
        assert self.unique(store) == expected

    def test_indexes(self, store, execute) -> None:
        execute("CREATE TABLE t (id int NOT NULL, a int NOT NULL)")
        execute("CREATE UNIQUE INDEX ON t (id) WHERE a > 1; CREATE UNIQUE INDEX ON t ((id + 1))")
        assert self.unique(store) is None
        execute("CREATE UNIQUE INDEX ON t (a) INCLUDE (id)")
        assert self.unique(store) is None
        execute("CREATE UNIQUE INDEX ON t (a)")
        assert self.unique(store) == ("a",)

    def test_of_a_table_with_heirs_there_is_none(self, store, execute) -> None:
        execute("CREATE TABLE t (id int PRIMARY KEY); CREATE TABLE heir () INHERITS (t)")
        execute("INSERT INTO t VALUES (1); INSERT INTO heir VALUES (1)")
        assert self.unique(store) is None

    def unique(self, store) -> tuple[str, ...] | None:
        source = ExternalSource(driver="postgresql", uri="env:THEIRS", table="t")
        return ExternalTable(source, "g", Connections()).newest().unique


class TestRefused:
    @pytest.fixture
    def locked(self, postgres_database: str, execute, monkeypatch: pytest.MonkeyPatch):
        """A user with a password, who may read one table; gives what sets the password that is tried."""
        execute("DROP OWNED BY locked") if execute(
            "SELECT 1 FROM pg_roles WHERE rolname = 'locked'"
        ) else None
        execute("DROP ROLE IF EXISTS locked")
        execute(f"CREATE ROLE locked LOGIN PASSWORD '{PASSWORD}'")
        execute("CREATE TABLE t (id int); CREATE TABLE secret (id int); GRANT SELECT ON t TO locked")

        def use(password: str) -> None:
            monkeypatch.setenv(
                "THEIRS", postgres_database.replace("postgres@", f"locked:{quote(password, safe='')}@")
            )

        use(PASSWORD)
        yield use
        execute("DROP OWNED BY locked; DROP ROLE locked")

    def test_a_password(self, store, locked) -> None:
        create(store)
        locked("wrong-Zq7!x")
        with pytest.raises(hr.Unauthenticated) as caught:
            store.get_feature_group("g").read().to_arrow()
        assert "env:THEIRS" in str(caught.value)
        locked(PASSWORD)
        assert store.get_feature_group("g").read().to_arrow().num_rows == 0

    def test_rights(self, store, locked) -> None:
        with pytest.raises(hr.PermissionDenied, match="secret"):
            create(store, "secret").read().to_arrow()

    def test_nothing_secret_is_told(self, store, locked, tmp_path, caplog, execute) -> None:
        caplog.set_level(logging.DEBUG)
        told: list[str] = []
        group = create(store)
        told += [repr(group), group.location, group.read().explain(), repr(store.list_feature_groups())]
        for table, password in (("nowhere", PASSWORD), ("secret", PASSWORD), ("t", f"{PASSWORD}-wrong")):
            locked(password)
            with pytest.raises(hr.HeadraceError) as caught:
                create(store, table).read().to_arrow()
            told += [str(caught.value), repr(caught.value.details), str(caught.value.__cause__)]
        locked(PASSWORD)
        told += [caplog.text, *(p.read_bytes().decode("latin1") for p in tmp_path.rglob("*") if p.is_file())]
        for secret in (PASSWORD, quote(PASSWORD, safe="")):
            assert not [text for text in told if secret in text]

    @pytest.mark.parametrize(
        ("uri", "kind"),
        [
            ("postgresql://me:hush@127.0.0.1:1/db", hr.Unavailable),
            ("postgresql://me:hush@nobody.invalid/db", hr.Unavailable),
            ("postgresql://me:hush@127.0.0.1:port/db", hr.InvalidArgument),
            ("mysql://me:hush@127.0.0.1/db", hr.InvalidArgument),
            ("host=127.0.0.1 password=hush", hr.InvalidArgument),
            ("postgresql://me:hush@127.0.0.1:1/db?nonsense=hush", hr.Unavailable),
            ("  ", hr.InvalidArgument),
            ("postgresql://me:hush@127.0.0.1,127.0.0.1/db?port=1,2", hr.Unavailable),
            ("postgresql://me:hush@127.0.0.1:1,127.0.0.1:2/db", hr.Unavailable),
            ("postgresql://me:hush@127.0.0.1/db?port=one", hr.HeadraceError),
        ],
    )
    def test_uris(self, store, monkeypatch, uri, kind) -> None:
        monkeypatch.setenv("THEIRS", uri)
        with pytest.raises(kind) as caught:
            create(store)
        assert "feature group g" in caught.value.message
        assert "hush" not in f"{caught.value} {caught.value.details}"

    def test_a_host_that_does_not_answer_is_given_up(self, store, monkeypatch) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = f"postgresql://me:hush@127.0.0.1:{silent.getsockname()[1]}/db"
            monkeypatch.setenv("THEIRS", f"{address}?connect_timeout=2")
            start = time.monotonic()
            with pytest.raises(hr.Unavailable, match="feature group g"):
                create(store)
            assert time.monotonic() - start < 6
            assert _with_an_end(address) == f"{address}?connect_timeout=10"
            assert _with_an_end(f"{address}?sslmode=disable").endswith("&connect_timeout=10")

    def test_it_is_read_alone(self, store, execute) -> None:
        execute("CREATE TABLE t (id int)")
        execute("CREATE FUNCTION sly() RETURNS int LANGUAGE sql AS 'INSERT INTO t VALUES (1) RETURNING id'")
        with pytest.raises(hr.InvalidArgument, match="read-only"):
            create(store, None, query="SELECT sly() AS id").read().to_arrow()
        assert execute("SELECT * FROM t") == []


class TestGoneAway:
    """A million rows, of which some have come when something happens."""

    @pytest.fixture
    def rows(self, store, execute):
        execute("CREATE TABLE t AS SELECT i AS id, repeat('x', 100) AS s FROM generate_series(1, 1000000) i")
        return create(store)

    def kill(self, execute) -> None:
        execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )

    def test_killed_in_mid_stream(self, rows, execute) -> None:
        for read in (rows.read(), rows.read(filter=rows["s"].like("x%"))):
            batches = read.to_reader()
            batches.read_next_batch()
            self.kill(execute)
            with pytest.raises(hr.Unavailable, match="feature group g"):
                batches.read_all()
        assert rows.read(["id"]).to_arrow().num_rows == 1_000_000

    def test_killed_between_reads(self, rows, execute) -> None:
        assert rows.read(["id"], rows["id"] < 3).to_arrow().num_rows == 2
        self.kill(execute)
        assert rows.read(["id"], rows["id"] < 3).to_arrow().num_rows == 2

    def test_a_reader_that_goes_away_leaves_nothing_behind(self, rows, execute) -> None:
        for read in (rows.read(), rows.read(filter=rows["s"].like("x%")), rows.read(limit=1)):
            batches = read.to_reader()
            batches.read_next_batch()
            batches.close()
            del batches
            deadline = time.monotonic() + 10
            while execute(
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
                "AND pid <> pg_backend_pid() AND state <> 'idle'"
            ):
                assert time.monotonic() < deadline
                time.sleep(0.02)

    def test_one_that_is_closed_ends_at_once(self, store, execute) -> None:
        query = "SELECT i AS id, pg_sleep(0.02)::text AS s FROM generate_series(1, 100000) i"
        group = create(store, None, query=query)
        failures: list[BaseException] = []

        def read() -> None:
            try:
                group.read().to_arrow()
            except HeadraceError as error:
                failures.append(error)

        reading = threading.Thread(target=read)
        reading.start()
        deadline = time.monotonic() + 30
        while not execute(
            "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep%' "
            "AND pid <> pg_backend_pid() AND datname = current_database()"
        ):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(0.2)
        start = time.monotonic()
        store.close()
        reading.join(20)
        assert time.monotonic() - start < 10
        assert [type(failure) for failure in failures] == [hr.Cancelled]

    def test_a_store_closes_beside_one_that_has_fallen_silent(
        self, store, rows, execute, postgres_url
    ) -> None:
        batches = rows.read().to_reader()
        batches.read_next_batch()
        [[reading]] = execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
            "AND state = 'active' AND backend_type = 'client backend'"
        )
        folder = Path(postgres_url.partition("host=")[2])
        silent = [int((folder / "data" / "postmaster.pid").read_text().split()[0]), reading]
        ended: list[BaseException] = []
        came: list[float] = [time.monotonic()]

        def read() -> None:
            try:
                for _ in batches:
                    came.append(time.monotonic())
            except HeadraceError as error:
                ended.append(error)

        waiting = threading.Thread(target=read)
        for pid in silent:
            os.kill(pid, signal.SIGSTOP)
        try:
            waiting.start()
            while time.monotonic() - came[-1] < 3:  # until what had been sent has come
                time.sleep(0.1)
            start = time.monotonic()
            store.close()
            took = time.monotonic() - start
        finally:
            for pid in silent:
                os.kill(pid, signal.SIGCONT)
        waiting.join(60)
        assert took < 30, "it waits for a server that says nothing"
        assert [type(error) for error in ended] == [hr.Cancelled]

    def test_memory_is_bounded(self, rows) -> None:
        process = psutil.Process()
        before, most = process.memory_info().rss, 0
        for _ in rows.read().to_reader():
            most = max(most, process.memory_info().rss - before)
        assert most < 40 << 20  # all are more than twice as much

    def test_a_query_that_fails_half_way_is_not_tried_again(self, store) -> None:
        group = create(
            store, None, query="SELECT i AS id, 1 / (500000 - i) AS z FROM generate_series(1, 1000000) i"
        )
        for read in (group.read(), group.read(filter=group["z"] >= 0)):
            with pytest.raises(hr.BadData, match="division by zero") as caught:
                read.to_arrow()
            assert not caught.value.retryable


def test_what_is_passed_on_finds_what_is_found_here(store, execute, postgres_database) -> None:
    """Random conditions give the rows that they give of the same rows in a group of Headrace."""
    execute("CREATE TABLE t (id int8, f float8, s text, b bool, at timestamptz, day date, m numeric(10, 2))")
    theirs = create(store)

    def fill(rows: list[dict[str, Any]]) -> None:
        execute("TRUNCATE t")
        with psycopg.connect(postgres_database, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO t VALUES (%s, %s, %s, %s, %s, %s, %s)",
                [[row[name] for name in VALUES] for row in rows],
            )

    check(store, theirs, fill)
