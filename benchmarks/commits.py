"""The history, and all rows, of a table of many commits."""

from __future__ import annotations

import dataclasses

import pyarrow as pa

import headrace as hr
from benchmarks import data
from benchmarks.runner import Headrace, Run
from benchmarks.target import Embedded, Served
from benchmarks.workload import Case, Goal, Workload

_GROUP = "commits"


@dataclasses.dataclass(frozen=True)
class History:
    """All commits."""

    def headrace(self, store: hr.FeatureStore) -> Run:
        group = store.get_feature_group(_GROUP)
        return lambda _: pa.table({"snapshot": [commit.snapshot for commit in group.history()]})


@dataclasses.dataclass(frozen=True)
class Rows:
    """All rows: those of the last commits, and of a compaction of the others."""

    def headrace(self, store: hr.FeatureStore) -> Run:
        group = store.get_feature_group(_GROUP)
        return lambda _: group.read().to_arrow()


def _cases(commits: float) -> list[Case]:
    count = int(commits)

    def write(store: hr.FeatureStore) -> None:
        group = store.create_feature_group(_GROUP, primary_key=["id"])
        for number in range(count - 1):
            group.insert([{"id": number, "x": float(number)}], mode="append")
            if number == count - 100:
                group.compact()

    root = data.lake(f"commits-{count}", write)
    return [
        Case("history", Headrace(Embedded(root), History()), answer="history"),
        Case("history, tcp", Headrace(Served(root), History()), answer="history"),
        Case("read", Headrace(Embedded(root), Rows())),
        Case("read, tcp", Headrace(Served(root), Rows())),
    ]


def _goals(*cases: str) -> tuple[Goal, ...]:
    return tuple(Goal(case, 0.1) for case in cases)


WORKLOADS = (
    Workload(
        name="commits",
        about="history() and read() of a table of 10,000 commits, after the first of each",
        sizes={"full": 1e4, "small": 1e3, "smoke": 200},
        unit="commits",
        systems=("history", "history, tcp", "read", "read, tcp"),
        goals=_goals("history", "history, tcp", "read", "read, tcp"),
        runs=20,
        cases=_cases,
    ),
)
