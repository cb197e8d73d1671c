"""Files read into Spark: by the Arrow data source, and by Spark's own readers.

Source: "Zero-Cost, Arrow-Enabled Data Interface for Apache Spark", experiments E1 to E5.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from benchmarks import data, spark_data
from benchmarks.runner import Run
from benchmarks.workload import Case, Goal, Workload

sys.path.append(str(Path(__file__).parent.parent / "tests"))  # whose sessions are as quick

from spark.quick import CLASSPATH, classpath

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROOT = Path(__file__).parent.parent
FACES = _ROOT / "spark-plugin" / "target" / "faces.jar"
_JAVA = "HEADRACE_BENCH_JAVA"
"""Environment variable: options of Spark's JVMs, in which `{prefix}` is the folder of the environment."""


def python_of(line: str) -> str:
    """The Python in whose environment a line of Spark is."""
    return str(_ROOT / ".spark" / line / "bin" / "python")


PYTHON = python_of("3.5")


def java(prefix: str | Path = sys.prefix) -> str:
    """Options for the JVMs of an environment's sessions and servers."""
    return os.environ.get(_JAVA, "").format(prefix=prefix)


SETTINGS = {
    "spark.driver.extraJavaOptions": java(),
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    "spark.sql.session.timeZone": "UTC",
}
THEIRS, OURS, _DEFAULT = "Spark", "Arrow", "default"


@contextmanager
def opened(settings: Mapping[str, str] = {}) -> Iterator[SparkSession]:
    """A session on this machine's processors, with the Arrow data source."""
    import headrace.spark

    os.environ[CLASSPATH] = classpath()
    with kept(headrace.spark.session(master="local[*]", config=SETTINGS | dict(settings))) as session:
        yield session


@contextmanager
def kept(session: SparkSession) -> Iterator[SparkSession]:
    """A session until it is stopped at the end."""
    session.sparkContext.setLogLevel("ERROR")
    try:
        yield session
    finally:
        session.stop()


@dataclasses.dataclass(frozen=True)
class SparkRead:
    """Sums over files, so that every value is looked at and hardly anything leaves Spark.

    Args:
        source: the name of a reader of Spark.
        sums: expressions of SQL.
        settings: of the session.
    """

    path: Path
    source: str
    sums: tuple[str, ...]
    schema: str | None = None
    options: Mapping[str, str] = dataclasses.field(default_factory=dict)
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @contextmanager
    def opened(self) -> Iterator[Run]:
        with opened(self.settings) as session:
            yield lambda _: summed(self._frame(session), self.sums)

    def _frame(self, session: SparkSession) -> DataFrame:
        reader = session.read.format(self.source).options(**self.options)
        return (reader if self.schema is None else reader.schema(self.schema)).load(str(self.path))


@dataclasses.dataclass(frozen=True)
class Inferred(SparkRead):
    """The schema alone, which is inferred from the files."""

    @contextmanager
    def opened(self) -> Iterator[Run]:
        with opened() as session:
            yield lambda _: pa.table({"types": [self._frame(session).schema.simpleString()]})


@dataclasses.dataclass(frozen=True)
class Bridge:
    """The naive way: files read in Python, turned into pandas, and given to Spark row by row."""

    path: Path
    sums: tuple[str, ...]

    @contextmanager
    def opened(self) -> Iterator[Run]:
        import pyarrow.parquet as pq

        with opened() as session:
            yield lambda _: summed(session.createDataFrame(pq.read_table(self.path).to_pandas()), self.sums)


def summed(frame: DataFrame, sums: Sequence[str]) -> pa.Table:
    (row,) = frame.selectExpr(*sums).collect()
    return pa.table({f"c{i}": [_plain(value)] for i, value in enumerate(row)})


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float) else str(value)


_NUMBERS = tuple(f"sum({name})" for name in spark_data.NUMBERS)
_CODECS = {"none": 1.25, "dictionary-snappy": 1.25, "snappy": 1.0, "gzip": 1.1, "zstd": 1.1}
WIDTHS = (1, 10, 50, 100)
BATCHES = (1_024, 8_192, 131_072, 1_048_576)
_TYPES = {
    "strings": ("sum(length(a))", "max(a)", "sum(crc32(b))"),
    "decimals": ("sum(small)", "sum(middle)", "sum(large)"),
    "dates": ("sum(datediff(day, DATE'2000-01-01'))", "sum(unix_micros(moment) % 1000003)"),
    "nested": ("sum(size(list))", "sum(list[0])", "sum(deep.a)", "sum(length(deep.b))"),
}
WARM_UP = 10.0
"""Seconds for which a JVM compiles."""
CSV = {"header": "true"}
CSV_NUMBERS = ", ".join(f"{name} BIGINT" for name in spark_data.NUMBERS)

Make = Callable[[int, Path], Sequence[Case]]
"""Cases over so many rows, which lie in a folder."""


def workload(
    name: str,
    about: str,
    rows: int,
    make: Make,
    goals: tuple[Goal, ...],
    systems: tuple[str, ...] = (THEIRS, OURS),
    runs: int = 7,
) -> Workload:
    @contextmanager
    def cases(scale: float) -> Iterator[Sequence[Case]]:
        warm_up = WARM_UP if scale >= 1_000_000 else 0.0
        with data.in_memory() as folder:
            yield [dataclasses.replace(case, warm_up=warm_up) for case in make(int(scale), folder)]

    return Workload(
        name=f"spark-{name}",
        about=about,
        sizes={"full": rows, "small": rows / 10, "smoke": 1_000},
        unit="rows",
        systems=systems,
        goals=goals,
        runs=runs,
        cases=cases,
        baseline=systems[0] if len(systems) == 2 else None,
    )


