"""`format("arrow")` over files in which Spark has told types that the files' own formats have not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark.spark import Spark, SparkError, files

pytestmark = pytest.mark.slow

INTERVALS = {
    "whole": "INTERVAL '1 02:03:04.5' DAY TO SECOND",
    "hours": "INTERVAL '7' HOUR",
    "months": "INTERVAL '-3-4' YEAR TO MONTH",
    "years": "INTERVAL '3' YEAR",
    "list": "array(INTERVAL '1' DAY, NULL)",
    "struct": "named_struct('m', INTERVAL '2' MONTH)",
    "map": "map(INTERVAL '1' DAY, INTERVAL '5' MINUTE)",
    "nothing": "CAST(NULL AS INTERVAL DAY TO SECOND)",
}


def write(spark: Spark, path: Path, kind: str, **columns: str) -> Path:
    query = "SELECT " + ", ".join(f"{value} AS `{name}`" for name, value in columns.items())
    spark.write(query, {"format": kind, "options": {"path": str(path)}})
    return path


def told(spark: Spark, view: dict[str, Any], *columns: str) -> list[dict[str, Any]]:
    texts = (f"typeof(`{name}`) AS `{name} type`, CAST(`{name}` AS STRING) AS `{name}`" for name in columns)
    return spark.read(f"SELECT {', '.join(texts)} FROM t", views={"t": view}).to_pylist()


def as_spark_wrote(path: Path, column: pa.Array, kind: object, name: str = "a") -> Path:
    """A file whose footer says what Spark's would of its one column."""
    field = {"name": name, "type": kind, "nullable": True, "metadata": {}}
    schema = json.dumps({"type": "struct", "fields": [field]}) if kind is not None else "no schema"
    metadata = {"org.apache.spark.sql.parquet.row.metadata": schema}
    pq.write_table(pa.table({name: column}).replace_schema_metadata(metadata), path)
    return path


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_intervals(spark: Spark, tmp_path: Path, kind: str) -> None:
    path = write(spark, tmp_path / "t", kind, **INTERVALS)
    ours = told(spark, files(path, format=kind), *INTERVALS)
    assert ours == told(spark, files(path, kind=kind), *INTERVALS)
    assert ours[0]["hours type"] == "interval hour"
    assert ours[0]["hours"] == "INTERVAL '07' HOUR"


def test_intervals_are_compared(spark: Spark, tmp_path: Path) -> None:
    path = write(spark, tmp_path / "t", "parquet", a="INTERVAL '7' HOUR", b="INTERVAL '2' MONTH")
    for where, found in [
        ("a > INTERVAL '6' HOUR AND b = INTERVAL '2' MONTH", 1),
        ("a < INTERVAL '6' HOUR", 0),
    ]:
        query = f"SELECT count(*) AS n FROM t WHERE {where}"
        assert spark.read(query, views={"t": files(path)}).to_pylist() == [{"n": found}]


def test_intervals_of_several_files_are_merged(spark: Spark, tmp_path: Path) -> None:
    write(spark, tmp_path / "1", "parquet", a="INTERVAL '7' HOUR", b="INTERVAL '2' MONTH")
    write(spark, tmp_path / "2", "parquet", a="INTERVAL '1' DAY", b="INTERVAL '2' YEAR")
    paths = [tmp_path / "1", tmp_path / "2"]
    ours = told(spark, files(*paths, mergeSchema=True), "a", "b")
    assert {(row["a type"], row["b type"]) for row in ours} == {
        ("interval day to hour", "interval year to month")
    }
    assert {row["a"] for row in ours} == {"INTERVAL '0 07' DAY TO HOUR", "INTERVAL '1 00' DAY TO HOUR"}


def test_types_of_users(spark: Spark, tmp_path: Path) -> None:
    """Vectors of Spark's machine learning, which lie as structs."""
    parts = [
        ("type", pa.int8()),
        ("size", pa.int32()),
        ("indices", pa.list_(pa.int32())),
        ("values", pa.list_(pa.float64())),
    ]
    vector = pa.array([{"type": 1, "values": [1.0, 2.5]}, None], pa.struct(parts))
    kind = {
        "type": "udt",
        "class": "org.apache.spark.ml.linalg.VectorUDT",
        "pyClass": "pyspark.ml.linalg.VectorUDT",
        "sqlType": {"type": "struct", "fields": []},
    }
    path = as_spark_wrote(tmp_path / "t.parquet", vector, kind)
    ours = told(spark, files(path), "a")
    assert ours == told(spark, files(path, kind="parquet"), "a")
    assert [row["a"] for row in ours] == [
        "[1.0,2.5]",
        None,
    ]  # which is how a vector shows itself, and no struct
    # Of a class that nobody has, the file's own types are left.
    path = as_spark_wrote(tmp_path / "u.parquet", vector, kind | {"class": "none.Such"})
    assert told(spark, files(path), "a") == told(spark, files(path, kind="parquet"), "a")


