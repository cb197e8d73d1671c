"""Clients of Flight SQL: ADBC's driver, and calls written by hand where it would not make them."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.flight as fl
import pytest
from adbc_driver_flightsql import DatabaseOptions, dbapi
from adbc_driver_manager import OperationalError, ProgrammingError

import headrace as hr
from conftest import Server, fresh
from headrace.config import store_config
from headrace.service.door import Access
from headrace.service.flight_sql.messages import read, unwrapped, wrapped, written
from headrace.wiring import Service
from service.certificates import Authority

NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
SLOW = "SELECT sum(a.id + b.id + c.id) AS x FROM {0} a, {0} b, {0} c WHERE a.id * b.id % 7 = c.id % 5"
REFUSED = (OperationalError, ProgrammingError)


def rows(*ids: int) -> pa.Table:
    at = pa.array([NOON] * len(ids), pa.timestamp("us", "UTC"))
    return pa.table({"id": pa.array(ids, pa.int64()), "at": at, "temp": [i / 2 for i in ids]})


@pytest.fixture(scope="module")
def project(server: Server) -> Iterator[str]:
    """With a group of three rows in two versions, and a view."""
    name = fresh("sql")
    with server.connect(project=name) as store:
        old = store.create_feature_group("weather", primary_key=["id"], event_time="at", description="old")
        old.insert(rows(0))
        group = store.create_feature_group("weather", primary_key=["id"], event_time="at")
        group.insert(rows(1, 2, 3))
        store.create_feature_view("warm", group.select("id", "temp"), labels=["temp"])
        store.create_feature_group("bare", primary_key=["id"])
        yield name


@pytest.fixture
def conn(server: Server) -> Iterator[dbapi.Connection]:
    with dbapi.connect(server.url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def cur(conn: dbapi.Connection) -> Iterator[dbapi.Cursor]:
    with conn.cursor() as cursor:
        yield cursor


def run(cur: dbapi.Cursor, query: str, params: tuple | None = None) -> list[tuple]:
    cur.execute(query, params)
    return cur.fetchall()


class TestQueries:
    def test_groups_and_views(self, cur: dbapi.Cursor, project: str) -> None:
        cur.execute(f"SELECT id, temp FROM {project}.weather ORDER BY id")
        assert cur.fetch_arrow_table().to_pydict() == {"id": [1, 2, 3], "temp": [0.5, 1.0, 1.5]}
        cur.execute(f'SELECT count(*) FROM headrace.{project}."weather@v1"')
        assert cur.fetchone() == (1,)
        cur.execute(f"SELECT sum(temp) FROM {project}.warm")
        assert cur.fetchone() == (3.0,)

    def test_an_older_snapshot(self, server: Server, cur: dbapi.Cursor, project: str) -> None:
        with server.connect(project=project) as store:
            group = store.create_feature_group(fresh("g"), primary_key=["id"])
            group.insert([{"id": 1}])
            group.insert([{"id": 2}])
        for version, count in ((0, 1), (1, 2)):
            cur.execute(f"SELECT count(*) FROM {project}.{group.name} AT (VERSION => ?)", (version,))
            assert cur.fetchone() == (count,)

    def test_parameters(self, cur: dbapi.Cursor, project: str) -> None:
        cur.execute(f'SELECT id FROM {project}.weather WHERE temp > ? AND "at" = ? ORDER BY id', (0.5, NOON))
        assert cur.fetchall() == [(2,), (3,)]
        cur.execute("SELECT ?, ?, ?", ("it's", None, b"\x00"))
        assert cur.fetchone() == ("it's", None, b"\x00")

    def test_a_statement_prepared_once_and_run_again(self, cur: dbapi.Cursor, project: str) -> None:
        query = f"SELECT temp FROM {project}.weather WHERE id = ?"
        schema = cur.adbc_prepare(query)
        assert schema.names == ["1"]
        for number in (3, 1):
            cur.execute(query, (number,))
            assert cur.fetchone() == (number / 2,)

    @pytest.mark.parametrize("asked", ["now()", "current_date", "current_timestamp", "user"])
    def test_the_clock_and_the_user_are_refused_before_a_query_runs(
        self, cur: dbapi.Cursor, project: str, asked: str
    ) -> None:
        with pytest.raises(REFUSED, match=r"SQL_REJECTED.*as a parameter"):
            cur.adbc_prepare(f"SELECT {asked} AS x, id FROM {project}.weather")

    @pytest.mark.parametrize(
        ("query", "params", "code"),
        [
            ("SELECT", None, "SQL_REJECTED"),
            ("SELECT * FROM none.weather", None, "NOT_FOUND"),
            ("SELECT * FROM read_text('/etc/passwd')", None, "SQL_REJECTED"),
            ("INSERT INTO weather VALUES (1)", None, "SQL_REJECTED"),
            ("SELECT ?", None, "INVALID_ARGUMENT"),
            ("SELECT ?", (1, 2), "INVALID_ARGUMENT"),
            ("SELECT ?", (dt.time(1),), "INVALID_ARGUMENT"),
            ("SELECT CAST(? AS INTEGER)", ("x",), "INVALID_ARGUMENT"),
        ],
    )
    def test_what_is_refused(self, cur: dbapi.Cursor, query: str, params: tuple | None, code: str) -> None:
        with pytest.raises(REFUSED) as caught:
            run(cur, query, params)
        assert code in str(caught.value)
        assert "request" in str(caught.value)  # by which the log can be searched
        assert "Traceback" not in str(caught.value)

    def test_several_rows_of_parameters(self, server: Server) -> None:
        with fl.connect(server.url) as client:
            request = wrapped("ActionCreatePreparedStatementRequest", query="SELECT ?")
            (result,) = client.do_action(fl.Action("CreatePreparedStatement", request))
            _, statement = unwrapped(result.body.to_pybytes())
            command = wrapped(
                "CommandPreparedStatementQuery", prepared_statement_handle=statement.prepared_statement_handle
            )
            values = pa.record_batch({"1": [1, 2]})
            writer, _ = client.do_put(fl.FlightDescriptor.for_command(command), values.schema)
            writer.write_batch(values)
            with pytest.raises(fl.FlightError, match="one row of parameters"):
                writer.close()

    def test_changes_of_rows_are_told_where_they_belong(self, cur: dbapi.Cursor) -> None:
        with pytest.raises(OperationalError, match=r"another statement.*a query is one SELECT"):
            cur.executemany("DELETE FROM weather WHERE id = ?", [(1,), (2,)])
        with pytest.raises(OperationalError, match="append by ingesting"):
            cur.executemany("SELECT ?", [(1,), (2,)])

    def test_data_frames(self, conn: dbapi.Connection, project: str) -> None:
        query = f"SELECT id, temp FROM {project}.weather WHERE id > 1 ORDER BY id"
        assert pl.read_database(query, conn).rows() == [(2, 1.0), (3, 1.5)]
        assert pd.read_sql(query, conn).values.tolist() == [[2, 1.0], [3, 1.5]]

    def test_data_frames_of_parameters(self, conn: dbapi.Connection, cur: dbapi.Cursor, project: str) -> None:
        query = f"SELECT w.id FROM {project}.weather w AT (VERSION => 0) WHERE w.id > ? ORDER BY w.id"
        given = {"parameters": [1]}
        assert pl.read_database(query, conn, execute_options=given).rows() == [(2,), (3,)]
        with pytest.raises(NotImplementedError, match="params"):
            pd.read_sql(query, conn, params=[1])
        with pytest.raises(NotImplementedError, match="chunksize"):
            pd.read_sql(query, conn, chunksize=1)
        cur.execute(query, (1,))
        assert cur.fetch_df().values.tolist() == [[2], [3]]

    def test_the_project_of_the_connection(self, server: Server, project: str) -> None:
        with connected(server, project) as conn, conn.cursor() as cur:
            cur.execute("SELECT count(*) FROM weather")
            assert cur.fetchone() == (3,)


def connected(server: Server, project: str) -> dbapi.Connection:
    header = f"{DatabaseOptions.RPC_CALL_HEADER_PREFIX.value}headrace-project"
    return dbapi.connect(server.url, autocommit=True, db_kwargs={header: project})


class TestCatalog:
    def test_what_there_is(self, conn: dbapi.Connection, project: str) -> None:
        found = conn.adbc_get_objects(depth="tables", db_schema_filter=project).read_all().to_pylist()
        (catalog,) = found
        (schema,) = catalog["catalog_db_schemas"]
        tables = {table["table_name"]: table["table_type"] for table in schema["db_schema_tables"]}
        assert catalog["catalog_name"] == "headrace"
        assert tables | {"weather": "TABLE", "weather@v1": "TABLE", "warm": "VIEW", "bare": "TABLE"} == tables
        assert "weather@v2" not in tables

    def test_narrowed(self, conn: dbapi.Connection, project: str) -> None:
        def names(**filters: object) -> list[str]:
            found = conn.adbc_get_objects(depth="tables", db_schema_filter=project, **filters).read_all()
            return [
                table["table_name"]
                for catalog in found.to_pylist()
                for schema in catalog["catalog_db_schemas"]
                for table in schema["db_schema_tables"]
            ]

        assert names(table_name_filter="wea%") == ["weather", "weather@v1"]
        assert names(table_name_filter="w_rm") == ["warm"]
        assert names(table_name_filter="w\\_rm") == []
        assert names(table_types_filter=["VIEW"]) == ["warm"]
        assert names(catalog_filter="other") == []

    def test_columns(self, conn: dbapi.Connection, project: str) -> None:
        expected = [("id", pa.int64()), ("at", pa.timestamp("us", "UTC")), ("temp", pa.float64())]
        schema = conn.adbc_get_table_schema("weather", db_schema_filter=project)
        assert [(field.name, field.type) for field in schema] == expected
        assert schema.field("id").metadata[b"ARROW:FLIGHT:SQL:TYPE_NAME"] == b"BIGINT"
        schema = conn.adbc_get_table_schema("warm", db_schema_filter=project)
        assert schema.names == ["id", "temp"]

    def test_keys_types_and_what_the_service_is(
        self, server: Server, conn: dbapi.Connection, project: str
    ) -> None:
        assert conn.adbc_get_info()["vendor_name"] == "Headrace"
        assert conn.adbc_get_table_types() == ["TABLE", "VIEW"]
        with fl.connect(server.url) as client:
            keys = ask(client, "CommandGetPrimaryKeys", db_schema=project, table="weather")
            assert keys.column("column_name").to_pylist() == ["id"]
            assert ask(client, "CommandGetImportedKeys", table="weather").num_rows == 0
            types = ask(client, "CommandGetXdbcTypeInfo")
            assert "VARCHAR" in types.column("type_name").to_pylist()
            assert ask(client, "CommandGetXdbcTypeInfo", data_type=-5).column("type_name").to_pylist() == [
                "BIGINT"
            ]
            told = ask(client, "CommandGetSqlInfo", info=[0, 3, 9999])
            assert told.column("info_name").to_pylist() == [0, 3]
            assert ask(client, "CommandGetCatalogs").to_pydict() == {"catalog_name": ["headrace"]}

    def test_schemas_of_queries_that_are_not_run(self, server: Server, project: str) -> None:
        command = wrapped("CommandStatementQuery", query=f"SELECT id FROM {project}.weather")
        with fl.connect(server.url) as client:
            assert client.get_schema(fl.FlightDescriptor.for_command(command)).schema.names == ["id"]


def ask(client: fl.FlightClient, name: str, **fields: object) -> pa.Table:
    """The answer to a command for metadata, which has the columns that were told before."""
    info = client.get_flight_info(fl.FlightDescriptor.for_command(wrapped(name, **fields)))
    found = client.do_get(info.endpoints[0].ticket).read_all()
    assert found.schema.equals(info.schema)
    return found


class TestIngest:
    def test_appends(self, server: Server, cur: dbapi.Cursor, project: str) -> None:
        with server.connect(project=project) as store:
            group = store.create_feature_group(fresh("g"), primary_key=["id"], event_time="at")
            assert cur.adbc_ingest(group.name, rows(1, 2), mode="append", db_schema_name=project) == 2
            assert cur.adbc_ingest(group.name, rows(2, 3), mode="append", db_schema_name=project) == 2
            assert group.read(["id"]).to_arrow().num_rows == 4
            with pytest.raises(OperationalError, match="SCHEMA_MISMATCH"):
                cur.adbc_ingest(group.name, pa.table({"id": ["x"]}), mode="append", db_schema_name=project)

    @pytest.mark.parametrize("mode", ["create", "replace", "create_append"])
    def test_makes_no_groups(self, cur: dbapi.Cursor, project: str, mode: str) -> None:
        with pytest.raises(OperationalError, match="makes none"):
            cur.adbc_ingest("weather", rows(1), mode=mode, db_schema_name=project)

    def test_keeps_no_temporary_tables(self, cur: dbapi.Cursor) -> None:
        with pytest.raises(OperationalError, match="temporary tables are not kept") as caught:
            cur.adbc_ingest("weather", rows(1), mode="append", temporary=True)
        assert "append by" not in str(caught.value)
        assert 'mode="append"' not in str(caught.value)

    def test_rows_that_break_off_are_not_committed(self, server: Server, project: str) -> None:
        with server.connect(project=project) as store:
            group = store.create_feature_group(fresh("g"), primary_key=["id"], event_time="at")
            group.insert(rows(0))
            sender = subprocess.Popen(
                [sys.executable, "-c", SENDER, server.url, project, group.name], stdout=subprocess.PIPE
            )
            assert sender.stdout is not None
            sender.stdout.readline()
            sender.kill()
            sender.wait()
            until = time.monotonic() + 10
            while store.queries.list() and time.monotonic() < until:
                time.sleep(0.05)
            assert not store.queries.list()
            assert group.read().to_arrow().num_rows == 1


SENDER = """
import sys, time
import pyarrow as pa
from adbc_driver_flightsql import dbapi

