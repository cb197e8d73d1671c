"""What is raised in whatever DuckDB calls, which keeps the text of it alone."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from headrace.engine.duck import Engine
from headrace.engine.failure import translated
from headrace.engine.passed import packed, unpacked
from headrace.errors import Timeout

SCHEMA = pa.schema({"id": pa.int64()})


def batches() -> Iterator[pa.RecordBatch]:
    yield pa.record_batch([[1]], SCHEMA)
    signal.raise_signal(signal.SIGINT)
    yield pa.record_batch([[2]], SCHEMA)


def test_an_interrupt_is_one(tmp_path: Path) -> None:
    engine = Engine(memory_limit=None, threads=1, spill=tmp_path)
    try:
        with engine.session() as session:
            session.register("incoming", pa.RecordBatchReader.from_batches(SCHEMA, batches()))
            with pytest.raises(KeyboardInterrupt):
                session.rows("SELECT count(*) FROM incoming")
            assert session.rows("SELECT 1 AS one") == [{"one": 1}]
    finally:
        engine.close()


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('Traceback (most recent call last):\n  File "x", line 1\nKeyboardInterrupt: \n\nAt:\n x', True),
        ("exporting a stream from the object registered as 'x' failed: KeyboardInterrupt: ", True),
        ("Could not convert string 'KeyboardInterrupt' to INT64", False),
    ],
)
def test_what_an_interrupt_looks_like(text: str, meant: bool) -> None:
    assert isinstance(unpacked(text), KeyboardInterrupt) == meant


def test_other_threads_are_not_interrupted() -> None:
    def act() -> None:
        with translated():
            raise RuntimeError("can't start new thread")

    with ThreadPoolExecutor(1) as thread, pytest.raises(RuntimeError, match="new thread"):
        thread.submit(act).result()


def test_an_error_of_ours() -> None:
    told = unpacked(f"IO Error: Python said {packed(Timeout('no answer', hint='wait'))} at x")
    assert isinstance(told, Timeout)
    assert (told.message, told.hint) == ("no answer", "wait")
