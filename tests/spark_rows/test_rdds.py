"""What RDDs pass on."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any
from urllib.parse import DefragResult

import pytest

import headrace.spark

KINDS: dict[str, list[Any]] = {
    "tuples": [(n, f"name {n}", n / 3, None if n % 3 else n) for n in range(3000)],
    "lists": [[n, f"name {n}"] for n in range(3000)],
    "dicts": [{"n": n, "name": f"name {n % 7}"} for n in range(3000)],
    "numbers": list(range(-1500, 1500)),
    "floats": [n / 7 for n in range(3000)],
    "texts": [f"text {n}" for n in range(3000)],
    "bytes": [b"%d" % n for n in range(3000)],
    "nothing": [None] * 3000,
    "pairs": [(n % 10, (n, f"name {n}")) for n in range(3000)],
    "nested": [(n, [n, n + 1], {"a": [n]}, {n: "x"}, ("t", (n,))) for n in range(3000)],
    "times": [
        (dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, 2, n % 60), dt.timedelta(n)) for n in range(3000)
    ],
    "decimals": [(Decimal(n) / 8, uuid.UUID(int=n)) for n in range(3000)],
    "several types": [(n if n % 2 else f"{n}", n) for n in range(3000)],
    "odd ones": [(n, 10**30 if n % 500 == 7 else n) for n in range(3000)],
    "sets": [(n, {n, n + 1}, frozenset([n])) for n in range(3000)],
    "named tuples": [DefragResult(f"{n}", f"p{n}") for n in range(3000)],
    "surrogates": [(n, "\ud800") for n in range(3000)],
    "few": [(1, "a"), (2, None)],
    "none": [],
    "shapes": [(n,) * (n % 5) for n in range(3000)],
}


@pytest.mark.parametrize("kind", KINDS)
def test_values_come_as_they_went(spark: Any, both: Any, kind: str) -> None:
    values = KINDS[kind]
    context = spark.sparkContext
    assert both(lambda: context.parallelize(values, 3).collect()) == values
    both(lambda: context.parallelize(values, 3).map(lambda row: row).glom().collect())
    both(lambda: context.parallelize(values, 3).map(lambda row: (repr(row), row)).sortByKey().collect())
    both(lambda: context.parallelize(values, 3).take(4))
    both(lambda: list(context.parallelize(values, 3).map(lambda row: row).toLocalIterator()))


def test_rows_are_fewer_bytes(spark: Any, both: Any) -> None:
    both(lambda: spark.sparkContext.parallelize(KINDS["tuples"], 2).collect())
    assert both.read == 3000


def test_transformations(spark: Any, both: Any) -> None:
    context = spark.sparkContext
    pairs, others = KINDS["pairs"], [(n, n * n) for n in range(0, 12, 2)]

    def made() -> Any:
        return context.parallelize(pairs, 3)

    both(lambda: made().groupByKey().mapValues(sorted).sortByKey().collect())
    both(
        lambda: made().mapValues(lambda value: value[0]).reduceByKey(lambda a, b: a + b).sortByKey().collect()
    )
    both(lambda: made().join(context.parallelize(others, 2)).sortBy(repr).collect())
    both(lambda: made().leftOuterJoin(context.parallelize(others, 2)).sortBy(repr).collect())
    both(
        lambda: (
            made()
            .cogroup(context.parallelize(others, 2))
            .mapValues(lambda two: [sorted(x) for x in two])
            .sortByKey()
            .collect()
        )
    )
    both(lambda: made().union(context.parallelize(others, 2)).collect())
    both(lambda: made().union(context.textFile(__file__)).count())
    both(lambda: made().zip(made().map(lambda pair: pair[1])).collect())
    both(lambda: made().zipWithIndex().collect())
    both(lambda: context.parallelize(others, 2).cartesian(context.parallelize(others, 3)).collect())
    both(lambda: made().distinct().count())
    both(lambda: made().repartition(5).map(lambda pair: pair[0]).sum())
    both(lambda: made().coalesce(1).glom().map(len).collect())
    both(lambda: made().lookup(3))
    both(lambda: made().sample(False, 0.1, 7).collect())
    both(lambda: made().aggregateByKey(0, lambda a, b: a + b[0], lambda a, b: a + b).sortByKey().collect())
    both(lambda: made().countByKey())
    both(lambda: made().top(5))
    both(lambda: made().keys().stats().mean())
    both(lambda: made().keys().sumApprox(60_000))
    both(lambda: made().keys().countApproxDistinct())
    both(lambda: made().cache().map(lambda pair: pair).count())
    both(lambda: made().pipe("cat").count())


def test_what_is_shared_is_not_multiplied(spark: Any, both: Any) -> None:
    shared = list(range(50_000))
    context = spark.sparkContext
    both(
        lambda: (
            context.parallelize(range(200), 1)
            .map(lambda n: (n % 3, shared))
            .groupByKey(1)
            .mapValues(lambda lists: sum(map(len, lists)))
            .collect()
        )
    )


def test_what_is_shared_within_rows_is_not_multiplied(spark: Any, both: Any) -> None:
    shared = {"list": list(range(20_000))}
    context = spark.sparkContext

    def sizes(rows: Any) -> list[int]:
        from pyspark.rdd import RDD
        from pyspark.serializers import NoOpSerializer

        raw = RDD(rows._jrdd, context, NoOpSerializer())
        return [sum(len(part) for part in raw.collect())]

    for make in (
        lambda n: {"id": n, "of": shared},
        lambda n: [n, shared],
        lambda n: (n, (n, shared)),
        lambda n: (n, {"a": shared}),
    ):
        rows = [make(n) for n in range(2000)]
        both(lambda rows=rows: context.parallelize(rows, 2).map(lambda row: 1).sum())
        headrace.spark.install(spark)
        [size] = sizes(context.parallelize(rows, 2))
        headrace.spark.uninstall(spark)
        assert size < 5_000_000


def test_rdds_of_frames_are_zipped(spark: Any, both: Any) -> None:
    frame = spark.range(0, 5000, 1, 2).selectExpr(
        "id", "make_ym_interval(1, 2) AS months", "CAST(X'ff' AS STRING) AS t"
    )
    both(lambda: frame.select("id").rdd.zip(frame.select("id").rdd).count())
    both(lambda: frame.select("id").rdd.zip(frame.select("t").rdd).map(lambda pair: pair[0].id).sum())


def test_rdds_that_were_there_before_are_read(spark: Any) -> None:
    context = spark.sparkContext
    headrace.spark.uninstall(spark)
    before = context.parallelize(KINDS["tuples"], 2).map(lambda row: row)
    headrace.spark.install(spark)
    after = context.parallelize(KINDS["tuples"], 2).map(lambda row: row).cache()
    assert before.union(after).count() == 6000
    assert before.map(lambda row: row).collect() == after.collect()
    headrace.spark.uninstall(spark)
    assert after.collect() == KINDS["tuples"]
    assert after.union(before).map(lambda row: row[0]).sum() == 2 * sum(range(3000))


def test_files_of_pickles_are_those_of_others(spark: Any, rows: Any, tmp_path: Any) -> None:
    path = str(tmp_path / "pickles")
    rows.sparkContext.parallelize(KINDS["tuples"], 2).saveAsPickleFile(path)
    headrace.spark.uninstall(spark)
    assert sorted(spark.sparkContext.pickleFile(path).collect(), key=repr) == sorted(
        KINDS["tuples"], key=repr
    )


def test_frames_of_rdds(spark: Any, both: Any) -> None:
    import datetime as dt

    from pyspark.sql import Row

    context = spark.sparkContext
    both(lambda: spark.createDataFrame(context.parallelize(KINDS["tuples"], 3)).collect())
    both(lambda: context.parallelize(KINDS["pairs"], 3).toDF(["key", "value"]).collect())
    both(lambda: context.parallelize(KINDS["numbers"], 3).map(lambda n: Row(n=n, t=str(n))).toDF().collect())
    typed = "day DATE, n SMALLINT, x DOUBLE, at TIMESTAMP, list ARRAY<INT>, map MAP<STRING, DATE>"
    values = [
        (
            dt.date(1960, 1, 1) + dt.timedelta(n),
            n,
            n / 3,
            dt.datetime(2024, 3, 1, 2, n % 60),
            [n, None],
            {"a": dt.date(2024, 1, 1)},
        )
        for n in range(300)
    ]
    both(lambda: spark.createDataFrame(context.parallelize(values, 3), typed).collect())
    both(
        lambda: (
            spark.createDataFrame(context.parallelize(KINDS["numbers"], 3), "long")
            .agg({"value": "sum"})
            .collect()
        )
    )
    loose = [(1, 2.5), (2.5, 1), ("a", None)] * 100
    both(
        lambda: spark.createDataFrame(
            context.parallelize(loose, 3), "a STRING, b DOUBLE", verifySchema=False
        ).collect()
    )
