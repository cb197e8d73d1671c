"""Joins whose results a service keeps: computed, asked for the first time, and given again, over Flight and mapped."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

import headrace as hr
from benchmarks.runner import Run
from benchmarks.target import Served
from benchmarks.tpch import tpch_lake
from benchmarks.workload import Case, Goal, Workload
from headrace.client import remote
from headrace.model.query import How

_SIZES = {"full": 1.0, "small": 0.1, "smoke": 0.01}
_SYSTEMS = (
    "computed",
    "first ask",
    "kept, sent",
    "kept, mapped",
    "kept, all read",
)
_CACHE = ("--cache", "20GB", "--no-predict")
_ORDERS = ("o_custkey", "o_orderdate", "o_shippriority")
_NARROW = ("l_orderkey", "l_linenumber", "l_extendedprice", "l_discount", "l_shipdate")


@dataclasses.dataclass(frozen=True)
class Join:
    """Items with their orders.

    Args:
        columns: of the items; all if none are named.
        kept: "no" without a cache; "new" asks for another result each time, of the same rows; else it was kept before.
        mapped: the client may map it into memory.
        touched: all of its bytes are read.
    """

    root: Path
    columns: tuple[str, ...]
    kept: str = "no"
    mapped: bool = False
    touched: bool = False

    @contextlib.contextmanager
    def opened(self) -> Iterator[Run]:
        served = Served(self.root, options=() if self.kept == "no" else _CACHE)
        with served.connected() as store:
            if not self.mapped:
                remote.mapped_rows = lambda _: None  # type: ignore[assignment]  # in a process of this case's own
            if self.kept == "before":
                self._keep(store)

            def run(number: int) -> pa.Table:
                table = self._query(store, number).read().to_arrow()
                if self.touched:
                    _touch(table)
                return table

            yield run

    def _query(self, store: hr.FeatureStore, number: int) -> hr.Query:
        items, orders = store.get_feature_group("lineitem"), store.get_feature_group("orders")
        # Each item has its order, so that both joins give the same rows; but no result of one answers the other.
        how: How = "left" if self.kept == "before" else "inner"
        joined = items.select(*self.columns).join(
            orders.select(*_ORDERS), on={"l_orderkey": "o_orderkey"}, how=how
        )
        if self.kept == "before":
            return joined
        # True of all rows, and another question each time, which no result that was kept before answers.
        return joined.filter(joined["l_linenumber"] > -(time.time_ns() // 10**6 % 2**31))

    def _keep(self, store: hr.FeatureStore) -> None:
        for _ in range(2):  # what is cheap to compute is kept the second time
            self._query(store, 0).read().to_arrow()
        until = time.monotonic() + 60
        while not store.cache.list() and time.monotonic() < until:
            time.sleep(0.05)


def _touch(table: pa.Table) -> None:
    for column in table.columns:
        for chunk in column.chunks:
            for buffer in chunk.buffers():
                if buffer is not None:
                    np.frombuffer(buffer, np.uint8)[::64].sum()


def _cases(scale: float, columns: tuple[str, ...]) -> list[Case]:
    root = tpch_lake(scale, "lineitem", "orders")
    return [
        Case("computed", Join(root, columns)),
        Case("first ask", Join(root, columns, kept="new")),
        Case("kept, sent", Join(root, columns, kept="before")),
        Case("kept, mapped", Join(root, columns, kept="before", mapped=True)),
        Case("kept, all read", Join(root, columns, kept="before", mapped=True, touched=True)),
    ]


def _workload(name: str, about: str, columns: tuple[str, ...], *, mapped: float) -> Workload:
    most = {"first ask": 1.05, "kept, sent": 0.5, "kept, mapped": mapped}
    return Workload(
        name=name,
        about=about,
        sizes=_SIZES,
        unit="scale factor",
        systems=_SYSTEMS,
        goals=tuple(Goal(case, ratio, way="ratio", against="computed") for case, ratio in most.items()),
        runs=11,
        cases=lambda scale: _cases(scale, columns),
        baseline="computed",
    )


WORKLOADS = (
    _workload("cache-join", "lineitem with orders, eight columns, of a service", _NARROW, mapped=0.1),
    _workload("cache-large", "lineitem whole with orders, 1.1 GB, of a service", (), mapped=0.03),
)
