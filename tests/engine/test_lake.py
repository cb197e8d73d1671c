"""Files elsewhere, as DuckDB reads them."""

from __future__ import annotations

import contextlib
import io
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.engine.duck import Engine
from headrace.engine.lake import _LakeFile
from headrace.storage.places import Places
from headrace.storage.remote_file import RemoteFile

CONTENT = random.Random(1).randbytes(1 << 20)


def test_each_thread_has_its_place() -> None:
    with ThreadPoolExecutor(4) as threads, ThreadPoolExecutor(8) as readers:
        of = RemoteFile("f", lambda: io.BytesIO(CONTENT), contextlib.nullcontext, lambda: None, threads)
        file = _LakeFile(of, "f")

        def read(number: int) -> bool:
            chance = random.Random(number)
            for _ in range(200):
                start = chance.randint(0, len(CONTENT))
                file.seek(start)
                if file.read(100) != CONTENT[start : start + 100]:
                    return False
                if file.tell() != min(start + 100, len(CONTENT)):
                    return False
            return True

        assert all(readers.map(read, range(8)))


@pytest.mark.parametrize("kept", [False, True])
def test_bytes_are_kept_where_that_is_asked_for(kept: bool, tmp_path: Path) -> None:
    sink = pa.BufferOutputStream()
    chance = random.Random(1)
    pq.write_table(pa.table({"n": [chance.random() for _ in range(300_000)]}), sink)
    content = sink.getvalue().to_pybytes()
    with ThreadPoolExecutor(4) as threads, contextlib.ExitStack() as stack:
        of = RemoteFile("f", lambda: io.BytesIO(content), contextlib.nullcontext, lambda: None, threads)
        engine = Engine(memory_limit="1GB", threads=2, keeps_files=kept, spill=tmp_path)
        stack.callback(engine.close)
        files = SimpleNamespace(file=lambda _: of)
        engine.reach(cast("Places", SimpleNamespace(files=lambda _: files)))
        duck = engine._instances[0]._root.cursor()
        duck.sql("SELECT sum(n) FROM read_parquet('s3://bucket/f')").fetchall()
        ((held,),) = duck.sql(
            "SELECT coalesce(sum(nr_bytes), 0) FROM duckdb_external_file_cache()"
        ).fetchall()
    assert (held > 1_000_000) == kept
    assert held == 0 or kept
