"""`format("arrow")` where files lie in Hadoop's file systems: the same rows as from Spark's own reader, and few requests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import S3FileSystem

from servers.hdfs import Hdfs
from servers.s3 import REGION, S3
from spark.helpers import rows
from spark.spark import Spark, SparkError, files

pytestmark = [pytest.mark.slow, pytest.mark.newest_line]

ROWS = """SELECT id, id / 2 AS half, concat('text ', id % 17) AS text, timestamp_micros(id * 1000003) AS at,
  array(id, NULL) AS list, named_struct('a', id % 5) AS deep FROM range({})"""


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with Hdfs(tmp_path_factory.mktemp("hdfs")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    with S3(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def options(s3: S3) -> dict[str, str]:
    """What a reader is told, and nobody else: so that it has to come to where the bytes are read."""
    return {
        "fs.s3a.endpoint": s3.endpoint,
        "fs.s3a.endpoint.region": REGION,
        "fs.s3a.access.key": s3.access_key,
        "fs.s3a.secret.key": s3.secret_key,
        "fs.s3a.path.style.access": "true",
        "fs.s3a.connection.ssl.enabled": "false",
        "fs.s3a.impl.disable.cache": "true",
    }


@pytest.fixture
def place(spark: Spark, hdfs: Hdfs, request: pytest.FixtureRequest) -> str:
    """An empty folder of the cluster."""
    return f"hdfs://{hdfs.namenode}/{spark.profile}/{request.node.name.partition('[')[0]}"


def put(spark: Spark, place: str, count: int, **options: object) -> None:
    told = "".join(f", `{name}` '{value}'" for name, value in options.items())
    spark.run(
        f"INSERT OVERWRITE DIRECTORY '{place}' USING parquet OPTIONS (compression 'snappy'{told}) {ROWS.format(count)}"
    )


def same(spark: Spark, path: str, query: str = "SELECT * FROM {}", **options: object) -> pa.Table:
    views = {"ours": files(path, **options), "theirs": files(path, kind="parquet", **options)}
    ours, theirs = (spark.read(query.format(name), views=views) for name in views)
    assert ours.schema == theirs.schema
    assert rows(ours) == rows(theirs)
    return ours


class TestHdfs:
    def test_the_rows_of_files(self, spark: Spark, place: str) -> None:
        put(spark, place, 20_000)
        assert same(spark, place).num_rows == 20_000
        assert same(spark, place, "SELECT text FROM {} WHERE id % 7 = 0").num_rows == 2_858
        assert same(spark, place, "SELECT count(*) FROM {}").num_rows == 1
        assert rows(spark.read(f"SELECT id FROM arrow.`{place}`")) == rows(
            spark.read(f"SELECT id FROM parquet.`{place}`")
        )

    def test_parts_of_files_with_many_row_groups(self, spark: Spark, place: str) -> None:
        put(spark, place, 100_000, **{"parquet.block.size": 100_000})
        spark.run("SET spark.sql.files.maxPartitionBytes=300000", "SET spark.sql.files.openCostInBytes=0")
        try:
            assert same(spark, place).num_rows == 100_000
        finally:
            spark.run("RESET spark.sql.files.maxPartitionBytes", "RESET spark.sql.files.openCostInBytes")

    def test_a_file_that_goes_away(self, spark: Spark, place: str) -> None:
        put(spark, place, 10)
        spark.read("SELECT 1", views={"t": files(place)})
        put(spark, place, 10)
        with pytest.raises(SparkError, match=f"{place}/part-.*parquet"):
            spark.read("SELECT * FROM t")


class TestS3:
    def put(self, s3: S3, name: str, table: pa.Table, **options: Any) -> str:
        """The path of an object that holds a table."""
        into = pa.BufferOutputStream()
        pq.write_table(table, into, **options)
        self.put_bytes(s3, name, into.getvalue().to_pybytes())
        return f"s3a://{s3.bucket}/{name}"

    def put_bytes(self, s3: S3, name: str, content: bytes) -> None:
        address = urlsplit(s3.endpoint).netloc
        keys = {"access_key": s3.access_key, "secret_key": s3.secret_key}
        store = S3FileSystem(endpoint_override=address, scheme="http", region=REGION, **keys)
        with store.open_output_stream(f"{s3.bucket}/{name}") as stream:
            stream.write(content)

    def test_the_rows_of_objects(self, spark: Spark, s3: S3, options: dict[str, str]) -> None:
        found = [self.put(s3, f"rows-{spark.profile}/{i}.parquet", numbers(1_000)) for i in range(2)]
        folder = found[0].rpartition("/")[0]
        assert same(spark, folder, **options).num_rows == 2_000
        assert same(spark, folder, "SELECT text FROM {} WHERE id < 100", **options).num_rows == 200

    def test_a_column_is_one_request(self, spark: Spark, s3: S3, options: dict[str, str]) -> None:
        many = {"use_dictionary": False, "compression": "none", "data_page_size": 10_000}
        path = self.put(s3, f"pages-{spark.profile}.parquet", numbers(200_000), **many)
        views = {"t": files(path, schema="id BIGINT, text STRING", **options)}
        before = gets(s3)
        found = spark.read("SELECT sum(id) AS sum FROM t", views=views)
        assert found.to_pylist() == [{"sum": sum(range(200_000))}]
        assert gets(s3) - before == 2  # the footer, and the column, of 160 pages

    def test_an_object_that_was_replaced(self, spark: Spark, s3: S3, options: dict[str, str]) -> None:
        path = self.put(s3, f"replaced-{spark.profile}.parquet", numbers(100))
        spark.read("SELECT 1", views={"t": files(path, **options)})
        self.put(s3, f"replaced-{spark.profile}.parquet", numbers(200))
        with pytest.raises(
            SparkError, match=f"{path} cannot be read: it was changed after Spark had listed it"
        ):
            spark.read("SELECT * FROM t")

    def test_an_object_that_is_no_parquet(self, spark: Spark, s3: S3, options: dict[str, str]) -> None:
        self.put_bytes(s3, f"broken-{spark.profile}.parquet", b"no Parquet at all")
        path = f"s3a://{s3.bucket}/broken-{spark.profile}.parquet"
        with pytest.raises(SparkError, match=f"{path} cannot be read"):
            spark.read("SELECT * FROM t", views={"t": files(path, **options)})


def numbers(count: int) -> pa.Table:
    return pa.table({"id": range(count), "text": [f"text {i % 17}" for i in range(count)]})


def gets(s3: S3) -> int:
    """How many objects, or parts of them, were asked for so far."""
    return len(re.findall(rf"\bGET\b\W+/{s3.bucket}/\w", s3.daemon.log.read_text()))
