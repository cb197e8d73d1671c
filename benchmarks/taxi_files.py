"""Trips of a feature store as a training dataset: written to Parquet files, and read back."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import headrace as hr
from benchmarks import data
from benchmarks.checksum import Checksum, checksum
from benchmarks.frames import to_frame
from benchmarks.runner import Stage, Staged
from benchmarks.spark import PYTHON
from benchmarks.spark_plain import plain_session
from benchmarks.target import Served
from benchmarks.taxi import GROUPS, Trips, insert, trips_of
from benchmarks.taxi_spark import ToPandas
from benchmarks.workload import Case, Workload

if TYPE_CHECKING:
    import pandas as pd

_SMALL = 1e6
_SIZES = {"full": 5e6, "small": _SMALL, "smoke": 1e4}
_WARM_UP = 30.0
"""Seconds, of Spark, but with tiny tables."""


def _told(files: str) -> Checksum:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        return checksum(connection.sql(f"FROM read_parquet({data.quoted(files)})").to_arrow_reader())


@dataclasses.dataclass(frozen=True)
class Create:
    """A training dataset of a view, by a service."""

    root: Path
    group: str

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        with Served(data.scratch(self.root, f"files-{self.group}")).connected() as store:
            view = store.get_feature_view(self.group)

            @contextmanager
            def stage(_: int) -> Iterator[Stage]:
                made: list[hr.TrainingDataset] = []
                yield Stage(
                    lambda: made.append(view.create_training_dataset()),
                    lambda _: _told(f"{made[0].location}/**/*.parquet"),
                )
                view.delete_training_dataset(made[0].version)

            yield Staged(stage)


@dataclasses.dataclass(frozen=True)
class Written:
    """By others, into `folder`."""

    table: Path
    folder: Path

    @contextmanager
    def _cleared(self) -> Iterator[Path]:
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        try:
            yield self.folder
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


@dataclasses.dataclass(frozen=True)
class Copy(Written):
    """By DuckDB in the process."""

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")

            @contextmanager
            def stage(_: int) -> Iterator[Stage]:
                with self._cleared() as folder:
                    folder.mkdir()
                    rows = f"FROM read_parquet({data.quoted(self.table / '*.parquet')})"
                    yield Stage(
                        lambda: connection.execute(
                            f"COPY ({rows}) TO {data.quoted(folder / 'rows.parquet')}"
                        ),
                        lambda _: _told(f"{folder}/*.parquet"),
                    )

            yield Staged(stage)


@dataclasses.dataclass(frozen=True)
class BySpark(Written):
    """Args:
    form: of the table, by Spark's name.
    """

    columns: Sequence[str]
    form: str

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        with plain_session() as session:
            rows = session.read.format(self.form).load(str(self.table)).select(*self.columns)

            @contextmanager
            def stage(_: int) -> Iterator[Stage]:
                with self._cleared() as folder:
                    yield Stage(
                        lambda: rows.write.parquet(str(folder)), lambda _: _told(f"{folder}/*.parquet")
                    )

            yield Staged(stage)


@dataclasses.dataclass(frozen=True)
class ReadBack:
    """A dataset, from a service."""

    root: Path
    schema: pa.Schema
    version: int

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        with Served(self.root).connected() as store:
            dataset = store.get_feature_view(GROUPS["delta"]).get_training_dataset(self.version)

            def read() -> pd.DataFrame:
                return dataset.read().to_pandas("numpy")

            yield to_frame(read, self.schema)


@dataclasses.dataclass(frozen=True)
class ReadFiles:
    """The same files by Arrow, in the process."""

    folder: Path
    schema: pa.Schema

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        def read() -> pd.DataFrame:
            return pq.read_table(self.folder).to_pandas()

        yield to_frame(read, self.schema)


def _writing(rows: float) -> list[Case]:
    trips = trips_of(int(rows))
    columns = trips.schema.names

    def folder(name: str) -> Path:
        return data.DATA / "scratch" / "taxi-files" / name

    def by_spark(name: str, table: Path, form: str) -> Case:
        runner = BySpark(table, folder(form), columns, form)
        return Case(name, runner, python=PYTHON, warm_up=_WARM_UP if rows >= _SMALL else 0.0)

    return [
        Case("DuckDB, in process", Copy(trips.delta, folder("duckdb"))),
        Case("Headrace, Delta", Create(trips.root, GROUPS["delta"])),
        Case("Headrace, Hudi", Create(trips.root, GROUPS["hudi"])),
        by_spark("Spark, Delta", trips.delta, "delta"),
        by_spark("Spark, Hudi", trips.hudi, "hudi"),
    ]


def _datasets(trips: Trips) -> Path:
    """A lake that has them: in Parquet, and in Arrow."""

    def write(store: hr.FeatureStore) -> None:
        view = insert(trips.path, store)
        for form in ("parquet", "arrow"):
            view.create_training_dataset(format=form)

    return data.lake(f"{trips.path.parent.name}-datasets", write)


def _reading(rows: float) -> list[Case]:
    trips = trips_of(int(rows))
    root = _datasets(trips)
    with hr.connect(root) as store:
        view = store.get_feature_view(GROUPS["delta"])
        files = Path(view.get_training_dataset(1).location, "all")

    def case(name: str, runner: ReadBack | ReadFiles) -> Case:
        return Case(name, runner, fresh=True)

    return [
        case("pq.read_table", ReadFiles(files, trips.schema)),
        case("Headrace, Parquet", ReadBack(root, trips.schema, 1)),
        case("Headrace, Arrow", ReadBack(root, trips.schema, 2)),
        Case("Spark", ToPandas(files, trips.schema, "parquet"), python=PYTHON, fresh=True),
    ]


WORKLOADS = (
    Workload(
        name="taxi-files",
        about="a training dataset of trips, written as Parquet files: by a service, Spark and DuckDB in the process",
        sizes=_SIZES,
        unit="rows",
        systems=("DuckDB, in process", "Headrace, Delta", "Headrace, Hudi", "Spark, Delta", "Spark, Hudi"),
        goals=(),
        runs=5,
        cases=_writing,
        baseline="Headrace, Delta",
    ),
    Workload(
        name="taxi-dataset",
        about="a training dataset of trips, read back to pandas",
        sizes=_SIZES,
        unit="rows",
        systems=("pq.read_table", "Headrace, Parquet", "Headrace, Arrow", "Spark"),
        goals=(),
        runs=5,
        cases=_reading,
        baseline="Headrace, Parquet",
    ),
)
