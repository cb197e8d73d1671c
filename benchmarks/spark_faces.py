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

CODECS = ("none", "snappy", "gzip", "zstd")
_FACES = ("SQL", "Dataset", "RDD")
_FOUR = "four columns of integers in Parquet"


@dataclasses.dataclass(frozen=True)
class BySQL(SparkRead):
    """The same, by a query: of a path, or, where there is more to tell, of a view that each run makes anew."""

    @contextmanager
    def opened(self) -> Iterator[Run]:
        sums, source = ", ".join(self.sums), f"{self.source}.`{self.path}`"
        made = None
        if self.schema or self.options:
            told = ", ".join(f"{key} '{value}'" for key, value in {**self.options, "path": self.path}.items())
            schema, source = f"({self.schema})" if self.schema else "", "told"
            made = f"CREATE OR REPLACE TEMPORARY VIEW told {schema} USING {self.source} OPTIONS ({told})"
        with opened(self.settings) as session:

            def run(_: int) -> pa.Table:
                if made is not None:
                    session.sql(made)
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


def _both(theirs: str, face: Callable[[str], Face]) -> tuple[Face, Face]:
    """With a reader of Spark's, and with ours."""
    return face(theirs), face("arrow")


def _faces(
    file: Callable[[int, Path], Path],
    rows: int,
    folder: Path,
    settings: Mapping[str, str] = {},
    options: Mapping[str, str] = {},
) -> list[Case]:
    """Args:
    settings, options: of Spark's own reader, and of ours.
    """
    path, ours = file(rows, folder), dict(options)
    return _faced(
        {
            "SQL": (
                BySQL(path, "parquet", _SUM, settings=settings),
                BySQL(path, "arrow", _SUM, options=ours),
            ),
            "Dataset": (
                ByScala(path, "dataset", ("parquet", "", {}), settings),
                ByScala(path, "dataset", ("arrow", "", ours)),
            ),
            "RDD": (
                ByScala(path, "rdd", ("parquet", "", {}), settings),
                ByScala(path, "arrowRDD", (ours,)),
            ),
        }
    )


def _faces_csv(rows: int, folder: Path) -> list[Case]:
    path, told = spark_data.numbers_csv(rows, folder), (CSV_NUMBERS, CSV)
    return _faced(
        {
            "SQL": _both("csv", lambda source: BySQL(path, source, _SUM, *told)),
            "Dataset": _both("csv", lambda source: ByScala(path, "dataset", (source, *told))),
            "RDD": _both("csv", lambda source: ByScala(path, "rdd", (source, *told))),
        }
    )


def _faces_wide(width: int, rows: int, folder: Path) -> list[Case]:
    path, columns = spark_data.wide(max(WIDTHS), rows, folder), [f"c{i}" for i in range(width)]
    total = (f"sum({' + '.join(columns)})",)
    return _faced(
        {
            "SQL": _both("parquet", lambda source: BySQL(path, source, total)),
            "Dataset": _both("parquet", lambda source: ByScala(path, "someOfDataset", (source, columns))),
            "RDD": _both("parquet", lambda source: ByScala(path, "someOfRDD", (source, columns))),
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
            for codec in CODECS
        ),
        *(
            (
                f"-batches-{size}",
                f"{_FOUR}, in batches of {size:,} rows",
                20_000_000,
                functools.partial(
                    _faces,
                    spark_data.numbers,
                    settings={"spark.sql.parquet.columnarReaderBatchSize": str(size)},
                    options={"batchRows": str(size)},
                ),
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
