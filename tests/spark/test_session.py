"""`headrace.spark.session`: sessions that read by Arrow, with nothing for a user to set."""

from __future__ import annotations

import json
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark.quick import CLASSPATH
from spark.spark import PROFILES, environment, interpreter

pytestmark = pytest.mark.slow

ROWS = 100_000


def run(profile: str, program: str, *arguments: object) -> Any:
    """What a program of its own printed last, in the environment of one version of Spark that has nothing besides."""
    ran = subprocess.run(
        [interpreter(profile), "-c", textwrap.dedent(program), *map(str, arguments)],
        env=environment(profile) | {CLASSPATH: ""},
        capture_output=True,
        timeout=240,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr.decode()[-5_000:]
    return json.loads(ran.stdout.splitlines()[-1])


@pytest.mark.newest_line
@pytest.mark.parametrize("profile", PROFILES)
def test_it_reads_by_arrow(profile: str, tmp_path: Path) -> None:
    path = tmp_path / "numbers.parquet"
    pq.write_table(pa.table({"id": range(ROWS), "text": [f"t{i % 7}" for i in range(ROWS)]}), path)
    program = """
        import json, sys
        import psutil
        import headrace.spark

        spark = headrace.spark.session(master="local[2]", config={"spark.ui.port": "0"})
        heard = [c.laddr.ip for p in psutil.Process().children(True) for c in p.net_connections("tcp") if c.status == "LISTEN"]
        assert len(heard) >= 3 and {ip.removeprefix("::ffff:") for ip in heard} == {"127.0.0.1"}, heard
        assert headrace.spark.session(master="local[2]") is spark
        found = spark.read.format("arrow").load(sys.argv[1])
        found.createOrReplaceTempView("numbers")
        (row,) = spark.sql("SELECT sum(id), count(DISTINCT text), max(text) FROM numbers WHERE id % 2 = 1").collect()
        (other,) = spark.sql(f"SELECT sum(id), count(DISTINCT text), max(text) FROM arrow.`{sys.argv[1]}` WHERE id % 2 = 1").collect()
        assert row == other
        print(json.dumps([*row, spark.conf.get("spark.driver.host")]))
        spark.stop()
    """
    assert run(profile, program, path) == [sum(range(1, ROWS, 2)), 7, "t6", "127.0.0.1"]


@pytest.mark.newest_line
@pytest.mark.parametrize("profile", PROFILES)
def test_it_fetches_delta_lake_where_it_is_asked_to(profile: str, tmp_path: Path) -> None:
    program = """
        import json, sys

        sys.prefix = sys.argv[1]  # whose folder jars has those of the tests
        import headrace.spark

        config = {"spark.ui.enabled": "false", "spark.jars.ivy": sys.argv[1]}
        spark = headrace.spark.session(master="local[1]", config=config, delta=True)
        spark.sql(f"CREATE TABLE delta.`{sys.argv[1]}/table` (id INT) USING delta")
        print(json.dumps(spark.read.format("delta").load(f"{sys.argv[1]}/table").columns))
        spark.stop()
    """
    assert run(profile, program, tmp_path) == ["id"]
    assert len(list((tmp_path / "jars").glob("*delta-s*.jar"))) == 2


@pytest.mark.newest_line
@pytest.mark.parametrize("profile", PROFILES)
def test_it_fetches_nothing_else(profile: str, tmp_path: Path) -> None:
    """Files are read where nothing can be fetched, and Delta tables are refused with what to do."""
    path = tmp_path / "numbers.parquet"
    pq.write_table(pa.table({"id": range(10)}), path)
    program = """
        import json, sys

        sys.prefix = sys.argv[1]  # whose folder jars has those of the tests
        import headrace as hr, headrace.spark

        config = {"spark.ui.enabled": "false", "spark.jars.ivy": sys.argv[1] + "/ivy"}
        config["spark.jars.repositories"] = "http://127.0.0.1:1/"
        spark = headrace.spark.session(master="local[1]", config=config)
        told = [spark.read.format("arrow").load(sys.argv[2]).count()]
        with hr.connect(f"{sys.argv[1]}/lake", spark=spark) as fs:
            rows = fs.create_feature_group("rows", primary_key=["id"])
            rows.insert([{"id": 1}])
            try:
                rows.select().read(engine="spark").to_arrow()
            except hr.MissingDependency as error:
                told.append(error.hint)
        try:
            headrace.spark.session(delta=True)
        except hr.Conflict as error:
            told.append(str(error))
        print(json.dumps(told))
        spark.stop()
    """
    count, hint, conflict = run(profile, program, tmp_path, path)
    assert count == 10
    assert "headrace.spark.session(delta=True)" in hint
    assert "without Delta Lake" in conflict
    assert not (tmp_path / "ivy").exists()


def test_beside_a_session_without_it(tmp_path: Path) -> None:
    program = """
        import json
        from pyspark.sql import SparkSession
        import headrace as hr
        import headrace.spark

        plain = SparkSession.builder.master("local[1]").config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").config("spark.ui.enabled", "false").getOrCreate()
        try:
            headrace.spark.session(master="local[1]")
        except hr.Conflict as error:
            print(json.dumps(error.hint))
        plain.stop()
    """
    assert "spark.stop()" in run("3.5", program)
