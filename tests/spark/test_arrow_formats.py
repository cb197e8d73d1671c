"""`format("arrow")` over Arrow's own files and ORC, as those who wrote them, and Spark's own reader, have their rows."""

from __future__ import annotations

import datetime as dt
import decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc

from spark.helpers import rows
from spark.spark import Spark, SparkError, files
from spark.test_arrow_source import every_type

pytestmark = [pytest.mark.slow, pytest.mark.newest_line]

MOMENT = dt.datetime(2013, 1, 1, 12, 0, 0, 123456, dt.UTC)


def write_ipc(
    path: Path, table: pa.Table, rows: int | None = None, *, stream: bool = False, **options: Any
) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = pa.ipc.new_stream if stream else pa.ipc.new_file
    with writer(path, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as into:
        into.write_table(table, max_chunksize=rows)
    return path


def read(spark: Spark, path: object, query: str = "SELECT * FROM t", **options: Any) -> pa.Table:
    return spark.read(query, views={"t": files(path, **options)})


def whole_types() -> pa.Table:
    """Every type of Parquet's tests, the largest integers as Spark has them."""
    table = every_type()
    place = table.schema.get_field_index("u64")
    return table.set_column(place, "u64", table["u64"].cast(pa.decimal128(20, 0)))


def arrows_own_types() -> pa.Table:
    """What Arrow has beyond Parquet, with a null in every column."""
    return pa.table(
        {
            "large_text": pa.array(["a", None, "äöü 🚢"], pa.large_string()),
            "view": pa.array(["short", None, "longer than twelve bytes"], pa.string_view()),
            "large_bytes": pa.array([b"\x00", None, b"\xff" * 20], pa.large_binary()),
            "bytes_view": pa.array([b"\x00", None, b"\xff" * 20], pa.binary_view()),
            "fixed": pa.array([b"ab", None, b"cd"], pa.binary(2)),
            "large_list": pa.array([[1, None], None, []], pa.large_list(pa.int32())),
            "fixed_list": pa.array([[1, None], None, [3, 4]], pa.list_(pa.int64(), 2)),
            "coded": pa.array(["x", None, "y"]).dictionary_encode(),
            "coded_list": pa.array([["x", "y"], None, ["y"]], pa.list_(pa.dictionary(pa.int8(), pa.large_string()))),
            "nothing": pa.nulls(3),
            "day_ms": pa.array([dt.date(1969, 12, 31), None, dt.date(2013, 1, 1)], pa.date64()),
            "half": pa.array([1.5, None, -0.25], pa.float16()),
            "small": pa.array([decimal.Decimal("1.5"), None, decimal.Decimal("-2.5")], pa.decimal32(5, 1)),
            "middle": pa.array([decimal.Decimal("1.5"), None, decimal.Decimal("-2.5")], pa.decimal64(15, 1)),
        }
        | {f"at_{unit}": pa.array([MOMENT, None, dt.datetime(1901, 2, 3, tzinfo=dt.UTC)]).cast(pa.timestamp(unit, "Asia/Kolkata"), safe=False) for unit in ("s", "ms", "us", "ns")}
        | {f"clock_{unit}": pa.array([MOMENT.replace(tzinfo=None), None, dt.datetime(1901, 2, 3)]).cast(pa.timestamp(unit), safe=False) for unit in ("s", "ms", "us", "ns")}
        | {f"for_{unit}": pa.array([dt.timedelta(days=1, seconds=2), None, dt.timedelta(seconds=-3)], pa.duration(unit)) for unit in ("s", "ms", "us", "ns")}
    )  # fmt: skip


class TestIpc:
    @pytest.mark.parametrize("stream", [False, True])
    @pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
    def test_every_type(self, spark: Spark, tmp_path: Path, stream: bool, compression: str | None) -> None:
        table = whole_types()
        path = write_ipc(tmp_path / "t.arrow", table, 2, stream=stream, compression=compression)
        found = read(spark, path)
        assert rows(found) == rows(table)

    def test_the_types_of_arrow_alone(self, spark: Spark, tmp_path: Path) -> None:
        path = write_ipc(tmp_path / "t.arrow", arrows_own_types())
        plain = ", ".join(
            f"CAST({n} AS STRING) AS {n}" for n in ("nothing", "for_s", "for_ms", "for_us", "for_ns")
        )
        others = [n for n in arrows_own_types().schema.names if not n.startswith(("for_", "nothing"))]
        found = read(spark, path, f"SELECT {', '.join(others)}, {plain} FROM t").to_pylist()
        lasting = ["INTERVAL '1 00:00:02' DAY TO SECOND", None, "INTERVAL '-0 00:00:03' DAY TO SECOND"]
        for unit in ("s", "ms", "us", "ns"):
            assert [row.pop(f"for_{unit}") for row in found] == lasting
        kinds = [
            (f, pa.timestamp("us", f.type.tz))
            for f in arrows_own_types().schema
            if pa.types.is_timestamp(f.type)
        ]
        wanted = arrows_own_types().select([*others, "nothing"])
        for field, kind in kinds:
            place = wanted.schema.get_field_index(field.name)
            wanted = wanted.set_column(place, field.name, wanted[field.name].cast(kind, safe=False))
        assert found == [row | {"half": row["half"] and float(row["half"])} for row in wanted.to_pylist()]

    def test_some_columns_in_batches_of_any_size(self, spark: Spark, tmp_path: Path) -> None:
        table = pa.concat_tables(
            [whole_types().append_column("coded", whole_types()["text"].dictionary_encode())] * 50
        )
        table = table.unify_dictionaries().combine_chunks()
        path = write_ipc(tmp_path / "t.arrow", table, 33)
        for columns, options in (
            (["text"], {"batchRows": 7}),
            (["coded", "i8", "deep"], {}),
            (["u64", "list"], {"batchRows": 1}),
        ):
            found = read(spark, path, f"SELECT {', '.join(columns)} FROM t", **options)
            assert rows(found) == rows(table.select(columns))
        assert read(spark, path, "SELECT count(*) AS n FROM t").to_pylist() == [{"n": 150}]

    def test_each_part_of_a_file_is_read_once(self, spark: Spark, tmp_path: Path) -> None:
        table = pa.table({"id": range(50_000)})
        for stream in (False, True):
            path = write_ipc(tmp_path / f"{stream}.arrow", table, 1_000, stream=stream)
            spark.run("SET spark.sql.files.maxPartitionBytes=100000", "SET spark.sql.files.openCostInBytes=0")
            try:
                found = read(spark, path, "SELECT id, spark_partition_id() AS part FROM t")
            finally:
                spark.run("RESET spark.sql.files.maxPartitionBytes", "RESET spark.sql.files.openCostInBytes")
            assert sorted(found["id"].to_pylist()) == [*range(50_000)]
            assert len(set(found["part"].to_pylist())) == (1 if stream else 4)

    def test_the_format_may_be_told(self, spark: Spark, tmp_path: Path) -> None:
        path = write_ipc(tmp_path / "rows", pa.table({"id": [1]}))
        for name in ("ipc", "arrow", "ARROW"):
            assert read(spark, path, format=name).to_pylist() == [{"id": 1}]
        assert spark.read(
            f"SELECT * FROM arrow.`{write_ipc(tmp_path / 't.feather', pa.table({'id': [2]}))}`"
        ).to_pylist() == [{"id": 2}]
        with pytest.raises(SparkError, match=r"the option 'format' is one of .*, and was 'avro'"):
            read(spark, path, format="avro")

    def test_what_is_refused(self, spark: Spark, tmp_path: Path) -> None:
        whole = write_ipc(tmp_path / "t.arrow", whole_types()).read_bytes()
        contents = {"empty": b"", "foreign": b"no Arrow at all", "cut": whole[:-20], "magic": b"ARROW1" * 4}
        for name, content in contents.items():
            path = tmp_path / f"{name}.arrow"
            path.write_bytes(content)
            with pytest.raises(SparkError, match=f"{path} cannot be read"):
                read(spark, path)
        foreign = {
            "time": pa.array([dt.time(1, 2)]),
            "large": pa.array([decimal.Decimal(1)], pa.decimal256(50, 2)),
            "months": pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
        }
        for name, column in foreign.items():
            path = write_ipc(tmp_path / f"{name}.arrow", pa.table({name: column}))
            told = f"(?s)^AnalysisException.*the column '{name}' of {path} is of the type .*, which Spark has not"
            with pytest.raises(SparkError, match=told):
                read(spark, path)
            with pytest.raises(SparkError, match=told):
                spark.read(f"SELECT * FROM arrow.`{path}`")


class TestOrc:
    QUERY = """SELECT id, CAST(id % 100 - 50 AS TINYINT) AS i8, CAST(id * 7 AS SMALLINT) AS i16, CAST(id * 77 AS INT) AS i32, id % 2 = 0 AS flag,
      CAST(id / 3 AS FLOAT) AS f32, id / 3 AS f64, concat('text ', id % 17, '∑') AS text, CAST(concat('b', id) AS BINARY) AS bytes,
      date_add(DATE'1965-01-01', CAST(id AS INT)) AS day, timestamp_micros(id * 1000000000007 - 1000000000000000) AS at,
      CAST(timestamp_micros(id * 1000003 - 5000000000) AS TIMESTAMP_NTZ) AS clock, make_dt_interval(0, id) AS lasting,
      make_ym_interval(0, CAST(id AS INT)) AS months, CAST(id * 1.25 - 100 AS DECIMAL(12, 3)) AS price,
      CAST(id AS DECIMAL(38, 10)) * 1000000000000 AS large, IF(id % 5 = 0, NULL, id) AS gaps,
      IF(id % 3 = 0, NULL, array(id, NULL, id + 1)) AS list, map(concat('k', id % 3), id, 'x', NULL) AS pairs,
      IF(id % 7 = 0, NULL, named_struct('a', id, 'b', IF(id % 2 = 0, NULL, array(named_struct('at', timestamp_micros(id)))))) AS deep
      FROM range({})"""

    @pytest.mark.parametrize("compression", ["none", "snappy", "zlib", "zstd", "lz4", "lzo"])
    def test_every_type(self, spark: Spark, tmp_path: Path, compression: str) -> None:
        folder = tmp_path / "made"
        spark.run(
            f"INSERT OVERWRITE DIRECTORY '{folder}' USING orc OPTIONS (compression '{compression}') {self.QUERY.format(3_000)}"
        )
        assert self.same(spark, folder).num_rows == 3_000
        assert (
            self.same(spark, folder, "SELECT text, price FROM {} WHERE id % 7 = 0", batchRows=100).num_rows
            == 429
        )
        assert self.same(spark, folder, "SELECT count(*) FROM {}").num_rows == 1

    def test_what_arrow_wrote(self, spark: Spark, tmp_path: Path) -> None:
        whole = every_type().drop_columns(["u8", "u16", "u32", "u64"])
        table = whole.slice(0, 2)
        orc.write_table(table, tmp_path / "t.orc", compression="zstd")
        found = read(spark, tmp_path / "t.orc")
        clock = table.schema.get_field_index("clock")  # which Spark takes for a moment
        taken = table.set_column(clock, "clock", table["clock"].cast(pa.timestamp("us", "UTC")))
        assert rows(found) == rows(taken)
        orc.write_table(
            table.drop_columns(["moment"]), tmp_path / "t.orc"
        )  # Spark's own reader does not know its type
        assert self.same(spark, tmp_path / "t.orc").num_rows == 2
        # Arrow writes fractions of seconds before 1970 as no other writer does.
        orc.write_table(whole, tmp_path / "old.orc")
        with pytest.raises(
            SparkError, match=f"{tmp_path}/old.orc cannot be read: Overflow while decoding timestamp"
        ):
            read(spark, tmp_path / "old.orc")

    def test_each_part_of_a_file_is_read_once(self, spark: Spark, tmp_path: Path) -> None:
        table = pa.table({"id": range(200_000), "text": [str(i * 7_919) for i in range(200_000)]})
        orc.write_table(table, tmp_path / "t.orc", stripe_size=100_000, compression="uncompressed")
        spark.run("SET spark.sql.files.maxPartitionBytes=300000", "SET spark.sql.files.openCostInBytes=0")
        try:
            found = read(spark, tmp_path / "t.orc", "SELECT id, spark_partition_id() AS part FROM t")
        finally:
            spark.run("RESET spark.sql.files.maxPartitionBytes", "RESET spark.sql.files.openCostInBytes")
        assert sorted(found["id"].to_pylist()) == [*range(200_000)]
        assert len(set(found["part"].to_pylist())) > 1

    def test_days_of_another_calendar_are_refused(self, spark: Spark, tmp_path: Path) -> None:
        folder = tmp_path / "made"
        spark.run(f"INSERT OVERWRITE DIRECTORY '{folder}' USING orc SELECT DATE'1500-01-01' AS day")
        with pytest.raises(
            SparkError, match=f"{folder}/part-.* the column 'day': it has days before October 1582"
        ):
            read(spark, folder)

    def test_what_is_no_orc_is_refused(self, spark: Spark, tmp_path: Path) -> None:
        whole = tmp_path / "t.orc"
        orc.write_table(pa.table({"id": range(1_000)}), whole)
        for name, content in {
            "empty": b"",
            "foreign": b"no ORC at all",
            "cut": whole.read_bytes()[:-9],
        }.items():
            path = tmp_path / f"{name}.orc"
            path.write_bytes(content)
            with pytest.raises(SparkError, match=f"{path} cannot be read"):
                read(spark, path)

    def same(self, spark: Spark, path: object, query: str = "SELECT * FROM {}", **options: Any) -> pa.Table:
        views = {"ours": files(path, **options), "theirs": files(path, kind="orc")}
        ours, theirs = (spark.read(query.format(name), views=views) for name in views)
        assert ours.schema.equals(theirs.schema)
        assert rows(ours) == rows(theirs)
        return ours
