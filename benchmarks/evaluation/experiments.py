"""The experiments of the five papers."""

from __future__ import annotations

from benchmarks.evaluation.experiment import Experiment, Point, Unit
from benchmarks.fraud import STEPS
from benchmarks.legacy import BATCHED

_PART_ROWS = 200_000
"""Rows of PART at scale factor 1."""


def _parts(workload: str) -> tuple[Point, ...]:
    return tuple(Point(f"SF {scale}", workload, scale) for scale in (1, 2, 4, 8))


def _on_a_jvm(workload: str) -> tuple[Point, ...]:
    """A run of these does its job as often as gives two million rows."""
    return tuple(
        Point(f"SF {scale}", workload, scale, times=2_000_000 / _PART_ROWS / scale) for scale in (1, 2, 4, 8)
    )


_TASKS = ("sort", "lookup", "filter", "combination")
_IN_PYTHON = {
    "headrace": "JitBuilder serializer",
    "pickle, a row": "pickle",
    "BSON": "BSON",
    "protobuf": "protobuf",
    "headrace, plain": None,
    "pickle, 100 rows": None,
    "msgspec": None,
    "ormsgpack": None,
    "Fory": None,
    "pyarrow": None,
}
_OF_PYTHON: tuple[tuple[str, Unit, str, str], ...] = (
    ("size", "bytes", "codec-encode", "Bytes of the rows of PART"),
    ("python-write", "s", "codec-encode", "Rows of PART to bytes, in Python"),
    ("python-read", "s", "codec-decode", "Rows of PART from bytes, in Python"),
)
_IN_LISTS = (
    "The thesis pickles row by row; lists of 100 rows, as PySpark has them, are faster, and stand beside."
)
_ONE_MACHINE = "One machine in place of eight, and files that its memory holds."

_TABLES = tuple(Point(size.upper(), f"legacy-{size}") for size in ("10k", "100k", "1m", "6m", "60m"))
_BY_SPARK = "HopsFS is Apache Hadoop's HDFS behind a front that speaks TLS; Spark is on the same machine."

_MANFREDI = (
    Experiment(
        paper="manfredi-2024",
        name="write",
        about="A frame of pandas into a table: by Headrace in mutual TLS and locally; by Kafka and Spark into Hudi",
        points=_TABLES,
        systems={
            "write, hopsfs": "delta-rs HopsFS",
            "write, local": "delta-rs LocalFS",
            "legacy": "Legacy Spark",
            "legacy, warm": None,
            f"legacy, warm, {BATCHED}": None,
        },
        sums={
            "legacy": ("upload", "materialise, cold"),
            "legacy, warm": ("upload", "materialise"),
            f"legacy, warm, {BATCHED}": (f"upload, {BATCHED}", f"materialise, {BATCHED}"),
        },
        ours="write, hopsfs",
        against="legacy",
        said=f"{_BY_SPARK} The legacy pipeline is cold where its materialisation starts Spark, which takes it longest.",
    ),
    Experiment(
        paper="manfredi-2024",
        name="read",
        about="A table to a frame of pandas: by Headrace in mutual TLS and locally; from Hudi by Spark",
        points=_TABLES,
        systems={
            "read, hopsfs": "delta-rs HopsFS",
            "read, local": "delta-rs LocalFS",
            "read, Spark": "Legacy Spark",
        },
        ours="read, hopsfs",
        against="read, Spark",
        said=f"{_BY_SPARK} What reads Hudi is not in the text; here a session of Spark does, by Arrow.",
    ),
    *(
        Experiment(
            paper="manfredi-2024",
            name=f"write, {name}",
            about=about,
            points=_TABLES,
            systems=systems,
            ours=ours,
            against=against,
            said="What is set beside the thesis's way is not in it.",
        )
        for name, about, systems, ours, against in (
            (
                "upload",
                "The legacy pipeline's first part: rows as messages of Kafka in Avro, one by one or many at once",
                {"upload": "Legacy Spark", f"upload, {BATCHED}": None},
                f"upload, {BATCHED}",
                "upload",
            ),
            (
                "materialize",
                "The legacy pipeline's second part: messages into a Hudi table by Spark, cold and warm",
                {
                    "materialise, cold": "Legacy Spark",
                    "materialise": None,
                    f"materialise, {BATCHED}": None,
                },
                "materialise",
                "materialise, cold",
            ),
        )
    ),
)

_TRIPS = tuple(Point(f"{millions} M rows", "taxi", millions * 1e6) for millions in (5, 10, 20, 50))
_CLOUDS = (
    "The paper's rivals are feature stores of clouds, which cannot be had here, and its times are in pictures alone. "
    "Trips are made ones of the NYC taxis' schema, with a key before it."
)