def _parquet(
    name: str, about: str, rows: int, file: Callable[[int, Path], Path], sums: tuple[str, ...], faster: float
) -> Workload:
    """One file, read by both; `faster` is the goal, in times Spark's own reader."""

    def cases(size: int, folder: Path) -> list[Case]:
        path = file(size, folder)
        return [
            _case(THEIRS, SparkRead(path, "parquet", sums)),
            _case(OURS, SparkRead(path, "arrow", sums)),
        ]

    return workload(name, about, rows, cases, _faster(faster))


def _case(name: str, runner: SparkRead | Bridge) -> Case:
    return Case(name, runner, python=PYTHON)


def _faster(times: float) -> tuple[Goal, ...]:
    return (Goal(OURS, round(1 / times, 3), way="ratio", against=THEIRS),)


def _batches(rows: int, folder: Path) -> list[Case]:
    path = spark_data.numbers(rows, folder)
    cases = [_case(_DEFAULT, SparkRead(path, "arrow", _NUMBERS))]
    for size in BATCHES:
        asked = {"batchRows": str(size)}
        cases.append(_case(f"{size:,} rows", SparkRead(path, "arrow", _NUMBERS, options=asked)))
    cases.append(_case(THEIRS, SparkRead(path, "parquet", _NUMBERS)))
    for size in BATCHES:
        asked = {"spark.sql.parquet.columnarReaderBatchSize": str(size)}
        cases.append(_case(f"{THEIRS}, {size:,} rows", SparkRead(path, "parquet", _NUMBERS, settings=asked)))
    return cases


def _csv(path: Path, schema: str, sums: tuple[str, ...]) -> list[Case]:
    return [
        _case(THEIRS, SparkRead(path, "csv", sums, schema, CSV)),
        _case(OURS, SparkRead(path, "arrow", sums, schema, CSV)),
    ]


def _csv_lines(rows: int, folder: Path) -> list[Case]:
    sums = ("sum(a)", "sum(b)", "sum(length(text))", "sum(datediff(day, DATE'2000-01-01'))")
    return _csv(spark_data.csv(rows, folder), spark_data.CSV_SCHEMA, sums)


def _csv_numbers(rows: int, folder: Path) -> list[Case]:
    return _csv(spark_data.numbers_csv(rows, folder), CSV_NUMBERS, _NUMBERS)


def _csv_schema(rows: int, folder: Path) -> list[Case]:
    path, options = spark_data.csv(rows, folder), CSV | {"inferSchema": "true"}
    return [
        _case(THEIRS, Inferred(path, "csv", (), options=options)),
        _case(OURS, Inferred(path, "arrow", (), options=options)),
    ]


def _bridge(rows: int, folder: Path) -> list[Case]:
    path = spark_data.numbers(rows, folder)
    return [_case("pandas", Bridge(path, _NUMBERS)), _case(OURS, SparkRead(path, "arrow", _NUMBERS))]


WORKLOADS = (
    _parquet(
        "parquet",
        "four columns of integers in Parquet, uncompressed, summed in Spark",
        20_000_000,
        spark_data.numbers,
        _NUMBERS,
        1.25,
    ),
    _parquet(
        "links",
        "hard links to a file of four columns of integers in Parquet, summed in Spark",
        200_000_000,
        spark_data.linked,
        _NUMBERS,
        1.25,
    ),
    *(
        _parquet(
            codec,
            f"four columns of integers below a million in Parquet, {codec}, summed in Spark",
            8_000_000,
            functools.partial(spark_data.compressed, codec),
            _NUMBERS,
            faster,
        )
        for codec, faster in _CODECS.items()
    ),
    *(
        _parquet(
            f"{width}-of-100",
            f"{width} of 100 columns of integers in Parquet, summed in Spark",
            1_000_000,
            functools.partial(spark_data.wide, max(WIDTHS)),
            tuple(f"sum(c{i})" for i in range(width)),
            1.0,
        )
        for width in WIDTHS
    ),
    *(
        _parquet(
            kind,
            f"columns of {kind} in Parquet, summed in Spark",
            4_000_000,
            functools.partial(spark_data.typed, kind),
            sums,
            1.0,
        )
        for kind, sums in _TYPES.items()
    ),
    workload(
        "batches",
        "four columns of integers in Parquet, in batches of 1 K to 1 M rows",
        20_000_000,
        _batches,
        tuple(Goal(_DEFAULT, 1.05, way="ratio", against=f"{size:,} rows") for size in BATCHES),
        (
            *(_DEFAULT, *(f"{size:,} rows" for size in BATCHES)),
            *(THEIRS, *(f"{THEIRS}, {size:,} rows" for size in BATCHES)),
        ),
    ),
    workload(
        "csv",
        "an integer, a double, a text and a date in CSV, their schema given, summed in Spark",
        10_000_000,
        _csv_lines,
        _faster(4.5),
        runs=5,
    ),
    workload(
        "csv-numbers",
        "four columns of integers in CSV, their schema given, summed in Spark",
        10_000_000,
        _csv_numbers,
        _faster(4.5),
        runs=5,
    ),
    workload("csv-schema", "the schema of the same, inferred", 10_000_000, _csv_schema, (), runs=5),
    workload(
        "bridge",
        "four columns of integers in Parquet: by way of pandas, and by the Arrow data source",
        2_000_000,
        _bridge,
        (Goal(OURS, 0.05, way="ratio", against="pandas"),),
        ("pandas", OURS),
        runs=5,
    ),
)
