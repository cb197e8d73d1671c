"""Rows of an engine to pandas: by Arrow Flight, ODBC, ADBC and Thrift.

Source: "Integrated Architecture of SQL Engine and Data Analytics Tool with Apache Arrow Flight", section 5 (1).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

import headrace as hr
from benchmarks import data
from benchmarks.frames import to_frame
from benchmarks.postgresql import Adbc, ArrowOdbc, Pyodbc, holding, server_of
from benchmarks.runner import Runner, Staged
from benchmarks.target import Served
from benchmarks.thrift import Thrift
from benchmarks.tpch import KEYS, in_floats
from benchmarks.workload import Case, Workload

if TYPE_CHECKING:
    import pandas as pd

_ROW_BYTES = 136.85
"""Of lineitem in Arrow, with floats for decimals."""
_ROWS_OF_SCALE = 6_000_000


@dataclasses.dataclass(frozen=True)
class Flight:
    """A query to a service."""

    root: Path
    schema: pa.Schema

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        query = f"SELECT {', '.join(self.schema.names)} FROM lineitem"
        with Served(self.root).connected() as store:

            def read() -> pd.DataFrame:
                return store.sql(query).to_pandas("numpy")

            yield to_frame(read, self.schema)


def _lake(path: Path) -> Path:
    def write(store: hr.FeatureStore) -> None:
        group = store.create_feature_group("lineitem", primary_key=KEYS["lineitem"])
        group.insert(data.streamed(path), mode="append")

    return data.lake(path.parent.name, write)


@contextmanager
def _cases(megabytes: float) -> Iterator[list[Case]]:
    rows = int(megabytes * 1e6 / _ROW_BYTES)
    scale = max(0.01, math.ceil(100 * rows / _ROWS_OF_SCALE) / 100)
    source = data.tpch(scale, ["lineitem"])["lineitem"]
    path = data.generated(f"transfer-{megabytes:g}", f"{in_floats('lineitem', source)} LIMIT {rows}")
    schema, root = pq.read_schema(path).remove_metadata(), _lake(path)
    with holding("lineitem", path) as uri:
        table = (uri, "lineitem", schema)

        def case(name: str, runner: Runner, *servers: int) -> Case:
            # Who has held a large frame once keeps its memory: too much for all to stay.
            return Case(name, runner, fresh=True, servers=servers)

        yield [
            case("Headrace", Flight(root, schema)),
            case("PostgreSQL, pyodbc", Pyodbc(*table), server_of(uri)),
            case("PostgreSQL, arrow-odbc", ArrowOdbc(*table), server_of(uri)),
            case("PostgreSQL, ADBC", Adbc(*table), server_of(uri)),
            case("Spark, Thrift", Thrift(path, schema)),
        ]


WORKLOADS = (
    Workload(
        name="transfer",
        about="rows of lineitem from an engine to pandas, with its own types",
        sizes={"full": 130, "small": 13, "smoke": 2},
        unit="MB in Arrow",
        systems=(
            "Headrace",
            "PostgreSQL, pyodbc",
            "PostgreSQL, arrow-odbc",
            "PostgreSQL, ADBC",
            "Spark, Thrift",
        ),
        goals=(),
        runs=5,
        cases=_cases,
        baseline="Headrace",
    ),
)
