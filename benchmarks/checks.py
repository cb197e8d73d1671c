"""What it costs that a service knows who calls, what they may do, and writes down what they did."""

from __future__ import annotations

import dataclasses

import pyarrow as pa

import headrace as hr
from benchmarks.runner import Headrace, Run
from benchmarks.target import Served
from benchmarks.tpch import tpch_lake
from benchmarks.workload import Case, Goal, Workload

_SIZES = {"full": 100.0, "small": 20.0, "smoke": 2.0}
_REQUESTS_EACH = 2
_MOST_SECONDS = 0.001
_SCALE = 0.01


@dataclasses.dataclass(frozen=True)
class LookUps:
    """So many reads of one order, each of which is prepared by one request and fetched by another."""

    number: int

    def headrace(self, store: hr.FeatureStore) -> Run:
        group = store.get_feature_group("orders")

        def run(_: int) -> pa.Table:
            found = [
                group.read(filter=group["o_orderkey"] == 32 * i + 1).to_arrow() for i in range(self.number)
            ]
            return pa.concat_tables(found)

        return run


def _cases(number: float) -> list[Case]:
    root, read = tpch_lake(_SCALE, "orders"), LookUps(int(number))
    return [
        Case("nobody asked", Headrace(Served(root), read)),
        Case("token", Headrace(Served(root, asks="token"), read)),
        Case("certificate", Headrace(Served(root, asks="certificate"), read)),
    ]


_MOST = _MOST_SECONDS * _REQUESTS_EACH * _SIZES["full"]
WORKLOADS = (
    Workload(
        name="checks",
        about=f"look-ups of one row, {_REQUESTS_EACH} requests each, by callers who are known, granted, and on record",
        sizes=_SIZES,
        unit="look-ups",
        systems=("nobody asked", "token", "certificate"),
        goals=tuple(
            Goal(case, _MOST, way="difference", against="nobody asked") for case in ("token", "certificate")
        ),
        runs=25,
        cases=_cases,
        baseline="nobody asked",
    ),
)
