"""A lakehouse table to pandas by Spark: as rows, by Arrow, and through Spark Connect."""

from __future__ import annotations

import dataclasses
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.frames import to_frame
from benchmarks.runner import Staged
from benchmarks.spark import SETTINGS, kept

sys.path.append(str(Path(__file__).parent.parent / "tests"))  # whose servers these are

from servers.daemon import Daemon, accepts, free_ports

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

_ROOT = Path(__file__).parent.parent
NEWER = str(_ROOT / ".spark" / "4.1" / "bin" / "python")
"""The Python that Spark Connect's client and server are installed for."""
_HUDI = str(_ROOT / ".spark" / "hudi" / "*")
_LOCAL = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
_LARGE = {"spark.driver.memory": "8g", "spark.driver.maxResultSize": "0"}
_DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
_ARROW = "spark.sql.execution.arrow.pyspark.enabled"


@contextmanager
def plain_session(settings: Mapping[str, str] = {}) -> Iterator[SparkSession]:
    """Of this environment's Spark, with Delta and Hudi, and without anything of Headrace."""
    from pyspark.sql import SparkSession

    told = SETTINGS | _LOCAL | _LARGE | _DELTA | {"spark.sql.shuffle.partitions": "2"} | dict(settings)
    told["spark.driver.extraClassPath"] = f"{sys.prefix}/jars/*:{_HUDI}"
    with tempfile.TemporaryDirectory() as scratch:
        builder = SparkSession.builder.master("local[2]").config("spark.local.dir", scratch)
        for name, value in told.items():
            builder = builder.config(name, value)
        with kept(builder.getOrCreate()) as session:
            yield session


@dataclasses.dataclass(frozen=True)
class ToPandas:
    """Args:
    form: of the table, by Spark's name.
    arrow: Spark's switch for it.
    """

    folder: Path
    schema: pa.Schema
    form: str = "delta"
    arrow: bool = True

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        with plain_session({_ARROW: str(self.arrow).lower()}) as session:
            yield _read(session, self.form, self.folder, self.schema)


@dataclasses.dataclass(frozen=True)
class Connect:
    """From a server of Spark Connect."""

    folder: Path
    schema: pa.Schema

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        from pyspark.sql import SparkSession

        with tempfile.TemporaryDirectory() as scratch, _server(Path(scratch)) as address:
            session = SparkSession.builder.remote(address).create()
            try:
                yield _read(session, "delta", self.folder, self.schema)
            finally:
                session.stop()


def _read(session: SparkSession, form: str, folder: Path, schema: pa.Schema) -> Staged:
    def read() -> pd.DataFrame:
        return session.read.format(form).load(str(folder)).select(*schema.names).toPandas()

    return to_frame(read, schema)


@contextmanager
def _server(scratch: Path) -> Iterator[str]:
    import pyspark

    (port,) = free_ports(1)
    settings = SETTINGS | _LOCAL | _LARGE | _DELTA
    settings |= {
        "spark.driver.extraClassPath": f"{sys.prefix}/jars/*",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
    }
    home = Path(pyspark.__file__).parent
    command = [home / "bin" / "spark-submit", "--master", "local[2]"]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    server = Daemon([*command, "spark-internal"], scratch / "log", os.environ | {"SPARK_HOME": str(home)})
    server.start()
    try:
        server.wait(lambda: accepts(port))
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.kill()
