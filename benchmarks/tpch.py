"""Reads of TPC-H tables: a whole table, a few numbers of it, a join."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import duckdb

import headrace as hr
from benchmarks import data
from benchmarks.runner import ByHand, Headrace, Read, Run, Tables, relation
from benchmarks.target import Embedded, Served
from benchmarks.workload import Case, Goal, Workload

KEYS = {
    "lineitem": ["l_orderkey", "l_linenumber"],
    "orders": ["o_orderkey"],
    "customer": ["c_custkey"],
    "supplier": ["s_suppkey"],
}
_DECIMALS = {
    "lineitem": ("l_quantity", "l_extendedprice", "l_discount", "l_tax"),
    "supplier": ("s_acctbal",),
}
_SIZES = {"full": 1.0, "small": 0.1, "smoke": 0.01}
_SYSTEMS = ("in-process", "embedded", "tcp", "tls")
_COMMIT_ROWS = 1_500_000
_LEAST_COMMITS = 4
_SF1_ROWS = 6_000_000
_JOINED = {
    "lineitem": ["l_orderkey", "l_linenumber", "l_extendedprice", "l_discount", "l_shipdate"],
    "orders": ["o_custkey", "o_orderdate", "o_shippriority"],
    "customer": ["c_mktsegment", "c_nationkey"],
}
_SEGMENT = "BUILDING"


def in_floats(table: str, path: Path) -> str:
    """SQL for a file's rows with floats for decimals, which neither frames of pandas nor ODBC's drivers have."""
    floats = ", ".join(f"{name}::DOUBLE AS {name}" for name in _DECIMALS[table])
    return f"SELECT * REPLACE ({floats}) FROM read_parquet({data.quoted(path)})"


@dataclasses.dataclass(frozen=True)
class Scan:
    """All rows of `lineitem`; all columns if none are named."""

    columns: tuple[str, ...] = ()

    def headrace(self, store: hr.FeatureStore) -> Run:
        group = store.get_feature_group("lineitem")
        return lambda _: group.read(self.columns or None).to_arrow()

    def by_hand(self, connection: duckdb.DuckDBPyConnection, tables: Tables) -> Run:
        query = f"SELECT {', '.join(self.columns) or '*'} FROM {relation(tables('lineitem'))}"
        return lambda _: connection.sql(query).to_arrow_table()


@dataclasses.dataclass(frozen=True)
class Join:
    """The order and the customer of each item, of the customers of one segment."""

    def headrace(self, store: hr.FeatureStore) -> Run:
        lineitem, orders, customer = (store.get_feature_group(name) for name in _JOINED)
        query = (
            lineitem.select(*_JOINED["lineitem"])
            .join(orders.select(*_JOINED["orders"]), on={"l_orderkey": "o_orderkey"}, how="inner")
            .join(customer.select(*_JOINED["customer"]), on={"o_custkey": "c_custkey"}, how="inner")
        )
        query = query.filter(query["c_mktsegment"] == _SEGMENT)
        return lambda _: query.read().to_arrow()

    def by_hand(self, connection: duckdb.DuckDBPyConnection, tables: Tables) -> Run:
        columns = ", ".join(name for names in _JOINED.values() for name in names)
        query = (
            f"SELECT {columns} FROM {relation(tables('lineitem'))} "
            f"JOIN {relation(tables('orders'))} ON l_orderkey = o_orderkey "
            f"JOIN {relation(tables('customer'))} ON o_custkey = c_custkey "
            f"WHERE c_mktsegment = '{_SEGMENT}'"
        )
        return lambda _: connection.sql(query).to_arrow_table()


def tpch_lake(scale: float, *tables: str) -> Path:
    """A lake with these tables: `lineitem` in commits of 1.5 million rows, but at least four, the others in one."""
    files = data.tpch(scale, tables)
    commits = max(_LEAST_COMMITS, round(scale * _SF1_ROWS / _COMMIT_ROWS))

    def write(store: hr.FeatureStore) -> None:
        for name, path in files.items():
            group = store.create_feature_group(name, primary_key=KEYS[name])
            for part in data.parts(path, commits if name == "lineitem" else 1):
                group.insert(part, mode="append" if name == "lineitem" else "upsert")

    return data.lake(f"tpch-{'-'.join(sorted(tables))}-sf{scale:g}", write)


def _cases(read: Read, scale: float) -> list[Case]:
    root = tpch_lake(scale, *_JOINED)
    return [
        Case("in-process", ByHand(root, read)),
        Case("embedded", Headrace(Embedded(root), read)),
        Case("tcp", Headrace(Served(root), read)),
        Case("tls", Headrace(Served(root, asks="certificate"), read)),
    ]


def _workload(name: str, about: str, read: Read, *, embedded: float, tcp: float, tls: float) -> Workload:
    most = {"embedded": embedded, "tcp": tcp, "tls": tls}
    return Workload(
        name=name,
        about=about,
        sizes=_SIZES,
        unit="scale factor",
        systems=_SYSTEMS,
        goals=tuple(Goal(case, ratio, way="ratio", against="in-process") for case, ratio in most.items()),
        runs=15,
        cases=lambda scale: _cases(read, scale),
        baseline="in-process",
    )


WORKLOADS = (
    _workload("tpch-scan", "lineitem whole, to an Arrow table", Scan(), embedded=1.15, tcp=1.6, tls=2.3),
    _workload(
        "tpch-narrow",
        "four integer columns of lineitem, to an Arrow table",
        Scan(("l_orderkey", "l_partkey", "l_suppkey", "l_linenumber")),
        embedded=1.15,
        tcp=1.6,
        tls=2.1,
    ),
    _workload(
        "tpch-decimals",
        "four decimal columns of lineitem, to an Arrow table",
        Scan(("l_quantity", "l_extendedprice", "l_discount", "l_tax")),
        embedded=1.15,
        tcp=1.6,
        tls=2.1,
    ),
    _workload(
        "tpch-join",
        "lineitem with orders and customers of one segment, to an Arrow table",
        Join(),
        embedded=1.15,
        tcp=1.3,
        tls=1.6,
    ),
)
