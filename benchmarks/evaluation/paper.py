"""What the papers print: nothing is estimated, and nothing is read off a picture."""

from __future__ import annotations

import csv
import dataclasses
import functools
from pathlib import Path

from benchmarks.evaluation.experiment import Experiment

_FOLDER = Path(__file__).parent / "papers"


@dataclasses.dataclass(frozen=True)
class Figure:
    """One value.

    Args:
        size: as the paper names it; empty where the value is of no one size.
        cpus: processors that were used, where the paper varies them.
        unit: `s`, `bytes`, `MB/s`, `k rows/s`; `x`: times as fast as this system; `% less` time and `% more` rows a
            second: than with one processor; `% at most`: of the whole.
        high: the other end, where the paper prints a range.
        stdev: the standard deviation, where it is printed.
        where: in the paper.
        words: as it is printed, where that is not a number and this unit.
    """

    experiment: str
    system: str
    size: str
    cpus: int | None
    unit: str
    value: float
    high: float | None
    stdev: float | None
    where: str
    words: str = ""


@dataclasses.dataclass(frozen=True)
class Paper:
    """Args:
    machine: on which its figures were measured.
    not_reproduced: what of it is not measured here, and why, a sentence each.
    """

    key: str
    authors: str
    year: int
    title: str
    machine: str
    not_reproduced: tuple[str, ...] = ()

    @functools.cached_property
    def figures(self) -> tuple[Figure, ...]:
        with (_FOLDER / f"{self.key}.csv").open(newline="") as file:
            return tuple(_figure(row) for row in csv.DictReader(file))


def _figure(row: dict[str, str]) -> Figure:
    return Figure(
        experiment=row["experiment"],
        system=row["system"],
        size=row["size"],
        cpus=int(row["cpus"]) if row["cpus"] else None,
        unit=row["unit"],
        value=float(row["value"]),
        high=float(row["high"]) if row["high"] else None,
        stdev=float(row["stdev"]) if row["stdev"] else None,
        where=row["where"],
        words=row.get("words", ""),
    )


def figures_of(experiment: Experiment) -> list[Figure]:
    (paper,) = (paper for paper in PAPERS if paper.key == experiment.paper)
    return [figure for figure in paper.figures if figure.experiment == experiment.name]


PAPERS = (
    Paper(
        "manfredi-2024",
        "G. Manfredi",
        2024,
        "Faster Delta Lake operations using Rust: How Delta-rs beats Spark in a small scale Feature Store",
        "at most 8 processors of a virtualised AMD Ryzen Threadripper PRO 5955WX, up to 32 GB; Spark on a cluster",
        (
            "HopsFS itself, whose server is not to be had alone: a TLS front before Hadoop's HDFS stands in its place.",
            "4 and 8 processors, unless the machine has them: suite full pins to them.",
            "Processors of the client alone, as the thesis varies them: here all that takes part is pinned.",
            "Energy: seconds of processors for a million rows stand for it, as the thesis argues by them.",
        ),
    ),
    Paper(
        "hopsworks-2023",
        "T. Döhmen, J. Dowling, A. Khazanchi",
        2023,
        "Faster reading from the Lakehouse to Python with DuckDB/ArrowFlight",
        "not in the text",
        (
            "Databricks, SageMaker and Vertex, services of clouds: others stand beside Headrace, on the same machine.",
            "The times of its figures 4 to 6 and of its tables 1 to 3, which are pictures.",
        ),
    ),
    Paper(
        "alvarez-2021",
        "S. Alvarez Rodriguez, J. Chakraborty, A. Chu, I. Jimenez, J. LeFevre, C. Maltzahn, A. Uta",
        2021,
        "Zero-Cost, Arrow-Enabled Data Interface for Apache Spark",
        "8 executors and a driver of 16 cores (two Intel E5-2630v3) and 64 GB each, InfiniBand, data in memory",
        (
            "A cluster of eight nodes: Spark runs on one machine, on files in its memory.",
            "Its sizes, of 71 GB to 4.5 TB: suite full has 71 GB in E2, by links; the rest, for time, is smaller.",
            "All of its bars and curves, which are pictures: its text has one range and one factor.",
        ),
    ),
    Paper(
        "aoki-2021",
        "Y. Aoki, S. Watanabe",
        2021,
        "Integrated Architecture of SQL Engine and Data Analytics Tool with Apache Arrow Flight and Its Performance "
        "Evaluation",
        "a virtual machine of 4 processors (Intel Core i7-8665U) and 16 GB, CentOS 7.8",
        (
            "Presto and Dremio: servers of more than a gigabyte each, whose measure says little of what is here.",
            "The join whose result was kept, which the text does not show.",
        ),
    ),
    Paper(
        "tran-2021",
        "L.-N. Tran",
        2021,
        "Improving PySpark Performance with Cross-Language Optimization",
        "a laptop, Intel Core i7-9750H and 16 GB, Ubuntu 20.04",
        ("The thesis's own serializer, whose sources are not to be had: the row codec stands for it.",),
    ),
)
