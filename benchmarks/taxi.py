"""Trips of a feature store to pandas, and to files: beside Spark, PostgreSQL, Feast, ROAPI, and DuckDB in the process.

Source: "Faster reading from the Lakehouse to Python with DuckDB/ArrowFlight", figures 4 to 6.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

import headrace as hr
from benchmarks import data, taxi_data
from benchmarks.feast.environment import feast_python
from benchmarks.feast.remote import Remote
from benchmarks.frames import to_frame
from benchmarks.hudi import spark_table
from benchmarks.postgresql import Adbc, ArrowOdbc, Psycopg, Pyodbc, holding, server_of
from benchmarks.roapi import Roapi
from benchmarks.runner import Runner, Staged
from benchmarks.spark import PYTHON
from benchmarks.target import Served
from benchmarks.taxi_data import KEY, TIME
from benchmarks.taxi_spark import NEWER, Connect, ToPandas
from benchmarks.workload import Case, Workload

if TYPE_CHECKING:
    import pandas as pd

    from headrace.client.result import DtypeBackend

_MOST_AS_ROWS = 5e6
"""Of more, what Spark has in Python and on the JVM takes more than 24 GB."""
GROUPS = {"delta": "trips", "hudi": "trips_in_hudi"}


@dataclasses.dataclass(frozen=True)
class ByHeadrace:
    """All training data of a view, from a service.

    Args:
        view: its name.
        types: of the frame.
    """

    root: Path
    schema: pa.Schema
    view: str
    types: DtypeBackend

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        with Served(self.root).connected() as store:
            view = store.get_feature_view(self.view)

            def read() -> pd.DataFrame:
                return view.training_data().to_pandas(self.types)

            yield to_frame(read, self.schema)


@dataclasses.dataclass(frozen=True)
class InProcess:
    """By DuckDB, of a table's files: nothing is sent."""

    files: str
    schema: pa.Schema

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        query = f"SELECT {', '.join(self.schema.names)} FROM read_parquet({data.quoted(self.files)})"
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            yield to_frame(lambda: connection.sql(query).df(), self.schema)


@dataclasses.dataclass(frozen=True)
class Trips:
    """Where the same rows are.

    Args:
        path: a Parquet file.
        delta, hudi: tables.
        root: of the lake that has both, with a view of each.
    """

    path: Path
    delta: Path
    hudi: Path
    root: Path

    @property
    def schema(self) -> pa.Schema:
        return taxi_data.schema(self.path)


def trips_of(rows: int) -> Trips:
    path = taxi_data.trips(rows)
    hudi = spark_table(path.parent.name, "keyed", path, KEY)

    def write(store: hr.FeatureStore) -> None:
        insert(path, store)
        theirs = store.register_feature_group(
            GROUPS["hudi"], str(hudi), format="hudi", primary_key=[KEY], event_time=TIME
        )
        _viewed(store, theirs, path)

    root = data.lake(path.parent.name, write)
    with hr.connect(root) as store:
        delta = root / store.get_feature_group(GROUPS["delta"]).location
    return Trips(path, delta, hudi, root)


def insert(path: Path, store: hr.FeatureStore) -> hr.FeatureView:
    """A group of the rows, in Delta, and a view of all of it."""
    group = store.create_feature_group(GROUPS["delta"], primary_key=[KEY], event_time=TIME)
    group.insert(data.streamed(path), mode="append")
    return _viewed(store, group, path)


def _viewed(store: hr.FeatureStore, group: hr.FeatureGroup, path: Path) -> hr.FeatureView:
    return store.create_feature_view(group.name, group.select(*taxi_data.schema(path).names))


@contextmanager
def _cases(rows: float) -> Iterator[list[Case]]:
    trips = trips_of(int(rows))
    schema, root, delta = trips.schema, trips.root, trips.delta
    files = f"{delta}/*.parquet"
    with holding("trips", trips.path, KEY) as uri:
        table = (uri, "trips", schema)
        postgresql = (server_of(uri),)

        def case(name: str, runner: Runner, python: str = sys.executable, *servers: int) -> Case:
            # Who has held a large frame once keeps its memory: too much for all to stay.
            return Case(name, runner, fresh=True, python=python, servers=servers)

        yield [
            case("DuckDB, in process", InProcess(files, schema)),
            case("Headrace, Delta", ByHeadrace(root, schema, GROUPS["delta"], "numpy")),
            case("Headrace, Hudi", ByHeadrace(root, schema, GROUPS["hudi"], "numpy")),
            case("Headrace, Arrow types", ByHeadrace(root, schema, GROUPS["delta"], "pyarrow")),
            case("Spark, Delta", ToPandas(delta, schema), PYTHON),
            case("Spark, Hudi", ToPandas(trips.hudi, schema, "hudi"), PYTHON),
            *(
                [case("Spark, as rows", ToPandas(delta, schema, arrow=False), PYTHON)]
                if rows <= _MOST_AS_ROWS
                else []
            ),
            case("Spark Connect", Connect(delta, schema), NEWER),
            case("PostgreSQL, pyodbc", Pyodbc(*table), sys.executable, *postgresql),
            case("PostgreSQL, arrow-odbc", ArrowOdbc(*table), sys.executable, *postgresql),
            case("PostgreSQL, psycopg", Psycopg(*table), sys.executable, *postgresql),
            case("PostgreSQL, ADBC", Adbc(*table), sys.executable, *postgresql),
            case("Feast, remote", Remote(files, schema, key=KEY, event_time=TIME), feast_python()),
            case("ROAPI", Roapi(delta, schema)),
            case("ROAPI, in memory", Roapi(delta, schema, in_memory=True)),
        ]


_SYSTEMS = (
    "DuckDB, in process",
    "Headrace, Delta",
    "Headrace, Hudi",
    "Headrace, Arrow types",
    "Spark, Delta",
    "Spark, Hudi",
    "Spark, as rows",
    "Spark Connect",
    "PostgreSQL, pyodbc",
    "PostgreSQL, arrow-odbc",
    "PostgreSQL, psycopg",
    "PostgreSQL, ADBC",
    "Feast, remote",
    "ROAPI",
    "ROAPI, in memory",
)

WORKLOADS = (
    Workload(
        name="taxi",
        about="trips of New York's yellow taxis, 20 columns, of a feature store and others to pandas",
        sizes={"full": 5e6, "small": 1e6, "smoke": 1e4},
        unit="rows",
        systems=_SYSTEMS,
        goals=(),
        runs=5,
        cases=_cases,
        baseline="Headrace, Delta",
    ),
)
