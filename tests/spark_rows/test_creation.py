"""Frames of lists."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

ROWS = 2500

LISTS: dict[str, list[Any]] = {
    "tuples": [(n, f"name {n}", n / 4, n % 2 == 0, b"x%d" % n) for n in range(ROWS)],
    "lists": [[n, f"name {n}"] for n in range(ROWS)],
    "with None": [(None if n % 3 else n, None if n % 2 else "a") for n in range(ROWS)],
    "None at first": [(None if n < 2000 else n, "a") for n in range(ROWS)],
    "nothing but None": [(n, None) for n in range(ROWS)],
    "dicts": [{"b": n, "a": f"name {n}"} for n in range(ROWS)],
    "dates": [(n, dt.date(1960, 1, 1) + dt.timedelta(n)) for n in range(ROWS)],
    "times": [(n, dt.datetime(2024, 3, 10, n % 24, n % 60)) for n in range(ROWS)],
    "zoned": [(n, dt.datetime(2024, 3, 10, n % 24, tzinfo=dt.UTC)) for n in range(ROWS)],
    "decimals": [(n, Decimal(n) / 8) for n in range(ROWS)],
    "nested": [(n, [n, n + 1], {"a": n}, ("x", n)) for n in range(ROWS)],
    "bytearrays": [(n, bytearray(b"x")) for n in range(ROWS)],
    "floats and ints": [(n if n % 2 else n / 2,) for n in range(ROWS)],
    "huge": [(2**63 + n,) for n in range(ROWS)],
    "narrow": [(n % 100,) for n in range(ROWS)],
    "lengths": [(n,) * (1 + n % 2) for n in range(ROWS)],
    "values": list(range(ROWS)),
    "texts": [f"text {n}" for n in range(ROWS)],
    "few": [(1, "a"), (2, "b")],
    "one": [(1, "a")],
    "none": [],
    "empty tuples": [()] * 10,
    "surrogates": [(n, "\ud800") for n in range(10)],
}


def made(ask: Any) -> Any:
    """The columns of a frame, and its rows; or the kind of error, and what PySpark itself says of it."""
    try:
        frame = ask()
        rows = frame.collect()
        if "[L" in repr(rows[:1]):  # of an array Java says where it lies
            rows = [len(rows)]
        return frame.dtypes, frame.schema.json(), rows
    except Exception as error:
        name = error.__class__.__name__
        # Of a job that failed, it depends on which task was first.
        return name, str(error)[:200] if isinstance(error, (TypeError, ValueError)) else ""


@pytest.mark.parametrize("kind", LISTS)
def test_types_are_found(spark: Any, both: Any, kind: str) -> None:
    both(lambda: made(lambda: spark.createDataFrame(LISTS[kind])))
    both(lambda: made(lambda: spark.createDataFrame(LISTS[kind], ["x", "y"])))


@pytest.mark.parametrize(
    "schema",
    [
        "x LONG, y STRING",
        "x INT, y STRING",
        "x SMALLINT NOT NULL, y STRING",
        "x BYTE, y STRING",
        "x STRING, y STRING",
        "x DOUBLE, y STRING",
        "x LONG",
        "x LONG, y DATE",
        "x LONG, y TIMESTAMP",
        "x LONG, y DECIMAL(38, 3)",
        "x LONG, y DECIMAL(4, 2)",
        "x LONG, y BINARY",
        "b LONG, a STRING",
        "LONG",
        "STRING",
    ],
)
def test_types_are_given(spark: Any, both: Any, schema: str) -> None:
    for kind in (
        "tuples",
        "lists",
        "with None",
        "dates",
        "decimals",
        "dicts",
        "values",
        "narrow",
        "few",
        "none",
    ):
        rows = LISTS[kind]
        some = [row[:2] if isinstance(row, (tuple, list)) else row for row in rows]
        both(lambda some=some: made(lambda: spark.createDataFrame(some, schema)))
    both(lambda: made(lambda: spark.createDataFrame(LISTS["few"], schema, verifySchema=False)))


def test_rows_and_their_names(spark: Any, both: Any) -> None:
    from pyspark.sql import Row

    rows = [Row(b=n, a=f"name {n}") for n in range(ROWS)]
    both(lambda: made(lambda: spark.createDataFrame(rows)))
    both(lambda: made(lambda: spark.createDataFrame(rows, "b LONG, a STRING")))
    both(lambda: made(lambda: spark.createDataFrame(rows, "x LONG, y STRING")))
    both(lambda: made(lambda: spark.createDataFrame([Row(1, "a"), Row(2, "b")] * 20)))
    both(lambda: made(lambda: spark.createDataFrame(rows, ["x", "y"])))
    both(lambda: made(lambda: spark.createDataFrame([Row(a=n, b=-n) for n in range(50)], ["b", "a"])))
    twice = spark.range(50).selectExpr("id AS a", "-id AS a")
    both(lambda: made(lambda: spark.createDataFrame(twice.collect(), twice.schema)))
    both(lambda: made(lambda: spark.createDataFrame(twice.collect())))
    both(lambda: made(lambda: spark.createDataFrame([Row(a=1), Row(b=2)] * 20)))


def test_names_of_other_lengths(spark: Any, both: Any) -> None:
    for values in ((1, "x"), (1, 1.5), (1, 2)):
        both(lambda values=values: made(lambda: spark.createDataFrame([values] * 50, ["a", "a"])))
    for names in (["x"], ["x", "y", "z"], ["x", "x"], ["x", 1], [], ("x", "y")):
        both(lambda names=names: made(lambda: spark.createDataFrame([(n, "a") for n in range(100)], names)))


@pytest.mark.parametrize("count", [1, 2, 3, 5, 100, 1023, 1024, 1025, 4097])
def test_partitions_are_those_of_parallelize(spark: Any, both: Any, count: int) -> None:
    both(lambda: spark.createDataFrame([(n,) for n in range(count)]).rdd.glom().collect())


def test_lists_alike_go_as_rows(spark: Any, both: Any) -> None:
    import headrace.spark

    def ask() -> int:
        before = headrace.spark.codec_stats()["driver"]["rows_written"]
        spark.createDataFrame(LISTS["tuples"])
        ask.written = headrace.spark.codec_stats()["driver"]["rows_written"] - before  # type: ignore[attr-defined]
        return 0

    both(ask)
    assert ask.written == ROWS  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "entries",
    [{8: 1, 1: 2}, {-1: 1, 2**40: 2, 5: 3, 16: 4}, {n * 7: n for n in range(1_500)}, {3: 1}],
    ids=["two", "several", "many", "one"],
)
def test_entries_of_maps_come_in_their_order(spark: Any, both: Any, entries: dict[int, int]) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    made = spark.sparkContext.parallelize([(n, entries, [entries]) for n in range(300)], 2)
    types = "n INT, m MAP<LONG, INT>, a ARRAY<MAP<LONG, INT>>"
    texts = ["CAST(m AS STRING) AS m", "CAST(a AS STRING) AS a"]
    both(lambda: spark.createDataFrame(made, types).selectExpr(*texts).distinct().collect())
    given = F.udf(lambda n: entries, "map<long, int>")
    both(lambda: spark.range(300).select(given("id").cast("string")).distinct().collect())