def test_a_schema_that_cannot_be_understood_counts_for_nothing(spark: Spark, tmp_path: Path) -> None:
    path = as_spark_wrote(tmp_path / "t.parquet", pa.array([1]), None)
    assert told(spark, files(path), "a") == [{"a type": "bigint", "a": "1"}]


def test_a_type_that_is_not_read_is_refused_by_its_column(spark: Spark, tmp_path: Path) -> None:
    struct = {
        "type": "struct",
        "fields": [{"name": "b", "type": "interval", "nullable": True, "metadata": {}}],
    }
    path = as_spark_wrote(tmp_path / "t.parquet", pa.array([{"b": 1}]), struct)
    with pytest.raises(SparkError, match=rf"the column 'a\.b' of {path} is of the type INTERVAL, which"):
        spark.read("SELECT * FROM t", views={"t": files(path)})


def test_texts_of_a_collation(spark: Spark, tmp_path: Path) -> None:
    if spark.profile == "3.5":  # which has none, and reads a plain text
        kind: dict[str, str] = {}
        path = as_spark_wrote(tmp_path / "t.parquet", pa.array(["ABC"]), "string", name="s")
        wanted = ["string"]
    else:
        kind = {"s": "'ABC' COLLATE UTF8_LCASE"}
        path = write(spark, tmp_path / "t", "parquet", **kind)
        wanted = ["string collate UTF8_LCASE"]
    assert [row["s type"] for row in told(spark, files(path), "s")] == wanted
    for value in ("abc", "ABC", "x"):
        for condition in (
            f"s = '{value}'",
            f"s <=> '{value}'",
            f"s IN ('{value}', 'y')",
            f"s LIKE '{value}%'",
        ):
            found = [
                spark.read(f"SELECT count(*) AS n FROM {source} WHERE {condition}", views=views).to_pylist()
                for source, views in [
                    ("t", {"t": files(path)}), (f"arrow.`{path}`", {}), ("t", {"t": files(path, kind="parquet")}),
                ]
            ]  # fmt: skip
            assert found[0] == found[1] == found[2], condition


def test_variants(spark: Spark, tmp_path: Path) -> None:
    if spark.profile == "3.5":  # which has none
        parts = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
        path = as_spark_wrote(
            tmp_path / "t.parquet", pa.array([{"value": b"\x00", "metadata": b"\x01"}], parts), "variant"
        )
        assert told(spark, files(path), "a") == told(spark, files(path, kind="parquet"), "a")
        return
    shredding = "spark.sql.variant.writeShredding.enabled"
    spark.run(f"SET {shredding}=false")
    try:
        columns = {"v": """parse_json('{"a": [1, "x"]}')""", "list": "array(parse_json('7'), NULL)"}
        path = write(spark, tmp_path / "t", "parquet", **columns)
    finally:
        spark.run(f"RESET {shredding}")
    query = "SELECT to_json(v) AS v, variant_get(v, '$.a[1]', 'string') AS x, to_json(list) AS list FROM {}"
    views = {"t": files(path)}
    wanted = [{"v": '{"a":[1,"x"]}', "x": "x", "list": "[7,null]"}]
    assert spark.read(query.format("t"), views=views).to_pylist() == wanted
    assert spark.read(query.format(f"arrow.`{path}`")).to_pylist() == wanted


def test_variants_in_parts_are_refused_by_the_column(spark: Spark, tmp_path: Path) -> None:
    part = pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", pa.int64())])
    column = pa.array([{"metadata": b"\x01\x00\x00", "value": None, "typed_value": 7}], part)
    path = as_spark_wrote(tmp_path / "t.parquet", column, "variant")
    if spark.profile == "3.5":
        assert told(spark, files(path), "a") == told(spark, files(path, kind="parquet"), "a")
        return
    with pytest.raises(SparkError, match=f"the column 'a' of {path} is a VARIANT in parts"):
        spark.read("SELECT to_json(a) FROM t", views={"t": files(path)})
