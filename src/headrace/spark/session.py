"""Spark sessions with the Arrow data source."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import Conflict, MissingDependency
from headrace.spark.delta import EXTENSIONS, reads_delta, with_delta

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_JARS = "spark.jars"
# As Spark 4 does by itself. Before, it reads no days before 1582-10-15 in files that others have written.
_CORRECTED = {
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
}
_LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}


def session(
    *, master: str | None = None, config: Mapping[str, str] | None = None, delta: bool = False
) -> SparkSession:
    """A Spark session that reads `format("arrow")` and `format("headrace")`, for which nothing is fetched.

    It reads the Delta tables of `hr.connect(…, spark=…)`, too, where the jars of Delta Lake are on Spark's class path
    or in the folder `jars` of Python's environment, or are asked for.

    One that was made so before in this process is given again, as by Spark's own builder.

    Args:
        master: such as "local[4]" or "spark://host:7077"; else as Spark itself is configured. A local one listens on
            127.0.0.1 only, unless `config` says otherwise.
        config: settings of Spark besides. Jars that it names in `spark.jars` are kept.
        delta: where there are no jars of Delta Lake, Spark fetches them from Maven Central as it starts.

    Raises:
        MissingDependency: PySpark or headrace-spark is not installed, or has no jar for this version of Spark.
        Conflict: a session without the data source, or without the Delta Lake asked for, runs in this process.
    """
    try:
        import pyspark
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingDependency(
            "sessions of Spark need PySpark",
            hint='pip install "pyspark==3.5.*", or 4.1.*, as the cluster has',
        ) from None
    jar = _jar(pyspark.__version__)
    running = SparkSession.getActiveSession()
    if running is not None and str(jar) not in (running.conf.get(_JARS, "") or "").split(","):
        raise Conflict(
            "a Spark session without the Arrow data source runs in this process",
            hint="stop it first: spark.stop(); or add the jar of headrace-spark to its spark.jars",
        )
    if running is not None and delta and not reads_delta(running.conf.get(EXTENSIONS, "") or ""):
        raise Conflict(
            "a Spark session without Delta Lake runs in this process", hint="stop it first: spark.stop()"
        )
    told = dict(config or {})
    local = (master or told.get("spark.master", "")).startswith("local")
    told = (_LOOPBACK if local else {}) | told
    if running is None:
        told = _CORRECTED | told
    told[_JARS] = ",".join(filter(None, [told.get(_JARS), str(jar)]))
    home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    told = with_delta(told, pyspark.__version__, home, fetch=delta)
    # Else workers run whatever `python3` is there.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder
    if master is not None:
        builder = builder.master(master)
    for name, value in told.items():
        builder = builder.config(name, value)
    with _local_ip(told.get("spark.driver.bindAddress") if local else None):
        made: SparkSession = builder.getOrCreate()
    return made


@contextmanager
def _local_ip(address: str | None) -> Iterator[None]:
    """Within, a JVM that starts has its web pages listen there: no setting but this variable tells them where."""
    name = "SPARK_LOCAL_IP"
    if address is None or name in os.environ:
        yield
        return
    os.environ[name] = address
    try:
        yield
    finally:
        del os.environ[name]


def _jar(version: str) -> Path:
    """Raises MissingDependency."""
    try:
        import headrace_spark
    except ImportError:
        raise MissingDependency(
            "the Arrow data source of Spark needs headrace-spark",
            hint="make spark builds it in a clone of Headrace: pip install spark-plugin/dist/*.whl",
        ) from None
    found = headrace_spark.jar(version)
    if found is None:
        raise MissingDependency(
            f"headrace-spark has no jar for Spark {version}",
            hint=f"use Spark {' or '.join(headrace_spark.lines())}",
        )
    return found
