"""Runs cases in turns, after their answers were found to agree."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import psutil

from benchmarks.process import CaseProcess, running
from benchmarks.sample import Sample
from benchmarks.workload import Case

_BACKGROUND_PAUSE = 0.1


class WrongResult(Exception):
    """Cases of one workload gave different rows, so their times mean nothing."""


@dataclasses.dataclass(frozen=True)
class Measurement:
    """Args:
    elsewhere: the share of the machine's processors that others used meanwhile.
    background: how often each background case ran meanwhile.
    """

    samples: tuple[Sample, ...]
    elsewhere: float
    background: dict[str, int]


def measure(cases: Sequence[Case], runs: int, tell: Callable[[str], None]) -> Measurement:
    """Run every case once, compare what they gave, then time `runs` rounds of all of them.

    Of a case whose processes are always fresh the first run counts as any other.

    Raises:
        WrongResult, CaseFailed.
    """
    samples: list[Sample] = []
    measured = [case for case in cases if case.role == "measured"]
    with contextlib.ExitStack() as stack:
        repeated = [stack.enter_context(_repeating(case)) for case in cases if case.role == "background"]
        warm: dict[str, CaseProcess] = {}
        for case in cases:
            if case.role == "background":
                continue
            tell(f"{case.name}: first run")
            if case.fresh or case.role == "reference":
                samples.append(_fresh(case, 0))
            else:
                warm[case.name] = stack.enter_context(running(case))
                samples.append(warm[case.name].run(0, first=True))
        agree(cases, samples)
        servers = sorted({pid for case in cases for pid in case.servers})
        used = _Usage([*warm.values(), *(r.process for r in repeated)], servers)
        for number in range(1, runs + 1):
            tell(f"round {number} of {runs}")
            turn = []
            for case in _turn(measured, number):
                if case.name in warm:
                    turn.append(warm[case.name].run(number))
                elif number < runs:
                    turn.append(_fresh(case, number))
            agree(measured, turn)
            samples += turn
        elsewhere = used.elsewhere()
        counts = {r.case.name: r.done for r in repeated}
    return Measurement(tuple(samples), elsewhere, counts)


def _turn(cases: Sequence[Case], number: int) -> list[Case]:
    """The order of a round: each case is at each place in turn, and none follows itself.

    Who runs twice in a row finds the memory that it just had, where others must be given theirs anew.
    """
    first = (number - 1) % len(cases) if len(cases) > 2 else 0
    return [*cases[first:], *cases[:first]]


def agree(cases: Iterable[Case], samples: Iterable[Sample]) -> None:
    """Raises WrongResult unless the cases that promise the same answer have given it."""
    words = {case.name: case.answer for case in cases}
    seen: dict[str, Sample] = {}
    for sample in samples:
        word = words[sample.case]
        if word is None:
            continue
        other = seen.setdefault(word, sample)
        told = None not in (sample.checksum, other.checksum)
        if sample.rows != other.rows or (told and sample.checksum != other.checksum):
            raise WrongResult(
                f"{sample.case} and {other.case} do not give the same rows, so nothing is timed: "
                f"{sample.case} gave {_told(sample)}, {other.case} gave {_told(other)}"
            )


def _told(sample: Sample) -> str:
    return f"{sample.rows:,} rows" if sample.checksum is None else str(sample.checksum)


def _fresh(case: Case, number: int) -> Sample:
    with running(case) as process:
        return process.run(number, first=True)


class _Repeated:
    def __init__(self, case: Case, process: CaseProcess) -> None:
        self.case = case
        self.process = process
        self.done = 0
        self.failure: Exception | None = None


@contextlib.contextmanager
def _repeating(case: Case) -> Iterator[_Repeated]:
    """Run a background case again and again. Its failure is raised at the end."""
    stop = threading.Event()

    def repeat(told: _Repeated) -> None:
        try:
            while not stop.wait(_BACKGROUND_PAUSE):
                told.process.run(told.done)
                told.done += 1
        except Exception as error:
            told.failure = error

    with running(case) as process:
        told = _Repeated(case, process)
        thread = threading.Thread(target=repeat, args=(told,))
        thread.start()
        try:
            yield told
        finally:
            stop.set()
            thread.join()
    if told.failure is not None:
        raise told.failure


class _Usage:
    """Who used the processors from now on: the benchmark, or others."""

    def __init__(self, processes: Sequence[CaseProcess], servers: Sequence[int]) -> None:
        self._processes = processes
        self._servers = [psutil.Process(pid) for pid in servers]
        self._busy, self._own, self._clock = _busy(), self._used(), time.monotonic()

    def elsewhere(self) -> float:
        seconds = (time.monotonic() - self._clock) * (os.cpu_count() or 1)
        others = (_busy() - self._busy) - (self._used() - self._own)
        return max(0.0, others / seconds) if seconds else 0.0

    def _used(self) -> float:
        """Processor seconds of this process, of its children that have ended, and of those that run."""
        cases = sum(process.cpu_seconds() for process in self._processes)
        return sum(os.times()[:4]) + cases + sum(sum(server.cpu_times()[:2]) for server in self._servers)


def _busy() -> float:
    """Processor seconds that the machine has worked since it started."""
    times = psutil.cpu_times()._asdict()
    return float(sum(v for k, v in times.items() if k not in ("idle", "iowait", "guest", "guest_nice")))
