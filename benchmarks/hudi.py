"""Hudi tables that Spark wrote: read beside DuckDB, which is told the files by hand, and hudi-rs; listed; pruned."""

from __future__ import annotations

import dataclasses
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa

import headrace as hr
from benchmarks import data
from benchmarks.process import CaseFailed
from benchmarks.runner import Run, Stage, Staged
from benchmarks.spark import PYTHON
from benchmarks.workload import Case, Goal, Workload
from headrace.formats.hudi import HudiTable
from headrace.storage.folder import Folder

ROOT = Path(__file__).parent.parent
_NARROW = ("l_orderkey", "l_quantity", "l_extendedprice", "l_discount")
_ALL = (
    "l_orderkey", "l_partkey", "l_suppkey", "l_linenumber", "l_quantity", "l_extendedprice", "l_discount", "l_tax",
    "l_returnflag", "l_linestatus", "l_shipdate", "l_commitdate", "l_receiptdate", "l_shipinstruct", "l_shipmode",
    "l_comment",
)  # fmt: skip
_COMMITS = 12
_LOG_SHOWN = 4_000
_PARTITIONS = 2_000
_DAYS = 100


@dataclasses.dataclass(frozen=True)
class Headrace:
    """As a feature group; rows of one partition alone, where one is named."""

    table: Path
    columns: tuple[str, ...]
    key: str
    day: str | None = None

    @contextmanager
    def opened(self) -> Iterator[Run]:
        with tempfile.TemporaryDirectory() as lake, hr.connect(lake) as store:
            group = store.register_feature_group("t", str(self.table), format="hudi", primary_key=[self.key])
            wanted = None if self.day is None else group["day"] == self.day
            yield lambda _: group.read(self.columns, wanted).to_arrow()


@dataclasses.dataclass(frozen=True)
class ByHand:
    """By DuckDB; each file is of the newest snapshot."""

    table: Path
    columns: tuple[str, ...]

    @contextmanager
    def opened(self) -> Iterator[Run]:
        paths = ", ".join(map(data.quoted, sorted(self.table.rglob("*.parquet"))))
        query = f"SELECT {', '.join(self.columns)} FROM read_parquet([{paths}], hive_partitioning=false)"
        with duckdb.connect() as connection:
            yield lambda _: connection.sql(query).to_arrow_table()


@dataclasses.dataclass(frozen=True)
class HudiRs:
    """By hudi-rs, as a stream, which is its quickest way."""

    table: Path
    columns: tuple[str, ...]

    @contextmanager
    def opened(self) -> Iterator[Run]:
        from hudi import HudiReadOptions, HudiTableBuilder

        table = HudiTableBuilder.from_base_uri(str(self.table)).build()
        options = HudiReadOptions().with_projection(list(self.columns))

        def run(_: int) -> pa.Table:
            return pa.Table.from_batches([pa.record_batch(batch) for batch in table.read_stream(options)])

        yield run


@dataclasses.dataclass(frozen=True)
class Listing:
    """What is read of a table for its newest snapshot: as for the first time, or once it has one commit more."""

    table: Path
    anew: bool

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        timeline = self.table / ".hoodie" / "timeline"
        later = sorted(path.name for path in timeline.iterdir() if path.suffix == ".commit")[-_COMMITS:]
        aside = self.table.parent / "aside"
        aside.mkdir(exist_ok=True)
        for name in later:
            (timeline / name).rename(aside / name)
        known = HudiTable(Folder.local(str(self.table)))
        known.newest()

        @contextmanager
        def stage(number: int) -> Iterator[Stage]:
            table = HudiTable(Folder.local(str(self.table))) if self.anew else known
            if not self.anew:
                if number >= len(later):
                    raise CaseFailed(f"the table has {len(later)} commits, so for {len(later) - 1} rounds")
                name = later[number]
                (aside / name).rename(timeline / name)
            yield Stage(table.newest, lambda found: pa.table({"files": [found.files.num_rows]}))

        try:
            yield Staged(stage)
        finally:
            for name in later:
                if (aside / name).exists():
                    (aside / name).rename(timeline / name)


