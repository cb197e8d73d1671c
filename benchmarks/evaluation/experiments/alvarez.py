"""The experiments of "Zero-Cost, Arrow-Enabled Data Interface for Apache Spark"."""

from __future__ import annotations

from benchmarks.evaluation.experiment import Experiment, Point
from benchmarks.spark import BATCHES, WIDTHS
from benchmarks.spark_faces import CODECS

_ONE_MACHINE = (
    "One machine in place of eight, files in its memory, most of them a thousand times smaller, and sums in place "
    "of counts of rows: Spark answers a count without reading. Sessions are warmed up for ten seconds, where the paper "
    "leaves out the first run."
)

_BATCHES = tuple(f"{rows:,} rows" for rows in BATCHES)


def _columns(number: int) -> str:
    return f"{number} column{'' if number == 1 else 's'}"


EXPERIMENTS = (
    Experiment(
        paper="alvarez-2021",
        name="batches",
        about="E1: Parquet in batches of several sizes, by both readers",
        points=(Point("20 M rows", "spark-batches"),),
        systems={
            **dict.fromkeys(("default", *_BATCHES), "Arrow-Spark"),
            **dict.fromkeys(("Spark", *(f"Spark, {size}" for size in _BATCHES)), "Spark"),
        },
        ours="default",
        against="Spark",
        also=tuple((size, f"Spark, {size}") for size in _BATCHES),
        said=_ONE_MACHINE,
        boxes=True,
        whole=False,
    ),
    *(
        Experiment(
            paper="alvarez-2021",
            name=name,
            about=about,
            points=points,
            systems={"Arrow": "Arrow-Spark", "Spark": None if name == "compression" else "Spark"},
            ours="Arrow",
            against="Spark",
            said=f"{_ONE_MACHINE} {said}",
            kinds=name in ("compression", "projection"),
            boxes=True,
            whole=False,
        )
        for name, about, said, points in (
            (
                "sizes",
                "E2: Parquet of several sizes",
                "",
                (
                    *(
                        Point(f"{rows:,} rows", "spark-parquet", rows)
                        for rows in (2_000_000, 8_000_000, 20_000_000)
                    ),
                    Point("200,000,000 rows, by links", "spark-links"),
                    Point("71 GB, by links", "spark-links", 2_220_000_000),
                ),
            ),
            (
                "csv",
                "E3: CSV of four columns of integers",
                "The schema is given to both.",
                tuple(Point(f"{rows:,} rows", "spark-csv-numbers", rows) for rows in (1_000_000, 10_000_000)),
            ),
            (
                "compression",
                "E4: Parquet, compressed",
                "Spark's own reader, and zstd, are not in the paper's.",
                tuple(Point(codec, f"spark-{codec}") for codec in CODECS),
            ),
            (
                "projection",
                "E5: some of 100 columns of Parquet",
                "",
                tuple(Point(_columns(width), f"spark-{width}-of-100") for width in WIDTHS),
            ),
        )
    ),
    *(
        Experiment(
            paper="alvarez-2021",
            name=face,
            about=f"E1 to E5 by Spark's {face}",
            points=(
                Point("E2: 2 M rows", "spark-faces", 2_000_000),
                Point("E2: 10 M rows", "spark-faces"),
                *(Point(f"E1: by {size:,} rows", f"spark-faces-batches-{size}") for size in BATCHES),
                Point("E3: CSV", "spark-faces-csv"),
                *(Point(f"E4: {codec}", f"spark-faces-{codec}") for codec in CODECS),
                *(Point(f"E5: {_columns(width)}", f"spark-faces-{width}-of-100") for width in WIDTHS),
            ),
            systems={f"Arrow, {face}": "Arrow-Spark", f"Spark, {face}": "Spark"},
            ours=f"Arrow, {face}",
            against=f"Spark, {face}",
            said=f"{_ONE_MACHINE} The paper says of these that the conclusions were similar.",
            kinds=True,
            boxes=True,
            whole=False,
        )
        for face in ("SQL", "Dataset", "RDD")
    ),
    Experiment(
        paper="alvarez-2021",
        name="pyspark",
        about="Parquet into Spark by way of pandas in Python, and by the Arrow data source",
        points=(Point("2 M rows", "spark-bridge"),),
        systems={"Arrow": "Arrow-Spark", "pandas": "PySpark with pyarrow"},
        ours="Arrow",
        against="pandas",
        said="The paper's programs and sizes are not in its text. Here pandas' frame is given to Spark row by "
        "row, as Spark does it unless its Arrow switch is on.",
        boxes=True,
        whole=False,
    ),
)
