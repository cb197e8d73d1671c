"""Joins whose results a service keeps: computed, asked for the first time, and given again, over Flight and mapped."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

import headrace as hr
from benchmarks.pit import SIZES as PIT_SIZES
from benchmarks.pit import VIEW, lake_of
from benchmarks.process import CaseFailed
from benchmarks.runner import Run
from benchmarks.target import Served
from benchmarks.tpch import tpch_lake
from benchmarks.workload import Case, Goal, Workload
from headrace.client import remote
from headrace.model.query import How

_SIZES = {"full": 1.0, "small": 0.1, "smoke": 0.1}
_SYSTEMS = (
    "computed",
    "kept, sent",
    "kept, mapped",
    "kept, all read",
    "first ask",
)
_REVENUE = """
SELECT date_trunc('month', o_orderdate) AS month, sum(l_extendedprice * (1 - l_discount)) AS revenue, count(*) AS items
FROM lineitem JOIN orders ON l_orderkey = o_orderkey WHERE l_linenumber > $least GROUP BY ALL"""
_KEPT_SECONDS = 20.0
_AFTER_ALL = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)
_CACHE = ("--cache", "20GB", "--no-predict")
_ORDERS = ("o_custkey", "o_orderdate", "o_shippriority")
_NARROW = ("l_orderkey", "l_linenumber", "l_extendedprice", "l_discount", "l_shipdate")


class Question(Protocol):
    """Something to ask of a store."""

    def ask(self, store: hr.FeatureStore, *, new: bool) -> pa.Table:
        """`new` makes it another question, of the same rows, that no result that was kept before answers."""
        ...


@dataclasses.dataclass(frozen=True)
class Items:
    """Items with their orders.

    Args:
        columns: of the items; all if none are named.
    """

    columns: tuple[str, ...]

    def ask(self, store: hr.FeatureStore, *, new: bool) -> pa.Table:
        items, orders = store.get_feature_group("lineitem"), store.get_feature_group("orders")
        # Each item has its order, so that both joins give the same rows; but no result of one answers the other.
        how: How = "inner" if new else "left"
        joined = items.select(*self.columns).join(
            orders.select(*_ORDERS), on={"l_orderkey": "o_orderkey"}, how=how
        )
        return (joined.filter(joined["l_linenumber"] > -_now()) if new else joined).read().to_arrow()


class Training:
    """Training data: what was known of each row, in two groups."""

    def ask(self, store: hr.FeatureStore, *, new: bool) -> pa.Table:
        # A result of an earlier end answers none of a later one.
        end = _AFTER_ALL + dt.timedelta(days=1, milliseconds=_now()) if new else _AFTER_ALL
        return store.get_feature_view(VIEW).training_data(end=end).to_arrow()


class Revenue:
    """What items with their orders came to, month by month, in SQL."""

    def ask(self, store: hr.FeatureStore, *, new: bool) -> pa.Table:
        return store.sql(_REVENUE, {"least": -_now() if new else 0}).to_arrow()


@dataclasses.dataclass(frozen=True)
class Asking:
    """A question to a service.

    Args:
        kept: "no" without a cache; "new" asks another one each time; else it was kept before.
        mapped: the client may map it into memory.
        touched: all of its bytes are read.
    """

    root: Path
    question: Question
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

            def run(_: int) -> pa.Table:
                table = self.question.ask(store, new=self.kept != "before")
                if self.touched:
                    _touch(table)
                return table

            yield run

    def _keep(self, store: hr.FeatureStore) -> None:
        self.question.ask(store, new=False)  # another service may have kept it: this one has yet to begin
        deadline = time.monotonic() + _KEPT_SECONDS
        while (
            not store.cache.list()
        ):  # what is cheap to compute is kept the second time, a moment after it was sent
            if time.monotonic() > deadline:
                raise CaseFailed("the result is not kept: it takes too little time to compute")
            self.question.ask(store, new=False)
            time.sleep(0.05)


def _now() -> int:
    """Milliseconds, of some weeks."""
    return time.time_ns() // 10**6 % 2**31


def _touch(table: pa.Table) -> None:
    for column in table.columns:
        for chunk in column.chunks:
            for buffer in chunk.buffers():
                if buffer is not None:
                    np.frombuffer(buffer, np.uint8)[::64].sum()


def _cases(root: Path, question: Question) -> list[Case]:
    return [
        Case("computed", Asking(root, question)),
        Case("kept, sent", Asking(root, question, kept="before")),
        Case("kept, mapped", Asking(root, question, kept="before", mapped=True)),
        Case("kept, all read", Asking(root, question, kept="before", mapped=True, touched=True)),
        # Last, for its results would answer the others, too, and take longer than their own.
        Case("first ask", Asking(root, question, kept="new")),
    ]


def _of_tpch(question: Question) -> Callable[[float], list[Case]]:
    return lambda scale: _cases(tpch_lake(scale, "lineitem", "orders"), question)


def _workload(
    name: str,
    about: str,
    cases: Callable[[float], list[Case]],
    *,
    mapped: float,
    sizes: Mapping[str, float] = _SIZES,
    unit: str = "scale factor",
) -> Workload:
    most = {"first ask": 1.05, "kept, sent": 0.5, "kept, mapped": mapped}
    return Workload(
        name=name,
        about=about,
        sizes=sizes,
        unit=unit,
        systems=_SYSTEMS,
        goals=tuple(Goal(case, ratio, way="ratio", against="computed") for case, ratio in most.items()),
        runs=11,
        cases=cases,
        baseline="computed",
    )


WORKLOADS = (
    _workload(
        "cache-join", "lineitem with orders, eight columns, of a service", _of_tpch(Items(_NARROW)), mapped=0.1
    ),
    _workload("cache-large", "lineitem whole with orders, 1.1 GB, of a service", _of_tpch(Items(())), mapped=0.03),
    _workload("cache-sql", "lineitem with orders, summed in SQL, of a service", _of_tpch(Revenue()), mapped=0.1),
    _workload(
        "cache-pit", "training data of two groups, of a service",
        lambda rows: _cases(lake_of(int(rows))[0], Training()),
        mapped=0.1, sizes=PIT_SIZES, unit="rows",
    ),
)  # fmt: skip
