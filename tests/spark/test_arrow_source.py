"""`format("arrow")`: the rows of files, as Spark's own readers give them."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from spark.helpers import rows
from spark.spark import Spark, SparkError, files

pytestmark = pytest.mark.slow

UTC = pa.timestamp("us", "UTC")
NOON = dt.datetime(2013, 1, 1, 12, tzinfo=dt.UTC)


def write(path: Path, table: pa.Table, **options: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, **options)
    return path


def numbers(n: int, start: int = 0) -> pa.Table:
    return pa.table({"id": range(start, start + n), "half": [i / 2 for i in range(start, start + n)]})


def every_type() -> pa.Table:
    """Each type that both know, with a null in every column."""
    columns = {
        "flag": pa.array([True, None, False]),
        "i8": pa.array([-128, None, 127], pa.int8()),
        "i16": pa.array([-32768, None, 32767], pa.int16()),
        "i32": pa.array([-(2**31), None, 2**31 - 1], pa.int32()),
        "i64": pa.array([-(2**63), None, 2**63 - 1], pa.int64()),
        "u8": pa.array([0, None, 255], pa.uint8()),
        "u16": pa.array([0, None, 65535], pa.uint16()),
        "u32": pa.array([0, None, 2**32 - 1], pa.uint32()),
        "u64": pa.array([0, None, 2**64 - 1], pa.uint64()),
        "f32": pa.array([-1.5, None, math.inf], pa.float32()),
        "f64": pa.array([math.nan, None, -0.0]),
        "text": pa.array(["", None, "äöü ∑ 🚢"]),
        "bytes": pa.array([b"", None, b"\x00\xff"]),
        "day": pa.array([dt.date(1969, 12, 31), None, dt.date(2013, 1, 1)]),
        "moment": pa.array([NOON, None, dt.datetime(1901, 2, 3, 4, 5, 6, 7, dt.UTC)], UTC),
        "clock": pa.array([dt.datetime(2013, 1, 1, 12), None, dt.datetime(1901, 2, 3)], pa.timestamp("us")),
        "small": pa.array([decimal.Decimal("-1.25"), None, decimal.Decimal("9999999.99")], pa.decimal128(9, 2)),
        "middle": pa.array([decimal.Decimal("-1.25"), None, decimal.Decimal(10**15)], pa.decimal128(18, 2)),
        "large": pa.array([decimal.Decimal(-(10**30)), None, decimal.Decimal(10**31)], pa.decimal128(38, 6)),
        "list": pa.array([[1, None, 3], None, []], pa.list_(pa.int32())),
        "lists": pa.array([[["a"], None], None, [[], ["b", None]]], pa.list_(pa.list_(pa.string()))),
        "struct": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": None}]),
        "map": pa.array([[("k", 1), ("l", None)], None, []], pa.map_(pa.string(), pa.int64())),
        "deep": pa.array([[{"m": [("k", [1])]}], None, []], pa.list_(pa.struct([("m", pa.map_(pa.string(), pa.list_(pa.int64())))]))),
    }  # fmt: skip
    return pa.table(columns)


def same(spark: Spark, path: object, query: str = "SELECT * FROM {}", **options: object) -> pa.Table:
    """The answer of a query over files, which is for Spark's own reader the same."""
    views = {"ours": files(path, **options), "theirs": files(path, kind="parquet")}
    ours, theirs = (spark.read(query.format(name), views=views) for name in views)
    assert ours.schema == theirs.schema
    assert rows(ours) == rows(theirs)
    return ours


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "lz4"])
def test_every_type(spark: Spark, tmp_path: Path, compression: str) -> None:
    path = write(tmp_path / "t.parquet", every_type(), compression=compression)
    assert same(spark, path).num_rows == 3


@pytest.mark.parametrize(
    "options", [{"use_dictionary": False}, {"data_page_version": "2.0"}, {"version": "1.0"}]
)
def test_every_way_of_writing(spark: Spark, tmp_path: Path, options: dict[str, object]) -> None:
    kinds = every_type().drop_columns(["u32"])  # which version 1.0 has not
    many = pa.concat_tables([kinds] * 2_000)
    assert same(spark, write(tmp_path / "t.parquet", many, row_group_size=2_500, **options)).num_rows == 6_000