url, project, group = sys.argv[1:]
schema = pa.schema({"id": pa.int64(), "at": pa.timestamp("us", "UTC"), "temp": pa.float64()})

def batches():
    for number in range(1, 1000):
        if number == 20:
            print("sent", flush=True)
        if number > 20:
            time.sleep(0.5)
        yield pa.record_batch([[number], [0], [0.0]], schema=schema)

with dbapi.connect(url, autocommit=True) as conn, conn.cursor() as cur:
    cur.adbc_ingest(group, pa.RecordBatchReader.from_batches(schema, batches()), mode="append", db_schema_name=project)
"""


class TestStopping:
    @pytest.fixture
    def slow(self, server: Server, project: str) -> Iterator[tuple[hr.FeatureStore, str]]:
        with server.connect(project=project) as store:
            group = store.get_or_create_feature_group("many", version=1, primary_key=["id"])
            group.insert(pa.table({"id": range(5_000)}))
            yield store, SLOW.format(f"{project}.many")

    def test_by_the_driver(self, server: Server, slow: tuple[hr.FeatureStore, str], project: str) -> None:
        store, query = slow
        with connected(server, project) as conn, conn.cursor() as cur:
            asked = threading.Thread(target=quietly, args=[lambda: (cur.execute(query), cur.fetchall())])
            asked.start()
            wait_for(lambda: running(store))
            cur.adbc_cancel()
            asked.join(30)
            assert not asked.is_alive()
        wait_for(lambda: not running(store), 2)

    @pytest.mark.parametrize("action", ["CancelFlightInfo", "CancelQuery"])
    def test_by_its_info(
        self, server: Server, slow: tuple[hr.FeatureStore, str], project: str, action: str
    ) -> None:
        store, query = slow
        headers = fl.FlightCallOptions(headers=[(b"headrace-project", project.encode())])
        with fl.connect(server.url) as client, fl.connect(server.url) as other:
            command = fl.FlightDescriptor.for_command(wrapped("CommandStatementQuery", query=query))
            info = client.get_flight_info(command, headers)
            caught: list[BaseException] = []
            ticket = info.endpoints[0].ticket
            asked = threading.Thread(
                target=quietly, args=[lambda: client.do_get(ticket, headers).read_all(), caught]
            )
            asked.start()
            wait_for(lambda: running(store))
            if action == "CancelQuery":
                body = wrapped("ActionCancelQueryRequest", info=info.serialize())
            else:
                body = written("CancelFlightInfoRequest", info=info.serialize())
            (result,) = other.do_action(fl.Action(action, body), headers)
            asked.join(30)
            assert isinstance(caught[0], fl.FlightCancelledError)
            told = result.body.to_pybytes()
            if action == "CancelQuery":
                assert unwrapped(told)[1].result == 1
            else:
                assert read("CancelFlightInfoResult", told).status == 1
            (result,) = other.do_action(
                fl.Action("CancelFlightInfo", written("CancelFlightInfoRequest", info=info.serialize())),
                headers,
            )
            assert read("CancelFlightInfoResult", result.body.to_pybytes()).status == 3


def running(store: hr.FeatureStore) -> bool:
    return any(query.state == "running" for query in store.queries.list())


def wait_for(condition: Callable[[], bool], seconds: float = 20) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def quietly(call: Callable[[], object], caught: list[BaseException] | None = None) -> None:
    try:
        call()
    except Exception as error:
        if caught is not None:
            caught.append(error)


class TestWho:
    @pytest.fixture
    def enter(self, tmp_path: Path) -> Iterator[Callable[[str], dbapi.Connection]]:
        """Connects as a user to a store in which anna reads a part of one group, and otto nothing."""
        for folder in ("own", "clients"):
            (tmp_path / folder).mkdir()
        own, clients = Authority(tmp_path / "own", "service"), Authority(tmp_path / "clients", "clients")
        root = tmp_path / "lake"
        with hr.connect(root, project="shop") as store:
            group = store.create_feature_group("weather", primary_key=["id"], event_time="at")
            group.insert(rows(1))
            store.create_feature_group("hidden", primary_key=["id"]).insert([{"id": 1}])
            store.create_feature_view("warm", group.select("id", "temp"))
            store.grants.add("anna", "reader", group="weather", columns=["at"])
            store.grants.add("boss", "reader")
        service = Service(
            store_config(str(root)),
            ["grpc+tls://127.0.0.1:0"],
            hr.TLS(None, *own.issue("service")),
            Access(clients.cert),
        )
        connections: list[dbapi.Connection] = []

        def connect(user: str) -> dbapi.Connection:
            cert, key = clients.issue(user, ())
            options = {
                DatabaseOptions.TLS_ROOT_CERTS.value: Path(own.cert).read_text(),
                DatabaseOptions.MTLS_CERT_CHAIN.value: Path(cert).read_text(),
                DatabaseOptions.MTLS_PRIVATE_KEY.value: Path(key).read_text(),
            }
            connections.append(dbapi.connect(service.listening[0], autocommit=True, db_kwargs=options))
            return connections[-1]

        yield connect
        for connection in connections:
            connection.close()
        service.stop()

    def test_sees_what_they_are_granted(self, enter: Callable[[str], dbapi.Connection]) -> None:
        found = {
            user: enter(user).adbc_get_objects(depth="columns").read_all().to_pylist()
            for user in ("anna", "otto", "boss")
        }
        assert "hidden" not in str(found["anna"])
        assert "warm" not in str(found["anna"])
        assert "temp" not in str(found["anna"])
        assert "weather" in str(found["anna"])
        assert "weather" not in str(found["otto"])
        assert "shop" not in str(found["otto"])
        assert "hidden" in str(found["boss"])
        with enter("anna").cursor() as cur:
            cur.execute("SELECT * FROM shop.weather")
            assert cur.fetch_arrow_table().column_names == ["id", "at"]
            for query in (
                "SELECT temp FROM shop.weather",
                "SELECT * FROM shop.hidden",
                "SELECT * FROM shop.warm",
                "SELECT * FROM none.none",
            ):
                with pytest.raises(OperationalError, match=r"NOT_FOUND|SQL_REJECTED"):
                    run(cur, query)
            with pytest.raises(OperationalError, match=r"shop.weather has id, at[^,]"):
                run(cur, "SELECT temp FROM shop.weather")
            with pytest.raises(ProgrammingError, match="PERMISSION_DENIED"):
                cur.adbc_ingest("weather", rows(2), mode="append", db_schema_name="shop")
