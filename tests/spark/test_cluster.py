"""The data sources on a standalone master with two worker processes, to which the session ships the plugin."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr
from headrace.config import store_config
from headrace.wiring import Service
from spark.spark import PROFILES, interpreter
from spark.test_session import run

pytestmark = [pytest.mark.slow, pytest.mark.newest_line]

ROWS = 40_000


@pytest.fixture(scope="module", params=PROFILES)
def profile(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def master(profile: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a master, with two workers of one core each."""
    folder = tmp_path_factory.mktemp("cluster")
    (home,) = interpreter(profile).parent.parent.glob("lib/python*/site-packages/pyspark")
    (core,) = (home / "jars").glob("spark-core_*.jar")
    # Scripts of Spark, which started its daemons otherwise, would tell them so.
    scala = re.findall(r"_(2\.1\d)-", core.name)[0]
    local = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SCALA_VERSION": scala,
        "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # of executors, too
    }

    def start(role: str, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = ["java", "-cp", f"{home}/jars/*", f"org.apache.spark.deploy.{role}.{role.title()}"]
        command += ["--host", "127.0.0.1", "--webui-port", "0", *arguments]
        with (folder / name).open("wb") as log:
            process = subprocess.Popen(
                command, env=local, cwd=folder, stdout=log, stderr=log, start_new_session=True
            )
        ended.callback(_end, process)
        return process

    with contextlib.ExitStack() as ended:
        start("master", "master.log", "--port", "0")
        url = said(folder / "master.log", r"Starting Spark master at (spark://\S+)")
        for name in ("one", "two"):
            size = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / name)]
            start("worker", f"{name}.log", *size, url)
        for name in ("one", "two"):
            said(folder / f"{name}.log", r"(Successfully registered) with master")
        yield url


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def said(log: Path, pattern: str) -> str:
    """What a log says sooner or later."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        found = re.search(pattern, log.read_text())
        if found:
            return found[1]
        time.sleep(0.1)
    raise AssertionError(log.read_text()[-3_000:])


def test_two_workers_read_files_and_feature_groups(profile: str, master: str, tmp_path: Path) -> None:
    table = pa.table({"id": range(ROWS), "text": [f"t{i % 7}" for i in range(ROWS)]})
    quarter = ROWS // 4
    with hr.connect(tmp_path / "lake") as store:
        group = store.create_feature_group("numbers", primary_key=["id"])
        for start in range(0, ROWS, quarter):
            part = table.slice(start, quarter)
            group.insert(part, mode="append")
            pq.write_table(part, tmp_path / f"{start}.parquet")
    days = [dt.date(2013, 1, 1) + dt.timedelta(days=n) for n in range(10)]
    pq.write_table(pa.table({"day": days}), tmp_path / "days", row_group_size=1)
    service = Service(store_config(str(tmp_path / "lake")), ["grpc://127.0.0.1:0"])
    program = """
        import json, os, sys
        import headrace.spark

        master, files, target, days = sys.argv[1:]
        config = {
            "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false",
            "spark.scheduler.minRegisteredResourcesRatio": "1", "spark.executor.memory": "512m",
            "spark.sql.files.maxPartitionBytes": "1m",
            "spark.driver.extraJavaOptions": "-Duser.timezone=Asia/Tokyo",
            "spark.executor.extraJavaOptions": "-Duser.timezone=UTC",
        }
        spark = headrace.spark.session(master=master, config=config)
        arrow = spark.read.format("arrow").load(files)
        group = spark.read.format("headrace").option("target", target).option("group", "numbers").load()
        told = []
        for frame in (arrow, group):
            (row,) = frame.where("id % 2 = 1").selectExpr("sum(id)", "count(DISTINCT text)", "max(text)").collect()
            # Of each partition, by which worker it was read.
            readers = frame.rdd.mapPartitions(lambda rows: [(os.getppid(), sum(1 for _ in rows))]).collect()
            told.append([*row, sum(n for _, n in readers), len({pid for pid, _ in readers})])
        days = spark.read.format("arrow").option("format", "parquet").load(days)
        told.append(days.where("day IN (DATE'2013-01-02', DATE'2013-01-05') AND day < DATE'2013-01-05'").count())
        print(json.dumps(told))
        spark.stop()
    """
    try:
        files = tmp_path / "*.parquet"
        *told, found = run(profile, program, master, files, service.listening[0], tmp_path / "days")
    finally:
        service.stop()
    assert told == [[sum(range(1, ROWS, 2)), 7, "t6", ROWS, 2]] * 2
    assert found == 1  # whatever the zones of driver and executors


@pytest.mark.soak
def test_two_workers_pass_rows_on_by_the_codec(profile: str, master: str) -> None:
    program = """
        import json, os, sys
        import headrace.spark
        from pyspark.sql import functions as F

        config = {
            "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false",
            "spark.scheduler.minRegisteredResourcesRatio": "1", "spark.executor.memory": "512m",
        }
        spark = headrace.spark.session(master=sys.argv[1], config=config)
        context = spark.sparkContext

        def told():
            rows = context.parallelize([(n % 5, (n, f"name {n}")) for n in range(20_000)], 4)
            groups = rows.groupByKey(4).mapValues(lambda all: sum(n for n, _ in all)).sortByKey().collect()
            frame = spark.createDataFrame([(n, f"name {n}") for n in range(20_000)], ["n", "name"])
            twice = F.udf(lambda n, name: f"{name} {2 * n}", "string")
            texts = frame.repartition(4).select(twice("n", "name").alias("t")).orderBy("t").collect()
            daemon = F.udf(lambda n: str(os.getppid()) + " " + str(n)[:0], "string")
            pids = frame.repartition(4).select(daemon("n").alias("pid")).distinct().count()
            return [groups, [row.t for row in texts], pids]

        pickled = told()
        headrace.spark.install(spark)
        assert told() == pickled
        assert headrace.spark.codec_stats()["driver"]["rows_read"] >= 20_000
        headrace.spark.uninstall(spark)
        assert told() == pickled
        print(json.dumps([pickled[2], len(pickled[1])]))
        spark.stop()
    """
    assert run(profile, program, master) == [2, 20_000]
