"""A training dataset in memory: to Arrow, and to pandas with Arrow's types and with its own.

Processes stay, and have read before for some seconds: to be given memory by the system takes longer than to convert.

Source: "Faster reading from the Lakehouse to Python with DuckDB/ArrowFlight", "PyArrow-backed Pandas 2.0 DataFrames":
3 numeric and 2 string columns.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import headrace as hr
from benchmarks import data
from benchmarks.runner import Stage, Staged
from benchmarks.target import Served
from benchmarks.taxi import ByHeadrace
from benchmarks.workload import Case, Workload

_VIEW, _TIME = "rows", "ts"
_WARM_UP = 15.0
_ROWS = """
SELECT i AS id, (hash(i * 7) % 1000000) / 1e3 AS amount, (hash(i * 11) % 1000)::INTEGER AS kind,
       'city ' || (hash(i * 13) % 1000) AS city, 'name ' || (hash(i * 17) % 100000) AS name,
       TIMESTAMPTZ '2025-01-01 00:00:00+00' + to_seconds(i % 31536000) AS ts
FROM range({rows}) t(i)
"""


@dataclasses.dataclass(frozen=True)
class ToArrow:
    """Training data of a service, as it comes."""

    root: Path

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        with Served(self.root).connected() as store:
            view = store.get_feature_view(_VIEW)
            view.training_data().to_arrow()
            stage = Stage(lambda: view.training_data().to_arrow(), lambda table: table)
            yield Staged(lambda _: nullcontext(stage))


def _cases(rows: float) -> list[Case]:
    path = data.generated(f"conversion-{rows:g}", _ROWS.format(rows=int(rows)))
    columns = [field for field in pq.read_schema(path) if field.name != _TIME]
    schema = pa.schema(columns)

    def write(store: hr.FeatureStore) -> None:
        group = store.create_feature_group("rows", primary_key=["id"], event_time=_TIME)
        group.insert(data.streamed(path), mode="append")
        store.create_feature_view(_VIEW, group.select(*schema.names))

    root, warm_up = data.lake(path.parent.name, write), _WARM_UP if rows >= 1_000_000 else 0.0
    return [
        Case("Arrow", ToArrow(root), warm_up=warm_up),
        Case("pandas, Arrow types", ByHeadrace(root, schema, _VIEW, "pyarrow"), warm_up=warm_up),
        Case("pandas, its own types", ByHeadrace(root, schema, _VIEW, "numpy"), warm_up=warm_up),
    ]


WORKLOADS = (
    Workload(
        name="conversion",
        about="training data of 3 numeric and 2 string columns from a service, to Arrow and to pandas",
        sizes={"full": 50e6, "small": 5e6, "smoke": 1e4},
        unit="rows",
        systems=("Arrow", "pandas, Arrow types", "pandas, its own types"),
        goals=(),
        runs=7,
        cases=_cases,
        baseline="Arrow",
    ),
)
