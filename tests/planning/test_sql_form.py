"""Queries in SQL that are the same, and those that are not."""

from __future__ import annotations

import json
import time

import duckdb
import pyarrow as pa
import pytest

from headrace.model.sql_form import SqlForm
from headrace.planning.sql_check import CheckedQuery, check_query
from headrace.planning.sql_form import computes, sql_form

COLUMNS = [
    pa.schema(
        {"id": pa.int64(), "who": pa.int64(), "price": pa.float64(), "box": pa.struct({"lid": pa.int64()})}
    ),
    pa.schema({"who": pa.int64(), "value": pa.int64()}),
]
JOIN = "SELECT o.id, s.value FROM orders AS o JOIN seen AS s ON o.who = s.who"


def checked(sql: str) -> CheckedQuery:
    with duckdb.connect() as connection:
        lean = "skip_default := true, skip_empty := true, skip_null := true"
        (told,) = connection.execute(f"SELECT json_serialize_sql(?, {lean})", [sql]).fetchall()[0]
    return check_query(json.loads(told))


def form(sql: str) -> SqlForm:
    return sql_form(checked(sql), COLUMNS)


def same(one: SqlForm, other: SqlForm) -> bool:
    return (one.family, sorted({*one.columns})) == (other.family, sorted({*other.columns}))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (JOIN, "select x.id,\n y.value from orders x join seen y on x.who = y.who -- the same"),
        (JOIN, "SELECT o.ID, s.VALUE FROM orders AS o JOIN seen AS s ON s.who = o.who"),
        (JOIN, "SELECT s.value AS v, o.id AS number FROM orders o JOIN seen s ON o.who = s.who"),
        (JOIN, "SELECT orders.id, seen.value FROM orders JOIN seen ON orders.who = seen.who"),
        (
            f"{JOIN} WHERE o.price > 3 AND (s.value < 4 AND o.id <> 5)",
            f"{JOIN} WHERE 5 <> o.id AND s.value < 4 AND o.price > 3",
        ),
        (f"{JOIN} WHERE o.id = 1 OR o.id = 2", f"{JOIN} WHERE o.id = 2 OR o.id = 1"),
        (
            "SELECT who, sum(price) AS total FROM orders GROUP BY who HAVING count(*) > 2",
            "SELECT sum(price) AS paid, who FROM orders GROUP BY who HAVING count(*) > 2",
        ),
        (
            "SELECT a.id FROM orders a WHERE EXISTS (SELECT 1 FROM seen b WHERE b.who = a.who)",
            "SELECT c.id FROM orders c WHERE EXISTS (SELECT 1 FROM seen d WHERE c.who = d.who)",
        ),
    ],
)
def test_the_same(one: str, other: str) -> None:
    assert same(form(one), form(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (JOIN, JOIN.replace("JOIN", "LEFT JOIN")),
        (JOIN, JOIN.replace("o.who = s.who", "o.id = s.who")),
        (JOIN, f"{JOIN} WHERE o.price > 3"),
        (f"{JOIN} WHERE o.price > 3", f"{JOIN} WHERE o.price >= 3"),
        (f"{JOIN} WHERE o.price > 3", f"{JOIN} WHERE 3 > o.price"),
        (f"{JOIN} WHERE o.price > 3", f"{JOIN} WHERE o.price > 3.0"),
        (f"{JOIN} WHERE o.id = 1 OR o.id = 2", f"{JOIN} WHERE o.id = 1 AND o.id = 2"),
        (f"{JOIN} ORDER BY 1", f"{JOIN} ORDER BY 2"),
        (f"{JOIN} LIMIT 3", f"{JOIN} LIMIT 4"),
        # The first column is another one.
        (f"{JOIN} ORDER BY 1", f"{JOIN.replace('o.id, s.value', 's.value, o.id')} ORDER BY 1"),
        ("SELECT who, id FROM orders GROUP BY 1, 2", "SELECT id, who FROM orders GROUP BY 1, who, id"),
        ("SELECT DISTINCT who FROM orders", "SELECT who FROM orders GROUP BY who, id"),
        # What a name means may hang on which table has which.
        (
            "SELECT a.who FROM orders a, orders b WHERE a.id < b.id",
            "SELECT b.who FROM orders a, orders b WHERE a.id < b.id",
        ),
        (
            "SELECT a.id FROM orders a JOIN orders b USING (who)",
            "SELECT a.id FROM orders b JOIN orders a USING (who)",
        ),
        # A name that a condition means, and not a column of the result alone.
        (
            "SELECT price AS id, count(*) FROM orders GROUP BY ALL HAVING id > 3",
            "SELECT price AS who, count(*) FROM orders GROUP BY ALL HAVING id > 3",
        ),
        # Within rows that are made, names are values.
        (
            "SELECT max(struct_pack(a := id)) FROM orders",
            "SELECT max(struct_pack(b := id)) FROM orders",
        ),
        # Names of the result, with what DuckDB lets stand before them.
        (
            f"{JOIN} WHERE alias.x > 1".replace("o.id", "o.id AS x"),
            f"{JOIN} WHERE alias.x > 1".replace("s.value", "s.value AS x"),
        ),
        # Which side is left decides the order of a struct's fields.
        (
            "SELECT count(*) FROM orders WHERE {'a': id, 'b': 5} < {'b': 2, 'a': 9}",
            "SELECT count(*) FROM orders WHERE {'b': 2, 'a': 9} > {'a': id, 'b': 5}",
        ),
        # DuckDB folds ASCII letters alone.
        (
            'SELECT max(x."ß") FROM (SELECT id AS "ß", who AS ss FROM orders) x',
            'SELECT max(x.ss) FROM (SELECT id AS "ß", who AS ss FROM orders) x',
        ),
        ('SELECT sum("ß".who) FROM orders "ß", seen ss', 'SELECT sum(ss.who) FROM orders "ß", seen ss'),
        # The name of a field, taken out, is a value.
        (
            "SELECT max(CAST(s AS VARCHAR)) FROM (SELECT box.LID FROM orders) s",
            "SELECT max(CAST(s AS VARCHAR)) FROM (SELECT box.lid FROM orders) s",
        ),
        ("SELECT count(*), 'a' FROM orders", "SELECT count(*), 'A' FROM orders"),
        ("SELECT sum(id) FROM orders", "SELECT sum(DISTINCT id) FROM orders"),
        ("SELECT sum(id) FROM orders", "SELECT sum(id) FILTER (WHERE id > 1) FROM orders"),
        ("SELECT count(*) FROM orders", "SELECT count(*) FROM seen"),
        ("SELECT count(*) FROM orders", "SELECT count(*) FROM orders AT (VERSION => 1)"),
        ("SELECT count(*) FROM orders", "SELECT count(*) FROM shop.orders"),
        (
            "SELECT id FROM orders UNION SELECT who FROM seen",
            "SELECT id FROM orders UNION ALL SELECT who FROM seen",
        ),
    ],
)
def test_others(one: str, other: str) -> None:
    assert not same(form(one), form(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # `box` is a column too, `box.lid` may be what is in it.
        ("SELECT box.lid, s.who FROM orders, seen s", "SELECT c.lid, s.who FROM orders c, seen s"),
        (
            "SELECT (SELECT box.who FROM orders) FROM seen box",
            "SELECT (SELECT c.who FROM orders) FROM seen c",
        ),
        (
            "SELECT (SELECT col0.who FROM (VALUES ({'who': 1})) v) FROM seen AS col0",
            "SELECT (SELECT c.who FROM (VALUES ({'who': 1})) v) FROM seen AS c",
        ),
        (
            "SELECT (SELECT k.who FROM (SELECT {'who': 1} AS k)) FROM seen AS k",
            "SELECT (SELECT c.who FROM (SELECT {'who': 1} AS k)) FROM seen AS c",
        ),
        (
            "SELECT count(o) FROM orders o JOIN seen USING (who)",
            "SELECT count(p) FROM orders p JOIN seen USING (who)",
        ),
    ],
)
def test_names_that_may_mean_something_else_stay(one: str, other: str) -> None:
    assert not same(form(one), form(other))