_HOPSWORKS = (
    Experiment(
        paper="hopsworks-2023",
        name="read",
        about="Trips of New York's taxis to a frame of pandas",
        points=_TRIPS,
        systems={
            "Headrace, Delta": None,
            "Headrace, Hudi": None,
            "Headrace, Arrow types": None,
            "DuckDB, in process": None,
            "Spark, Delta": "feature stores of clouds",
            "Spark, Hudi": None,
            "Spark, as rows": None,
            "Spark Connect": None,
            "PostgreSQL, pyodbc": None,
            "PostgreSQL, arrow-odbc": None,
            "PostgreSQL, psycopg": None,
            "PostgreSQL, ADBC": None,
            "Feast, remote": None,
            "ROAPI": None,
        },
        ours="Headrace, Hudi",
        against="Spark, Delta",
        said=f"{_CLOUDS} Feast reads without the join that its own API would begin with.",
    ),
    Experiment(
        paper="hopsworks-2023",
        name="training data as files",
        about="Trips written to Parquet files, as a training dataset",
        points=tuple(Point(point.name, "taxi-files", point.scale) for point in _TRIPS),
        systems={
            "Headrace, Delta": None,
            "Headrace, Hudi": None,
            "DuckDB, in process": None,
            "Spark, Delta": None,
            "Spark, Hudi": None,
        },
        ours="Headrace, Hudi",
        against="Spark, Hudi",
        said=_CLOUDS,
    ),
    Experiment(
        paper="hopsworks-2023",
        name="training dataset",
        about="A training dataset in files, read back to a frame of pandas",
        points=tuple(Point(point.name, "taxi-dataset", point.scale) for point in _TRIPS),
        systems={
            "Headrace, Parquet": "ArrowFlight with DuckDB",
            "Headrace, Arrow": None,
            "pq.read_table": None,
            "Spark": "Spark",
        },
        ours="Headrace, Parquet",
        against="Spark",
        said="The paper's dataset is that of its tutorial, whose size it does not tell; here it is trips.",
    ),
    Experiment(
        paper="hopsworks-2023",
        name="fraud tutorial",
        about="A tutorial from end to end: payments, a training dataset, a model, and its answers",
        points=(Point("100 K payments", "fraud"),),
        systems={
            "Headrace": "ArrowFlight with DuckDB",
            "Spark": "Spark",
            **{f"{step}, {system}": None for step in STEPS for system in ("Headrace", "Spark")},
            "train": None,
        },
        sums={
            system: (*(f"{step}, {system}" for step in STEPS), "train") for system in ("Headrace", "Spark")
        },
        ours="Headrace",
        against="Spark",
        said="The paper's is Hopsworks' own tutorial; here it is one of the same steps, with made payments.",
        whole=False,
    ),
    Experiment(
        paper="hopsworks-2023",
        name="conversion",
        about="3 numeric and 2 string columns of training data to pandas, beside Arrow alone",
        points=(Point("50 M rows", "conversion"),),
        systems={
            "Arrow": None,
            "pandas, Arrow types": None,
            "pandas, its own types": "default types",
        },
        ours="pandas, Arrow types",
        against="pandas, its own types",
        said="The paper says of default types that they cost less than a tenth of the whole. Texts of pandas 3 are "
        "Arrow's by default, which those of the paper's day were not.",
    ),
)

_ALVAREZ = (
    Experiment(
        paper="alvarez-2021",
        name="batches",
        about="E1: Parquet in batches of several sizes",
        points=(Point("20 M rows", "spark-batches"),),
        systems=dict.fromkeys(("default", "1,024 rows", "8,192 rows", "131,072 rows", "1,048,576 rows")),
        ours="default",
        against="1,024 rows",
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
            systems={"Arrow": None, "Spark": "Spark"},
            ours="Arrow",
            against="Spark",
            said=_ONE_MACHINE,
            boxes=True,
            whole=False,
        )
        for name, about, points in (
            (
                "sizes",
                "E2: Parquet of several sizes",
                (
                    *(
                        Point(f"{rows:,} rows", "spark-parquet", rows)
                        for rows in (2_000_000, 8_000_000, 20_000_000)
                    ),
                    Point("200,000,000 rows, by links", "spark-links"),
                ),
            ),
            (
                "csv",
                "E3: CSV",
                tuple(Point(f"{rows:,} rows", "spark-csv", rows) for rows in (1_000_000, 10_000_000)),
            ),
            (
                "compression",
                "E4: Parquet, compressed",
                tuple(
                    Point(codec, workload)
                    for codec, workload in (
                        ("none", "spark-parquet"),
                        ("snappy", "spark-snappy"),
                        ("gzip", "spark-gzip"),
                        ("zstd", "spark-zstd"),
                    )
                ),
            ),
            (
                "projection",
                "E5: some of 100 columns of Parquet",
                tuple(Point(f"{width} columns", f"spark-{width}-of-100") for width in (1, 10, 50, 100)),
            ),
        )
    ),
    *(
        Experiment(
            paper="alvarez-2021",
            name=face,
            about=f"Parquet, by Spark's {face}",
            points=(Point("10 M rows", "spark-faces"),),
            systems={f"Arrow, {face}": None, f"Spark, {face}": "Spark"},
            ours=f"Arrow, {face}",
            against=f"Spark, {face}",
            said="The paper says of these that the conclusions were similar.",
            boxes=True,
            whole=False,
        )
        for face in ("SQL", "Dataset", "RDD")
    ),
)

