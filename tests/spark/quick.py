"""JVMs of Spark that start soon: what they load was laid up when Spark was installed, and little of it is compiled.

Run by the Python of an environment, this lays it up.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

CLASSPATH = "SPARK_DIST_CLASSPATH"
"""Environment variable: what comes behind Spark's own jars."""
_COMPILED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"
_ARCHIVE = "spark.jsa"
_SECONDS = 300
# Tables are small: most of the time goes by with compiling and with tasks that have nothing to do.
SMALL = {
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    "spark.databricks.delta.snapshotPartitions": "1",
}
DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
_SETTINGS = {
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",  # Hudi asks for it
    "spark.ui.enabled": "false",
}
_HUDI = {
    "hoodie.table.name": "rows",
    "hoodie.datasource.write.recordkey.field": "a",
    "hoodie.datasource.write.precombine.field": "",
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
}


def java_options(prefix: str | Path = sys.prefix) -> str:
    """For `spark.driver.extraJavaOptions`, or `SPARK_SUBMIT_OPTS`, of sessions with the `classpath` of an environment.

    Others start as ever.
    """
    return f"{_COMPILED} -XX:SharedArchiveFile={prefix}/{_ARCHIVE} {_QUIET}"


def classpath(prefix: str | Path = sys.prefix) -> str:
    """Delta, and for Spark 3.5 Hudi and Kafka's reader. Of what is not installed Java finds nothing."""
    folders = [Path(prefix, "jars")]
    if _has_hudi(prefix):
        folders += [Path(prefix).with_name(name) for name in ("hudi", "kafka")]
    return ":".join(f"{folder}/*" for folder in folders)


def _has_hudi(prefix: str | Path = sys.prefix) -> bool:
    return Path(prefix).name == "3.5"


def _lay_up(archive: Path) -> None:
    archive.unlink(missing_ok=True)
    options = {
        "SPARK_SUBMIT_OPTS": f"{_COMPILED} -XX:ArchiveClassesAtExit={archive} {_QUIET}",
        "PYSPARK_PYTHON": sys.executable,
        CLASSPATH: classpath(),
    }
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, __file__, "work"],
            cwd=folder,
            env=os.environ | options,
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

    builder = SparkSession.builder.master("local[2]")
    for name, value in (SMALL | DELTA | _SETTINGS).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    made = [(n, f"name {n}", n / 7) for n in range(100)]
    rows = session.createDataFrame(made, "a BIGINT, b STRING, c DOUBLE")
    for kind in ("parquet", "csv"):
        rows.write.format(kind).mode("overwrite").save(kind)
        session.read.format(kind).schema(rows.schema).load(kind).createOrReplaceTempView(kind)
    for generated in ("true", "false"):
        session.conf.set("spark.sql.codegen.wholeStage", generated)
        session.sql("SELECT b, sum(a), max(c) FROM parquet GROUP BY b ORDER BY b").collect()
    session.sql("SELECT * FROM parquet JOIN csv USING (a) WHERE parquet.c > 1").collect()
    rows.rdd.map(lambda row: (row.a % 3, row.c)).reduceByKey(lambda one, other: one + other).collect()
    session.udf.register("longer", lambda text: text + "!")
    session.sql("SELECT longer(b) FROM parquet").collect()
    session.conf.set("spark.sql.execution.arrow.pyspark.enabled", "true")
    delta = f"{Path.cwd()}/delta"
    rows.write.format("delta").save(delta)
    session.sql(f"UPDATE delta.`{delta}` SET b = 'x' WHERE a < 3")
    session.read.format("delta").load(delta).toPandas()
    if _has_hudi():
        hudi = f"{Path.cwd()}/hudi"
        rows.write.format("hudi").options(**_HUDI).save(hudi)
        session.read.format("hudi").load(hudi).toPandas()
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
