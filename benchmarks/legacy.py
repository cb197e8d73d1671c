"""What Headrace replaces: a frame goes to Kafka message by message, and Spark writes it into a Hudi table on HDFS.

Source: "Faster Delta Lake operations using Rust", section 3.2.5: writes are an upload to Kafka and a materialisation by
Spark; tables are Hudi's copy-on-write ones.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import psutil
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import headrace as hr
from benchmarks import data
from benchmarks.checksum import Checksum, checksum
from benchmarks.runner import Runner, Stage, Staged
from benchmarks.servers import Lake, running_kafka, running_lakes
from benchmarks.spark import PYTHON
from benchmarks.spark_plain import plain_session
from benchmarks.storage import Read, Source, Write, fill
from benchmarks.tpch import KEYS, in_floats
from benchmarks.upload import Topic, Upload
from benchmarks.workload import Case, Workload

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

_SESSIONS = 6
"""Parts of the machine's memory, of which each session has one: four are there at once, and what they write."""
_SETTINGS = {
    "spark.driver.memory": f"{psutil.virtual_memory().total // _SESSIONS >> 20}m",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
}
_FAILOVER = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
_HUDI = {
    "hoodie.table.name": "rows",
    "hoodie.datasource.write.table.type": "COPY_ON_WRITE",
    "hoodie.datasource.write.operation": "upsert",
    "hoodie.datasource.write.precombine.field": "",
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
    "hoodie.datasource.write.partitionpath.field": "",
}
_WARM_UP = 60.0
_BATCH = 1_000
"""Rows of a message that is `BATCHED`."""
BATCHED = "batched"


@dataclasses.dataclass(frozen=True)
class Spark:
    """A session on the processors that it may use, with Hudi and Kafka, which finds an HDFS."""

    lake: Lake

    @contextmanager
    def session(self) -> Iterator[SparkSession]:
        options = {
            **self.lake.options,
            f"dfs.client.failover.proxy.provider.{self.lake.options['dfs.nameservices']}": _FAILOVER,
            # For a DataNode of this machine 400 ms are long: Spark would sleep for most of what few rows take.
            "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": "10",
            "dfs.client.block.write.locateFollowingBlock.retries": "10",
            "dfs.replication": "1",
        }
        hadoop = {f"spark.hadoop.{name}": value for name, value in options.items()}
        with plain_session(_SETTINGS | hadoop) as session:
            yield session


@dataclasses.dataclass(frozen=True)
class Materialise:
    """A topic's rows written into a new table, in a session that is there or in one that is started for it."""

    spark: Spark
    topic: Topic
    keys: Sequence[str]
    warm: bool

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        if self.warm:
            with self.spark.session() as session:
                yield Staged(lambda number: self._stage(number, lambda: nullcontext(session)))
        else:
            yield Staged(lambda number: self._stage(number, self.spark.session))

    @contextmanager
    def _stage(
        self, number: int, session: Callable[[], AbstractContextManager[SparkSession]]
    ) -> Iterator[Stage]:
        kind = "warm" if self.warm else "cold"
        folder = f"{self.spark.lake.uri}/{self.topic.name}-{kind}-{number}"

        def job() -> None:
            with session() as found:
                self.write(found, folder)

        def answer(_: object) -> Checksum:
            with session() as found:
                told = _checksum(_rows(found, folder))
                _remove(found, folder)
                return told

        yield Stage(job, answer)

    def write(self, session: SparkSession, folder: str) -> None:
        from pyspark.sql.avro.functions import from_avro
        from pyspark.sql.functions import col, explode

        messages = session.read.format("kafka").option("kafka.bootstrap.servers", self.topic.address)
        value = from_avro(col("value"), json.dumps(self.topic.schema))
        row = (value if self.topic.rows == 1 else explode(value)).alias("row")
        rows = messages.option("subscribe", self.topic.name).load().select(row).select("row.*")
        options = _HUDI | {"hoodie.datasource.write.recordkey.field": ",".join(self.keys)}
        rows.write.format("hudi").options(**options).mode("overwrite").save(folder)


def _rows(session: SparkSession, folder: str) -> DataFrame:
    rows = session.read.format("hudi").load(folder)
    return rows.drop(*(name for name in rows.columns if name.startswith("_hoodie_")))


def _checksum(rows: DataFrame) -> Checksum:
    """By way of files: they may be more than a frame of pandas could hold."""
    with tempfile.TemporaryDirectory() as folder:
        rows.write.parquet(f"file://{folder}/rows")
        return checksum(ds.dataset(f"{folder}/rows").scanner().to_reader())


def _remove(session: SparkSession, folder: str) -> None:
    path = session._jvm.org.apache.hadoop.fs.Path(folder)
    path.getFileSystem(session._jsc.hadoopConfiguration()).delete(path, True)


