"""Workloads, as data."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Literal

from benchmarks.runner import Runner
from benchmarks.sample import Measure

FULL = "full"
SIZES = (FULL, "small", "smoke")


@dataclasses.dataclass(frozen=True)
class Case:
    """One system doing one job.

    Args:
        answer: cases with the same word must give the same rows; None where they cannot be compared.
        role: a reference runs once, for its answer alone; a background case again and again while others are
            measured.
        fresh: every run is in a new process, with its memory watched.
        python: the interpreter of its process.
        against: the case that it is shown against, where that is not the workload's baseline.
        servers: processes that run for all cases, of which this one's job makes use.
        warm_up: seconds for which it is run before its runs count, the first among them: what a JVM compiles goes on
            getting faster.
    """

    name: str
    runner: Runner
    answer: str | None = "rows"
    role: Literal["measured", "reference", "background"] = "measured"
    fresh: bool = False
    python: str = sys.executable
    against: str | None = None
    servers: tuple[int, ...] = ()
    warm_up: float = 0.0


@dataclasses.dataclass(frozen=True)
class Goal:
    """What a case must reach at full size: a median of at most `most`.

    Args:
        against: the case it is compared with, round by round.
        way: what is compared: the case's value itself, its ratio to the other, or the difference from it.
        most: seconds or bytes; a number for ratios.
    """

    case: str
    most: float
    measure: Measure = "wall"
    way: Literal["value", "ratio", "difference"] = "value"
    against: str | None = None


@dataclasses.dataclass(frozen=True)
class Workload:
    """Args:
    sizes: by name, the one number that says how large: scale factor, rows.
    unit: of that number.
    systems: the names of the cases that are measured.
    baseline: the case that the others are shown against; None where that says nothing.
    runs: rounds.
    cases: makes the data of a size, unless they are there, and gives the cases; as a context, where servers must
        run meanwhile.
    """

    name: str
    about: str
    sizes: Mapping[str, float]
    unit: str
    systems: tuple[str, ...]
    goals: tuple[Goal, ...]
    runs: int
    cases: Callable[[float], Sequence[Case] | AbstractContextManager[Sequence[Case]]]
    baseline: str | None = None

    def opened(self, scale: float) -> AbstractContextManager[Sequence[Case]]:
        found = self.cases(scale)
        return found if isinstance(found, AbstractContextManager) else nullcontext(found)
