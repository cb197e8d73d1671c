"""How much memory a service needs to stream a table, however long the table and however slow the reader."""

from __future__ import annotations

import dataclasses
import itertools
import time

import duckdb

import headrace as hr
from benchmarks.checksum import Checksum, checksum
from benchmarks.runner import ByHand, Headrace, Run, Tables, relation
from benchmarks.target import Served
from benchmarks.tpch import tpch_lake
from benchmarks.workload import Case, Goal, Workload

_MEGABYTE = 1_000_000
_TIMES_SMALLER = 10
_PAUSE_SECONDS = 1.0


@dataclasses.dataclass(frozen=True)
class Stream:
    """All of `lineitem`, batch by batch; nothing is kept."""

    def headrace(self, store: hr.FeatureStore) -> Run:
        group = store.get_feature_group("lineitem")
        return lambda _: checksum(group.read().to_reader())

    def by_hand(self, connection: duckdb.DuckDBPyConnection, tables: Tables) -> Run:
        query = f"SELECT * FROM {relation(tables('lineitem'))}"
        return lambda _: checksum(connection.sql(query).to_arrow_reader())


@dataclasses.dataclass(frozen=True)
class SlowStream:
    """The first batches of `lineitem`, one a second. Which rows are in them is not said."""

    batches: int

    def headrace(self, store: hr.FeatureStore) -> Run:
        group = store.get_feature_group("lineitem")

        def run(_: int) -> Checksum:
            rows = 0
            with group.read().to_reader() as reader:
                for batch in itertools.islice(reader, self.batches):
                    rows += batch.num_rows
                    time.sleep(_PAUSE_SECONDS)
            return Checksum((), rows, 0)

        return run


def _cases(scale: float) -> list[Case]:
    small, large = (tpch_lake(s, "lineitem") for s in (scale / _TIMES_SMALLER, scale))
    slow = SlowStream(batches=max(2, round(3 * scale)))
    return [
        Case("small by hand", ByHand(small, Stream()), answer="small", role="reference"),
        Case("small", Headrace(Served(small), Stream()), answer="small", fresh=True),
        Case("large by hand", ByHand(large, Stream()), answer="large", role="reference"),
        Case("large", Headrace(Served(large), Stream()), answer="large", fresh=True),
        Case("small, slowly", Headrace(Served(small), slow), answer=None, fresh=True),
        Case("large, slowly", Headrace(Served(large), slow), answer=None, fresh=True),
    ]


WORKLOADS = (
    Workload(
        name="memory",
        about="memory of a service that streams lineitem, and a tenth of it, to a fast and to a slow reader",
        sizes={"full": 10.0, "small": 1.0, "smoke": 0.1},
        unit="scale factor",
        systems=("small", "large", "small, slowly", "large, slowly"),
        goals=(
            Goal("large", 100 * _MEGABYTE, "service_peak", "difference", against="small"),
            Goal("large, slowly", 100 * _MEGABYTE, "service_peak", "difference", against="small, slowly"),
        ),
        runs=3,
        cases=_cases,
    ),
)
