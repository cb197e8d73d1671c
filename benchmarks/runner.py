"""Runners: one system doing one job."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import duckdb
import pyarrow as pa

from benchmarks.checksum import Checksum

if TYPE_CHECKING:
    from deltalake import DeltaTable

    import headrace as hr

Answer: TypeAlias = pa.Table | Checksum
"""Rows; or, of rows that were streamed and are gone, what they held."""

Run = Callable[[int], Answer]
"""Does the job, and nothing but the job: this is what is timed. Takes the number of the run."""


@dataclasses.dataclass(frozen=True)
class Stage:
    """One run of a job around which something is done that is not timed.

    Args:
        job: nothing but the job.
        answer: what the job has given, or left behind.
    size: bytes of what it has made, where they are its point.
    """

    job: Callable[[], Any]
    answer: Callable[[Any], Answer]
    size: Callable[[Any], int] | None = None


@dataclasses.dataclass(frozen=True)
class Staged:
    """Does the job in a stage that is set anew for each run, by its number, and cleared afterwards."""

    stage: Callable[[int], AbstractContextManager[Stage]]


Tables = Callable[[str], "DeltaTable"]
"""A feature group's Delta table, opened anew, by the group's name."""


class Runner(Protocol):
    """Data alone, so that it can be sent to the process that opens it."""

    def opened(self) -> AbstractContextManager[Run | Staged]: ...


class HeadraceRead(Protocol):
    """A job on a lake, by Headrace's public API."""

    def headrace(self, store: hr.FeatureStore) -> Run: ...


class HandRead(Protocol):
    """A job on a lake, by SQL over its Parquet files."""

    def by_hand(self, connection: duckdb.DuckDBPyConnection, tables: Tables) -> Run: ...


class Read(HeadraceRead, HandRead, Protocol):
    """A job in both ways, which share nothing."""


class Target(Protocol):
    """A way to a lake."""

    def connected(self) -> AbstractContextManager[hr.FeatureStore]: ...


@dataclasses.dataclass(frozen=True)
class Headrace:
    """Headrace, by a way of its own."""

    target: Target
    read: HeadraceRead

    @contextlib.contextmanager
    def opened(self) -> Iterator[Run]:
        with self.target.connected() as store:
            yield self.read.headrace(store)


@dataclasses.dataclass(frozen=True)
class ByHand:
    """DuckDB in the process, with SQL written by hand over the Parquet files of the lake.

    Args:
        config: DuckDB's settings; its defaults are what a user of DuckDB has.
    """

    root: Path
    read: HandRead
    config: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @contextlib.contextmanager
    def opened(self) -> Iterator[Run]:
        with duckdb.connect(config=dict(self.config)) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            yield self.read.by_hand(connection, self._table)

    def _table(self, group: str) -> DeltaTable:
        from deltalake import DeltaTable

        import headrace as hr

        with hr.connect(self.root) as store:
            return DeltaTable(str(self.root / store.get_feature_group(group).location))


def relation(table: DeltaTable) -> str:
    """SQL for the rows of a Delta table without deletion vectors and partitions."""
    paths = ", ".join("'" + uri.replace("'", "''") + "'" for uri in table.file_uris())
    return f"read_parquet([{paths}])"