@pytest.mark.parametrize("batch_rows", [1, 7, 100_000])
def test_batches_of_any_size(spark: Spark, tmp_path: Path, batch_rows: int) -> None:
    path = write(tmp_path / "t.parquet", pa.concat_tables([every_type()] * 20), row_group_size=11)
    assert same(spark, path, batchRows=batch_rows).num_rows == 60


def test_what_spark_wrote(spark: Spark, tmp_path: Path) -> None:
    """Its times are INT96, by default."""
    query = """SELECT id, timestamp_micros(id * 1000000000007 - 1000000000000000) AS at, CAST(id AS DECIMAL(20, 3)) AS price,
      array(named_struct('a', id)) AS deep, map('k', timestamp_micros(id)) AS times FROM range(1000)"""
    folder = tmp_path / "made"
    spark.run(f"CREATE TABLE made USING parquet LOCATION '{folder}' AS {query}")
    try:
        assert same(spark, folder).num_rows == 1_000
    finally:
        spark.run("DROP TABLE made")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT half FROM {}",
        "SELECT count(*) FROM {}",
        "SELECT half, id, half AS again FROM {} WHERE id % 3 = 0",
        "SELECT id FROM {} WHERE id IN (1, 5, 900) OR half < 2.5 AND NOT id = 3",
        "SELECT sum(id), count(DISTINCT half) FROM {}",
        "SELECT id FROM {} WHERE id > 10 ORDER BY id DESC LIMIT 5",
        "SELECT a.id FROM {0} a JOIN {0} b ON a.id = 2 * b.half WHERE b.id < 9",
    ],
)
def test_queries(spark: Spark, tmp_path: Path, query: str) -> None:
    same(spark, write(tmp_path / "t.parquet", numbers(1_000), row_group_size=100), query)


