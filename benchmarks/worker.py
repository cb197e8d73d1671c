"""The process of one case: reads requests from stdin, runs, answers on stdout. Started by `benchmarks.process`.

It imports nothing that a system under test may lack: Feast's runs in an environment without Headrace.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
import time
import traceback
from collections.abc import Sequence
from typing import BinaryIO

import psutil

from benchmarks.checksum import Checksum, checksum
from benchmarks.message import Failure, Ready, Timing

_SMALL_ROWS = 100_000


def main() -> None:
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print must not come between the answers
    try:
        _serve(requests, answers)
    except EOFError:  # whoever asked is gone
        pass
    except Exception:
        _send(answers, Failure(traceback.format_exc()))
    # All is closed. Libraries that take their time over the end of the interpreter, or complain, are spared it.
    os._exit(0)


def _serve(requests: BinaryIO, answers: BinaryIO) -> None:
    runner = pickle.load(requests)
    with runner.opened() as run:
        services = psutil.Process().children(recursive=True)
        _send(answers, Ready(tuple(process.pid for process in services)))
        while (request := pickle.load(requests)) is not None:
            gc.collect()
            cpu, written = _used(services)
            begun = time.perf_counter()
            answer = run(request.number)
            wall = time.perf_counter() - begun
            cpu_after, written_after = _used(services)
            rows = answer.rows if isinstance(answer, Checksum) else answer.num_rows
            _send(answers, Timing(wall, cpu_after - cpu, written_after - written, rows))
            found = None
            if isinstance(answer, Checksum):
                found = answer
            elif request.check or rows <= _SMALL_ROWS:
                found = checksum(answer)
            _send(answers, found)
            del answer  # it must not be in memory while the next one is made


def _used(services: Sequence[psutil.Process]) -> tuple[float, int]:
    """Processor seconds, and bytes written where the system tells."""
    cpu, written = time.process_time(), 0
    for process in services:
        times = process.cpu_times()
        cpu += times.user + times.system
    for process in (psutil.Process(), *services):
        if hasattr(process, "io_counters"):
            written += process.io_counters().write_bytes
    return cpu, written


def _send(answers: BinaryIO, message: object) -> None:
    pickle.dump(message, answers)
    answers.flush()


if __name__ == "__main__":
    main()
