"""Statistics of every column of a table, beside DuckDB's own summary."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa

import headrace as hr
from benchmarks import data
from benchmarks.runner import ByHand, Run, Tables, relation
from benchmarks.tpch import tpch_lake
from benchmarks.workload import Case, Goal, Workload


@dataclasses.dataclass(frozen=True)
class Statistics:
    """By Headrace, each time as for the first time."""

    root: Path

    @contextmanager
    def opened(self) -> Iterator[Run]:
        with hr.connect(self.root) as store:
            group = store.get_feature_group("lineitem")

            def run(_: int) -> pa.Table:
                shutil.rmtree(self.root / ".headrace" / "statistics", ignore_errors=True)
                return group.statistics().to_arrow().select(["feature", "count"])

            yield run


@dataclasses.dataclass(frozen=True)
class Summary:
    """By DuckDB's SUMMARIZE."""

    def by_hand(self, connection: duckdb.DuckDBPyConnection, tables: Tables) -> Run:
        rows = relation(tables("lineitem"))
        query = f"SELECT column_name AS feature, count FROM (SUMMARIZE SELECT * FROM {rows})"
        return lambda _: connection.sql(query).to_arrow_table()


def _cases(scale: float) -> list[Case]:
    root = data.scratch(tpch_lake(scale, "lineitem"))
    return [
        Case("SUMMARIZE", ByHand(root, Summary())),
        Case("statistics", Statistics(root)),
    ]


WORKLOADS = (
    Workload(
        name="statistics",
        about="statistics of all columns of lineitem",
        sizes={"full": 1.0, "small": 0.1, "smoke": 0.01},
        unit="scale factor",
        systems=("SUMMARIZE", "statistics"),
        goals=(Goal("statistics", 2.0, way="ratio", against="SUMMARIZE"),),
        runs=7,
        cases=_cases,
        baseline="SUMMARIZE",
    ),
)
