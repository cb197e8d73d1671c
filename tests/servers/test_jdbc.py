"""What JDBC's driver for Flight SQL makes of a service."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Iterator

import pyarrow as pa
import pytest

import headrace as hr
from headrace.config import store_config
from headrace.service.door import Access
from headrace.wiring import Service
from servers.jdbc import Jdbc, JdbcError
from service.certificates import Authority

pytestmark = pytest.mark.slow

NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int64()),
        "at": pa.array([NOON] * 3, pa.timestamp("us", "UTC")),
        "temp": [0.5, 1.0, None],
        "name": ["a", "it's", "ü"],
        "price": pa.array([decimal.Decimal("1.50")] * 3, pa.decimal128(10, 2)),
        "day": pa.array([dt.date(2026, 1, 1)] * 3),
    }
)


@pytest.fixture(scope="module")
def jdbc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jdbc]:
    """By mutual TLS, as anna, who reads the project `shop` and no other."""
    folder = tmp_path_factory.mktemp("jdbc")
    for name in ("own", "clients"):
        (folder / name).mkdir()
    own, clients = Authority(folder / "own", "own"), Authority(folder / "clients", "clients")
    with hr.connect(folder / "lake", project="shop") as store:
        group = store.create_feature_group("weather", primary_key=["id"], event_time="at")
        group.insert(ROWS)
        store.create_feature_view("warm", group.select("id", "temp"), labels=["temp"])
        store.grants.add("anna", "reader")
    with hr.connect(folder / "lake", project="hidden") as store:
        store.create_feature_group("secrets", primary_key=["id"]).insert([{"id": 1}])
    identity = hr.TLS(None, *own.issue("service"))
    service = Service(
        store_config(str(folder / "lake")), ["grpc+tls://127.0.0.1:0"], identity, Access(clients.cert)
    )
    host = service.listening[0].split("://")[1]
    cert, key = clients.issue("anna", ())
    options = f"useEncryption=true&tlsRootCerts={own.cert}&clientCertificate={cert}&clientKey={key}"
    with Jdbc(f"jdbc:arrow-flight-sql://{host}/?{options}") as connection:
        yield connection
    service.stop()


def test_queries(jdbc: Jdbc) -> None:
    assert jdbc.ask("query", "SELECT * FROM shop.weather ORDER BY id") == [
        ["1", "2026-01-01T12:00:00Z", "0.5", "a", "1.50", "2026-01-01"],
        ["2", "2026-01-01T12:00:00Z", "1.0", "it's", "1.50", "2026-01-01"],
        ["3", "2026-01-01T12:00:00Z", "null", "ü", "1.50", "2026-01-01"],
    ]
    assert jdbc.ask("query", "SELECT count(*) FROM headrace.shop.warm") == [["3"]]
    assert jdbc.ask("query", 'SELECT count(*) FROM shop."weather@v1" AT (VERSION => 0)') == [["3"]]


def test_columns_of_a_result(jdbc: Jdbc) -> None:
    found = jdbc.ask("columns of", "SELECT id, temp, price AS paid FROM shop.weather")
    assert found == [["id", "BIGINT"], ["temp", "DOUBLE"], ["paid", "DECIMAL"]]


def test_a_statement_is_prepared_once_and_run_again(jdbc: Jdbc) -> None:
    assert jdbc.ask("prepare", "SELECT id FROM shop.weather WHERE temp > ? AND name = ?") == [["2"]]
    assert jdbc.ask("run", "0.1", "it's") == [["2"]]
    assert jdbc.ask("run", "0.1", "a") == [["1"]]
    assert jdbc.ask("run", "0.1", "x' OR '1' = '1") == []


def test_what_is_refused(jdbc: Jdbc) -> None:
    for query, code in (
        ("SELECT * FROM shop.none", "NOT_FOUND"),
        ("SELECT * FROM hidden.secrets", "NOT_FOUND"),
        ("SELECT * FROM read_csv('/etc/passwd')", "SQL_REJECTED"),
        ("DROP TABLE shop.weather", "SQL_REJECTED"),
    ):
        with pytest.raises(JdbcError, match=code):
            jdbc.ask("query", query)
    assert jdbc.ask("query", "SELECT count(*) FROM shop.weather") == [["3"]]


def test_cancelling(jdbc: Jdbc) -> None:
    wide = "SELECT a.id FROM shop.weather a, shop.weather b, shop.weather c"
    assert jdbc.ask("first rows", wide) == [["cancelled"]]
    assert jdbc.ask("query", "SELECT 1") == [["1"]]


def test_what_there_is(jdbc: Jdbc) -> None:
    assert jdbc.ask("product") == [["Headrace", '"']]
    assert jdbc.ask("catalogs") == [["headrace"]]
    assert [row[:2] for row in jdbc.ask("schemas", "%")] == [["shop", "headrace"]]
    tables = [row[1:4] for row in jdbc.ask("tables", "%", "%")]
    assert tables == [["shop", "warm", "VIEW"], ["shop", "weather", "TABLE"]]
    columns = [(row[3], row[5]) for row in jdbc.ask("columns", "shop", "weather")]
    assert columns[:3] == [("id", "BIGINT"), ("at", "TIMESTAMPTZ"), ("temp", "DOUBLE")]
    assert [row[2:5] for row in jdbc.ask("keys", "shop", "weather")] == [["weather", "id", "1"]]
