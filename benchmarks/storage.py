"""Tables written and read whole where they lie in HDFS, HopsFS or S3, beside a folder of this machine."""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import headrace as hr
from benchmarks import data
from benchmarks.checksum import Checksum, checksum
from benchmarks.runner import Answer, Run, Runner, Stage, Staged
from benchmarks.servers import Lake, running_lakes
from benchmarks.tpch import KEYS
from benchmarks.workload import Case, Goal, Workload

_SUMMED = ("l_orderkey", "l_partkey", "l_suppkey", "l_linenumber")
_GROUP = "rows"
_GIGABYTE = 1_000_000_000


@dataclasses.dataclass(frozen=True)
class Source:
    """The rows themselves."""

    path: Path

    @contextlib.contextmanager
    def opened(self) -> Iterator[Run]:
        yield lambda _: checksum(data.streamed(self.path))


@dataclasses.dataclass(frozen=True)
class Write:
    """A table in memory, inserted into a new group of a new store. What is there then is read back, untimed."""

    lake: Lake
    path: Path
    keys: Sequence[str]

    @contextlib.contextmanager
    def opened(self) -> Iterator[Staged]:
        _warm_up()
        yield Staged(self._stage)

    def _rows(self) -> pa.Table | pa.RecordBatchReader:
        return pq.read_table(self.path)

    def _insert(self, group: hr.FeatureGroup, rows: pa.Table | pa.RecordBatchReader) -> None:
        group.insert(rows)

    @contextlib.contextmanager
    def _stage(self, number: int) -> Iterator[Stage]:
        rows, name = self._rows(), f"written_{number}"
        with self.lake.connected() as store:
            group = store.create_feature_group(name, primary_key=list(self.keys))
            yield Stage(lambda: self._insert(group, rows), lambda _: checksum(group.read().to_reader()))
            store.delete_feature_group(name, 1)


@dataclasses.dataclass(frozen=True)
class StreamedWrite(Write):
    """The same of a table that is read from its file meanwhile, and never in memory as a whole."""

    def _rows(self) -> pa.RecordBatchReader:
        return data.streamed(self.path)

    def _insert(self, group: hr.FeatureGroup, rows: pa.Table | pa.RecordBatchReader) -> None:
        group.insert(rows, mode="append")


@dataclasses.dataclass(frozen=True)
class Read:
    """A group of a new store, which knows nothing of the table's log and files yet, to an Arrow table."""

    lake: Lake

    @contextlib.contextmanager
    def opened(self) -> Iterator[Staged]:
        _warm_up()
        yield Staged(self._stage)

    def _take(self, found: hr.Result) -> Any:
        return found.to_arrow()

    def _answer(self, taken: Any) -> Answer:
        answer: Answer = taken
        return answer

    @contextlib.contextmanager
    def _stage(self, _: int) -> Iterator[Stage]:
        with self.lake.connected() as store:
            group = store.get_feature_group(_GROUP)
            yield Stage(lambda: self._take(group.read()), self._answer)


@dataclasses.dataclass(frozen=True)
class StreamedRead(Read):
    """The same, batch by batch, of which nothing is kept but sums of whole numbers."""

    def _take(self, found: hr.Result) -> Checksum:
        rows = total = 0
        with found.to_reader() as reader:
            for batch in reader:
                rows += batch.num_rows
                total += sum(pc.sum(batch[name]).as_py() for name in _SUMMED)
        return Checksum(_SUMMED, rows, total % 2**64)


@dataclasses.dataclass(frozen=True)
class SourceSums:
    """What `StreamedRead` must find, by DuckDB."""

    path: Path

    @contextlib.contextmanager
    def opened(self) -> Iterator[Run]:
        sums = " + ".join(f"sum({name})" for name in _SUMMED)
        query = f"SELECT count(*), {sums} FROM read_parquet({data.quoted(self.path)})"

        def run(_: int) -> Checksum:
            ((rows, total),) = duckdb.sql(query).fetchall()
            return Checksum(_SUMMED, rows, int(total) % 2**64)

        yield run


def pair(op: str, place: str, runner: Runner, lake: Lake, *, against: str, **more: Any) -> Case:
    return Case(f"{op}, {place}", runner, against=f"{op}, {against}", servers=lake.servers, **more)


