"""Tables that stay in PostgreSQL: read beside ADBC alone; joined, point in time, with tables of Delta and Hudi."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import adbc_driver_postgresql.dbapi as adbc
import pyarrow as pa

import headrace as hr
from benchmarks import data
from benchmarks.hudi import spark_table
from benchmarks.pit import TrainingData, features_of, lake_of
from benchmarks.postgresql import holding
from benchmarks.runner import Headrace, Run
from benchmarks.target import Embedded
from benchmarks.workload import Case, Goal, Workload

_VARIABLE = "BENCH_POSTGRESQL"
_SIZES = {"full": 1e6, "small": 1e5, "smoke": 1e4}
# The types that tables mostly have; decimals come from ADBC as texts, and are left out.
_ROWS = """
SELECT i AS id, TIMESTAMPTZ '2025-01-01 00:00:00+00' + to_seconds((hash(i) % 31536000)::BIGINT) AS ts,
       (hash(i * 7) % 1000000) / 1e3 AS a, (hash(i * 11) % 1000000) / 1e3 AS b, (hash(i * 13) % 1000)::INTEGER AS n,
       'name-' || (hash(i * 17) % 5000) AS s
FROM range({rows}) t(i)
"""


@dataclasses.dataclass(frozen=True)
class Adbc:
    """By the driver alone, on a connection that is open."""

    rows: Path

    @contextmanager
    def opened(self) -> Iterator[Run]:
        with holding("events", self.rows, "id") as uri, adbc.connect(uri) as connection:

            def run(_: int) -> pa.Table:
                with connection.cursor() as cursor:
                    cursor.execute("SELECT * FROM events")
                    found = cursor.fetch_arrow_table()
                connection.rollback()
                return found

            yield run


@dataclasses.dataclass(frozen=True)
class External:
    """As a feature group."""

    rows: Path

    @contextmanager
    def opened(self) -> Iterator[Run]:
        with (
            holding("events", self.rows, "id") as uri,
            tempfile.TemporaryDirectory() as lake,
            hr.connect(lake) as store,
        ):
            os.environ[_VARIABLE] = uri
            group = store.create_external_feature_group(
                "events", driver="postgresql", uri=f"env:{_VARIABLE}", table="events", primary_key=["id"]
            )
            yield lambda _: group.read().to_arrow()


@dataclasses.dataclass(frozen=True)
class Formats:
    """Features of a Hudi table and of one in PostgreSQL, for the rows of a Delta table."""

    lake: Path
    clicks: Path
    orders: Path

    @contextmanager
    def opened(self) -> Iterator[Run]:
        lake = data.scratch(self.lake, "formats")
        with holding("orders", self.orders, None) as uri, hr.connect(lake) as store:
            os.environ[_VARIABLE] = uri
            times = {"primary_key": ["k"], "event_time": "ts", "created_time": "created", "ttl": "30d"}
            clicks = store.register_feature_group("theirs_in_hudi", str(self.clicks), format="hudi", **times)
            orders = store.create_external_feature_group(
                "theirs_in_postgresql", driver="postgresql", uri=f"env:{_VARIABLE}", table="orders", **times
            )
            query = store.get_feature_group("labels").select("id", "k", "ts", "label")
            query = query.join(clicks.select("clicks_a", "clicks_b"), on="k")
            query = query.join(orders.select("orders_a", "orders_b"), on="k")
            yield lambda _: query.read().to_arrow()


def _scans(rows: float) -> list[Case]:
    path = data.generated(f"postgresql-{rows:g}", _ROWS.format(rows=int(rows)))
    return [Case("ADBC", Adbc(path)), Case("external group", External(path))]


def _formats(rows: float) -> list[Case]:
    root, _ = lake_of(int(rows))
    files = features_of(int(rows))
    clicks = spark_table(f"clicks-{rows:g}", "keyed", files["clicks"], "k,created")
    return [
        Case("one format", Headrace(Embedded(root), TrainingData())),
        Case("three formats", Formats(root, clicks, files["orders"])),
    ]


WORKLOADS = (
    Workload(
        name="postgresql-scan",
        about="a table of PostgreSQL to Arrow",
        sizes=_SIZES,
        unit="rows",
        systems=("ADBC", "external group"),
        goals=(Goal("external group", 1.1, way="ratio", against="ADBC"),),
        runs=15,
        cases=_scans,
        baseline="ADBC",
    ),
    Workload(
        name="pit-formats",
        about="rows with features of two groups as of 30 days, of one format and of three",
        sizes=_SIZES,
        unit="rows",
        systems=("one format", "three formats"),
        goals=(Goal("three formats", 1.5, way="ratio", against="one format"),),
        runs=15,
        cases=_formats,
        baseline="one format",
    ),
)
