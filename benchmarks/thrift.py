"""Files to pandas by Spark's Thrift server, which speaks HiveServer2's protocol, as its JDBC and ODBC drivers do."""

from __future__ import annotations

import dataclasses
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.frames import to_frame
from benchmarks.runner import Staged
from benchmarks.spark import PYTHON, SETTINGS

sys.path.append(str(Path(__file__).parent.parent / "tests"))  # whose servers these are

from servers.daemon import Daemon, accepts, free_ports

if TYPE_CHECKING:
    import pandas as pd

_AT_ONCE = 10_000
_START_SECONDS = 120.0


@dataclasses.dataclass(frozen=True)
class Thrift:
    """By impyla, which makes rows of the columns that it is sent."""

    path: Path
    schema: pa.Schema

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        from impala.dbapi import connect

        query = f"SELECT {', '.join(self.schema.names)} FROM parquet.`{self.path}`"
        with tempfile.TemporaryDirectory() as scratch, _serving(Path(scratch)) as port:
            connection = connect("127.0.0.1", port, auth_mechanism="NOSASL")
            try:

                def read() -> pd.DataFrame:
                    import pandas as pd

                    cursor = connection.cursor()
                    cursor.arraysize = _AT_ONCE
                    cursor.execute(query)
                    frames = []
                    while rows := cursor.fetchmany(_AT_ONCE):
                        frames.append(pd.DataFrame.from_records(rows, columns=self.schema.names))
                    cursor.close()
                    return pd.concat(frames, ignore_index=True)

                yield to_frame(read, self.schema)
            finally:
                connection.close()


@contextmanager
def _serving(scratch: Path) -> Iterator[int]:
    """Its port."""
    (port,) = free_ports(1)
    settings = SETTINGS | {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "8g",
        "spark.sql.thriftServer.incrementalCollect": "true",  # what is large does not fit as a whole
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={scratch}",
    }
    hive = {
        "hive.server2.thrift.bind.host": "127.0.0.1",
        "hive.server2.thrift.port": port,
        "hive.server2.authentication": "NOSASL",
        "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:metastore;create=true",
        "hive.exec.scratchdir": scratch / "hive",
    }
    home = next(Path(PYTHON).parent.parent.glob("lib/python*/site-packages/pyspark"))
    command = [home / "bin" / "spark-submit", "--master", "local[2]"]
    command += ["--class", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"]
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    command += ["spark-internal"]
    for name, value in hive.items():
        command += ["--hiveconf", f"{name}={value}"]
    server = Daemon(command, scratch / "log", os.environ | {"SPARK_HOME": str(home)})
    server.start()
    try:
        server.wait(lambda: accepts(port), _START_SECONDS)
        yield port
    finally:
        server.kill()
