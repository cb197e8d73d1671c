"""A join over a table that comes daily, of a service that computes the next day's ahead.

Source: "Integrated Architecture of SQL Engine and Data Analytics Tool with Apache Arrow Flight", section 4 (tables are
inferred from those of earlier joins) and evaluation (2), whose result has 256 MB.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

import headrace as hr
from benchmarks import data
from benchmarks.process import CaseFailed
from benchmarks.runner import Stage, Staged
from benchmarks.target import Served
from benchmarks.workload import Case, Goal, Workload
from headrace.client import remote

_BEGINS = dt.date(2021, 8, 3)
_KNOWN_DAYS = 6
"""On which the join was asked for before: up to a Sunday, or else a workday would be foreseen next."""
_ROW_BYTES = 64
_ITEMS, _SHOPS = 100_000, 1_000
_FORESEEN_SECONDS = 120.0
_OFF, _SENT, _MAPPED = "cache off", "foreseen, sent", "foreseen, mapped"


@dataclasses.dataclass(frozen=True)
class Daily:
    """Each run asks for the join of a day whose table has just come.

    Args:
        rows: of a day.
        options: of `headrace serve`.
    """

    rows: int
    options: tuple[str, ...] = ()
    mapped: bool = False

    @contextlib.contextmanager
    def opened(self) -> Iterator[Staged]:
        if not self.mapped:
            remote.mapped_rows = lambda _: None  # type: ignore[assignment]  # in a process of this case's own
        with (
            data.temporary("days-") as folder,
            Served(folder, self.options).connected() as store,
        ):
            _fill(store)
            for day in range(_KNOWN_DAYS):
                self._come(store, day)
                _ask(store, day)
            yield Staged(lambda number: self._stage(store, _KNOWN_DAYS + number))

    @contextlib.contextmanager
    def _stage(self, store: hr.FeatureStore, day: int) -> Iterator[Stage]:
        self._come(store, day)
        if self.options:
            _wait(store, day)
        yield Stage(lambda: _ask(store, day), lambda answer: answer)
        store.delete_feature_group(_name(day), 1)

    def _come(self, store: hr.FeatureStore, day: int) -> None:
        rng = np.random.default_rng(day)
        sales = {
            "sale": np.arange(self.rows),
            "item": rng.integers(0, _ITEMS, self.rows),
            "shop": rng.integers(0, _SHOPS, self.rows),
            "quantity": rng.integers(1, 10, self.rows),
            "price": rng.integers(100, 100_000, self.rows) / 100,
        }
        store.create_feature_group(_name(day), primary_key=["sale"]).insert(pa.table(sales), mode="append")


def _name(day: int) -> str:
    return f"sales{_BEGINS + dt.timedelta(days=day):%Y%m%d}"


def _fill(store: hr.FeatureStore) -> None:
    rng = np.random.default_rng(0)
    items = {"item": np.arange(_ITEMS), "category": rng.integers(0, 50, _ITEMS), "cost": rng.random(_ITEMS)}
    shops = {"shop": np.arange(_SHOPS), "region": rng.integers(0, 20, _SHOPS)}
    store.create_feature_group("items", primary_key=["item"]).insert(pa.table(items))
    store.create_feature_group("shops", primary_key=["shop"]).insert(pa.table(shops))


def _ask(store: hr.FeatureStore, day: int) -> pa.Table:
    sales, items, shops = (store.get_feature_group(name) for name in (_name(day), "items", "shops"))
    joined = sales.select("sale", "item", "shop", "quantity", "price")
    joined = joined.join(items.select("category", "cost"), on="item").join(shops.select("region"), on="shop")
    return joined.read().to_arrow()


def _wait(store: hr.FeatureStore, day: int) -> None:
    deadline = time.monotonic() + _FORESEEN_SECONDS
    while not any(kept.ahead and _name(day) in kept.groups[0] for kept in store.cache.list()):
        if time.monotonic() > deadline:
            raise CaseFailed(f"the join of {_name(day)} was not computed ahead")
        time.sleep(0.2)


def _cases(megabytes: float) -> list[Case]:
    rows, cache = int(megabytes * 1e6 / _ROW_BYTES), ("--cache", "20GB")
    return [
        Case(_OFF, Daily(rows)),
        Case(_SENT, Daily(rows, cache)),
        Case(_MAPPED, Daily(rows, cache, mapped=True)),
    ]


WORKLOADS = (
    Workload(
        name="cache-daily",
        about="sales of a day with their items and shops, of a service that has joined those of the days before",
        sizes={"full": 256, "small": 64, "smoke": 16},
        unit="MB",
        systems=(_OFF, _SENT, _MAPPED),
        goals=(Goal(_SENT, 1 / 2.4, way="ratio", against=_OFF),),
        runs=7,
        cases=_cases,
        baseline=_OFF,
    ),
)
