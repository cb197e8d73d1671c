"""New values for one row in a hundred of a partitioned group, beside a merge that is told nothing of partitions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

import headrace as hr
from benchmarks import data
from benchmarks.runner import Run
from benchmarks.workload import Case, Goal, Workload

_GROUP = "days"
_DAYS = 100
_CHANGED_DAYS = (11, 47, 90)
_SHARE = 100
_KEYS = ("id", "ts")


@dataclasses.dataclass(frozen=True)
class Upsert:
    """By Headrace."""

    root: Path
    rows: Path

    @contextmanager
    def opened(self) -> Iterator[Run]:
        rows = pq.read_table(self.rows)
        with hr.connect(self.root) as store:
            group = store.get_feature_group(_GROUP)

            def run(_: int) -> pa.Table:
                done = group.insert(rows)
                return _told(done.rows_inserted, done.rows_updated)

            yield run


@dataclasses.dataclass(frozen=True)
class Merge:
    """By the Delta library, by the keys alone."""

    root: Path
    rows: Path

    @contextmanager
    def opened(self) -> Iterator[Run]:
        rows = pq.read_table(self.rows)
        with hr.connect(self.root) as store:
            table = DeltaTable(store.get_feature_group(_GROUP).location)

        def run(_: int) -> pa.Table:
            table.update_incremental()
            merger = table.merge(
                rows, " AND ".join(f"t.{key} = s.{key}" for key in _KEYS), source_alias="s", target_alias="t"
            )
            done = merger.when_matched_update_all().when_not_matched_insert_all().execute()
            return _told(done["num_target_rows_inserted"], done["num_target_rows_updated"])

        yield run


def _told(inserted: int | None, updated: int | None) -> pa.Table:
    return pa.table({"inserted": [inserted], "updated": [updated]})


def _cases(rows: float) -> list[Case]:
    count = int(rows)
    # The days lie side by side in time, and the changed ones far apart.
    columns = (
        "TIMESTAMPTZ '2025-01-01 00:00:00+00' + to_seconds((86400 * (i % {days}) + (hash(i) % 86400))::BIGINT) AS ts, "
        "(i % {days})::INTEGER AS day, (hash(i * {seed}) % 1000000) / 1e3 AS x, (hash(i * 7) % 1000)::INTEGER AS kind, "
        "'name ' || (hash(i * 13) % 10000) AS name"
    )
    whole = data.generated(
        f"upsert-{count}",
        f"SELECT i AS id, {columns.format(days=_DAYS, seed=3)} FROM range({count}) t(i) ORDER BY day",
    )
    days = ", ".join(map(str, _CHANGED_DAYS))
    changed = data.generated(
        f"upsert-{count}-changed",
        f"SELECT * FROM (SELECT i AS id, {columns.format(days=_DAYS, seed=5)} FROM range({count}) t(i)) "
        f"WHERE day IN ({days}) ORDER BY hash(id) LIMIT {count // _SHARE}",
    )

    def write(store: hr.FeatureStore) -> None:
        group = store.create_feature_group(_GROUP, primary_key=["id"], event_time="ts", partition_by=["day"])
        group.insert(data.streamed(whole))

    lake = data.lake(f"upsert-{count}", write)
    return [
        Case("merge", Merge(data.scratch(lake, "merge"), changed), fresh=True),
        Case("headrace", Upsert(data.scratch(lake, "headrace"), changed), fresh=True),
    ]


WORKLOADS = (
    Workload(
        name="upsert",
        about="1 % of 10 million rows, in 3 of 100 partitions, upserted",
        sizes={"full": 1e7, "small": 1e6, "smoke": 1e4},
        unit="rows",
        systems=("merge", "headrace"),
        goals=(
            Goal("headrace", 0.1, way="ratio", against="merge"),
            Goal("headrace", 0.3, "peak", way="ratio", against="merge"),
        ),
        runs=7,
        cases=_cases,
        baseline="merge",
    ),
)
