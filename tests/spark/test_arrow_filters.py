"""Filters on `format("arrow")`: row groups without such rows are not read, and no row is lost."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark.spark import Spark, SparkError, files

pytestmark = [pytest.mark.slow, pytest.mark.newest_line]

UTC = pa.timestamp("us", "UTC")
DAY = dt.date(2013, 1, 1)
NOON = dt.datetime(2013, 1, 1, 12, tzinfo=dt.UTC)
ROWS = 120


def write(path: Path, table: pa.Table, **options: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, **options)
    return path


def grouped(path: Path, groups: int = 10) -> Path:
    """Ten rows a group; ids go up, `text` by group, and `odd` has no bounds that help."""
    n = 10 * groups
    table = pa.table(
        {
            "id": range(n),
            "text": [f"{'abcdefghij'[i // 10]}{i}" for i in range(n)],
            "maybe": [None if i < n / 2 else i for i in range(n)],
            "odd": [i * 7919 % n for i in range(n)],
            "deep": [None if i % 10 == 3 else {"a": i, "b.c": -i} for i in range(n)],
        }
    )
    return write(path, table, row_group_size=10)


@pytest.mark.parametrize(
    ("condition", "read"),
    [
        ("id = 55", 1),
        ("id < 20 AND id >= 10", 1),
        ("id <=> 55", 1),
        ("id IN (1, 2, 99, 1000)", 2),
        ("NOT id < 90", 1),
        ("id < 10 OR id > 89", 2),
        ("NOT (id >= 10 AND id <= 89)", 2),
        ("text LIKE 'c%'", 1),
        ("text >= 'j'", 1),
        ("maybe IS NULL", 5),
        ("maybe IS NOT NULL", 5),
        ("NOT maybe <=> 70", 10),
        ("id = 1000", 0),
        ("odd % 10 = 3", 10),
        ("deep.a = 55", 1),
        ("deep.`b.c` = -55 AND ID < 60", 1),
        ("deep.a IS NULL", 10),
    ],
)
def test_row_groups_without_such_rows_are_skipped(
    spark: Spark, tmp_path: Path, condition: str, read: int
) -> None:
    path = grouped(tmp_path / "t.parquet")
    told = spark.scan(f"SELECT * FROM t WHERE {condition}", views={"t": files(path)})
    assert (told["counts"]["rowGroupsRead"], told["counts"]["rowGroupsSkipped"]) == (read, 10 - read)


def test_the_plan_tells_the_filters(spark: Spark, tmp_path: Path) -> None:
    views = {"t": files(grouped(tmp_path / "t.parquet"))}
    told = spark.scan("SELECT id FROM t WHERE id > 5 AND text LIKE 'a%' AND id % 2 = 0", views=views)
    assert "GreaterThan(id,5), StringStartsWith(text,a)]" in told["plan"]
    assert told["rows"] == 2


def test_the_plan_tells_no_filters_that_are_not_used(spark: Spark, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("1\n2\n")
    views = {"t": files(tmp_path / "t.csv", schema="id bigint")}
    told = spark.scan("SELECT id FROM t WHERE id > 1", views=views)
    assert "PushedFilters: []" in told["plan"]
    assert told["rows"] == 1


def test_files_by_their_path_are_filtered_as_well(spark: Spark, tmp_path: Path) -> None:
    path = grouped(tmp_path / "t.parquet")
    told = spark.scan(f"SELECT id FROM arrow.`{path}` WHERE id IN (55, 56)")
    assert (told["counts"]["numOutputRows"], told["rows"]) == (10, 2)


def test_names_in_conditions_hold_anything(spark: Spark, tmp_path: Path) -> None:
    names = ["a", "`a`", "``", "two words", "é", 'q"t', "x.y", "`x`.y", "select"]
    path = write(tmp_path / "t.parquet", pa.table({name: [place] for place, name in enumerate(names)}))
    views = {"t": files(path)}
    told = {name: name.replace("`", "``") for name in names}
    query = " UNION ALL ".join(
        f"SELECT {i} i FROM {{0}} WHERE `{told[n]}` = {i}" for i, n in enumerate(names)
    )
    lists = "spark.sql.optimizer.nestedPredicatePushdown.supportedFileSources"
    reserved = ("spark.sql.ansi.enabled", "spark.sql.ansi.enforceReservedKeywords")
    everywhere = range(len(names))
    for setting in ("parquet,orc", "parquet, Arrow"):
        spark.run(f"SET {lists}={setting}")
        assert spark.read(query.format(f"arrow.`{path}`"))["i"].to_pylist() == [*everywhere]
    spark.run(f"RESET {lists}", *(f"SET {name}=true" for name in reserved))
    try:
        assert spark.read(query.format("t"), views=views)["i"].to_pylist() == [*everywhere]
    finally:
        spark.run(*(f"RESET {name}" for name in reserved))


def test_bytes_that_are_no_text_are_not_taken_for_one(spark: Spark, tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", pa.table({"text": ["\ufffd", "\U0001f6a2"]}), row_group_size=1)
    conditions = [f"text {how} CAST(X'ff' AS STRING)" for how in ("<>", "<", "=")]
    conditions.append("NOT startswith(text, CAST(X'ff' AS STRING))")
    query = " UNION ALL ".join(f"SELECT count(*) AS n FROM t WHERE {condition}" for condition in conditions)
    found = spark.read(query, views={"t": files(path)})
    assert found["n"].to_pylist() == [2, 2, 0, 2]


def test_all_files_of_a_task_are_counted(spark: Spark, tmp_path: Path) -> None:
    for i in range(3):
        grouped(tmp_path / "lake" / f"{i}.parquet", 2 + i)
    told = spark.scan("SELECT id FROM t WHERE id > 29", views={"t": files(tmp_path / "lake")})
    assert (told["counts"]["rowGroupsRead"], told["counts"]["rowGroupsSkipped"]) == (1, 8)


def test_files_of_other_partitions_are_not_opened(spark: Spark, tmp_path: Path) -> None:
    for day in (1, 2):
        grouped(tmp_path / "lake" / f"day={day}" / "t.parquet")
    views = {"t": files(tmp_path / "lake")}
    assert spark.scan("SELECT id FROM t WHERE day = 2", views=views)["rows"] == 100
    (tmp_path / "lake" / "day=1" / "t.parquet").write_bytes(b"nothing")
    told = spark.scan("SELECT id FROM t WHERE day = 2 AND id < 10", views={})
    assert (told["rows"], told["counts"]["rowGroupsRead"], told["counts"]["rowGroupsSkipped"]) == (10, 1, 9)


def test_pages_without_such_rows_are_skipped(spark: Spark, tmp_path: Path) -> None:
    told: dict[str, Any] = {"use_dictionary": False, "data_page_size": 80, "write_batch_size": 10}
    columns = {"id": range(1_000), "text": [f"text {i}" for i in range(1_000)]}
    path = write(tmp_path / "t.parquet", pa.table(columns), write_page_index=True, **told)
    found = spark.scan("SELECT * FROM t WHERE id IN (17, 555)", views={"t": files(path)})
    assert (found["rows"], found["counts"]["numOutputRows"]) == (2, 20)
    assert spark.read("SELECT * FROM t WHERE id IN (17, 555)").to_pylist() == [
        {"id": 17, "text": "text 17"},
        {"id": 555, "text": "text 555"},
    ]


def test_bloom_filters_are_asked(spark: Spark, tmp_path: Path) -> None:
    told = "'parquet.enable.dictionary' = 'false', 'parquet.bloom.filter.enabled#s' = 'true'"
    query = f"""CREATE TABLE made USING parquet OPTIONS ({told}) LOCATION '{tmp_path}/made'
      AS SELECT /*+ COALESCE(1) */ CAST(id * 10 AS STRING) AS s FROM range(1000)"""
    spark.run(query)
    try:
        views = {"t": files(tmp_path / "made")}
        assert (
            spark.scan("SELECT s FROM t WHERE s IN ('5001', '5002')", views=views)["counts"]["rowGroupsRead"]
            == 0
        )
        assert spark.scan("SELECT s FROM t WHERE s IN ('5001', '5000')", views=views)["rows"] == 1
    finally:
        spark.run("DROP TABLE made")


class Columns:
    """Random columns whose values lie close together in a row group, so that bounds tell much."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def column(self, kind: pa.DataType, value: Callable[[int], Any]) -> pa.Array:
        found: list[Any] = []
        while len(found) < ROWS:
            middle, nulls = self.random.randrange(-50, 50), self.random.choice([0, 0, 0.2, 1])
            for _ in range(10):
                near = middle + self.random.randrange(-3, 4)
                found.append(None if self.random.random() < nulls else value(near))
        return pa.array(found, kind)

    def table(self) -> pa.Table:
        def floating(near: int) -> float:
            return self.random.choice([near / 2, near / 2, near / 2, math.nan, -0.0, 0.0, math.inf])

        def text(near: int) -> str:
            long = "long " * self.random.choice([0, 0, 20])
            return self.random.choice(
                ["", long + chr(300 + near), long + chr(300 + near), chr(0x10000 + near), "ÿ"]
            )

        columns = {
            "id": pa.array(range(ROWS)),
            "flag": self.column(pa.bool_(), lambda near: near > 0),
            "i8": self.column(pa.int8(), lambda near: near),
            "i32": self.column(pa.int32(), lambda near: near * 2**24),
            "i64": self.column(pa.int64(), lambda near: near * 2**56),
            "u8": self.column(pa.uint8(), lambda near: near % 256),
            "u32": self.column(pa.uint32(), lambda near: near % 2**32),
            "u64": self.column(pa.uint64(), lambda near: near % 2**64),
            "f32": self.column(pa.float32(), floating),
            "f64": self.column(pa.float64(), floating),
            "text": self.column(pa.string(), text),
            "bytes": self.column(pa.binary(), lambda near: bytes([near % 256, 7])),
            "fixed": self.column(pa.binary(2), lambda near: bytes([near % 256, 7])),
            "day": self.column(pa.date32(), lambda near: DAY + dt.timedelta(near)),
            "moment": self.column(UTC, lambda near: NOON + dt.timedelta(hours=near, microseconds=near)),
            "millis": self.column(pa.timestamp("ms", "UTC"), lambda near: NOON + dt.timedelta(hours=near)),
            "clock": self.column(pa.timestamp("us"), lambda near: dt.datetime(1970, 1, 1) + dt.timedelta(0, near)),
            "small": self.column(pa.decimal128(5, 2), lambda near: decimal.Decimal(near) / 4),
            "large": self.column(pa.decimal128(38, 2), lambda near: decimal.Decimal(near) / 4),
            "deep": self.column(pa.struct([("a", pa.int32())]), lambda near: self.random.choice([{"a": near}, {"a": None}])),
        }  # fmt: skip
        return pa.table(columns)

    def literal(self, name: str) -> str:
        near = self.random.randrange(-55, 55)
        moment = NOON + dt.timedelta(hours=near, microseconds=self.random.choice([0, near]))
        if self.random.random() < 0.03:
            return "NULL"
        return {
            "flag": self.random.choice(["true", "false"]),
            "i8": f"{near}Y",
            "i32": str(near * 2**24),
            "i64": f"{near * 2**56}L",
            "u8": f"{near % 256}S",
            "u32": f"{near % 2**32}L",
            "u64": f"CAST('{near % 2**64}' AS DECIMAL(20, 0))",
            "f32": self.random.choice([f"{near / 2}F", "FLOAT('NaN')", "-0.0F", "0.0F"]),
            "f64": self.random.choice([f"{near / 2}D", "DOUBLE('NaN')", "-0.0D", "0.0D"]),
            "text": f"'{self.random.choice(['', 'long ' * 20])}{chr(300 + near)}'",
            "bytes": f"X'{near % 256:02x}07'",
            "fixed": f"X'{near % 256:02x}07'",
            "day": f"DATE'{DAY + dt.timedelta(near)}'",
            "moment": f"TIMESTAMP'{moment}'",
            "millis": f"TIMESTAMP'{moment}'",
            "clock": f"TIMESTAMP_NTZ'{dt.datetime(1970, 1, 1) + dt.timedelta(0, near)}'",
            "small": f"CAST('{near / 4}' AS DECIMAL(5, 2))",
            "large": f"CAST('{near / 4}' AS DECIMAL(38, 2))",
            "deep.a": str(near),
        }[name]

    def condition(self, names: list[str], depth: int = 0) -> str:
        if depth < 2 and self.random.random() < 0.4:
            one, other = (self.condition(names, depth + 1) for _ in range(2))
            return self.random.choice([f"({one} AND {other})", f"({one} OR {other})", f"NOT ({one})"])
        name = self.random.choice(names)
        how = self.random.choice(
            ["=", "!=", "<", "<=", ">", ">=", "<=>", "IN", "IS NULL", "IS NOT NULL", "LIKE"]
        )
        if how.startswith("IS"):
            return f"{name} {how}"
        if how == "LIKE" and name == "text":
            return f"text LIKE '{self.random.choice(['l', 'long', 'long ' * 20 + 'd', 'd', 'ÿ', '𐀀'])}%'"
        if how in ("IN", "LIKE"):
            return f"{name} IN ({', '.join(self.literal(name) for _ in range(self.random.randrange(1, 4)))})"
        return f"{name} {how} {self.literal(name)}"


