"""A training set of a thousand features from ten groups."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

import headrace as hr
from benchmarks import data
from benchmarks.runner import ByHand, Headrace, Run, Tables, relation
from benchmarks.target import Embedded, Served
from benchmarks.workload import Case, Goal, Workload

_GROUPS = 10
_FEATURES = 100
_ROWS_PER_KEY = 5
_SPINE_ROWS = 17_000
_GROUP_ROWS = 4_625  # x 100 features x 10 groups x 8 bytes = 37 MB
_VIEW = "wide"
_TIME = "TIMESTAMPTZ '2025-01-01 00:00:00+00' + to_seconds((hash(i * 13 + {seed}) % 31536000)::BIGINT) AS ts"


@dataclasses.dataclass(frozen=True)
class WideTrainingData:
    """All features of all groups for every row of a spine, which is in memory."""

    spine: Path

    def headrace(self, store: hr.FeatureStore) -> Run:
        view, spine = store.get_feature_view(_VIEW), pq.read_table(self.spine)
        return lambda _: view.training_data(spine=spine).to_arrow()

    def by_hand(self, connection: duckdb.DuckDBPyConnection, tables: Tables) -> Run:
        connection.register("spine", pq.read_table(self.spine))
        columns = ", ".join(f"g{group}.{name}" for group in range(_GROUPS) for name in _names(group))
        joins = "".join(
            f" ASOF LEFT JOIN {relation(tables(f'g{group}'))} AS g{group} ON s.k = g{group}.k AND s.ts >= g{group}.ts"
            for group in range(_GROUPS)
        )
        query = f"SELECT s.*, {columns} FROM spine AS s{joins}"
        return lambda _: connection.sql(query).to_arrow_table()


def _names(group: int) -> list[str]:
    return [f"g{group}_f{feature}" for feature in range(_FEATURES)]


def _cases(spine_rows: float) -> list[Case]:
    rows = round(_GROUP_ROWS * spine_rows / _SPINE_ROWS)
    keys = max(1, rows // _ROWS_PER_KEY)

    def table(name: str, seed: int, count: int, columns: str) -> Path:
        key = f"(hash(i * 7 + {seed}) % {keys})::BIGINT AS k"
        query = f"SELECT {key}, {_TIME.format(seed=seed)}, {columns} FROM range({count}) t(i)"
        return data.generated(f"wide-{name}-{count}", query)

    spine = table("spine", 1, int(spine_rows), "i AS id, (hash(i) % 2)::DOUBLE AS label")
    features = [
        table(
            f"g{group}",
            group + 2,
            rows,
            ", ".join(
                f"(hash(i * 31 + {n}) % 1000000) / 1e3 AS {name}" for n, name in enumerate(_names(group))
            ),
        )
        for group in range(_GROUPS)
    ]

    def write(store: hr.FeatureStore) -> None:
        labels = store.create_feature_group("labels", primary_key=["id"], event_time="ts")
        labels.insert(pq.read_table(spine))
        query = labels.select("id", "k", "ts", "label")
        for number, path in enumerate(features):
            group = store.create_feature_group(f"g{number}", primary_key=["k"], event_time="ts")
            group.insert(pq.read_table(path))
            query = query.join(group, on="k")
        store.create_feature_view(_VIEW, query, labels=["label"])

    root, read = data.lake(f"wide-{int(spine_rows)}", write), WideTrainingData(spine)
    return [
        Case("by hand", ByHand(root, read)),
        Case("embedded", Headrace(Embedded(root), read)),
        Case("tcp", Headrace(Served(root), read)),
    ]


WORKLOADS = (
    Workload(
        name="wide",
        about="a spine of 17,000 rows with 10 groups of 100 features, 37 MB in all",
        sizes={"full": _SPINE_ROWS, "small": 1_700, "smoke": 170},
        unit="rows",
        systems=("by hand", "embedded", "tcp"),
        goals=(
            Goal("embedded", 5.0),
            Goal("embedded", 2e9, "peak"),
            Goal("tcp", 5.0),
            Goal("tcp", 2e9, "peak"),
        ),
        runs=7,
        cases=_cases,
        baseline="by hand",
    ),
)
