"""What frames give to Python."""

from __future__ import annotations

from typing import Any

import pytest

COLUMNS = {
    "nothing": "NULL",
    "bool": "id % 3 = 0",
    "tinyint": "CAST(id % 100 AS TINYINT)",
    "smallint": "CAST(id * 7 AS SMALLINT)",
    "int": "CAST(id * 70000 AS INT)",
    "bigint": "id * 7000000000000",
    "float": "CAST(id / 3 AS FLOAT)",
    "double": "id / 7",
    "special": "CASE id % 5 WHEN 0 THEN double('NaN') WHEN 1 THEN double('Infinity') WHEN 2 THEN -0.0D ELSE 1.5D END",
    "text": "CASE WHEN id % 4 = 0 THEN NULL ELSE concat('größe 😀 ', id) END",
    "repeated": "concat('group ', id % 3)",
    "broken text": "CAST(X'61FF62' AS STRING)",
    "decimal": "CAST(id / 8 AS DECIMAL(20, 6))",
    "tiny decimal": "CAST(0.000000001 * id AS DECIMAL(30, 18))",
    "binary": "CAST(concat('b', id) AS BINARY)",
    "date": "date_add(DATE'1969-12-25', CAST(id AS INT))",
    "timestamp": "TIMESTAMP'2024-10-27 00:30:00.123456' + make_interval(0, 0, 0, 0, 0, CAST(id * 17 AS INT), 0)",
    "local time": "TIMESTAMP_NTZ'1931-03-01 12:00:00.000001'",
    "days": "make_dt_interval(CAST(id AS INT), 1, 2, 3.000004)",
    "months": "make_ym_interval(1, CAST(id % 12 AS INT))",
    "list": "array(id, NULL, id + 1)",
    "lists": "array(array('a', concat('b', id)), NULL, array())",
    "map": "map('a', id, 'b', NULL)",
    "struct": "named_struct('x', id, 'y', named_struct('z', concat('t', id)), 'when', DATE'2024-01-01')",
    "structs": "array(named_struct('x', id), NULL)",
}


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    columns = [f"{sql} AS `{name}`" for name, sql in COLUMNS.items()]
    return spark.range(0, 1000, 1, 3).selectExpr("id", *columns).cache()


PICKLED = {"broken text", "map", "months"}


def told(ask: Any) -> Any:
    """What it gives, or the kind of its error: PySpark has not all types of Spark."""
    try:
        return ask()
    except Exception as error:
        return error.__class__.__name__


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_comes_as_ever(frame: Any, both: Any, name: str) -> None:
    column = frame.select("id", f"`{name}`")
    both(lambda: told(lambda: column.collect()))
    assert both.read == (0 if name in PICKLED else 1000)
    both(lambda: told(lambda: column.tail(7)))
    both(lambda: told(lambda: list(column.toLocalIterator())))
    both(lambda: told(lambda: column.rdd.map(lambda row: (row[0], row)).collect()))


def test_all_that_is_carried_goes_as_rows(frame: Any, both: Any) -> None:
    carried = frame.drop(*PICKLED)
    both(lambda: carried.collect())
    assert both.read == 1000
    both(lambda: carried.tail(40))
    assert both.read == 40
    both(lambda: list(carried.toLocalIterator(prefetchPartitions=True)))
    assert both.read == 1000


def test_partitions_and_order_stay(frame: Any, both: Any) -> None:
    numbers = frame.select("id")
    assert [len(part) for part in both(lambda: numbers.rdd.glom().collect())] == [333, 333, 334]
    assert both(lambda: numbers.rdd.getNumPartitions()) == 3
    assert both(lambda: numbers.orderBy("id", ascending=False).limit(3).collect())[0].id == 999
    both(lambda: numbers.take(5))
    both(lambda: numbers.first())
    both(lambda: numbers.rdd.take(5))


def test_names_are_kept(spark: Any, both: Any) -> None:
    twice = spark.range(3).selectExpr("id AS a", "id + 1 AS a", "'x' AS `a b.c`")
    [first, *_] = both(lambda: twice.collect())
    assert first.__fields__ == ["a", "a", "a b.c"]
    both(lambda: spark.range(3).select().collect())
    both(lambda: spark.range(0).collect())
    both(lambda: spark.range(0).rdd.collect())


def test_the_rdd_of_a_frame_is_one(rows: Any) -> None:
    frame = rows.range(3)
    assert frame.rdd is frame.rdd


def test_errors_are_those_of_spark(spark: Any, both: Any) -> None:
    def fail() -> str:
        broken = spark.range(5).selectExpr("raise_error('no such number')")
        with pytest.raises(Exception, match="no such number") as raised:
            broken.collect()
        return f"{type(raised.value)}"

    both(fail)


def test_large_rows_come_few_at_a_time(spark: Any, both: Any) -> None:
    large = spark.range(0, 300, 1, 1).selectExpr("id", "repeat(cast(id % 10 AS string), 500000) AS text")
    assert both(lambda: large.rdd.map(lambda row: len(row.text)).sum()) == 300 * 500_000


def test_many_rows_come_in_pieces(spark: Any, both: Any) -> None:
    wide = spark.range(0, 60_000, 1, 2).selectExpr("id", "repeat(cast(id as string), 20) AS text")
    both(lambda: wide.collect())
    both(lambda: sum(len(row.text) for row in wide.toLocalIterator()))


@pytest.mark.parametrize("levels", [63, 64, 80])
def test_deep_types(spark: Any, both: Any, levels: int) -> None:
    for make in ("struct({} AS x)", "array({})"):
        deep = "id"
        for _ in range(levels):
            deep = make.format(deep)
        frame = spark.range(20).selectExpr("id", f"{deep} AS deep")
        both(lambda frame=frame: frame.collect())
        assert both.read == (20 if levels == 63 else 0)
        both(lambda frame=frame: frame.rdd.collect())
        frame.createOrReplaceTempView("deep")
        spark.udf.register("known", lambda value: value is not None, "boolean")
        both(lambda: spark.sql("SELECT id, known(deep) FROM deep").collect())


@pytest.mark.parametrize(
    "seconds", [-62135596800, -62135500000, -62135300000, 253402200000, 253402300799, 253402400000]
)
def test_times_at_the_ends_of_the_calendar(spark: Any, both: Any, seconds: int) -> None:
    frame = spark.range(20).selectExpr("id", f"timestamp_seconds({seconds}) AS x")
    both(lambda: told(frame.collect))
    both(lambda: told(lambda: list(frame.toLocalIterator())))
    both(lambda: told(frame.rdd.collect))
