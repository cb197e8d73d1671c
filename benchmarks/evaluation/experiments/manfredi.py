"""The experiments of "Faster Delta Lake operations using Rust"."""

from __future__ import annotations

from benchmarks.evaluation.experiment import Experiment, Point
from benchmarks.legacy import BATCHED

_TABLES = tuple(Point(size.upper(), f"legacy-{size}") for size in ("10k", "100k", "1m", "6m", "60m"))
_BY_SPARK = (
    "10K to 1M are TPC-H's supplier, 6M and 60M its lineitem, whose rows are others. "
    "HopsFS is Apache Hadoop's HDFS behind a front that speaks TLS. All of it is on one machine and shares its "
    "processors, where the thesis varies the client's alone, with Spark on a cluster of its own."
)

EXPERIMENTS = (
    Experiment(
        paper="manfredi-2024",
        name="write",
        about="A frame of pandas into a table: by Headrace in mutual TLS and locally; by Kafka and Spark into Hudi",
        points=_TABLES,
        systems={
            "write, hopsfs": "delta-rs HopsFS",
            "write, local": "delta-rs LocalFS",
            "write, hopsfs, cold": None,
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
        also=(
            ("write, hopsfs, cold", "legacy"),
            ("write, hopsfs", "legacy, warm"),
            ("write, hopsfs", f"legacy, warm, {BATCHED}"),
        ),
        said=f"{_BY_SPARK} That the thesis's pipeline starts Spark for each write, as the first comparison has "
        "it, is not in its text; beside it stand both from a cold start, and both warm. The thesis writes an "
        "Arrow table, here it is a frame of pandas; one of its two ways to take the time (listing 4.3) has the "
        "reading of that table from Parquet in it.",
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
            "read, Spark, cold": None,
        },
        ours="read, hopsfs",
        against="read, Spark",
        also=(("read, hopsfs", "read, Spark, cold"),),
        said=f"{_BY_SPARK} The thesis says that Spark reads, and not by which call: here it is a snapshot query "
        "of Spark 3.5 and toPandas by Arrow, in a session that is there, or in one that is started for it. The "
        "thesis reads to Arrow, which takes less than pandas' own types, as both have them here.",
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
            said=said,
        )
        for name, about, systems, ours, against, said in (
            (
                "upload",
                "The legacy pipeline's first part: rows as messages of Kafka in Avro, one by one or many at once",
                {"upload": "Legacy Spark", f"upload, {BATCHED}": None},
                f"upload, {BATCHED}",
                "upload",
                f"{_BY_SPARK} Many rows a message are not in the thesis.",
            ),
            (
                "materialise",
                "The legacy pipeline's second part: messages into a Hudi table by Spark, cold and warm",
                {
                    "materialise, cold": "Legacy Spark",
                    "materialise": None,
                    f"materialise, {BATCHED}": None,
                },
                "materialise",
                "materialise, cold",
                f"{_BY_SPARK} The thesis does not say whether Spark was started for it; beside it stands one that ran.",
            ),
        )
    ),
)
