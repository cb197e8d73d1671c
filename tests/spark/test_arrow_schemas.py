"""`format("arrow")` over files that are not alike."""

from __future__ import annotations

import decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from spark.spark import Spark, SparkError, files
from spark.test_arrow_formats import write_ipc

pytestmark = pytest.mark.slow


def write(path: Path, **columns: pa.Array) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def read(spark: Spark, path: object, query: str = "SELECT * FROM t", **options: Any) -> list[dict[str, Any]]:
    return spark.read(query, views={"t": files(path, **options)}).to_pylist()


def test_merged_columns_hold_the_values_of_all_files(spark: Spark, tmp_path: Path) -> None:
    first = {
        "n": pa.array([1], pa.int8()),
        "x": pa.array([1.5], pa.float32()),
        "few": pa.array([200], pa.uint8()),
        "price": pa.array([decimal.Decimal("1.5")], pa.decimal128(4, 1)),
        "deep": pa.array([[{"a": 1}]], pa.list_(pa.struct([("a", pa.int32())]))),
        "old": pa.array(["gone"]),
    }
    second = {
        "N": pa.array([2**40]),
        "x": pa.array([2.5]),
        "few": pa.array([0.5]),
        "price": pa.array([decimal.Decimal("1.25")], pa.decimal128(9, 2)),
        "deep": pa.array(
            [[{"a": 2**40, "b": "x"}]], pa.list_(pa.struct([("a", pa.int64()), ("b", pa.string())]))
        ),
        "new": pa.array([True]),
    }
    write(tmp_path / "1.parquet", **first)
    write(tmp_path / "2.parquet", **second)
    found = read(spark, tmp_path, "SELECT * FROM t ORDER BY n", mergeSchema=True)
    one = {
        "n": 1,
        "x": 1.5,
        "few": 200.0,
        "price": decimal.Decimal("1.50"),
        "deep": [{"a": 1, "b": None}],
        "old": "gone",
        "new": None,
    }
    two = {
        "n": 2**40,
        "x": 2.5,
        "few": 0.5,
        "price": decimal.Decimal("1.25"),
        "deep": [{"a": 2**40, "b": "x"}],
        "old": None,
        "new": True,
    }
    assert found == [one, two]
    with pytest.raises(
        SparkError,
        match=f"the column 'n' of {tmp_path}/2.parquet .* cannot be read as TINYINT, which it is in {tmp_path}/1.parquet: the option mergeSchema",
    ):
        read(spark, tmp_path)  # the columns are those of the first file


def test_the_way_to_merge_is_told_where_there_is_one(spark: Spark, tmp_path: Path) -> None:
    one, two = (write(tmp_path / f"{i}.parquet", n=pa.array([i], pa.int32())) for i in (1, 2))
    write(two, n=pa.array([2**40]))
    told = f"the column 'n' of {two} is of the type BIGINT, and cannot be read as INT"
    with pytest.raises(SparkError, match=f"{told}, which it is in {one}: .*CREATE TEMPORARY VIEW"):
        spark.read(f"SELECT * FROM arrow.`{tmp_path}`")
    options = f"OPTIONS (path '{tmp_path}', mergeSchema 'true')"
    spark.run(f"CREATE OR REPLACE TEMPORARY VIEW merged USING arrow {options}")
    assert sorted(spark.read("SELECT * FROM merged")["n"].to_pylist()) == [1, 2**40]
    spark.run("DROP VIEW merged", f"CREATE TABLE told (n INT) USING arrow LOCATION '{tmp_path}'")
    try:
        # Who has given the columns did not take them from a file.
        for query in ("SELECT * FROM told", "SELECT * FROM t"):
            with pytest.raises(SparkError, match=told) as caught:
                spark.read(query, views={"t": files(tmp_path, schema="n INT")})
            assert "mergeSchema" not in str(caught.value)
    finally:
        spark.run("DROP TABLE told")


def test_columns_that_do_not_merge_are_refused_with_both_files(spark: Spark, tmp_path: Path) -> None:
    one = write(tmp_path / "1.parquet", a=pa.array([{"b": 1}]))
    two = write(tmp_path / "2.parquet", a=pa.array([{"b": "x"}]))
    told = f"the columns of {one} and {two} cannot be merged: 'a.b' is of the type BIGINT in the one, and STRING in the other"
    with pytest.raises(SparkError, match=told):
        read(spark, tmp_path, mergeSchema=True)
    with pytest.raises(SparkError, match="the option 'mergeSchema' is true or false, and was 'perhaps'"):
        read(spark, tmp_path, mergeSchema="perhaps")


def test_names_that_are_the_same_in_capitals_alone_are_not_merged(spark: Spark, tmp_path: Path) -> None:
    micro, mu = "µs", "μs"
    assert micro != mu
    assert micro.upper() == mu.upper()
    one = write(tmp_path / "1.parquet", **{micro: pa.array([1])})
    two = write(tmp_path / "2.parquet", **{mu: pa.array([2])})
    told = f"the columns of {one} and {two} cannot be merged: '{micro}' and '{mu}' are one name in capitals"
    with pytest.raises(SparkError, match=told):
        read(spark, tmp_path, mergeSchema=True)
    spark.run("SET spark.sql.caseSensitive=true")
    try:
        found = read(spark, tmp_path, f"SELECT * FROM t ORDER BY `{micro}` NULLS LAST", mergeSchema=True)
        assert found == [{micro: 1, mu: None}, {micro: None, mu: 2}]
    finally:
        spark.run("RESET spark.sql.caseSensitive")


