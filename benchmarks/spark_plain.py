"""Spark without anything of Headrace: a session, and servers that programs without a JVM ask."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.pinning import processors
from benchmarks.spark import SETTINGS, java, kept

sys.path.append(str(Path(__file__).parent.parent / "tests"))  # whose servers these are

from servers.daemon import Daemon, accepts, free_ports
from spark.quick import CLASSPATH, DELTA, classpath

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SETTINGS = SETTINGS | {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "8g",
    "spark.driver.maxResultSize": "0",
    "spark.sql.shuffle.partitions": str(len(processors())),
}
_START_SECONDS = 120.0


@contextmanager
def plain_session(settings: Mapping[str, str] = {}) -> Iterator[SparkSession]:
    """Of this environment's Spark, with Delta, unless the settings say otherwise."""
    from pyspark.sql import SparkSession

    os.environ[CLASSPATH] = classpath()
    with tempfile.TemporaryDirectory() as scratch:
        builder = SparkSession.builder.master("local[*]").config("spark.local.dir", scratch)
        for name, value in (_SETTINGS | DELTA | dict(settings)).items():
            builder = builder.config(name, value)
        with kept(builder.getOrCreate()) as session:
            yield session


@contextmanager
def connect_server(python: str) -> Iterator[int]:
    """Spark Connect with Delta, of an environment; its port."""
    with tempfile.TemporaryDirectory() as scratch:
        (port,) = free_ports(1)
        settings = DELTA | {
            "spark.driver.extraJavaOptions": java(_prefix(python)),
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(port),
        }
        with _server(python, "connect.service.SparkConnectServer", settings, {}, Path(scratch), port):
            yield port


@contextmanager
def thrift_server(python: str) -> Iterator[int]:
    """Spark's Thrift server of an environment, which asks nobody who he is; its port."""
    with tempfile.TemporaryDirectory() as scratch:
        (port,) = free_ports(1)
        settings = {
            "spark.sql.thriftServer.incrementalCollect": "true",  # what is large does not fit as a whole
            "spark.driver.extraJavaOptions": f"{java(_prefix(python))} -Dderby.system.home={scratch}",
        }
        hive = {
            "hive.server2.thrift.bind.host": "127.0.0.1",
            "hive.server2.thrift.port": str(port),
            "hive.server2.authentication": "NOSASL",
            "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:metastore;create=true",
            "hive.exec.scratchdir": f"{scratch}/hive",
        }
        with _server(python, "hive.thriftserver.HiveThriftServer2", settings, hive, Path(scratch), port):
            yield port


def _prefix(python: str) -> Path:
    """The folder of an environment."""
    return Path(python).parent.parent


@contextmanager
def _server(
    python: str, main: str, settings: Mapping[str, str], hive: Mapping[str, str], scratch: Path, port: int
) -> Iterator[None]:
    """Until it is left. `main` is a class of `org.apache.spark.sql`."""
    folders = {"spark.local.dir": str(scratch), "spark.sql.warehouse.dir": f"{scratch}/warehouse"}
    (home,) = _prefix(python).glob("lib/python*/site-packages/pyspark")
    command = [
        home / "bin" / "spark-submit",
        "--master",
        "local[*]",
        "--class",
        f"org.apache.spark.sql.{main}",
    ]
    for name, value in (_SETTINGS | folders | dict(settings)).items():
        command += ["--conf", f"{name}={value}"]
    command += ["spark-internal"]
    for name, value in hive.items():
        command += ["--hiveconf", f"{name}={value}"]
    environment = os.environ | {"SPARK_HOME": str(home), CLASSPATH: classpath(_prefix(python))}
    server = Daemon(command, scratch / "log", environment)
    server.start()
    try:
        server.wait(lambda: accepts(port), _START_SECONDS)
        yield
    finally:
        server.kill()
