"""Files to pandas by Spark's Thrift server, which speaks HiveServer2's protocol, as its JDBC and ODBC drivers do."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.frames import to_frame
from benchmarks.runner import Staged
from benchmarks.spark import PYTHON
from benchmarks.spark_plain import thrift_server

if TYPE_CHECKING:
    import pandas as pd

_AT_ONCE = 10_000


@dataclasses.dataclass(frozen=True)
class Thrift:
    """By impyla, which makes rows of the columns that it is sent."""

    path: Path
    schema: pa.Schema

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        from impala.dbapi import connect

        query = f"SELECT {', '.join(self.schema.names)} FROM parquet.`{self.path}`"
        with thrift_server(PYTHON) as port:
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
