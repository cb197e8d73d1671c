"""The process of one case: reads requests from stdin, runs, answers on stdout. Started by `benchmarks.process`, whose
pid it is given.

It imports nothing that a system under test may lack: Feast's runs in an environment without Headrace.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import BinaryIO

import psutil

from benchmarks.checksum import Checksum, checksum
from benchmarks.message import Failure, Found, Ready, Start, Timing
from benchmarks.runner import Answer, Run, Stage, Staged
from benchmarks.tree import cpu_seconds

_SMALL_ROWS = 100_000
_LOOK_SECONDS = 1.0


def main() -> None:
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print must not come between the answers
    threading.Thread(target=_end_with, args=(int(sys.argv[1]),), daemon=True).start()
    try:
        _serve(requests, answers)
    except EOFError:  # whoever asked is gone
        pass
    except Exception as error:
        told = traceback.format_exception_only(error)[-1]
        _send(answers, Failure(told + traceback.format_exc()))  # the reason first: some show no more
    # All is closed. Libraries that take their time over the end of the interpreter, or complain, are spared it.
    os._exit(0)


def _end_with(parent: int) -> None:
    """A job that runs would not hear that whoever asked for it was killed."""
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    os._exit(1)


def _serve(requests: BinaryIO, answers: BinaryIO) -> None:
    start: Start = pickle.load(requests)
    servers = [psutil.Process(pid) for pid in start.servers]
    others = psutil.Process().children(recursive=True)

    def services() -> list[psutil.Process]:
        return [child for child in psutil.Process().children(recursive=True) if child not in others]

    with start.runner.opened() as run:
        _send(answers, Ready(tuple(process.pid for process in services())))
        while (request := pickle.load(requests)) is not None:
            with _stage(run, request.number) as stage:
                gc.collect()
                before, (cpu, written) = cpu_seconds(servers), _used(services())
                begun = time.perf_counter()
                done = stage.job()
                wall = time.perf_counter() - begun
                # Those, too, that the job has started.
                (cpu_after, written_after), after = _used(services()), cpu_seconds(servers)
                _send(answers, Timing(wall, cpu_after - cpu, after - before, written_after - written))
                answer = stage.answer(done)
                size = stage.size(done) if stage.size else None
                _send(answers, _found(answer, request.check, size))
                del done, answer  # they must not be in memory while the next ones are made


def _stage(run: Run | Staged, number: int) -> AbstractContextManager[Stage]:
    if isinstance(run, Staged):
        return run.stage(number)
    return nullcontext(Stage(lambda: run(number), lambda answer: answer))


def _found(answer: Answer, check: bool, size: int | None) -> Found:
    if isinstance(answer, Checksum):
        return Found(answer.rows, answer, size)
    told = check or answer.num_rows <= _SMALL_ROWS
    return Found(answer.num_rows, checksum(answer) if told else None, size)


def _used(services: Sequence[psutil.Process]) -> tuple[float, int]:
    """Processor seconds, and bytes written where the system tells."""
    cpu, written = time.process_time() + cpu_seconds(services), 0
    for process in (psutil.Process(), *services):
        if hasattr(process, "io_counters"):
            with contextlib.suppress(psutil.NoSuchProcess):
                written += process.io_counters().write_bytes
    return cpu, written


def _send(answers: BinaryIO, message: object) -> None:
    pickle.dump(message, answers)
    answers.flush()


if __name__ == "__main__":
    main()
