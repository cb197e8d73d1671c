"""Jobs of PySpark: as it is, with the row codec, and by Spark's own Arrow where it has a switch for it.

Source: "Improving PySpark Performance with Cross-Language Optimization", sections 4.2.2 and 5.2.2: sort, lookup, filter
and combination, on PART of TPC-H.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from benchmarks import data
from benchmarks.codec import SIZES, Parts, told
from benchmarks.runner import Stage, Staged
from benchmarks.spark import opened, python_of
from benchmarks.workload import Case, Goal, Workload

if TYPE_CHECKING:
    from pyspark.rdd import RDD
    from pyspark.sql import DataFrame, SparkSession

_ROOT = Path(__file__).parent.parent
_LINES = ("3.5", "4.1")
_PICKLE, _ROWS, _ARROW = "pickle", "rows", "Arrow"
SETTINGS = {"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "6g"}
_SWITCHES = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.pythonUDF.arrow.enabled": "true",
}
_KEY = 1_000
"""Which the smallest table has, too."""
_WARM_UP = 15.0
"""Jobs that are over in a fraction of a second go on getting faster for some twenty runs, while the JVM compiles."""
_SMALL = 0.1
"""The scale factor of the smaller side of the combination, which has 20,000 rows."""
_PART, _SMALLER = "part", "smaller"

Tables = Mapping[str, Path]
Job = Callable[[], Sequence[Any]]
Rows = Callable[[str], "RDD[Any]"]
"""Those of PART, or of the smaller one."""


@dataclasses.dataclass(frozen=True)
class PySparkJob:
    """One job, again and again in one session. What it needs is ready before, and the workers are there.

    Args:
        make: gives the job, of a session and the tables.
    """

    make: Callable[[SparkSession, Tables], Job]
    tables: Tables
    how: str

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        import headrace.spark

        with opened(SETTINGS | (_SWITCHES if self.how == _ARROW else {})) as session:
            if self.how == _ROWS:
                headrace.spark.install(session)
            job = self.make(session, self.tables)
            job()
            yield Staged(lambda _: nullcontext(Stage(job, told)))


def parsed(line: str) -> tuple[Any, ...]:
    """A row of PART, as the thesis reads it (listing 4.1)."""
    key, name, maker, brand, kind, size, container, price, comment, *_ = line.split("|")
    return int(key), name, maker, brand, kind, int(size), container, float(price), comment


def _keyed(row: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    return row[0], row[1:]


def _read(session: SparkSession, tables: Tables) -> Rows:
    return lambda name: session.sparkContext.textFile(str(tables[f"{name}, text"]), 2).map(parsed).map(_keyed)


def _cached(session: SparkSession, tables: Tables) -> Rows:
    @functools.cache
    def rows(name: str) -> RDD[Any]:
        read = [_keyed(row) for row in Parts(tables[name]).rows()]
        kept = session.sparkContext.parallelize(read, 2).map(lambda row: row).cache()
        kept.count()
        return kept

    return rows


_SOURCES = {"text": _read, "cached": _cached}


def _sort(rows: Rows) -> Job:
    return lambda: rows(_PART).sortByKey().collect()


def _lookup(rows: Rows) -> Job:
    return lambda: rows(_PART).filter(lambda row: row[0] == _KEY).collect()


def _filter(rows: Rows) -> Job:
    return lambda: rows(_PART).filter(lambda row: row[0] % 10 == 0).collect()


def _combination(rows: Rows) -> Job:
    """As listing 4.1 has it, but that what is collected at the end is what was sorted."""

    def job() -> Sequence[Any]:
        smaller = rows(_SMALLER)
        smaller.collect()
        some = rows(_PART).filter(lambda row: row[0] % 100 == 0)
        some.collect()
        return smaller.join(some).sortByKey().collect()

    return job


def _task(
    source: Callable[[SparkSession, Tables], Rows],
    task: Callable[[Rows], Job],
    session: SparkSession,
    tables: Tables,
) -> Job:
    return task(source(session, tables))


def _frame(session: SparkSession, tables: Tables) -> DataFrame:
    columns = [
        "CAST(p_retailprice AS DOUBLE) AS p_retailprice" if name == "p_retailprice" else name
        for name in pq.read_schema(tables["part"]).names
    ]
    frame = session.read.parquet(str(tables["part"])).selectExpr(*columns).repartition(2).cache()
    frame.count()
    return frame


def _collect(session: SparkSession, tables: Tables) -> Job:
    frame = _frame(session, tables).orderBy("p_partkey").cache()
    if session.conf.get("spark.sql.execution.arrow.pyspark.enabled") == "true":
        return lambda: [tuple(row) for row in frame.toPandas().itertuples(index=False, name=None)]
    return lambda: [tuple(row) for row in frame.collect()]


def _map(session: SparkSession, tables: Tables) -> Job:
    frame = _frame(session, tables)
    return lambda: [frame.rdd.map(lambda row: row.p_partkey + row.p_size).sum()]


def _udf(session: SparkSession, tables: Tables) -> Job:
    from pyspark.sql import functions

    frame = _frame(session, tables)
    text = functions.udf(lambda name, size: f"{name} {size}", "string")
    number = functions.udf(lambda key, size: key + size, "long")

    def job() -> Sequence[Any]:
        # Made anew: a frame that was collected before keeps what its first stage gave.
        found = frame.select(
            functions.max(text("p_name", "p_size")), functions.sum(number("p_partkey", "p_size"))
        )
        return [tuple(row) for row in found.collect()]

    return job


def _create(session: SparkSession, tables: Tables) -> Job:
    rows = Parts(tables["part"]).rows()
    names = [f"c{n}" for n in range(len(rows[0]))]

    def job() -> Sequence[Any]:
        if session.conf.get("spark.sql.execution.arrow.pyspark.enabled") == "true":
            import pandas as pd

            frame = session.createDataFrame(pd.DataFrame(rows, columns=names))
        else:
            frame = session.createDataFrame(rows, names)
        return [tuple(row) for row in frame.selectExpr("sum(c0)", "max(c1)", "count(c8)").collect()]

    return job


def _table(session: SparkSession, tables: Tables, name: str, *columns: str) -> RDD[Any]:
    read = pq.read_table(tables[name], columns=list(columns))
    rows = list(zip(*(column.to_pylist() for column in read.columns), strict=True))
    kept = session.sparkContext.parallelize(rows, 2).map(lambda row: row).cache()
    kept.count()
    return kept


def _group(session: SparkSession, tables: Tables) -> Job:
    items = _table(session, tables, "lineitem", "l_partkey", "l_quantity", "l_shipmode", "l_comment")

    def job() -> Sequence[Any]:
        sums = items.map(lambda row: ((row[2], row[0] % 1000), (row[1], 1)))
        return sums.reduceByKey(lambda a, b: (a[0] + b[0], a[1] + b[1])).sortByKey().collect()

    return job


def _joins(session: SparkSession, tables: Tables) -> Job:
    customers = _table(session, tables, "customer", "c_custkey", "c_name", "c_mktsegment")
    orders = _table(session, tables, "orders", "o_orderkey", "o_custkey", "o_orderdate", "o_orderpriority")
    items = _table(session, tables, "lineitem", "l_orderkey", "l_quantity", "l_shipmode")

    def job() -> Sequence[Any]:
        of_orders = orders.map(lambda row: (row[1], row)).join(customers.map(lambda row: (row[0], row[1:])))
        by_order = of_orders.map(lambda pair: (pair[1][0][0], (pair[1][0][2:], pair[1][1])))
        joined = by_order.join(items.map(lambda row: (row[0], row[1:])))
        counts = joined.map(lambda pair: ((pair[1][0][1][1], pair[1][0][0][1]), pair[1][1][0]))
        return counts.reduceByKey(lambda a, b: a + b).sortByKey().collect()

    return job


def _window(session: SparkSession, tables: Tables) -> Job:
    """Orders of a customer, each with the one before it and their running number."""
    orders = _table(session, tables, "orders", "o_custkey", "o_orderdate", "o_orderkey", "o_clerk")

    def windows(rows: Any) -> list[tuple[Any, ...]]:
        ordered = sorted(rows)
        return [(n, *row, ordered[n - 1][0] if n else None) for n, row in enumerate(ordered)]

    def job() -> Sequence[Any]:
        found = orders.map(lambda row: (row[0], row[1:])).groupByKey().flatMapValues(windows)
        return sorted(found.filter(lambda pair: pair[1][0] == 3).collect())

    return job


def _cases(
    make: Callable[[SparkSession, Tables], Job], tables: Sequence[str], hows: Sequence[str]
) -> Callable[[float], list[Case]]:
    def cases(scale: float) -> list[Case]:
        found = {name: _path(name, scale) for name in tables}
        return [
            Case(
                f"{line}, {how}",
                PySparkJob(make, found, how),
                python=python_of(line),
                warm_up=_WARM_UP if scale >= 1 else 0.0,
                against=f"{line}, {_PICKLE}",
            )
            for line in _LINES
            for how in hows
        ]

    return cases


def _path(name: str, scale: float) -> Path:
    table, _, kind = name.partition(", ")
    if table == _SMALLER:
        table, scale = _PART, min(scale, _SMALL)
    path = data.tpch(scale, [table])[table]
    return _text(scale, path) if kind else path


def _text(scale: float, part: Path) -> Path:
    """PART as TPC-H's own program writes it."""

    def write(folder: Path) -> None:
        with (folder / "part.tbl").open("w") as file:
            for row in Parts(part).rows():
                file.write("|".join(map(str, row)) + "|\n")

    return data.made(f"part-text-{scale}", write) / "part.tbl"


