"""A training dataset that is stored, to pandas: beside Arrow's own reading of the same files."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import headrace as hr
from benchmarks import data
from benchmarks.runner import Headrace, Run
from benchmarks.target import Embedded, Served
from benchmarks.workload import Case, Goal, Workload

_VIEW = "rows"
_PARQUET, _ARROW = 1, 2
_FEATURES = ", ".join(f"(hash(i * 31 + {n}) % 1000000) / 1e3 AS f{n}" for n in range(6))


@dataclasses.dataclass(frozen=True)
class ReadDataset:
    """All rows of a dataset of the view, as a pandas frame."""

    version: int

    def headrace(self, store: hr.FeatureStore) -> Run:
        dataset = store.get_feature_view(_VIEW).get_training_dataset(self.version)
        return lambda _: _rows(dataset.read().to_pandas())


@dataclasses.dataclass(frozen=True)
class ReadFiles:
    """The same by Arrow, from the dataset's files."""

    root: Path
    version: int

    @contextmanager
    def opened(self) -> Iterator[Run]:
        with hr.connect(self.root) as store:
            folder = store.get_feature_view(_VIEW).get_training_dataset(self.version).location
        paths = sorted(map(str, Path(folder, "all").iterdir()))
        yield lambda _: _rows(pq.read_table(paths).to_pandas(types_mapper=pd.ArrowDtype))


def _rows(frame: pd.DataFrame) -> pa.Table:
    """What pandas holds, without a copy: its types are Arrow's."""
    return pa.Table.from_pandas(frame, preserve_index=False)


def _cases(rows: float) -> list[Case]:
    count = int(rows)
    path = data.generated(
        f"dataset-{count}",
        "SELECT i AS id, TIMESTAMPTZ '2025-01-01 00:00:00+00' + to_seconds((hash(i) % 31536000)::BIGINT) AS ts, "
        f"(hash(i * 7) % 1000)::INTEGER AS kind, 'name ' || (hash(i * 13) % 10000) AS name, {_FEATURES} "
        f"FROM range({count}) t(i)",
    )

    def write(store: hr.FeatureStore) -> None:
        group = store.create_feature_group("rows", primary_key=["id"], event_time="ts")
        group.insert(pq.ParquetFile(path).read())
        view = store.create_feature_view(_VIEW, group.select(*pq.read_schema(path).names))
        for form in ("parquet", "arrow"):
            view.create_training_dataset(format=form)

    root = data.lake(f"dataset-{count}", write)
    return [
        Case("pq.read_table", ReadFiles(root, _PARQUET)),
        Case("embedded", Headrace(Embedded(root), ReadDataset(_PARQUET))),
        Case("tcp", Headrace(Served(root), ReadDataset(_PARQUET))),
        Case("tcp, mapped", Headrace(Served(root), ReadDataset(_ARROW))),
    ]


WORKLOADS = (
    Workload(
        name="dataset",
        about="a stored training dataset of 5 million rows and 10 columns, to pandas with Arrow types",
        sizes={"full": 5e6, "small": 5e5, "smoke": 5e4},
        unit="rows",
        systems=("pq.read_table", "embedded", "tcp", "tcp, mapped"),
        goals=(
            Goal("tcp", 1.6, way="ratio", against="pq.read_table"),
            Goal("tcp, mapped", 0.2, way="ratio", against="pq.read_table"),
        ),
        runs=10,
        cases=_cases,
        baseline="pq.read_table",
    ),
)
