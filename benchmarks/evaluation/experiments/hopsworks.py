"""The experiments of "Faster reading from the Lakehouse to Python with DuckDB/ArrowFlight"."""

from __future__ import annotations

from benchmarks.evaluation.experiment import Experiment, Point
from benchmarks.fraud import LOAD, STEPS

_TRIPS = tuple(Point(f"{millions} M rows", "taxi", millions * 1e6) for millions in (5, 10, 20, 50))
_CLOUDS = (
    "The paper's rivals are feature stores of clouds, which cannot be had here; its times are in pictures alone, "
    "and its 8 to 45 times are of the throughput of all its benchmarks together. Trips are made ones of the NYC "
    "taxis' schema, with a key before it, unless HEADRACE_TAXI_FILES named files of the TLC."
)

EXPERIMENTS = (
    Experiment(
        paper="hopsworks-2023",
        name="read",
        about="Trips of New York's taxis to a frame of pandas",
        points=_TRIPS,
        systems={
            "Headrace, Delta": None,
            "Headrace, Hudi": "ArrowFlight with DuckDB",
            "Headrace, Arrow types": None,
            "DuckDB, in process": None,
            "Spark, Delta": None,
            "Spark, Hudi": None,
            "Spark, as rows": None,
            "Spark Connect": None,
            "PostgreSQL, pyodbc": None,
            "PostgreSQL, arrow-odbc": None,
            "PostgreSQL, psycopg": None,
            "PostgreSQL, ADBC": None,
            "Feast, remote": None,
            "ROAPI": None,
            "ROAPI, in memory": None,
        },
        ours="Headrace, Hudi",
        against="Spark, Hudi",
        also=tuple(
            ("Headrace, Delta", rival)
            for rival in (
                *("Spark, Delta", "Spark Connect", "PostgreSQL, pyodbc", "PostgreSQL, ADBC"),
                *("Feast, remote", "ROAPI", "ROAPI, in memory", "DuckDB, in process"),
            )
        ),
        said=f"{_CLOUDS} Feast reads without the join that its own API would begin with. Spark without Arrow is left "
        "out above 5 M rows, for which its memory is not enough. Each read is the second of its process, for which a "
        "JVM has compiled what the first one let it.",
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
        also=(("Headrace, Delta", "Spark, Delta"), ("Headrace, Delta", "DuckDB, in process")),
        said=_CLOUDS,
    ),
    Experiment(
        paper="hopsworks-2023",
        name="training dataset",
        about="A training dataset in files, read back to a frame of pandas",
        points=tuple(Point(point.name, "taxi-dataset", point.scale) for point in _TRIPS),
        systems={
            "Headrace, Parquet": None,
            "Headrace, Arrow": None,
            "pq.read_table": None,
            "Spark": None,
        },
        ours="Headrace, Parquet",
        against="Spark",
        also=(("Headrace, Parquet", "pq.read_table"),),
        said="The paper's figures of this are in a picture; the two that its text prints stand with its tutorial.",
    ),
    Experiment(
        paper="hopsworks-2023",
        name="fraud tutorial",
        about="A tutorial from end to end: payments, a training dataset, a model, and its answers",
        points=(Point("100 K payments", "fraud"),),
        systems={
            "Headrace": "ArrowFlight with DuckDB",
            "Spark": "Spark",
            **{
                f"{step}, {system}": f"{name}, loading the dataset" if step == LOAD else None
                for step in STEPS
                for system, name in (("Headrace", "ArrowFlight with DuckDB"), ("Spark", "Spark"))
            },
            "train": None,
        },
        also=((f"{LOAD}, Headrace", f"{LOAD}, Spark"),),
        sums={
            system: (*(f"{step}, {system}" for step in STEPS), "train") for system in ("Headrace", "Spark")
        },
        ours="Headrace",
        against="Spark",
        said="The paper's is Hopsworks' own tutorial, whose size and steps are not in its text; here it is one "
        "of made payments, and Spark's session has done all of it before, for half a minute. Spark joins by a "
        "condition on times and takes the newest by a window: it has no join as of a time. Of 4.6 minutes and less "
        "than 16 seconds the ratio is 17 at least.",
        whole=False,
    ),
    Experiment(
        paper="hopsworks-2023",
        name="conversion",
        about="The share of turning 3 numeric and 2 string columns into pandas, of reading them as training data",
        points=(Point("50 M rows", "conversion"),),
        systems={"pandas, Arrow types": None, "pandas, its own types": "default types"},
        ours="pandas, Arrow types",
        against="pandas, its own types",
        unit="%",
        beyond="Arrow",
        said="The share is what the read takes longer than one that stops at Arrow, in a process that has read "
        "before and has its memory. The paper says of default types that they cost less than a tenth of the whole. "
        "Texts of pandas 3 are Arrow's by default, which those of the paper's day were not.",
    ),
)