WAYS: list[dict[str, Any]] = [
    {},
    {"data_page_version": "2.0", "use_dictionary": False, "write_page_index": True, "data_page_size": 1},
    {"write_statistics": False},
    {"use_deprecated_int96_timestamps": True},
    {"store_decimal_as_integer": True, "write_page_index": True},
]


def same_rows(spark: Spark, path: Path, conditions: list[str], **options: Any) -> None:
    """Each condition is true of the same rows as where nothing is skipped."""
    asked = [
        f"SELECT {i} AS n, count(*) AS rows, sum(id) AS ids FROM {{0}} WHERE {c}"
        for i, c in enumerate(conditions)
    ]
    query = " UNION ALL ".join(asked)
    views = {"ours": files(path, **options), "theirs": files(path, kind="parquet", **options)}
    spark.run("SET spark.sql.parquet.filterPushdown=false")
    try:
        ours, theirs = (spark.read(query.format(name), views=views).to_pylist() for name in views)
    finally:
        spark.run("RESET spark.sql.parquet.filterPushdown")
    found, meant = ({row["n"]: (row["rows"], row["ids"]) for row in rows} for rows in (ours, theirs))
    assert {conditions[n]: found[n] for n in found} == {conditions[n]: meant[n] for n in meant}


@pytest.mark.parametrize("way", range(len(WAYS)))
def test_no_row_is_lost(spark: Spark, tmp_path: Path, way: int) -> None:
    made = Columns(20261125 + way)
    table = made.table()
    path = write(tmp_path / "t.parquet", table, row_group_size=10, **WAYS[way])
    names = [name if name != "deep" else "deep.a" for name in table.schema.names if name != "id"]
    same_rows(spark, path, [made.condition(names) for _ in range(40)])


