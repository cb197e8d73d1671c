"""Ten rows by key, while another process commits: new rows, or new values of old ones."""

from __future__ import annotations

import dataclasses
import functools
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
from benchmarks.runner import ByHand, Headrace, Run, Runner, Tables, relation
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
class Appends:
    """A few new rows every half second, with keys from `start` on."""

    root: Path
    start: int

    @contextmanager
    def opened(self) -> Iterator[Run]:
        with _changed(self.root) as (group, schema):

            def run(number: int) -> pa.Table:
                time.sleep(_PAUSE_SECONDS)
                rows = _rows(schema, [self.start + number * _KEYS + i for i in range(_KEYS)])
                group.insert(rows, mode="append")
                return rows

            yield run


@dataclasses.dataclass(frozen=True)
class Upserts:
    """New values for a few of the rows with the keys of `changed`; a pause in seconds before each commit."""

    root: Path
    changed: range
    pause: float

    @contextmanager
    def opened(self) -> Iterator[Run]:
        with _changed(self.root) as (group, schema):

            def run(number: int) -> pa.Table:
                time.sleep(self.pause)
                rows = _rows(schema, random.Random(number).sample(self.changed, _KEYS))
                group.insert(rows)
                return rows

            yield run


@contextmanager
def _changed(root: Path) -> Iterator[tuple[hr.FeatureGroup, pa.Schema]]:
    with hr.connect(root) as store:
        group = store.get_feature_group(_GROUP)
        assert group.schema is not None
        yield group, group.schema


def _rows(schema: pa.Schema, ids: list[int]) -> pa.Table:
    return pa.table([_values(field, ids) for field in schema], schema=schema)


def _values(field: pa.Field, ids: list[int]) -> pa.Array:
    return pa.array(ids).cast(field.type) if field.name == "id" else pa.nulls(len(ids), field.type)


def _lake(count: int) -> Path:
    """A group of `count` rows in commits whose keys come in no order, to be changed."""
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

    return data.scratch(data.lake(f"entities-{count}", write))


def _cases(root: Path, keys: int, committer: Runner) -> list[Case]:
    look_up = LookUp(keys)  # what is committed has other keys: the answers do not change
    return [
        Case("by hand", ByHand(root, look_up)),
        Case("embedded", Headrace(Embedded(root), look_up)),
        Case("tcp", Headrace(Served(root), look_up)),
        Case("committer", committer, role="background"),
    ]


def _beside_appends(rows: float) -> list[Case]:
    count = int(rows)
    root = _lake(count)
    return _cases(root, count, Appends(root, count))


def _beside_upserts(rows: float, pause: float = _PAUSE_SECONDS) -> list[Case]:
    count = int(rows)
    root = _lake(count)
    still = count * 9 // 10
    return _cases(root, still, Upserts(root, range(still, count), pause))


_WORKLOAD = Workload(
    name="lookup",
    about="10 rows by random keys from a group of 100 commits, while another process appends twice a second",
    sizes={"full": 1e6, "small": 1e5, "smoke": 1e4},
    unit="rows",
    systems=("by hand", "embedded", "tcp"),
    goals=(Goal("tcp", 0.015), Goal("embedded", 0.015)),
    runs=200,
    cases=_beside_appends,
    baseline="by hand",
)

WORKLOADS = (
    _WORKLOAD,
    dataclasses.replace(
        _WORKLOAD,
        name="lookup-upserts",
        about="the same, while another process upserts old keys twice a second",
        cases=_beside_upserts,
    ),
    dataclasses.replace(
        _WORKLOAD,
        name="lookup-busy",
        about="the same, while another process upserts old keys without a rest",
        cases=functools.partial(_beside_upserts, pause=0),
        goals=(),
    ),
)
