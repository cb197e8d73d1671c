"""The same rows of a service by Headrace's client, and by ADBC's driver for Flight SQL."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adbc_driver_flightsql import dbapi

import headrace as hr
from benchmarks.runner import Headrace, Run
from benchmarks.target import Served
from benchmarks.tpch import tpch_lake
from benchmarks.workload import Case, Goal, Workload

_SIZES = {"full": 1.0, "small": 0.1, "smoke": 0.01}
_SYSTEMS = ("read()", "sql()", "Flight SQL")
_NARROW = ("l_orderkey", "l_partkey", "l_suppkey", "l_linenumber")
_ORDER = 4_000


@dataclasses.dataclass(frozen=True)
class Rows:
    """Of `lineitem`: all columns if none are named, all orders if `order` is none."""

    columns: tuple[str, ...] = ()
    order: int | None = None

    @property
    def query(self) -> str:
        where = "" if self.order is None else f" WHERE l_orderkey = {self.order}"
        return f"SELECT {', '.join(self.columns) or '*'} FROM lineitem{where}"


@dataclasses.dataclass(frozen=True)
class Read(Rows):
    """As a read of the group."""

    def headrace(self, store: hr.FeatureStore) -> Run:
        group = store.get_feature_group("lineitem")
        wanted = None if self.order is None else group["l_orderkey"] == self.order
        return lambda _: group.read(self.columns or None, wanted).to_arrow()


@dataclasses.dataclass(frozen=True)
class Sql(Rows):
    """As a query in SQL."""

    def headrace(self, store: hr.FeatureStore) -> Run:
        return lambda _: store.sql(self.query).to_arrow()


@dataclasses.dataclass(frozen=True)
class Driver(Rows):
    """By ADBC, on a connection that is open."""

    root: Path = Path()

    @contextmanager
    def opened(self) -> Iterator[Run]:
        with Served(self.root).listening() as way, dbapi.connect(way.url, autocommit=True) as connection:

            def run(_: int) -> object:
                with connection.cursor() as cursor:
                    cursor.execute(self.query)
                    return cursor.fetch_arrow_table()

            yield run  # type: ignore[misc]


def _cases(scale: float, columns: tuple[str, ...], order: int | None) -> list[Case]:
    root = tpch_lake(scale, "lineitem")
    return [
        Case("read()", Headrace(Served(root), Read(columns, order))),
        Case("sql()", Headrace(Served(root), Sql(columns, order))),
        Case("Flight SQL", Driver(columns, order, root)),
    ]


def _workload(name: str, about: str, columns: tuple[str, ...] = (), order: int | None = None) -> Workload:
    return Workload(
        name=name,
        about=about,
        sizes=_SIZES,
        unit="scale factor",
        systems=_SYSTEMS,
        goals=(
            Goal("Flight SQL", 1.3, way="ratio", against="sql()"),
            Goal("Flight SQL", 1.3, way="ratio", against="read()"),
        ),
        runs=15,
        cases=lambda scale: _cases(scale, columns, order),
        baseline="sql()",
    )


WORKLOADS = (
    _workload("flight-sql-scan", "lineitem whole of a service, to an Arrow table"),
    _workload(
        "flight-sql-narrow", "four integer columns of lineitem of a service, to an Arrow table", _NARROW
    ),
    _workload("flight-sql-small", "the items of one order of a service", order=_ORDER),
)
