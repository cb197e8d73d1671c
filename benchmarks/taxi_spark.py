"""A lakehouse table to pandas by Spark: as rows, by Arrow, and through Spark Connect."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.frames import to_frame
from benchmarks.runner import Staged
from benchmarks.spark import python_of
from benchmarks.spark_plain import connect_server, plain_session

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

NEWER = python_of("4.1")
"""The Python that Spark Connect's client and server are installed for."""
_ARROW = "spark.sql.execution.arrow.pyspark.enabled"


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

        with connect_server(NEWER) as port:
            session = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
            try:
                yield _read(session, "delta", self.folder, self.schema)
            finally:
                session.stop()


def _read(session: SparkSession, form: str, folder: Path, schema: pa.Schema) -> Staged:
    def read() -> pd.DataFrame:
        return session.read.format(form).load(str(folder)).select(*schema.names).toPandas()

    return to_frame(read, schema)