def _warm_up() -> None:
    """Load what the first insert and the first read load: some cases' processes do their job once."""
    with tempfile.TemporaryDirectory() as folder, hr.connect(folder) as store:
        group = store.create_feature_group(_GROUP, primary_key=["id"])
        group.insert([{"id": 1}])
        group.read().to_arrow()


def fill(lake: Lake, path: Path, keys: Sequence[str]) -> None:
    """Have the rows of a file in a group that `Read` finds."""
    with lake.connected() as store:
        store.create_feature_group(_GROUP, primary_key=list(keys)).insert(data.streamed(path), mode="append")


@contextlib.contextmanager
def _cases(table: str, fresh: bool, scale: float) -> Iterator[list[Case]]:
    path, keys = data.tpch(scale, [table])[table], KEYS[table]
    with running_lakes(s3=True) as lakes:
        assert lakes.s3 is not None
        places = {"local": lakes.local, "hdfs": lakes.hdfs, "hopsfs": lakes.hopsfs, "s3": lakes.s3}
        for lake in places.values():
            fill(lake, path, keys)
        writes = [
            pair("write", name, Write(lake, path, keys), lake, against="local", fresh=fresh)
            for name, lake in places.items()
        ]
        reads = [
            pair("read", name, Read(lake), lake, against="local", fresh=fresh)
            for name, lake in places.items()
        ]
        yield [Case("source", Source(path), role="reference"), *writes, *reads]


@contextlib.contextmanager
def _large_cases(scale: float) -> Iterator[list[Case]]:
    path, keys = data.tpch(scale, ["lineitem"])["lineitem"], KEYS["lineitem"]
    with running_lakes() as lakes:
        places = {"local": lakes.local, "hdfs": lakes.hdfs}
        for lake in places.values():
            fill(lake, path, keys)
        streamed: dict[str, Any] = {"against": "local", "fresh": True}
        yield [
            Case("source", Source(path), answer="written", role="reference"),
            Case("sums of the source", SourceSums(path), answer="read", role="reference"),
            *(
                pair("write", name, StreamedWrite(lake, path, keys), lake, answer="written", **streamed)
                for name, lake in places.items()
            ),
            *(
                pair("read", name, StreamedRead(lake), lake, answer="read", **streamed)
                for name, lake in places.items()
            ),
        ]


def _workload(
    name: str, rows: str, table: str, scale: float, write: float, read: float, runs: int
) -> Workload:
    large = table == "lineitem"
    return Workload(
        name=f"storage-{name}",
        about=f"{rows} rows of {table}, written into a new group and read whole by a new store",
        sizes={"full": scale, "small": scale / 10, "smoke": 0.01},
        unit="scale factor",
        systems=tuple(
            f"{op}, {place}" for op in ("write", "read") for place in ("local", "hdfs", "hopsfs", "s3")
        ),
        goals=(
            Goal("write, hdfs", write, way="ratio", against="write, local"),
            Goal("read, hdfs", read, way="ratio", against="read, local"),
        ),
        runs=runs,
        # Whoever has written a large table once keeps its memory: too much for all to stay.
        cases=lambda scale: _cases(table, large, scale),
    )


WORKLOADS = (
    _workload("10k", "10 thousand", "supplier", 1.0, write=12, read=5, runs=15),
    _workload("100k", "100 thousand", "supplier", 10.0, write=4, read=1.5, runs=15),
    _workload("1m", "1 million", "supplier", 100.0, write=1.3, read=1.25, runs=9),
    _workload("6m", "6 million", "lineitem", 1.0, write=1.15, read=1.15, runs=7),
    Workload(
        name="storage-large",
        about="60 million rows of lineitem, written as a stream and read as one; sums of four columns are taken",
        sizes={"full": 10.0, "small": 1.0, "smoke": 0.01},
        unit="scale factor",
        systems=("write, local", "write, hdfs", "read, local", "read, hdfs"),
        goals=(
            Goal("write, hdfs", 1.15, way="ratio", against="write, local"),
            Goal("read, hdfs", 1.15, way="ratio", against="read, local"),
            Goal("write, hdfs", 4 * _GIGABYTE, "peak"),
            Goal("read, hdfs", 4 * _GIGABYTE, "peak"),
        ),
        runs=3,
        cases=_large_cases,
    ),
)
