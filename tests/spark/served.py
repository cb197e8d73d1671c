"""Feature groups and views of a service, as Spark reads them."""

from __future__ import annotations

from typing import Any

from spark.spark import Spark, files


def source(target: str, **options: object) -> dict[str, Any]:
    """What a view of Spark is of."""
    return files(kind="headrace", target=target, **options)


def number_of(spark: Spark, found: dict[str, Any], what: str = "count(*)", where: str = "true") -> int:
    (row,) = spark.read(
        f"SELECT CAST({what} AS bigint) AS n FROM t WHERE {where}", views={"t": found}
    ).to_pylist()
    return int(row["n"])


def parts_of(spark: Spark, found: dict[str, Any], where: str = "true") -> int:
    """How many tasks read it, where each has rows."""
    parts = f"SELECT DISTINCT spark_partition_id() FROM t WHERE {where}"
    return int(spark.read(parts, views={"t": found}).num_rows)


def plan(spark: Spark, query: str, found: dict[str, Any]) -> str:
    return str(spark.read(f"EXPLAIN EXTENDED {query}", views={"t": found})["plan"][0])
