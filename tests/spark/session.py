"""A Spark session that knows Delta, or what else is told. Runs in Spark's own environment, where Headrace is not installed."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from spark.quick import CLASSPATH, DELTA, SMALL, classpath, java_options

_SETTINGS = {
    **SMALL,
    **DELTA,
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.extraJavaOptions": f"{java_options()} -Duser.timezone=UTC",
}
# Tables are written as everybody's Spark writes them, with times in INT96, for which these are of no use.
_RESULTS = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
}


def start(folder: Path, settings: Mapping[str, str] = {}) -> SparkSession:
    """A session in a JVM of its own, which ends with this process; its own files lie in `folder`."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ[CLASSPATH] = classpath()
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ.pop("SPARK_HOME", None)
    builder = SparkSession.builder.master("local[2]")  # unless the settings say otherwise
    for name, value in (_SETTINGS | dict(settings)).items():
        builder = builder.config(name, value)
    builder = builder.config("spark.local.dir", str(folder / "local"))
    builder = builder.config("spark.sql.warehouse.dir", str(folder / "warehouse"))
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def save(session: SparkSession, query: str, path: Path) -> None:
    """Write the rows of a query as one Parquet file, with times as Delta's schemas have them."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        for name, value in _RESULTS.items():
            session.conf.set(name, value)
        try:
            session.sql(query).coalesce(1).write.parquet(f"{folder}/rows")
        finally:
            for name in _RESULTS:
                session.conf.unset(name)
        (made,) = Path(folder, "rows").glob("*.parquet")
        made.rename(path)