def test_rows_are_counted_without_a_page(spark: Spark, tmp_path: Path) -> None:
    path = grouped(tmp_path / "t.parquet")
    whole = bytearray(path.read_bytes())
    footer = int.from_bytes(whole[-8:-4], "little") + 8
    whole[4:-footer] = bytes(len(whole) - footer - 4)
    path.write_bytes(whole)
    views = {"t": files(path)}
    assert spark.read("SELECT count(*) AS rows FROM t", views=views).to_pylist() == [{"rows": 100}]
    with pytest.raises(SparkError, match="cannot be read"):
        spark.read("SELECT sum(id) FROM t", views=views)


def test_limits_are_told_and_kept(spark: Spark, tmp_path: Path) -> None:
    views = {"t": files(grouped(tmp_path / "lake" / "a.parquet").parent)}
    grouped(tmp_path / "lake" / "b.parquet")
    told = spark.scan("SELECT id FROM t LIMIT 7", views=views)
    assert told["rows"] == 7
    assert "PushedLimit: LIMIT 7" in told["plan"]
    assert spark.scan("SELECT id FROM t LIMIT 150", views={})["rows"] == 150
    assert "PushedLimit" not in spark.scan("SELECT id FROM t WHERE id > 95 LIMIT 7", views={})["plan"]
    numbers = ", ".join(f"(SELECT count(*) FROM (SELECT id FROM t LIMIT {n})) AS n{n}" for n in (1, 3))
    assert spark.read(f"SELECT {numbers}").to_pylist() == [{"n1": 1, "n3": 3}]


