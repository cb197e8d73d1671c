"""Point-in-time joins on Spark, beside a plain join of the same tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

import headrace as hr
from benchmarks import pit
from benchmarks.runner import Run
from benchmarks.spark import PYTHON, opened, summed
from benchmarks.workload import Case, Goal, Workload

_FEATURES = ("clicks_a", "clicks_b", "orders_a", "orders_b")
# Thousandths, of which each engine finds the same sum in whatever order.
_SUMS = ("count(*)", *(f"sum(CAST(round({name} * 1000) AS BIGINT))" for name in _FEATURES))


@dataclasses.dataclass(frozen=True)
class PointInTime:
    """The training data of the view, planned onto Spark."""

    root: Path

    @contextmanager
    def opened(self) -> Iterator[Run]:
        with opened() as session, hr.connect(self.root, spark=session) as store:
            view = store.get_feature_view(pit.VIEW)
            yield lambda _: summed(view.training_data(engine="spark").to_spark(), _SUMS)


@dataclasses.dataclass(frozen=True)
class EquiJoin:
    """What a join of the three tables costs Spark that looks for the very times."""

    root: Path

    @contextmanager
    def opened(self) -> Iterator[Run]:
        with hr.connect(self.root) as store:
            paths = {
                name: str(self.root / store.get_feature_group(name).location)
                for name in ("labels", "clicks", "orders")
            }
        query = "SELECT * FROM labels LEFT JOIN clicks USING (k, ts) LEFT JOIN orders USING (k, ts)"
        with opened() as session:
            for name, path in paths.items():
                session.read.format("delta").load(path).createOrReplaceTempView(name)
            yield lambda _: summed(session.sql(query), _SUMS)


@dataclasses.dataclass(frozen=True)
class OnDuckDB:
    """The same sums, by another engine."""

    root: Path

    @contextmanager
    def opened(self) -> Iterator[Run]:
        with hr.connect(self.root) as store:
            yield lambda _: _sums(store.get_feature_view(pit.VIEW).training_data().to_arrow())


def _sums(rows: pa.Table) -> pa.Table:
    whole = [pc.sum(pc.round(pc.multiply(rows[name], 1000)).cast(pa.int64())).as_py() for name in _FEATURES]
    return pa.table({f"c{i}": [value] for i, value in enumerate([rows.num_rows, *whole])})


def _cases(rows: float) -> Sequence[Case]:
    root, _ = pit.lake_of(int(rows))
    return [
        Case("DuckDB", OnDuckDB(root), role="reference"),
        Case("equi-join", EquiJoin(root), answer=None, python=PYTHON),
        Case("point in time", PointInTime(root), python=PYTHON),
    ]


WORKLOADS = (
    Workload(
        name="spark-pit",
        about="rows with features of two groups in time, on Spark, beside an equi-join of the three tables there",
        sizes={"full": 5e6, "small": 5e5, "smoke": 1e4},
        unit="rows",
        systems=("equi-join", "point in time"),
        goals=(Goal("point in time", 3.0, way="ratio", against="equi-join"),),
        runs=5,
        cases=_cases,
        baseline="equi-join",
    ),
)