def test_a_file_with_another_type_is_refused_by_its_path(spark: Spark, tmp_path: Path) -> None:
    write(tmp_path / "1.parquet", a=pa.array([1], pa.int32()))
    other = write(tmp_path / "2.parquet", a=pa.array(["x"]))
    with pytest.raises(
        SparkError, match=f"the column 'a' of {other} is of the type STRING, and cannot be read as INT"
    ):
        read(spark, tmp_path)


def test_files_of_several_formats_are_one_table(spark: Spark, tmp_path: Path) -> None:
    write(tmp_path / "1.parquet", a=pa.array([1]))
    write_ipc(tmp_path / "2.arrow", pa.table({"a": pa.array([2])}))
    assert [row["a"] for row in read(spark, tmp_path, "SELECT * FROM t ORDER BY a")] == [1, 2]
    with pytest.raises(SparkError, match=f"{tmp_path}/2.arrow cannot be read"):
        read(spark, tmp_path, format="parquet")


def test_files_without_rows(spark: Spark, tmp_path: Path) -> None:
    for path in (
        write(tmp_path / "1.parquet", a=pa.array([], pa.int64())),
        write_ipc(tmp_path / "2.arrow", pa.table({"a": pa.array([], pa.int64())})),
    ):
        found = spark.read("SELECT * FROM t", views={"t": files(path)})
        assert (found.num_rows, found.schema.names) == (0, ["a"])
    (tmp_path / "3.parquet").touch()
    write(tmp_path / "0.parquet", a=pa.array([7]))
    assert read(spark, tmp_path) == [{"a": 7}]  # what has no bytes has no rows, as in Spark's own readers
    with pytest.raises(SparkError, match=f"{tmp_path}/3.parquet cannot be read"):
        read(spark, tmp_path / "3.parquet")


def test_a_file_that_is_replaced_is_an_error(spark: Spark, tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", a=pa.array([1, 2, 3]))
    views = {"t": files(path)}
    assert spark.read("SELECT sum(a) AS s FROM t", views=views).to_pylist() == [{"s": 6}]
    write(path, a=pa.array(["x"] * 100))
    with pytest.raises(SparkError, match=f"{path} cannot be read: it was changed after Spark had listed it"):
        spark.read("SELECT * FROM t")
    assert len(read(spark, path)) == 100


class TestNamesOfFields:
    """Where `spark.sql.caseSensitive` is not set, case does not count, in structs as elsewhere."""

    SCHEMA = "s STRUCT<A: BIGINT, B: ARRAY<STRUCT<C: STRING>>>, m MAP<STRING, STRUCT<D: BIGINT>>"

    def table(self) -> pa.Table:
        deep = [{"a": i, "b": [{"c": str(i)}, {"c": None}]} for i in range(100)]
        pairs = [[("k", {"d": i})] for i in range(100)]
        kind = pa.map_(pa.string(), pa.struct([("d", pa.int64())]))
        return pa.table({"S": pa.array(deep), "m": pa.array(pairs, kind)})

    def test_case_does_not_count(self, spark: Spark, tmp_path: Path) -> None:
        whole = self.table()
        pq.write_table(whole, tmp_path / "t.parquet", row_group_size=10)
        orc.write_table(whole, tmp_path / "t.orc")
        write_ipc(tmp_path / "t.arrow", whole, 10)
        query = "SELECT s.A AS a, s.B.C AS c, m['k'].D AS d FROM t WHERE s.a = 55"
        for path in sorted(tmp_path.iterdir()):
            views = {"t": files(path, schema=self.SCHEMA)}
            found = spark.read(query, views=views).to_pylist()
            assert found == [{"a": 55, "c": ["55", None], "d": 55}], path
        views = {"t": files(tmp_path / "t.parquet", schema=self.SCHEMA)}
        assert spark.scan(query, views=views)["counts"]["rowGroupsRead"] == 1

    def test_case_counts_where_spark_is_told_so(self, spark: Spark, tmp_path: Path) -> None:
        pq.write_table(pa.table({"s": pa.array([{"a": 1, "A": 2}])}), tmp_path / "t.parquet")
        query = "SELECT s.A AS found FROM t"
        views = {"t": files(tmp_path / "t.parquet", schema="s STRUCT<A: BIGINT>")}
        with pytest.raises(SparkError, match=f"several columns of {tmp_path}/t.parquet could be 's.A'"):
            spark.read(query, views=views)
        spark.run("SET spark.sql.caseSensitive=true")
        try:
            assert spark.read(query, views=views).to_pylist() == [{"found": 2}]
            views["t"]["schema"] = "s STRUCT<B: BIGINT, a: BIGINT>"
            assert spark.read("SELECT s.B, s.a FROM t", views=views).to_pylist() == [{"B": None, "a": 1}]
        finally:
            spark.run("RESET spark.sql.caseSensitive")

    def test_fields_are_merged_whatever_their_case(self, spark: Spark, tmp_path: Path) -> None:
        write(tmp_path / "1.parquet", s=pa.array([{"a": 1}], pa.struct([("a", pa.int32())])))
        write(tmp_path / "2.parquet", s=pa.array([{"A": 2**40, "b": "x"}]))
        found = read(spark, tmp_path, "SELECT s.* FROM t ORDER BY a", mergeSchema=True)
        assert found == [{"a": 1, "b": None}, {"a": 2**40, "b": "x"}]