def spark_table(name: str, *told: object) -> Path:
    """Written by Spark."""

    def generate(folder: Path) -> None:
        program = ROOT / "benchmarks" / "hudi_spark.py"
        command = [PYTHON, program, told[0], folder / "table", *told[1:]]
        try:
            done = subprocess.run(
                [str(part) for part in command],
                check=False,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        except FileNotFoundError:
            raise CaseFailed(
                f"a table of Hudi is written by {PYTHON}, which is not there: make bench installs it"
            ) from None
        if done.returncode:
            raise CaseFailed(f"Spark did not write {folder.name}, it said:\n{done.stdout[-_LOG_SHOWN:]}")

    return data.made(f"hudi-{name}", generate) / "table"


def _scans(columns: tuple[str, ...], scale: float) -> list[Case]:
    table = spark_table(f"lineitem-sf{scale:g}", "lineitem", data.tpch(scale, ["lineitem"])["lineitem"])
    return [
        Case("by hand", ByHand(table, columns)),
        Case("hudi-rs", HudiRs(table, columns)),
        Case("headrace", Headrace(table, columns, "l_orderkey")),
    ]


def _listings(partitions: float) -> list[Case]:
    table = spark_table(f"days-{partitions:g}", "days", int(partitions), 2 * int(partitions), _COMMITS)
    return [
        Case("first", Listing(data.scratch(table.parent, "first") / "table", anew=True)),
        Case("after a commit", Listing(data.scratch(table.parent, "after") / "table", anew=False)),
    ]


def _pruned(rows: float) -> list[Case]:
    table = spark_table(f"rows-{rows:g}", "days", _DAYS, int(rows), 0)
    columns = ("id", "value")
    return [
        Case("all", Headrace(table, columns, "id"), answer="all"),
        Case("1 partition of 100", Headrace(table, columns, "id", "7"), answer="one"),
    ]


_SIZES = {"full": 1.0, "small": 0.1, "smoke": 0.01}
_SYSTEMS = ("by hand", "hudi-rs", "headrace")
_GOALS = (
    Goal("headrace", 1.1, way="ratio", against="by hand"),
    Goal("headrace", 1.0, way="ratio", against="hudi-rs"),
)


WORKLOADS = (
    Workload(
        name="hudi-scan",
        about="all of lineitem, a Hudi table in 7 partitions",
        sizes=_SIZES,
        unit="scale factor",
        systems=_SYSTEMS,
        goals=_GOALS,
        runs=11,
        cases=lambda scale: _scans(_ALL, scale),
        baseline="by hand",
    ),
    Workload(
        name="hudi-narrow",
        about="4 columns of lineitem, a Hudi table in 7 partitions",
        sizes=_SIZES,
        unit="scale factor",
        systems=_SYSTEMS,
        goals=_GOALS,
        runs=11,
        cases=lambda scale: _scans(_NARROW, scale),
        baseline="by hand",
    ),
    Workload(
        name="hudi-listing",
        about="what is read of a Hudi table's files before its rows, and again after a commit to 3 partitions",
        sizes={"full": _PARTITIONS, "small": 200, "smoke": 40},
        unit="partitions",
        systems=("first", "after a commit"),
        goals=(Goal("after a commit", 0.02, way="ratio", against="first"),),
        runs=11,
        cases=_listings,
        baseline="first",
    ),
    Workload(
        name="hudi-partition",
        about="one partition of 100 of a Hudi table",
        sizes={"full": 1e7, "small": 1e6, "smoke": 1e4},
        unit="rows",
        systems=("all", "1 partition of 100"),
        goals=(Goal("1 partition of 100", 0.05, way="ratio", against="all"),),
        runs=11,
        cases=_pruned,
        baseline="all",
    ),
)