def test_fewer_columns_are_of_one_family_where_they_change_no_rows() -> None:
    all_of_it, some = form(JOIN), form(JOIN.replace("o.id, s.value", "s.value AS v"))
    assert some.family == all_of_it.family
    assert {*some.columns} < {*all_of_it.columns}
    for sql in (
        "SELECT {} FROM orders GROUP BY ALL",
        "SELECT DISTINCT {} FROM orders",
        "SELECT {}, unnest([id, who]) FROM orders",
    ):
        assert form(sql.format("who, count(*)")).family != form(sql.format("who")).family
    assert (
        form("SELECT who, row_number() OVER () FROM orders").family != form("SELECT who FROM orders").family
    )


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT id, price * 2 FROM orders WHERE price > 3 ORDER BY price", False),
        ("SELECT lower('A'), 1", False),
        (JOIN, True),
        ("SELECT * FROM orders, seen", True),
        ("SELECT count(*) FROM orders", True),
        ("SELECT DISTINCT who FROM orders", True),
        ("SELECT who FROM orders GROUP BY who", True),
        ("SELECT rank() OVER (ORDER BY price) FROM orders", True),
        ("SELECT id FROM orders WHERE who IN (SELECT who FROM seen)", True),
        ("SELECT id FROM orders EXCEPT SELECT 1", True),
    ],
)
def test_what_is_worth_keeping(sql: str, expected: bool) -> None:
    assert computes(checked(sql)) is expected


def test_a_query_nested_deeply_is_told_in_no_time() -> None:
    def nested(orders: str) -> SqlForm:
        deep = f"{orders}.id = 1"
        for number in range(200):
            deep = f"({deep} {'OR' if number % 2 else 'AND'} {orders}.who = {number})"
        return form(f"SELECT {orders}.id FROM orders AS {orders} JOIN seen USING (who) WHERE {deep}")

    begun = time.monotonic()
    assert same(nested("a"), nested("b"))
    assert time.monotonic() - begun < 5