@pytest.mark.parametrize(("size", "batches"), [("1", 100), ("400", 4), ("1m", 1)])
def test_batches_of_so_many_bytes(spark: Spark, tmp_path: Path, size: str, batches: int) -> None:
    path = write(tmp_path / "t.parquet", pa.table({"a": range(100), "b": range(100)}), use_dictionary=False)
    told = spark.scan("SELECT * FROM t", views={"t": files(path, batchBytes=size)})
    assert (told["rows"], told["counts"]["numInputBatches"]) == (100, batches)


def test_batches_of_large_values_are_of_64_megabytes(spark: Spark, tmp_path: Path) -> None:
    """Though a dictionary has the value once."""
    path = write(tmp_path / "t.parquet", pa.table({"image": pa.array([bytes(1 << 20)] * 100)}))
    told = spark.scan("SELECT length(image) FROM t", views={"t": files(path)})
    assert (told["rows"], told["counts"]["numInputBatches"]) == (100, 2)


def test_batches_of_no_bytes_are_refused(spark: Spark, tmp_path: Path) -> None:
    views = {"t": files(grouped(tmp_path / "t.parquet"), batchBytes="none")}
    with pytest.raises(SparkError, match="'batchBytes' is a size above 0, such as 4m, and was 'none'"):
        spark.read("SELECT * FROM t", views=views)
