"""The same files by other ways into Spark than a DataFrame: by SQL, as a Dataset, and as an RDD.

Source: "Zero-Cost, Arrow-Enabled Data Interface for Apache Spark", experiments E1 to E5.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks import spark_data
from benchmarks.runner import Run
from benchmarks.spark import (
    BATCHES,
    CSV,
    CSV_NUMBERS,
    FACES,
    OURS,
    PYTHON,
    THEIRS,
    WIDTHS,
    SparkRead,
    opened,
    summed,
    workload,
)
from benchmarks.workload import Case, Goal

_FACES = ("SQL", "Dataset", "RDD")
_FOUR = "four columns of integers in Parquet"


@dataclasses.dataclass(frozen=True)
class BySQL(SparkRead):
    """The same, by a query: of a path, or, where there is more to tell, of a view that each run makes anew."""

    @contextmanager
    def opened(self) -> Iterator[Run]:
        sums, source = ", ".join(self.sums), f"{self.source}.`{self.path}`"
        made: list[str] = []
        if self.schema or self.options:
            told = ", ".join(f"{key} '{value}'" for key, value in {**self.options, "path": self.path}.items())
            schema, source = f"({self.schema})" if self.schema else "", "told"
            made = [
                f"CREATE OR REPLACE TEMPORARY VIEW told {schema} USING {self.source} OPTIONS ({told})",
            ]
        with opened(self.settings) as session:

            def run(_: int) -> pa.Table:
                for statement in made:
                    session.sql(statement)
                return summed(session.sql(f"SELECT {sums} FROM {source}"), ("*",))

            yield run


@dataclasses.dataclass(frozen=True)
class ByScala:
    """One sum over values, as objects of a class, in Scala.

    Args:
        function: of `headrace.spark.Faces`.
        told: arguments before the path.
        settings: of the session.
    """

    path: Path
    function: str
    told: tuple[Any, ...] = ()
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @contextmanager
    def opened(self) -> Iterator[Run]:
        with opened({"spark.jars": str(FACES), **self.settings}) as session:
            function = getattr(session._jvm.headrace.spark.Faces, self.function)
            yield lambda _: pa.table({"c0": [function(session._jsparkSession, *self.told, str(self.path))]})


Face = BySQL | ByScala
_SUM = (f"sum({' + '.join(spark_data.NUMBERS)})",)


def _faced(faces: Mapping[str, tuple[Face, Face]]) -> list[Case]:
    """Args:
    faces: by name: with Spark's own reader, and with ours.
    """
    return [
        Case(f"{reader}, {face}", runner, python=PYTHON, against=f"{THEIRS}, {face}")
        for face, both in faces.items()
        for reader, runner in zip((THEIRS, OURS), both, strict=True)
    ]


def _faces(file: Callable[[int, Path], Path], rows: int, folder: Path) -> list[Case]:
    path = file(rows, folder)
    return _faced(
        {
            "SQL": (BySQL(path, "parquet", _SUM), BySQL(path, "arrow", _SUM)),
            "Dataset": (
                ByScala(path, "dataset", ("parquet", "", {})),
                ByScala(path, "dataset", ("arrow", "", {})),
            ),
            "RDD": (ByScala(path, "rdd", ("parquet", "", {})), ByScala(path, "arrowRDD", ({},))),
        }
    )


def _faces_batches(size: int, rows: int, folder: Path) -> list[Case]:
    path = spark_data.numbers(rows, folder)
    theirs = {"spark.sql.parquet.columnarReaderBatchSize": str(size)}
    ours = {"batchRows": str(size)}
    return _faced(
        {
            "SQL": (
                BySQL(path, "parquet", _SUM, settings=theirs),
                BySQL(path, "arrow", _SUM, options=ours),
            ),
            "Dataset": (
                ByScala(path, "dataset", ("parquet", "", {}), theirs),
                ByScala(path, "dataset", ("arrow", "", ours)),
            ),
            "RDD": (
                ByScala(path, "rdd", ("parquet", "", {}), theirs),
                ByScala(path, "arrowRDD", (ours,)),
            ),
        }
    )


def _faces_csv(rows: int, folder: Path) -> list[Case]:
    path = spark_data.numbers_csv(rows, folder)

    def both(function: str) -> tuple[ByScala, ByScala]:
        theirs, ours = (
            ByScala(path, function, (source, CSV_NUMBERS, dict(CSV))) for source in ("csv", "arrow")
        )
        return theirs, ours

    return _faced(
        {
            "SQL": (
                BySQL(path, "csv", _SUM, CSV_NUMBERS, CSV),
                BySQL(path, "arrow", _SUM, CSV_NUMBERS, CSV),
            ),
            "Dataset": both("dataset"),
            "RDD": both("rdd"),
        }
    )


def _faces_wide(width: int, rows: int, folder: Path) -> list[Case]:
    path, columns = spark_data.wide(max(WIDTHS), rows, folder), [f"c{i}" for i in range(width)]
    total = (f"sum({' + '.join(columns)})",)

    def both(function: str) -> tuple[ByScala, ByScala]:
        theirs, ours = (ByScala(path, function, (source, columns)) for source in ("parquet", "arrow"))
        return theirs, ours

    return _faced(
        {
            "SQL": (BySQL(path, "parquet", total), BySQL(path, "arrow", total)),
            "Dataset": both("someOfDataset"),
            "RDD": both("someOfRDD"),
        }
    )


WORKLOADS = tuple(
    workload(
        f"faces{name}",
        f"{about}, by SQL, as a Dataset and as an RDD",
        rows,
        make,
        tuple(Goal(f"{OURS}, {face}", 1.0, way="ratio", against=f"{THEIRS}, {face}") for face in _FACES),
        tuple(f"{reader}, {face}" for face in _FACES for reader in (THEIRS, OURS)),
    )
    for name, about, rows, make in (
        ("", f"{_FOUR}, uncompressed", 10_000_000, functools.partial(_faces, spark_data.numbers)),
        *(
            (
                f"-{codec}",
                f"{_FOUR}, {codec}",
                8_000_000,
                functools.partial(_faces, functools.partial(spark_data.compressed, codec)),
            )
            for codec in ("none", "snappy", "gzip", "zstd")
        ),
        *(
            (
                f"-batches-{size}",
                f"{_FOUR}, in batches of {size:,} rows",
                20_000_000,
                functools.partial(_faces_batches, size),
            )
            for size in BATCHES
        ),
        ("-csv", "four columns of integers in CSV, their schema given", 10_000_000, _faces_csv),
        *(
            (
                f"-{width}-of-100",
                f"{width} of 100 columns of integers in Parquet",
                1_000_000,
                functools.partial(_faces_wide, width),
            )
            for width in WIDTHS
        ),
    )
)
