"""What databases are asked for, in their own SQL."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
import sqlglot

from headrace.formats.external.bigquery import BigQuery
from headrace.formats.external.column import ExternalColumn
from headrace.formats.external.postgresql import PostgreSQL
from headrace.formats.external.snowflake import Snowflake
from headrace.formats.external.sqlite import SQLite
from headrace.model.expression import Column, Ref, condition_of
from headrace.model.external import ExternalSource

NOON = dt.datetime(2026, 1, 2, 12, 0, 0, 1, dt.timezone(dt.timedelta(hours=2)))
DIALECTS = {
    "postgres": PostgreSQL.dialect,
    "sqlite": SQLite.dialect,
    "snowflake": Snowflake.dialect,
    "bigquery": BigQuery.dialect,
}
KINDS = {
    "i": ("integer", pa.int64()),
    "f": ("float", pa.float64()),
    "m": ("decimal", pa.decimal128(10, 2)),
    "b": ("bool", pa.bool_()),
    "d": ("date", pa.date32()),
    "at": ("instant", pa.timestamp("us", "UTC")),
    "t": ("time", pa.timestamp("us")),
    "s": ("text", pa.string()),
    "x": (None, pa.float32()),
}
COLUMNS = {name: ExternalColumn(name, kind, f'"{name}"', compared=how) for name, (how, kind) in KINDS.items()}


def column(name: str) -> Column:
    return Column(Ref(name))


def told(dialect: str, *conditions: Column) -> list[str]:
    return DIALECTS[dialect].conditions([condition_of(c) for c in conditions], COLUMNS)


I, F, M, B, D, AT, T, S, X = map(column, COLUMNS)  # noqa: E741


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (I > 5, '("i" > 5)'),
        (I == -(2**70), f'("i" = {-(2**70)})'),
        (F <= 0.1, '("f" <= 0.1)'),
        (F != 1e300, '("f" <> 1e+300)'),
        (F > 3, '("f" > 3)'),
        (Decimal("1.25") == M, '("m" = 1.25)'),
        (B == True, '("b" = TRUE)'),  # noqa: E712
        (dt.date(2026, 1, 2) <= D, "(\"d\" >= DATE '2026-01-02')"),
        (AT < NOON, "(\"at\" < TIMESTAMP WITH TIME ZONE '2026-01-02 10:00:00.000001+00:00')"),
        (T < NOON, "(\"t\" < TIMESTAMP '2026-01-02 10:00:00.000001')"),
        (S == "it's", "(\"s\" = 'it''s')"),
        (S == "a\\'; DROP TABLE t; --", "(\"s\" = E'a\\\\''; DROP TABLE t; --')"),
        (S.isin(["a", "b"]), "(\"s\" IN ('a', 'b'))"),
        (I.isin([]), "(1 = 0)"),
        (X.is_null(), '("x" IS NULL)'),
        (~I.is_null(), '(NOT (("i" IS NULL)))'),
        ((I > 1) | (S == "a"), '((("i" > 1)) OR (("s" = \'a\')))'),
        (~((I > 1) | (I < 0)), '(NOT (((("i" > 1)) OR (("i" < 0)))))'),
    ],
)
def test_what_postgresql_decides(condition: Column, expected: str) -> None:
    assert told("postgres", condition) == [expected]


@pytest.mark.parametrize(
    "condition",
    [
        float("nan") == F,
        float("inf") < F,
        F == 2**60,
        I > 1.5,
        X > 1.5,  # of four bytes
        S > "a",  # by whose collation?
        S != "a",
        ~(S == "a"),
        S == "a\0b",
        S.like("a%"),
        (I > 1) | (X > 1.5),
        ~((I > 1) & (S == "a")),
    ],
)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_no_database_decides(dialect: str, condition: Column) -> None:
    assert told(dialect, condition) == []


def test_of_what_must_all_be_true_each_part_is_told() -> None:
    assert told("postgres", (I > 1) & (X > 1.5) & (S == "a"), F > 2) == [
        '("i" > 1)',
        "(\"s\" = 'a')",
        '("f" > 2)',
    ]


def test_the_others() -> None:
    assert told("sqlite", B == True) == ["(`b` = 1)"]  # noqa: E712
    assert told("snowflake", AT >= NOON) == ["(\"at\" >= '2026-01-02 10:00:00.000001+00:00'::TIMESTAMP_TZ)"]
    # Times have more digits than are read, and what is equal here may be later there.
    assert told("snowflake", AT <= NOON) == told("snowflake", ~(AT > NOON)) == []
    assert told("snowflake", S == "a\\'") == ["(\"s\" = 'a\\\\''')"]
    assert told("bigquery", T > NOON) == ["(`t` > DATETIME '2026-01-02 10:00:00.000001')"]
    assert told("bigquery", S == "a\\'\n") == ["(`s` = 'a\\\\\\'\\n')"]
    assert told("bigquery", Decimal("1.25") == M) == []


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "text", ["plain", "it's", "\\", "\\'", "'; --", "a\nb", "/*", '"', "`", "$1", "%s", "名前"]
)
def test_a_text_is_one_literal(dialect: str, text: str) -> None:
    told = DIALECTS[dialect].text(text)
    parsed = sqlglot.parse_one(f"SELECT {told} AS x", dialect=dialect)
    (literal,) = parsed.expressions
    assert len(list(parsed.walk())) <= 5
    assert literal.alias == "x"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "name", ["plain", "Camel", 'quo"te', "back`tick", "back\\slash", "a b", "x; DROP TABLE t; --"]
)
def test_a_name_is_one_name(dialect: str, name: str) -> None:
    told = DIALECTS[dialect].name(name)
    (found,) = sqlglot.parse_one(f"SELECT {told} FROM t", dialect=dialect).find_all(sqlglot.exp.Column)
    assert found.name == name or dialect == "bigquery"
    assert len(sqlglot.parse(f"SELECT {told} FROM t", dialect=dialect)) == 1


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_whole_statement(dialect: str) -> None:
    source = ExternalSource(driver="postgresql", uri="env:X", query="SELECT * FROM t -- a comment")
    written = DIALECTS[dialect]
    columns = [
        ExternalColumn("i", pa.int64(), written.name("i")),
        ExternalColumn("u", pa.string(), written.as_text("u")),
    ]
    sql = written.select(written.relation(source), columns, told(dialect, I > 1, S == "a"))
    parsed = sqlglot.parse_one(sql, dialect=dialect)
    assert parsed.named_selects == ["i", "u"]
    assert parsed.find(sqlglot.exp.Subquery).alias == "headrace_query"
    assert parsed.args["where"] is not None


@pytest.mark.parametrize(
    ("dialect", "expected"), [("postgres", '"My Schema"."t"'), ("bigquery", "`My Schema`.`t`")]
)
def test_tables_are_spelt_as_they_are(dialect: str, expected: str) -> None:
    source = ExternalSource(driver="postgresql", uri="env:X", table="My Schema.t")
    assert DIALECTS[dialect].relation(source) == expected
