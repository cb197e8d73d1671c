"""JVMs of Spark that start soon: what they load was laid up when Spark was installed, and little of it is compiled.

Run by the Python of an environment, this lays it up.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

_COMPILED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"
_ARCHIVE = "spark.jsa"
_SECONDS = 300


def java_options(prefix: str | Path = sys.prefix) -> str:
    """For `spark.driver.extraJavaOptions`, or `SPARK_SUBMIT_OPTS`, of sessions with nothing else on the classpath.

    Others start as ever.
    """
    return f"{_COMPILED} -XX:SharedArchiveFile={prefix}/{_ARCHIVE} {_QUIET}"


def _lay_up(archive: Path) -> None:
    archive.unlink(missing_ok=True)
    options = f"{_COMPILED} -XX:ArchiveClassesAtExit={archive} {_QUIET}"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, __file__, "work"],
            cwd=folder,
            env=os.environ | {"SPARK_SUBMIT_OPTS": options, "PYSPARK_PYTHON": sys.executable},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    if done.returncode or not archive.exists():
        raise RuntimeError(f"{archive} could not be written:\n{done.stdout}{done.stderr}")


def _work() -> None:
    """What most sessions do."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    made = [(n, f"name {n}", n / 7) for n in range(100)]
    rows = session.createDataFrame(made, "a BIGINT, b STRING, c DOUBLE")
    for kind in ("parquet", "csv"):
        rows.write.format(kind).mode("overwrite").save(kind)
        session.read.format(kind).schema(rows.schema).load(kind).createOrReplaceTempView(kind)
    session.sql("SELECT b, sum(a), max(c) FROM parquet GROUP BY b ORDER BY b").collect()
    session.sql("SELECT * FROM parquet JOIN csv USING (a) WHERE parquet.c > 1").collect()
    rows.rdd.map(lambda row: (row.a % 3, row.c)).reduceByKey(lambda one, other: one + other).collect()
    session.udf.register("longer", lambda text: text + "!")
    session.sql("SELECT longer(b) FROM parquet").collect()
    session.conf.set("spark.sql.execution.arrow.pyspark.enabled", "true")
    rows.toPandas()
    session.stop()
    gateway = SparkContext._gateway
    assert gateway is not None
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()  # it writes at its end


if __name__ == "__main__":
    if sys.argv[1:]:
        _work()
    else:
        _lay_up(Path(sys.prefix, _ARCHIVE))
