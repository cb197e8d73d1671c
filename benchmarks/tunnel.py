"""deltalake itself, on HDFS: straight to the NameNode, through Headrace's tunnel, and through it in mutual TLS.

TLS ends at a front, a process before the NameNode that HopsFS has not: `proxied` is straight to one, without TLS.
"""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

from benchmarks import data
from benchmarks.checksum import checksum
from benchmarks.runner import Stage, Staged
from benchmarks.servers import Lake, running_lakes
from benchmarks.storage import Source, pair
from benchmarks.workload import Case, Goal, Workload

Op = Literal["write", "read"]
_PLACES = ("local", "direct", "proxied", "tunnel", "tls")
_TABLE = "plain"


@dataclasses.dataclass(frozen=True)
class Delta:
    """A table in memory written to a new Delta table, or one opened and read; connections are new each time.

    Args:
        lake: with its tables in a folder beside Headrace's.
        tunnel: reached through Headrace's; its connections to the NameNode are opened by the job, as they are without.
    """

    op: Op
    lake: Lake
    path: Path
    tunnel: bool

    @contextlib.contextmanager
    def opened(self) -> Iterator[Staged]:
        with tempfile.TemporaryDirectory() as folder:  # what the first calls load is loaded
            write_deltalake(folder, pa.table({"id": [1]}))
            DeltaTable(folder).to_pyarrow_table()
        yield Staged(self._written if self.op == "write" else self._read)

    def fill(self) -> None:
        with self._reached() as (uri, options):
            write_deltalake(f"{uri}/{_TABLE}", pq.read_table(self.path), storage_options=options)

    @contextlib.contextmanager
    def _written(self, number: int) -> Iterator[Stage]:
        rows = pq.read_table(self.path)
        with self._reached() as (folder, options):
            uri = f"{folder}/written-{'tunnel' if self.tunnel else 'direct'}-{number}"

            def table() -> DeltaTable:
                return DeltaTable(uri, storage_options=options)

            yield Stage(
                lambda: write_deltalake(uri, rows, storage_options=options, mode="overwrite"),
                lambda _: checksum(table().to_pyarrow_table()),
            )
            table().delete()
            table().vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)

    @contextlib.contextmanager
    def _read(self, _: int) -> Iterator[Stage]:
        with self._reached() as (folder, options):
            uri = f"{folder}/{_TABLE}"
            yield Stage(
                lambda: DeltaTable(uri, storage_options=options).to_pyarrow_table(), lambda answer: answer
            )

    @contextlib.contextmanager
    def _reached(self) -> Iterator[tuple[str, dict[str, str]]]:
        if self.tunnel:
            with self.lake.through_tunnel() as found:
                yield found
        else:
            yield self.lake.uri, dict(self.lake.options)


@contextlib.contextmanager
def _cases(table: str, scale: float) -> Iterator[list[Case]]:
    path = data.tpch(scale, [table])[table]
    fresh = table == "lineitem"
    with running_lakes() as lakes:
        ways = {
            "local": (lakes.local, False),
            "direct": (lakes.hdfs, False),
            "proxied": (lakes.proxied, False),
            "tunnel": (lakes.hdfs, True),
            "tls": (lakes.hopsfs, True),
        }
        for lake, tunnel in (ways["local"], ways["direct"], ways["proxied"], ways["tls"]):
            Delta("read", lake, path, tunnel).fill()
        ops: tuple[Op, ...] = ("write", "read")
        yield [
            Case("source", Source(path), role="reference"),
            *(
                pair(op, name, Delta(op, lake, path, tunnel), lake, against="direct", fresh=fresh)
                for op in ops
                for name, (lake, tunnel) in ways.items()
            ),
        ]


def _workload(name: str, rows: str, table: str, scale: float, runs: int) -> Workload:
    ops = ("write", "read")
    return Workload(
        name=f"tunnel-{name}",
        about=f"{rows} rows of {table} on HDFS by deltalake alone: directly, by our tunnel, by it in mutual TLS",
        sizes={"full": scale, "small": scale / 10, "smoke": 0.01},
        unit="scale factor",
        systems=tuple(f"{op}, {place}" for op in ops for place in _PLACES),
        goals=tuple(
            Goal(f"{op}, {place}", 1.1, way="ratio", against=f"{op}, direct")
            for op in ops
            for place in ("tunnel", "tls")
        ),
        runs=runs,
        cases=lambda scale: _cases(table, scale),
    )


WORKLOADS = (
    _workload("10k", "10 thousand", "supplier", 1.0, runs=15),
    _workload("100k", "100 thousand", "supplier", 10.0, runs=15),
    _workload("1m", "1 million", "supplier", 100.0, runs=9),
    _workload("6m", "6 million", "lineitem", 1.0, runs=7),
)
