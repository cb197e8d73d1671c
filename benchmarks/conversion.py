"""A training dataset in memory: to Arrow, and to pandas with Arrow's types and with its own.

Source: "Faster reading from the Lakehouse to Python with DuckDB/ArrowFlight", "PyArrow-backed Pandas 2.0 DataFrames":
3 numeric and 2 string columns.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

import headrace as hr
from benchmarks import data
from benchmarks.frames import to_frame
from benchmarks.runner import Stage, Staged
from benchmarks.target import Served
from benchmarks.workload import Case, Workload

if TYPE_CHECKING:
    import pandas as pd

    from headrace.client.result import DtypeBackend

_VIEW, _TIME = "rows", "ts"
_ROWS = """
SELECT i AS id, (hash(i * 7) % 1000000) / 1e3 AS amount, (hash(i * 11) % 1000)::INTEGER AS kind,
       'city ' || (hash(i * 13) % 1000) AS city, 'name ' || (hash(i * 17) % 100000) AS name,
       TIMESTAMPTZ '2025-01-01 00:00:00+00' + to_seconds(i % 31536000) AS ts
FROM range({rows}) t(i)
"""


@dataclasses.dataclass(frozen=True)
class Taken:
    """Training data of a service. Args: types: of the frame; None leaves it in Arrow."""

    root: Path
    schema: pa.Schema
    types: DtypeBackend | None

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        with Served(self.root).connected() as store:
            view = store.get_feature_view(_VIEW)
            if self.types is None:
                view.training_data().to_arrow()
                stage = Stage(lambda: view.training_data().to_arrow(), lambda table: table)
                yield Staged(lambda _: nullcontext(stage))
            else:
                types = self.types

                def frame() -> pd.DataFrame:
                    return view.training_data().to_pandas(types)

                yield to_frame(frame, self.schema)


def _cases(rows: float) -> list[Case]:
    path = data.generated(f"conversion-{rows:g}", _ROWS.format(rows=int(rows)))
    columns = [field for field in pq.read_schema(path) if field.name != _TIME]
    schema = pa.schema(columns)

    def write(store: hr.FeatureStore) -> None:
        group = store.create_feature_group("rows", primary_key=["id"], event_time=_TIME)
        group.insert(data.streamed(path), mode="append")
        store.create_feature_view(_VIEW, group.select(*schema.names))

    root = data.lake(path.parent.name, write)
    return [
        Case("Arrow", Taken(root, schema, None), fresh=True),
        Case("pandas, Arrow types", Taken(root, schema, "pyarrow"), fresh=True),
        Case("pandas, its own types", Taken(root, schema, "numpy"), fresh=True),
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