def _table(frame: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(frame, preserve_index=False)


@dataclasses.dataclass(frozen=True)
class SparkRead:
    """A Hudi table to a pandas frame: a snapshot query and `toPandas` by Arrow, in the session that has written it."""

    written: Materialise

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        with self.written.spark.session() as session:
            self.written.write(session, self._folder)
            yield Staged(
                lambda _: nullcontext(Stage(lambda: _rows(session, self._folder).toPandas(), _table))
            )

    @property
    def _folder(self) -> str:
        return f"{self.written.spark.lake.uri}/{self.written.topic.name}"


@dataclasses.dataclass(frozen=True)
class ColdSparkRead(SparkRead):
    """The same of a table that another has written, in a session that is started for it."""

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        def job() -> pd.DataFrame:
            with self.written.spark.session() as session:
                return _rows(session, self._folder).toPandas()

        yield Staged(lambda _: nullcontext(Stage(job, _table)))


@dataclasses.dataclass(frozen=True)
class FrameWrite(Write):
    """The same of a pandas frame."""

    def _rows(self) -> Any:
        return pq.read_table(self.path).to_pandas()


@dataclasses.dataclass(frozen=True)
class ColdWrite(FrameWrite):
    """The same by a process that has not written yet: its first store, connected meanwhile, and its first group."""

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        yield Staged(self._stage)

    @contextmanager
    def _stage(self, number: int) -> Iterator[Stage]:
        rows, name = self._rows(), f"cold_{number}"
        with contextlib.ExitStack() as stack:

            def job() -> hr.FeatureGroup:
                store = stack.enter_context(self.lake.connected())
                group = store.create_feature_group(name, primary_key=list(self.keys))
                stack.callback(store.delete_feature_group, name, 1)
                self._insert(group, rows)
                return group

            yield Stage(job, lambda group: checksum(group.read().to_reader()))


@dataclasses.dataclass(frozen=True)
class FrameRead(Read):
    """The same to a frame of pandas' own types, as Spark gives them."""

    def _take(self, found: Any) -> Any:
        return found.to_pandas("numpy")

    def _answer(self, taken: Any) -> pa.Table:
        return _table(taken)


@contextmanager
def _cases(table: str, scale: float) -> Iterator[list[Case]]:
    source, keys = data.tpch(scale, [table])[table], KEYS[table]
    path = data.generated(f"frame-{table}-sf{scale:g}", in_floats(table, source))
    with running_lakes() as lakes, running_kafka() as kafka:
        # Whoever has held a large table once keeps its memory: too much for all to stay.
        spark, fresh = Spark(lakes.hdfs), table == "lineitem"
        one, many = (Topic(kafka.address, f"{table}-{rows}", rows, path) for rows in (1, _BATCH))
        for topic in (one, many):
            topic.fill()
        for lake in (lakes.local, lakes.hopsfs):
            fill(lake, path, keys)

        written = Materialise(spark, many, keys, warm=True)
        warm_up = _WARM_UP if scale >= 1 else 0.0

        def legacy(name: str, runner: Runner, python: str = sys.executable, **told: Any) -> Case:
            return Case(name, runner, python=python, servers=(*lakes.hdfs.servers, kafka.daemon.pid), **told)

        yield [
            Case("source", Source(path), role="reference"),
            legacy("upload", Upload(one), fresh=fresh),
            legacy(f"upload, {BATCHED}", Upload(many), fresh=fresh),
            legacy("materialise, cold", Materialise(spark, one, keys, warm=False), PYTHON, fresh=True),
            legacy("materialise", Materialise(spark, one, keys, warm=True), PYTHON, warm_up=warm_up),
            legacy(
                f"materialise, {BATCHED}", Materialise(spark, many, keys, warm=True), PYTHON, warm_up=warm_up
            ),
            legacy("read, Spark", SparkRead(written), PYTHON, warm_up=warm_up),
            legacy("read, Spark, cold", ColdSparkRead(written), PYTHON, fresh=True),
            Case(
                "write, hopsfs, cold",
                ColdWrite(lakes.hopsfs, path, keys),
                fresh=True,
                servers=lakes.hopsfs.servers,
            ),
            *(
                Case(f"{op}, {name}", runner, fresh=fresh, servers=lake.servers)
                for name, lake in (("hopsfs", lakes.hopsfs), ("local", lakes.local))
                for op, runner in (("write", FrameWrite(lake, path, keys)), ("read", FrameRead(lake)))
            ),
        ]


def _workload(name: str, rows: str, table: str, scale: float, runs: int) -> Workload:
    return Workload(
        name=f"legacy-{name}",
        about=f"{rows} rows of {table}, from pandas and to it: by Kafka, Spark and Hudi, and by Headrace",
        sizes={"full": scale, "small": scale / 10, "smoke": 0.01},
        unit="scale factor",
        systems=(
            "upload",
            f"upload, {BATCHED}",
            "materialise, cold",
            "materialise",
            f"materialise, {BATCHED}",
            "read, Spark",
            "read, Spark, cold",
            "write, hopsfs, cold",
            *(f"{op}, {name}" for name in ("hopsfs", "local") for op in ("write", "read")),
        ),
        goals=(),
        runs=runs,
        cases=lambda scale: _cases(table, scale),
    )


WORKLOADS = (
    _workload("10k", "10 thousand", "supplier", 1.0, runs=7),
    _workload("100k", "100 thousand", "supplier", 10.0, runs=7),
    _workload("1m", "1 million", "supplier", 100.0, runs=5),
    _workload("6m", "6 million", "lineitem", 1.0, runs=3),
    _workload("60m", "60 million", "lineitem", 10.0, runs=1),
)