def test_each_part_of_a_file_is_read_once(spark: Spark, tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", numbers(50_000), row_group_size=1_000, use_dictionary=False)
    views = {"t": files(path)}
    spark.run("SET spark.sql.files.maxPartitionBytes=100000", "SET spark.sql.files.openCostInBytes=0")
    try:
        found = spark.read("SELECT id, spark_partition_id() AS part FROM t", views=views)
    finally:
        spark.run("RESET spark.sql.files.maxPartitionBytes", "RESET spark.sql.files.openCostInBytes")
    assert sorted(found["id"].to_pylist()) == [*range(50_000)]
    assert len(set(found["part"].to_pylist())) > 3


def test_folders_and_globs(spark: Spark, tmp_path: Path) -> None:
    for year in (2012, 2013):
        for part in range(2):
            write(tmp_path / "lake" / f"year={year}" / f"part-{part}.parquet", numbers(10, year + 10 * part))
    (tmp_path / "lake" / "_SUCCESS").touch()
    assert same(spark, tmp_path / "lake").num_rows == 40
    assert same(spark, tmp_path / "lake", "SELECT id, year FROM {} WHERE year = 2013").num_rows == 20
    assert same(spark, tmp_path / "lake", "SELECT year, count(*) FROM {} GROUP BY year").num_rows == 2
    assert same(spark, f"{tmp_path}/lake/*/part-1.parquet").num_rows == 20


def test_several_paths(spark: Spark, tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{i}.parquet", numbers(5, 5 * i)) for i in range(3)]
    assert spark.read("SELECT * FROM t", views={"t": files(*paths[:2])}).num_rows == 10


def test_sql_names_files_by_their_path(spark: Spark, tmp_path: Path) -> None:
    folder = write(tmp_path / "lake" / "day=2" / "t.parquet", numbers(10)).parent.parent
    assert rows(spark.read(f"SELECT * FROM arrow.`{folder}`")) == rows(
        spark.read(f"SELECT * FROM parquet.`{folder}`")
    )


def test_a_table_of_the_catalog(spark: Spark, tmp_path: Path) -> None:
    path = write(tmp_path / "lake" / "t.parquet", numbers(10))
    spark.run(f"CREATE TABLE numbers USING arrow LOCATION '{path.parent}'")
    try:
        assert rows(spark.read("SELECT * FROM numbers")) == rows(numbers(10))
    finally:
        spark.run("DROP TABLE numbers")


def test_a_table_of_the_catalog_is_altered(spark: Spark, tmp_path: Path) -> None:
    """Its partitions are, as of Spark's own sources. Columns are not: Spark knows the formats by name that may."""
    for day in (1, 2):
        write(tmp_path / "lake" / f"day={day}" / "t.parquet", numbers(10, 10 * day))
    count = "SELECT day, count(*) AS n FROM days GROUP BY day ORDER BY day"
    one, two = ({"day": day, "n": 10} for day in (1, 2))
    spark.run(f"CREATE TABLE days USING arrow LOCATION '{tmp_path}/lake'", "MSCK REPAIR TABLE days")
    try:
        assert spark.read(count).to_pylist() == [one, two]
        spark.run("ALTER TABLE days DROP PARTITION (day=1)")
        assert spark.read(count).to_pylist() == [two]
        spark.run("ALTER TABLE days ADD PARTITION (day=1)")
        assert spark.read(count).to_pylist() == [one, two]
        with pytest.raises(SparkError, match="ADD COLUMNS does not support datasource table with type Arrow"):
            spark.run("ALTER TABLE days ADD COLUMNS (more STRING)")
        assert spark.read(count).to_pylist() == [one, two]
    finally:
        spark.run("DROP TABLE days")


def test_the_files_of_a_frame_are_told(spark: Spark, tmp_path: Path) -> None:
    paths = [write(tmp_path / "lake" / f"day={day}" / "t.parquet", numbers(10)) for day in (1, 2)]
    wanted = [f"file://{path}" for path in paths]
    views = {"t": files(tmp_path / "lake")}
    for query in ("SELECT id FROM t WHERE id > 3", f"SELECT * FROM arrow.`{tmp_path}/lake`"):
        assert sorted(spark.scan(query, views=views)["files"]) == wanted


def test_a_plan_tells_source_and_filters_once(spark: Spark, tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", numbers(10))
    query = "SELECT id FROM {} WHERE id > 3"
    told = spark.scan(query.format("t"), views={"t": files(path)})["plan"]
    assert "BatchScan arrow file:" in told
    for text in ("Format: arrow", "PushedFilters: [IsNotNull(id), GreaterThan(id,3)]", "PushedFilters"):
        assert told.count(text) == 1, told
    told = spark.scan(query.format(f"arrow.`{path}`"))["plan"]
    for text in ("FileScan arrow", "Format: Arrow", "PushedFilters"):
        assert told.count(text) == 1, told


def test_what_spark_knows_of_files_is_told_by_their_path_alone(spark: Spark, tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", numbers(2))
    query = f"SELECT _metadata.file_name, _metadata.file_size, id FROM arrow.`{path}`"
    assert rows(spark.read(query)) == rows(spark.read(query.replace("arrow", "parquet")))
    with pytest.raises(SparkError, match="No such struct field `row_index`"):
        spark.read(f"SELECT _metadata.row_index FROM arrow.`{path}`")
    with pytest.raises(SparkError, match=r"`_metadata`\.`file_name` cannot be resolved"):
        spark.read("SELECT _metadata.file_name FROM t", views={"t": files(path)})


def test_a_wider_schema_may_be_asked_for(spark: Spark, tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", pa.table({"ID": pa.array([1, None], pa.int32()), "x": ["a", "b"]}))
    found = spark.read("SELECT * FROM t", views={"t": files(path, schema="id BIGINT, more STRING")})
    assert found.to_pylist() == [{"id": 1, "more": None}, {"id": None, "more": None}]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_files_that_come_as_a_stream(spark: Spark, tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(3):
        rows = pa.table({"id": range(10 * number, 10 * number + 10)})
        if kind == "csv":
            pa.csv.write_csv(rows, folder / f"{number}.csv")
        else:
            pq.write_table(rows, folder / f"{number}.parquet")
    told = {"header": "true"} if kind == "csv" else {}
    kept = {"cleanSource": "archive", "sourceArchiveDir": tmp_path / "archive"}
    source = files(folder, schema="id BIGINT", maxFilesPerTrigger=1, **kept, **told)
    assert sorted(spark.stream(source, tmp_path / "out")["id"].to_pylist()) == list(range(30))


class TestRefused:
    def test_a_path_that_is_not_there(self, spark: Spark, tmp_path: Path) -> None:
        with pytest.raises(SparkError, match="PATH_NOT_FOUND"):
            spark.read("SELECT * FROM t", views={"t": files(tmp_path / "nothing")})

    def test_an_empty_folder(self, spark: Spark, tmp_path: Path) -> None:
        with pytest.raises(SparkError, match="UNABLE_TO_INFER_SCHEMA"):
            spark.read("SELECT * FROM t", views={"t": files(tmp_path)})

    @pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + bytes(100) + b"PAR1", b"no Parquet at all"])
    def test_what_is_no_parquet(self, spark: Spark, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "t.parquet").write_bytes(content)
        with pytest.raises(SparkError, match=f"{tmp_path}/t.parquet cannot be read"):
            spark.read("SELECT * FROM t", views={"t": files(tmp_path / "t.parquet")})

    def test_another_format_is_asked_for_by_the_option(self, spark: Spark, tmp_path: Path) -> None:
        (tmp_path / "t.tsv").write_text("a\tb\n" * 10)
        with pytest.raises(
            SparkError, match=r't\.tsv cannot be read: it is no Parquet file, .*\.option\("format", "csv"\)'
        ):
            spark.read("SELECT * FROM t", views={"t": files(tmp_path / "t.tsv")})

    def test_a_file_that_was_cut_short_is_no_crash(self, spark: Spark, tmp_path: Path) -> None:
        path = write(tmp_path / "t.parquet", numbers(10_000), use_dictionary=False, compression="none")
        whole = path.read_bytes()
        damaged = whole[:4] + bytes(len(whole) // 2) + whole[4 + len(whole) // 2 :]
        path.write_bytes(damaged)  # the footer stands
        with pytest.raises(SparkError, match=f"{path} cannot be read"):
            spark.read("SELECT sum(id), sum(half) FROM t", views={"t": files(path)})
        assert spark.read("SELECT 1 AS one").to_pylist() == [{"one": 1}]

    def test_a_file_that_goes_away(self, spark: Spark, tmp_path: Path) -> None:
        path = write(tmp_path / "lake" / "a.parquet", numbers(10))
        other = write(tmp_path / "lake" / "b.parquet", numbers(10))
        views = {"t": files(path.parent)}
        spark.read("SELECT 1", views=views)
        other.unlink()
        with pytest.raises(SparkError, match=r"b\.parquet"):
            spark.read("SELECT * FROM t")

    def test_a_type_that_spark_has_not(self, spark: Spark, tmp_path: Path) -> None:
        path = write(tmp_path / "t.parquet", pa.table({"s": pa.array([{"at": dt.time(1, 2)}])}))
        with pytest.raises(SparkError, match=f"the column 's.at' of {path} is of the type Time64"):
            spark.read("SELECT * FROM t", views={"t": files(path)})

    def test_a_type_that_holds_less(self, spark: Spark, tmp_path: Path) -> None:
        path = write(tmp_path / "t.parquet", numbers(3))
        with pytest.raises(
            SparkError, match=f"the column 'id' of {path} is of the type BIGINT, and cannot be read as INT"
        ):
            spark.read("SELECT * FROM t", views={"t": files(path, schema="id INT")})

    def test_batches_of_no_rows(self, spark: Spark, tmp_path: Path) -> None:
        path = write(tmp_path / "t.parquet", numbers(3))
        with pytest.raises(SparkError, match="'batchRows' is a number above 0, and was 'none'"):
            spark.read("SELECT * FROM t", views={"t": files(path, batchRows="none")})

    @pytest.mark.parametrize(
        ("option", "meant"),
        [("headers", "header"), ("batchrow", "batchRows"), ("merge_schema", "mergeSchema")],
    )
    def test_an_option_that_nobody_knows(self, spark: Spark, tmp_path: Path, option: str, meant: str) -> None:
        path = write(tmp_path / "t.parquet", numbers(3))
        with pytest.raises(SparkError, match=f"has no option '{option}', .* is '{meant}' meant"):
            spark.read("SELECT * FROM t", views={"t": files(path, **{option: "1"})})
        # Others' mean nothing here, as with Spark's own sources.
        theirs = {"lineSep": "x", "compression": "none", "fs.s3a.secret.key": "k", "MERGESCHEMA": "false"}
        assert spark.read("SELECT * FROM t", views={"t": files(path, **theirs)}).num_rows == 3

    def test_writing(self, spark: Spark, tmp_path: Path) -> None:
        with pytest.raises(SparkError, match="reads files, and writes none"):
            spark.run(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/out' USING arrow SELECT 1 AS one")
