"""Entities by SQL: what a query may say, what it gives, and what it can never reach."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

import headrace as hr
from contract.helpers import values

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


@pytest.fixture
def groups(store):
    flights = store.create_feature_group("flights", primary_key=["id"], event_time="dep")
    flights.insert(
        pa.table(
            {
                "id": range(6),
                "dep": [START + dt.timedelta(hours=i) for i in range(6)],
                "origin": ["JFK", "EWR", "JFK", None, "EWR", "JFK"],
            }
        )
    )
    weather = store.create_feature_group("weather", primary_key=["origin"], event_time="seen")
    weather.insert(
        [{"origin": "JFK", "seen": START, "temp": 1.0}, {"origin": "EWR", "seen": START, "temp": 2.0}]
    )
    return flights, weather


def ask(store, sql, features=("weather:temp",), **options):
    return store.get_historical_features(sql, list(features), **options)


class TestAnswers:
    @pytest.mark.parametrize(
        ("sql", "temps"),
        [
            ("SELECT origin, dep AS event_timestamp FROM flights ORDER BY id", [1.0, 2.0, 1.0, None, 2.0, 1.0]),
            ('SELECT origin, dep AS event_timestamp FROM "flights@v1" WHERE id < 2 ORDER BY id;', [1.0, 2.0]),
            ("SELECT origin, max(dep) AS event_timestamp FROM flights WHERE origin > '' GROUP BY origin ORDER BY 1", [2.0, 1.0]),
            ("WITH late AS (SELECT * FROM flights WHERE id > 3) SELECT origin, dep AS event_timestamp FROM late ORDER BY id -- last", [2.0, 1.0]),
            ("SELECT f.origin, f.dep AS event_timestamp FROM flights f JOIN weather w USING (origin) WHERE w.temp = 2 ORDER BY f.id", [2.0, 2.0]),
            ("VALUES ('JFK', TIMESTAMPTZ '2026-01-01 05:00:00Z')", None),
            ("SELECT 'JFK' AS origin, TIMESTAMPTZ '2025-12-31 00:00:00Z' AS event_timestamp UNION ALL SELECT 'EWR', TIMESTAMPTZ '2026-01-02 00:00:00Z' ORDER BY 2", [None, 2.0]),
            ("SELECT origin, dep + INTERVAL 1 HOUR AS event_timestamp FROM flights QUALIFY row_number() OVER (PARTITION BY origin ORDER BY dep) = 1 ORDER BY dep", [1.0, 2.0, None]),
        ],
    )  # fmt: skip
    def test_queries(self, store, groups, sql, temps):
        if temps is None:
            with pytest.raises(hr.HeadraceError):  # without names there is no key
                ask(store, sql)
        else:
            assert values(ask(store, sql), "temp") == temps

    def test_the_rows_are_those_of_the_call(self, store, groups):
        flights, _ = groups
        result = ask(store, "SELECT id, origin, dep AS event_timestamp FROM flights ORDER BY id")
        flights.delete(filter=flights["id"] > 0)
        assert values(result, "id") == list(range(6))

    def test_a_group_without_rows(self, store, groups):
        store.create_feature_group(
            "empty",
            primary_key=["origin"],
            schema=pa.schema({"origin": pa.string(), "at": pa.timestamp("us", "UTC")}),
        )
        assert ask(store, 'SELECT origin, "at" AS event_timestamp FROM empty').to_arrow().num_rows == 0

    def test_columns_added_later(self, store, groups):
        flights, _ = groups
        flights.add_features({"gate": pa.string()})
        found = ask(store, "SELECT origin, gate, dep AS event_timestamp FROM flights WHERE gate IS NULL")
        assert values(found, "gate") == [None] * 6

    def test_other_columns_pass_through(self, store, groups):
        sql = (
            "SELECT id, origin, dep AS event_timestamp, hour(dep) AS h FROM flights ORDER BY id DESC LIMIT 2"
        )
        found = ask(store, sql, full_feature_names=True)
        assert values(found, "h") == [5, 4]
        assert values(found, "weather__temp") == [1.0, 2.0]


class TestRefused:
    @pytest.mark.parametrize(
        "sql",
        [
            "SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM read_text('/etc/passwd')", "SELECT getenv('HOME')",
            "SELECT * FROM read_parquet('x')", "FROM query('SELECT 1')", "SELECT * FROM query_table(['flights'])",
            "SELECT * FROM glob('*')", "SELECT * FROM duckdb_settings()", "SELECT current_setting('threads')",
            "DROP TABLE flights", "DELETE FROM flights", "INSERT INTO flights VALUES (1)", "COPY flights TO 'x'",
            "ATTACH 'x'", "INSTALL httpfs", "LOAD 'x'", "PRAGMA database_list", "SET threads = 1", "CALL x()",
            "EXPLAIN SELECT 1", "DESCRIBE flights", "SHOW TABLES", "SUMMARIZE flights", "PIVOT flights ON id",
            "SELECT 1; SELECT 2", "SELECT 1; DROP TABLE flights", "", "  ", "SELECT", "nonsense",
            "SELECT now()", "SELECT random()", "SELECT uuid()", "SELECT nextval('x')", "SELECT error('x')",
            "SELECT * FROM flights TABLESAMPLE 10%", "SELECT * FROM flights AT (VERSION => id)",
            "SELECT list_transform([1], lambda x: x)", "SELECT * FROM range(10)", "SELECT none FROM flights",
            "SELECT system.main.abs(1)", "SELECT sum(sum(id)) FROM flights", "SELECT 1 " + "+ 1" * 5000,
            "SELECT " + "(" * 3000 + "1" + ")" * 3000, "SELECT '" + "x" * 200_000 + "'", "WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT * FROM t) SELECT * FROM t",
            "SELECT write_log('x')", "SELECT query('select 1')", "SELECT pg_sleep(10)",
        ],
    )  # fmt: skip
    def test_what_is_no_query_of_groups(self, store, groups, sql):
        with pytest.raises(hr.SqlRejected):
            ask(store, sql)

    @pytest.mark.parametrize(
        ("sql", "told"),
        [
            ("SELECT day_of_week(id) FROM flights", "there is dayofweek"),
            ("SELECT now()", "for the clock .give the time as a parameter"),
            ("SELECT current_database()", "who calls"),
            ("SELECT random()", "something else each time .hash"),
            ("SELECT Version()", "the service's own affairs .headrace status"),
            ("SELECT pg_sleep(10)", "there is sum, count"),
            ("SELECT * FROM range(10)", r"function range has no place.*SELECT unnest\(\[0, 1, 2\]\)"),
            ("SELECT * FROM read_csv('x')", "function read_csv has no place.*headrace fg list"),
            ("SHOW TABLES", "SHOW, DESCRIBE and SUMMARIZE have no place in a query .headrace fg list"),
            ("DESCRIBE flights", "SHOW, DESCRIBE and SUMMARIZE have no place in a query .headrace fg list"),
            ("SELECT origin, dlay FROM flights", '"dlay" not found.*flights has id, dep, origin'),
            ("SELECT w.tmp FROM flights f, weather w", "flights has id, .*; weather has origin, seen, temp"),
        ],
    )
    def test_a_way_out(self, store, groups, sql, told):
        with pytest.raises(hr.SqlRejected, match=told):
            ask(store, sql)

    @pytest.mark.parametrize(
        "name", ["information_schema.tables", "main.flights", "temp.flights", "pg_catalog.pg_class"]
    )
    def test_schemas_that_are_no_projects(self, store, groups, name):
        with pytest.raises(hr.NotFound, match="table"):
            ask(store, f"SELECT * FROM {name}")

    @pytest.mark.parametrize("name", ["information_schema.tables", "pg_catalog.pg_class"])
    def test_what_there_is_is_told_elsewhere(self, store, groups, name):
        with pytest.raises(hr.NotFound, match="headrace fg list"):
            ask(store, f"SELECT * FROM {name}")

    @pytest.mark.parametrize(
        "name",
        ["none", "/etc/passwd", "x.parquet", "flights@v9", "sqlite_master", "__headrace_spine"],
    )
    def test_tables_that_are_no_groups(self, store, groups, name):
        with pytest.raises((hr.NotFound, hr.InvalidArgument), match="table"):
            ask(store, f'SELECT * FROM "{name}"')

    @pytest.mark.parametrize(
        "call",
        [
            "id // 0",
            "id % 0",
            "strftime(dep, '%Q')",
            "strptime('x', '%Q')",
            "ntile(0) OVER ()",
            "lpad('x', 5, '')",
        ],
    )
    def test_a_function_of_what_it_does_not_take(self, store, groups, call):
        with pytest.raises(hr.SqlRejected, match="cannot be run"):
            ask(store, f"SELECT origin, dep AS event_timestamp, {call} AS x FROM flights").to_arrow()

    @pytest.mark.parametrize("name", ["{path}", "pg_settings", "sqlite_master", "duckdb_tables"])
    @pytest.mark.parametrize(
        "sql",
        [
            "SELECT x.* FROM {name} x, (WITH {name} AS (SELECT 1) SELECT * FROM {name}) y",
            "SELECT x.* FROM (WITH {name} AS (SELECT 1) SELECT * FROM {name}) y, {name} x",
            "WITH a AS (WITH {name} AS (SELECT 1) SELECT * FROM {name}) SELECT * FROM {name}",
            "WITH a AS (SELECT * FROM {name}), {name} AS (SELECT 1) SELECT * FROM a",
            "WITH {name} AS (SELECT * FROM {name}) SELECT * FROM {name}",
            "SELECT * FROM flights WHERE id IN (WITH {name} AS (SELECT 1) SELECT * FROM {name}) OR (SELECT count(*) FROM {name}) > 0",
        ],
    )
    def test_a_name_that_is_defined_elsewhere(self, store, groups, tmp_path, sql, name):
        path = tmp_path / "secret.csv"
        path.write_text("id,secret\n1,2\n")
        named = '"' + name.format(path=path) + '"'
        with pytest.raises((hr.NotFound, hr.InvalidArgument), match="table"):
            ask(store, sql.format(name=named))

    def test_a_name_that_is_defined_elsewhere_is_the_group_here(self, store, groups):
        shadowed = "(WITH flights AS (SELECT 7 AS seven) SELECT * FROM flights) AS y"
        found = ask(
            store,
            f"SELECT f.origin, f.dep AS event_timestamp, seven FROM flights AS f, {shadowed} WHERE id = 4",
        )
        assert values(found, "seven") == [7]

    @pytest.mark.parametrize(
        "name", ["current_date", "CURRENT_TIMESTAMP", "localtimestamp", "user", "session_user"]
    )
    def test_the_clock_and_the_user(self, store, groups, name):
        with pytest.raises(hr.SqlRejected, match="have no place in a query"):
            ask(store, f"SELECT origin, dep AS event_timestamp, {name} AS x FROM flights")
        elsewhere = f'WHERE EXISTS (SELECT 1 AS "{name}" FROM weather)'
        with pytest.raises(hr.SqlRejected, match="have no place in a query"):
            ask(store, f"SELECT origin, dep AS event_timestamp, {name} AS x FROM flights {elsewhere}")
        named = f'SELECT origin, dep AS event_timestamp, id AS "{name}" FROM flights ORDER BY "{name}"'
        assert ask(store, named).to_arrow().num_rows

    @pytest.mark.parametrize(
        "value",
        [
            "map {}", "[map {}]", "{'a': map {}}", "map([], [])", "'a'::enum('a')", "'12:00:00+01'::timetz",
            "'101'::bit", "1::bignum", "1::variant", "'00000000-0000-0000-0000-000000000000'::uuid",
        ],
    )  # fmt: skip
    def test_a_type_that_cannot_be_sent(self, store, groups, value):
        with pytest.raises(hr.SqlRejected, match=r"column .x. of the query is .*cannot be sent|has no place"):
            ask(store, f"SELECT origin, dep AS event_timestamp, {value} AS x FROM flights").to_arrow()

    @pytest.mark.parametrize("text", ["'a\0b'", "E'a\\0b'", "E'a\\x00b'"])
    def test_a_text_that_would_be_cut(self, store, groups, text):
        with pytest.raises(hr.HeadraceError):
            ask(store, f"SELECT origin, dep AS event_timestamp, {text} = 'a' AS x FROM flights").to_arrow()

    def test_names_are_alike_as_the_engine_has_it(self, store, groups):
        sql = (
            'WITH "straße" AS (SELECT 1 AS x), "strasse" AS (SELECT 2 AS x), loud AS (SELECT 3 AS x) '
            "SELECT f.origin, f.dep AS event_timestamp, a.x AS a, b.x AS b, c.x AS c "
            'FROM flights AS f, "straße" AS a, "STRASSE" AS b, LOUD AS c'
        )
        found = ask(store, sql).to_arrow().to_pylist()
        assert {(row["a"], row["b"], row["c"]) for row in found} == {(1, 2, 3)}

    def test_groups_of_other_projects(self, store, groups, target):
        with hr.connect(target, project="elsewhere") if isinstance(target, str) else store as other:
            if other is not store:
                with pytest.raises(hr.NotFound):
                    ask(other, "SELECT * FROM flights")

    def test_names_that_are_given_twice(self, store, groups):
        with pytest.raises(hr.NameClash, match="'a'"):
            ask(store, "SELECT 1 AS a, 2 AS A")

    @pytest.mark.parametrize(
        "sql", ["SELECT 'a'::INT AS origin", "SELECT 9223372036854775807 + id AS origin FROM flights"]
    )
    def test_values_that_cannot_be(self, store, groups, sql):
        with pytest.raises(hr.InvalidArgument):
            ask(store, sql)

    def test_text_that_cannot_be_sent(self, store, groups):
        with pytest.raises(hr.InvalidArgument):
            ask(store, "SELECT '\ud800'")

    def test_nul(self, store, groups):
        with pytest.raises((hr.SqlRejected, hr.InvalidArgument)):
            ask(store, "SELECT 1\0; DROP TABLE x")
