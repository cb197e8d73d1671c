"""Runs cases in turns, after their answers were found to agree."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from benchmarks.others import Others
from benchmarks.process import CaseProcess, opening, running
from benchmarks.sample import Sample
from benchmarks.workload import Case

_BACKGROUND_PAUSE = 0.1


class WrongResult(Exception):
    """Cases of one workload gave different rows, so their times mean nothing."""


@dataclasses.dataclass(frozen=True)
class Measurement:
    """Args:
    elsewhere: what others used meanwhile, as a share of the processors that were for the cases.
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
    # From now on: of cases whose processes are always fresh the first run counts.
    others = Others(sorted({pid for case in cases for pid in case.servers}))
    measured = [case for case in cases if case.role == "measured"]
    with contextlib.ExitStack() as stack:
        repeated = [stack.enter_context(_repeating(case)) for case in cases if case.role == "background"]
        tell("opening")
        # Side by side: a JVM takes seconds to start.
        warm = {case.name: stack.enter_context(opening(case)) for case in measured if not case.fresh}
        for process in warm.values():
            stack.callback(process.end)  # before any is waited for: they end side by side, however this ends
        for process in warm.values():
            process.wait()
        for case in cases:
            if case.role == "background":
                continue
            tell(f"{case.name}: first run")
            if case.name in warm:
                samples.append(warm[case.name].run(0, first=True))
                _warm_up(warm[case.name], runs, case.warm_up)
            else:
                samples.append(_fresh(case, 0))
        agree(cases, samples)
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
        elsewhere = others.share()
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


def _warm_up(process: CaseProcess, runs: int, seconds: float) -> None:
    """Runs that do not count, at least one that begins after the first; their numbers are those after the rounds'."""
    number, until = runs, time.monotonic() + seconds
    while time.monotonic() < until:
        number += 1
        process.run(number)


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