def _workload(
    name: str,
    about: str,
    make: Callable[[SparkSession, Tables], Job],
    times: float | None,
    *,
    tables: Sequence[str] = (_PART,),
    arrow: bool = False,
    runs: int = 7,
) -> Workload:
    """Args: `times`: how many times as fast it is to be with the codec."""
    hows = (_PICKLE, _ROWS, *((_ARROW,) if arrow else ()))
    most = 1.05 if times is None else 1 / times
    return Workload(
        name=f"pyspark-{name}",
        about=about,
        sizes=SIZES,
        unit="scale factor",
        systems=tuple(f"{line}, {how}" for line in _LINES for how in hows),
        goals=tuple(
            Goal(f"{line}, {_ROWS}", most, way="ratio", against=f"{line}, {_PICKLE}") for line in _LINES
        ),
        runs=runs,
        cases=_cases(make, tables, hows),
    )


_TASKS = {
    "sort": ("rows of PART sorted by key, and collected", _sort, 9),
    "lookup": ("one row of PART found by its key", _lookup, 25),
    "filter": ("a tenth of the rows of PART collected", _filter, 25),
    "combination": (
        "20,000 rows of PART joined with a hundredth of all, sorted, and collected on the way",
        _combination,
        9,
    ),
}

WORKLOADS = (
    *(
        _workload(
            f"{source}-{name}", f"{about}; rows {kind}", functools.partial(_task, _SOURCES[source], task), times,
            tables=tables, runs=runs,
        )
        for source, kind, times, tables in (
            ("text", "parsed from text", None, (f"{_PART}, text", f"{_SMALLER}, text")),
            ("cached", "cached", 1.5, (_PART, _SMALLER)),
        )
        for name, (about, task, runs) in _TASKS.items()
    ),
    _workload("collect", "a frame of PART to a list of rows", _collect, 2, arrow=True, runs=15),
    _workload("map", "a frame of PART as an RDD, mapped and summed", _map, 2, runs=15),
    _workload("udf", "two plain Python UDFs over PART", _udf, 2, arrow=True, runs=15),
    _workload("create", "a frame of PART of a list of tuples", _create, 2, arrow=True, runs=5),
    _workload("group", "lineitem summed by two keys, as an RDD", _group, 1.5, tables=("lineitem",), runs=5),
    _workload(
        "joins", "customer, orders and lineitem joined, as RDDs", _joins, 1.5,
        tables=("customer", "orders", "lineitem"), runs=3,
    ),
    _workload("window", "orders of each customer numbered, as an RDD", _window, 1.5, tables=("orders",), runs=5),
)  # fmt: skip
