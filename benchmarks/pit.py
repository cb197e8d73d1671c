"""Point-in-time joins of a million rows with two groups of a million."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

import headrace as hr
from benchmarks import data
from benchmarks.feast.environment import feast_python
from benchmarks.feast.runner import Feast
from benchmarks.runner import ByHand, Headrace, Run, Tables, relation
from benchmarks.target import Embedded, Served
from benchmarks.workload import Case, Goal, Workload

SIZES = {"full": 1e6, "small": 1e5, "smoke": 1e4}
_ROWS_PER_KEY = 50
_TTL_DAYS = 30
_GROUPS = ("clicks", "orders")
VIEW = "training"
_MEMORY_LIMIT = "200MB"

# Events of a year, to the second. Of 100 feature rows one is a correction: same key and time, recorded later.
_SPINE = """
SELECT i AS id, (hash(i * 7 + 1) % {keys})::BIGINT AS k,
       TIMESTAMPTZ '2025-01-01 00:00:00+00' + to_seconds((hash(i * 13 + 1) % 31536000)::BIGINT) AS ts,
       (hash(i * 17 + 1) % 1000) / 1e3 AS label
FROM range({rows}) t(i)
"""
_FEATURES = """
SELECT (hash(e * 7 + {seed}) % {keys})::BIGINT AS k,
       TIMESTAMPTZ '2025-01-01 00:00:00+00' + to_seconds((hash(e * 13 + {seed}) % 31536000)::BIGINT) AS ts,
       ts + to_seconds(60 + i) AS created,
       (hash(i * 17 + {seed}) % 1000000) / 1e3 AS {name}_a, (hash(i * 19 + {seed}) % 1000000) / 1e3 AS {name}_b
FROM (SELECT i, CASE WHEN i % 100 = 99 THEN i - 1 ELSE i END AS e FROM range({rows}) t(i))
"""


@dataclasses.dataclass(frozen=True)
class TrainingData:
    """Both groups' features for every row of the root group, or of a spine that is in memory.

    Args:
        spine: a Parquet file, read before anything is timed.
    """

    spine: Path | None = None

    def headrace(self, store: hr.FeatureStore) -> Run:
        view = store.get_feature_view(VIEW)
        if self.spine is None:
            return lambda _: view.training_data().to_arrow()
        spine = pq.read_table(self.spine)
        return lambda _: view.training_data(spine=spine).to_arrow()

    def by_hand(self, connection: duckdb.DuckDBPyConnection, tables: Tables) -> Run:
        root = "spine"
        if self.spine is None:
            root = relation(tables("labels"))
        else:
            connection.register("spine", pq.read_table(self.spine))
        query = asof_query(root, {name: relation(tables(name)) for name in _GROUPS})
        return lambda _: connection.sql(query).to_arrow_table()


def asof_query(root: str, groups: dict[str, str]) -> str:
    """Ties at one key and time go to the row recorded last; what is older than 30 days counts as nothing."""
    columns, joins = ["s.id", "s.k", "s.ts", "s.label"], ""
    for name, rows in groups.items():
        for column in (f"{name}_a", f"{name}_b"):
            fresh = f"{name}.ts >= s.ts - INTERVAL {_TTL_DAYS} DAY"
            columns.append(f"CASE WHEN {fresh} THEN {name}.{column} END AS {column}")
        one = (
            f"SELECT k, ts, {name}_a, {name}_b FROM {rows} "
            "QUALIFY row_number() OVER (PARTITION BY k, ts ORDER BY created DESC) = 1"
        )
        joins += f" ASOF LEFT JOIN ({one}) AS {name} ON s.k = {name}.k AND s.ts >= {name}.ts"
    return f"SELECT {', '.join(columns)} FROM {root} AS s{joins}"


def features_of(rows: int) -> dict[str, Path]:
    """The groups' files, by name."""
    keys = rows // _ROWS_PER_KEY
    return {
        name: data.generated(
            f"pit-{name}-{rows}", _FEATURES.format(rows=rows, keys=keys, seed=number, name=name)
        )
        for number, name in enumerate(_GROUPS, start=2)
    }


def lake_of(rows: int) -> tuple[Path, Path]:
    """The lake, and the spine's file."""
    spine = data.generated(f"pit-labels-{rows}", _SPINE.format(rows=rows, keys=rows // _ROWS_PER_KEY))
    features = features_of(rows)

    def write(store: hr.FeatureStore) -> None:
        labels = store.create_feature_group("labels", primary_key=["id"], event_time="ts")
        labels.insert(pq.read_table(spine))
        query = labels.select("id", "k", "ts", "label")
        for name, path in features.items():
            group = store.create_feature_group(
                name, primary_key=["k"], event_time="ts", created_time="created", ttl=f"{_TTL_DAYS}d"
            )
            group.insert(pq.read_table(path), mode="append")
            query = query.join(group.select(f"{name}_a", f"{name}_b"), on="k")
        store.create_feature_view(VIEW, query, labels=["label"])

    return data.lake(f"pit-{rows}", write), spine


def _cases(rows: float) -> list[Case]:
    root, spine = lake_of(int(rows))
    whole, passed = TrainingData(), TrainingData(spine)
    return [
        Case("by hand", ByHand(root, whole)),
        Case("embedded", Headrace(Embedded(root), whole)),
        Case("by hand, spine", ByHand(root, passed)),
        Case("embedded, spine", Headrace(Embedded(root), passed)),
        Case(f"embedded, {_MEMORY_LIMIT}", Headrace(Embedded(root, memory_limit=_MEMORY_LIMIT), whole)),
        Case("tcp", Headrace(Served(root), whole)),
    ]


def _feast_cases(rows: float) -> list[Case]:
    root, spine = lake_of(int(rows))
    with hr.connect(root) as store:
        files = {name: str(root / store.get_feature_group(name).location / "*.parquet") for name in _GROUPS}
    features = {name: (f"{name}_a", f"{name}_b") for name in _GROUPS}
    feast = Feast(
        spine, files, features, key="k", event_time="ts", created_time="created", ttl_days=_TTL_DAYS
    )
    return [
        Case("Feast", feast, python=feast_python()),
        Case("embedded", Headrace(Embedded(root), TrainingData())),
        Case("embedded, spine", Headrace(Embedded(root), TrainingData(spine))),
    ]


def _ratios(most: float, against: dict[str, str]) -> Sequence[Goal]:
    return [Goal(case, most, way="ratio", against=other) for case, other in against.items()]


WORKLOADS = (
    Workload(
        name="pit",
        about="rows with features of two groups as of 30 days, beside an ASOF join with the ties removed",
        sizes=SIZES,
        unit="rows",
        systems=(
            "by hand",
            "embedded",
            "by hand, spine",
            "embedded, spine",
            f"embedded, {_MEMORY_LIMIT}",
            "tcp",
        ),
        goals=(
            Goal("embedded", 1.15, way="ratio", against="by hand"),
            Goal("embedded, spine", 1.15, way="ratio", against="by hand, spine"),
        ),
        runs=15,
        cases=_cases,
        baseline="by hand",
    ),
    Workload(
        name="pit-feast",
        about="the same beside Feast on DuckDB, in an environment of its own",
        sizes=SIZES,
        unit="rows",
        systems=("Feast", "embedded", "embedded, spine"),
        goals=(
            Goal("embedded", 0.5, way="ratio", against="Feast"),
            Goal("embedded, spine", 0.5, way="ratio", against="Feast"),
        ),
        runs=9,
        cases=_feast_cases,
        baseline="Feast",
    ),
)
