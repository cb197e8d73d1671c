"""The data of the workloads, generated once: source tables as Parquet, and lakes that hold them."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import itertools
import os
import shutil
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import headrace as hr
from benchmarks.machine import MEMORY, package_digest

DATA = Path(os.environ.get("HEADRACE_BENCH_DATA", Path(__file__).parent / "data"))
"""Another folder may be one in memory, such as one of a tmpfs."""
_UNFINISHED = ".unfinished"
_NEW_SECONDS = 60.0
"""In which a folder may not be held yet by who made it."""


def tpch(scale: float, tables: Sequence[str]) -> dict[str, Path]:
    """TPC-H tables by name, as Parquet files made by tpchgen-cli."""
    command = Path(sysconfig.get_path("scripts")) / "tpchgen-cli"

    def generate(folder: Path) -> None:
        arguments = [
            "--scale-factor",
            f"{scale:g}",
            "--tables",
            ",".join(tables),
            "--output-dir",
            str(folder),
        ]
        subprocess.run([command, "parquet", *arguments, "--quiet"], check=True)

    folder = _once(DATA / f"tpch-{'-'.join(sorted(tables))}-sf{scale:g}", generate)
    return {table: folder / f"{table}.parquet" for table in tables}


def generated(name: str, query: str) -> Path:
    """A Parquet file with the rows of a DuckDB query, which must not depend on chance. Another query, another file."""

    def generate(folder: Path) -> None:
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute(f"COPY ({query}) TO {quoted(folder / 'rows.parquet')}")

    digest = hashlib.sha256(query.encode()).hexdigest()[:8]
    return _once(DATA / f"{name}-{digest}", generate) / "rows.parquet"


def quoted(path: Path | str) -> str:
    """For SQL."""
    return "'" + str(path).replace("'", "''") + "'"


def made(name: str, generate: Callable[[Path], None], within: Path = DATA) -> Path:
    """A folder that others' programs write."""
    return _once(within / name, generate)


@contextlib.contextmanager
def in_memory() -> Iterator[Path]:
    """A folder in the machine's memory, where there is one, or else on its disk; it is gone at the end."""
    with temporary("headrace-bench-", MEMORY if MEMORY.is_dir() else None) as folder:
        yield folder


@contextlib.contextmanager
def temporary(prefix: str, within: Path | None = None) -> Iterator[Path]:
    """An empty folder that is gone at the end, beside the data unless it is said where.

    Those of processes that were killed are removed, too: nobody holds them any more.
    """
    within = within or DATA
    within.mkdir(parents=True, exist_ok=True)
    for left in within.glob(f"{prefix}*"):
        with contextlib.suppress(OSError), held(left):
            if time.time() - left.stat().st_mtime > _NEW_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=within) as folder, held(Path(folder), wait=True):
        yield Path(folder)


@contextlib.contextmanager
def held(folder: Path, wait: bool = False) -> Iterator[None]:
    """Raises OSError if another process holds it, unless it is waited for."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(file)


def lake(name: str, write: Callable[[hr.FeatureStore], None]) -> Path:
    """A lake that this version of Headrace wrote; another version, another lake."""

    def generate(folder: Path) -> None:
        with hr.connect(folder) as store:
            write(store)

    path = DATA / "lakes" / name / package_digest()
    for old in path.parent.glob("*"):
        if old != path and old.suffix != _UNFINISHED:
            shutil.rmtree(old, ignore_errors=True)
    return _once(path, generate)


def scratch(folder: Path, name: str = "copy") -> Path:
    """A copy of a lake that may be changed; it lasts until the next copy of this name."""
    path = DATA / "scratch" / folder.parent.name / name
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(folder, path)
    return path


def streamed(path: Path) -> pa.RecordBatchReader:
    """A Parquet file, batch by batch."""
    file = pq.ParquetFile(path)
    return pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches())


def parts(path: Path, count: int) -> Iterator[pa.RecordBatchReader]:
    """A Parquet file as `count` streams of about as many rows each."""
    file = pq.ParquetFile(path)
    groups = range(file.metadata.num_row_groups)
    edges = [len(groups) * i // count for i in range(count + 1)]
    for low, high in itertools.pairwise(edges):
        if low < high:
            batches = file.iter_batches(row_groups=list(groups[low:high]))
            yield pa.RecordBatchReader.from_batches(file.schema_arrow, batches)


def _once(path: Path, generate: Callable[[Path], None]) -> Path:
    """The folder, generated unless it is there. One that was interrupted is not taken for whole."""
    if not path.is_dir():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"{path.name}.{os.getpid()}{_UNFINISHED}")
        try:
            unfinished.mkdir()
            generate(unfinished)
            with contextlib.suppress(OSError):  # another process was faster
                unfinished.rename(path)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return path
