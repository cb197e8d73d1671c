"""A job is timed, and not its stage."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pyarrow as pa
from benchmarks.checksum import Checksum, checksum
from benchmarks.message import Found, Ready, Request, Start, Timing
from benchmarks.runner import Run, Runner, Stage, Staged
from benchmarks.worker import _serve

PAUSE = 0.5
ROWS = pa.table({"k": [1, 2]})


@dataclasses.dataclass(frozen=True)
class OnStage:
    """Takes its time over everything but the job; gives the number of the run."""

    @contextlib.contextmanager
    def opened(self) -> Iterator[Staged]:
        yield Staged(self._stage)

    @contextlib.contextmanager
    def _stage(self, number: int) -> Iterator[Stage]:
        time.sleep(PAUSE)
        yield Stage(lambda: number, self._answer)
        time.sleep(PAUSE)

    def _answer(self, number: int) -> Checksum:
        time.sleep(PAUSE)
        return Checksum(("k",), number, 7)


@dataclasses.dataclass(frozen=True)
class Plain:
    @contextlib.contextmanager
    def opened(self) -> Iterator[Run]:
        yield lambda _: ROWS


@dataclasses.dataclass(frozen=True)
class Busy:
    """Keeps a processor busy."""

    @contextlib.contextmanager
    def opened(self) -> Iterator[Run]:
        def run(_: int) -> pa.Table:
            begun = time.process_time()
            while time.process_time() - begun < PAUSE:
                pass
            return ROWS

        yield run


@dataclasses.dataclass(frozen=True)
class ByAnother:
    """Starts a process, which keeps a processor busy, and stays."""

    @contextlib.contextmanager
    def opened(self) -> Iterator[Run]:
        busy = f"import time\nwhile time.process_time() < {PAUSE}: pass\nprint(flush=True)\ninput()"
        with contextlib.ExitStack() as stack:

            def run(_: int) -> pa.Table:
                started = subprocess.Popen(
                    [sys.executable, "-c", busy], stdin=subprocess.PIPE, stdout=subprocess.PIPE
                )
                stack.callback(started.communicate, b"\n")
                assert started.stdout is not None
                started.stdout.readline()
                return ROWS

            yield run


def serve(runner: Runner, *numbers: int, servers: tuple[int, ...] = ()) -> list[object]:
    asked = [Start(runner, servers), *(Request(number, check=False) for number in numbers), None]
    answers = io.BytesIO()
    _serve(io.BytesIO(b"".join(map(pickle.dumps, asked))), answers)
    end = answers.tell()
    answers.seek(0)
    told = []
    while answers.tell() < end:
        told.append(pickle.load(answers))
    return told


def test_neither_the_stage_nor_the_answer_is_timed() -> None:
    ready, *told = serve(OnStage(), 3, 4)
    assert ready == Ready(())
    assert [found for found in told if isinstance(found, Found)] == [
        Found(3, Checksum(("k",), 3, 7)),
        Found(4, Checksum(("k",), 4, 7)),
    ]
    assert all(timing.wall < PAUSE for timing in told if isinstance(timing, Timing))


def test_a_job_without_a_stage_gives_its_rows() -> None:
    _, timing, found = serve(Plain(), 1)
    assert isinstance(timing, Timing)
    assert timing.server_cpu == 0
    assert found == Found(2, checksum(ROWS))


def test_processor_time_of_servers_is_told_apart() -> None:
    _, timing, _ = serve(Busy(), 1, servers=(os.getpid(),))  # which is its own server here
    assert isinstance(timing, Timing)
    assert timing.server_cpu >= PAUSE / 2


def test_processor_time_of_what_the_job_starts_is_its_own() -> None:
    _, timing, _ = serve(ByAnother(), 1)
    assert isinstance(timing, Timing)
    assert timing.cpu >= PAUSE / 2


_ASKS = """
import os, subprocess, sys, time
command = [sys.executable, "-m", "benchmarks.worker", str(os.getpid())]
worker = subprocess.Popen(command, stdin=0, stdout=subprocess.DEVNULL)
print(worker.pid, flush=True)
time.sleep(60)
"""


def test_it_ends_with_who_asks_though_nothing_tells_it() -> None:
    reading, writing = os.pipe()  # open to the end: it does not read while it runs a job
    asking = subprocess.Popen([sys.executable, "-c", _ASKS], stdin=reading, stdout=subprocess.PIPE, text=True)
    try:
        assert asking.stdout is not None
        worker = psutil.Process(int(asking.stdout.readline()))
        asking.kill()
        asking.wait()
        worker.wait(30)
    finally:
        asking.kill()
        os.close(reading)
        os.close(writing)