_AOKI = (
    Experiment(
        paper="aoki-2021",
        name="transfer",
        about="Rows from an engine to pandas",
        points=tuple(
            Point(name, "transfer", megabytes)
            for name, megabytes in (("130 MB", 130), ("520 MB", 520), ("2.6 GB", 2_600))
        ),
        systems={
            "Headrace": "Dremio, Arrow Flight",
            "PostgreSQL, pyodbc": "PostgreSQL, Presto and Dremio by ODBC",
            "PostgreSQL, arrow-odbc": None,
            "PostgreSQL, ADBC": None,
            "Spark, Thrift": None,
        },
        ours="Headrace",
        against="PostgreSQL, pyodbc",
        said="The paper's table is not in its text; this one is lineitem. Presto and Dremio are not reproduced.",
        unit="MB/s",
    ),
    Experiment(
        paper="aoki-2021",
        name="cached join",
        about="A join asked for again, its result kept",
        points=(Point("SF 1", "cache-join"),),
        systems={"kept, sent": None, "kept, mapped": None, "computed": "cache off"},
        ours="kept, sent",
        against="computed",
        said="The paper's join is not in its text; this one is lineitem with orders.",
    ),
)

_TRAN = (
    *(
        Experiment(
            paper="tran-2021",
            name=name,
            about=about,
            points=_parts(workload),
            systems=_IN_PYTHON,
            ours="headrace",
            against="pickle, a row",
            said=_IN_LISTS,
            unit=unit,
        )
        for name, unit, workload, about in _OF_PYTHON
    ),
    *(
        Experiment(
            paper="tran-2021",
            name=name,
            about=about,
            points=_on_a_jvm(workload),
            systems={
                "row codec": "JitBuilder serializer",
                "pyrolite, a row": "pickle",
                "BSON, a row": "BSON",
                "protobuf, a row": "protobuf",
                "pyrolite, 100 rows": None,
            },
            ours="row codec",
            against="pyrolite, a row",
            said=_IN_LISTS,
        )
        for name, workload, about in (
            ("jvm-write", "codec-jvm-write", "Rows of PART to bytes, on a JVM"),
            ("jvm-read", "codec-jvm-read", "Rows of PART from bytes, on a JVM"),
            ("python-to-jvm", "codec-to-jvm", "Rows of PART from Python to a JVM"),
            ("jvm-to-python", "codec-from-jvm", "Rows of PART from a JVM to Python"),
        )
    ),
    *(
        Experiment(
            paper="tran-2021",
            name=f"pyspark-{task}",
            about=f"PySpark: {task} over PART, parsed from text",
            points=_parts(f"pyspark-text-{task}"),
            systems={
                "3.5, rows": "Modified PySpark",
                "3.5, pickle": "Original PySpark",
                "4.1, rows": None,
                "4.1, pickle": None,
            },
            ours="3.5, rows",
            against="3.5, pickle",
            said="The thesis changed Spark's sources; here nothing of Spark is rebuilt.",
            whole=False,
        )
        for task in _TASKS
    ),
    Experiment(
        paper="tran-2021",
        name="pyspark, cached",
        about="PySpark: the same over rows that are cached",
        points=tuple(Point(task, f"pyspark-cached-{task}") for task in _TASKS),
        systems=dict.fromkeys(("3.5, rows", "3.5, pickle", "4.1, rows", "4.1, pickle")),
        ours="3.5, rows",
        against="3.5, pickle",
        said="Not in the thesis, whose tasks parse their rows from text for most of their time.",
        whole=False,
    ),
)

EXPERIMENTS: tuple[Experiment, ...] = (*_MANFREDI, *_HOPSWORKS, *_ALVAREZ, *_AOKI, *_TRAN)
