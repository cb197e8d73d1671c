"""Ten rows by key, while another process appends twice a second."""

from __future__ import annotations

import dataclasses
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import headrace as hr
from benchmarks import data
from benchmarks.runner import ByHand, Headrace, Run, Tables, relation
from benchmarks.target import Embedded, Served
from benchmarks.workload import Case, Goal, Workload

_GROUP = "entities"
_KEYS = 10
_COMMIT_ROWS = 10_000
_LEAST_COMMITS = 5
_PAUSE_SECONDS = 0.5
_FEATURES = ", ".join(f"(hash(i * 31 + {n}) % 1000000) / 1e3 AS f{n}" for n in range(8))


@dataclasses.dataclass(frozen=True)
class LookUp:
    """Ten random rows of the first `keys` keys, other ones in each run."""

    keys: int

    def headrace(self, store: hr.FeatureStore) -> Run:
        group = store.get_feature_group(_GROUP)
        return lambda number: group.read(filter=group["id"].isin(self._wanted(number))).to_arrow()

    def by_hand(self, connection: duckdb.DuckDBPyConnection, tables: Tables) -> Run:
        table = tables(_GROUP)

        def run(number: int) -> pa.Table:
            table.update_incremental()
            wanted = ", ".join(map(str, self._wanted(number)))
            return connection.sql(f"SELECT * FROM {relation(table)} WHERE id IN ({wanted})").to_arrow_table()

        return run

    def _wanted(self, number: int) -> list[int]:
        return random.Random(number).sample(range(self.keys), _KEYS)


@dataclasses.dataclass(frozen=True)
class Committer:
    """Appends a few new rows every half second."""

    root: Path
    rows: int

    @contextmanager
    def opened(self) -> Iterator[Run]:
        with hr.connect(self.root) as store:
            group = store.get_feature_group(_GROUP)
            schema = group.schema
            assert schema is not None

            def run(number: int) -> pa.Table:
                time.sleep(_PAUSE_SECONDS)
                ids = [self.rows + number * _KEYS + i for i in range(_KEYS)]
                rows = pa.table([_values(field, ids) for field in schema], schema=schema)
                group.insert(rows, mode="append")
                return rows

            yield run


def _values(field: pa.Field, ids: list[int]) -> pa.Array:
    return pa.array(ids).cast(field.type) if field.name == "id" else pa.nulls(len(ids), field.type)


def _cases(rows: float) -> list[Case]:
    count = int(rows)
    path = data.generated(
        f"entities-{count}",
        f"SELECT i AS id, 'entity ' || i AS name, {_FEATURES} FROM range({count}) t(i) ORDER BY hash(i)",
    )

    def write(store: hr.FeatureStore) -> None:
        group = store.create_feature_group(_GROUP, primary_key=["id"])
        table = pq.read_table(path)
        size = min(_COMMIT_ROWS, count // _LEAST_COMMITS)
        for start in range(0, count, size):
            group.insert(table.slice(start, size), mode="append")

    root = data.scratch(data.lake(f"entities-{count}", write))
    look_up = LookUp(count)  # the keys appended are beyond: the answers do not change
    return [
        Case("by hand", ByHand(root, look_up)),
        Case("embedded", Headrace(Embedded(root), look_up)),
        Case("tcp", Headrace(Served(root), look_up)),
        Case("committer", Committer(root, count), role="background"),
    ]


WORKLOADS = (
    Workload(
        name="lookup",
        about="10 rows by random keys from a group of 100 commits, while another process appends twice a second",
        sizes={"full": 1e6, "small": 1e5, "smoke": 1e4},
        unit="rows",
        systems=("by hand", "embedded", "tcp"),
        goals=(Goal("tcp", 0.015), Goal("embedded", 0.015)),
        runs=200,
        cases=_cases,
        baseline="by hand",
    ),
)
