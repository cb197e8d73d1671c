"""What the samples of a workload say."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from benchmarks.checksum import Checksum
from benchmarks.median import Median, median
from benchmarks.sample import Measure, Sample
from benchmarks.workload import Case, Goal, Workload

_TOLERANCE = 1.03


@dataclasses.dataclass(frozen=True)
class CaseOutcome:
    """Args:
    first: seconds of the first run of a fresh process.
    against: the baseline, if there is one.
    ratio: to the baseline's wall time, round by round; None where there is none.
    cpu: processor seconds a run, mean; a run may be shorter than the clock tick that counts them.
    cpu_ratio: to the baseline's.
    server_cpu: those of the servers that run for all cases; None where there are none.
    written: bytes a run, at most.
    peak, service_peak: bytes of anonymous memory of both sides, and of the service; of fresh processes.
    size: bytes of what the job has made; None where they are not its point.
    """

    name: str
    rows: int
    checksum: Checksum | None
    wall: Median
    first: float
    against: str | None
    ratio: Median | None
    cpu: float
    cpu_ratio: float | None
    server_cpu: float | None
    written: int
    peak: int
    service_peak: int
    size: int | None


@dataclasses.dataclass(frozen=True)
class GoalOutcome:
    """Met where the interval reaches the goal and the median is within 3 % of it."""

    goal: Goal
    reached: Median
    met: bool


def case_outcomes(workload: Workload, cases: Sequence[Case], samples: Sequence[Sample]) -> list[CaseOutcome]:
    return [
        _case_outcome(workload, case, [s for s in samples if s.case == case.name], samples)
        for case in cases
        if case.role == "measured"
    ]


def goal_outcomes(goals: Sequence[Goal], samples: Sequence[Sample]) -> list[GoalOutcome]:
    found = []
    for goal in goals:
        reached = median(_values(goal, samples))
        met = reached.low <= goal.most and reached.value <= _TOLERANCE * goal.most
        found.append(GoalOutcome(goal, reached, met))
    return found


def times(case: str, against: str, measure: Measure, samples: Sequence[Sample]) -> Median:
    """How many times as much another takes as a case, round by round."""
    goal = Goal(case, 0, measure, "ratio", against)
    return median([1 / ratio for ratio in _values(goal, samples)])


def one_after_another(name: str, cases: Sequence[str], samples: Sequence[Sample]) -> list[Sample]:
    """Samples of a system that is several cases, round by round."""
    parts = [timed([s for s in samples if s.case == case]) for case in cases]
    return [_sum(name, part) for part in zip(*parts, strict=False)]


def _sum(name: str, parts: Sequence[Sample]) -> Sample:
    """In the first one's round. Memory is not told."""
    return dataclasses.replace(
        parts[0],
        case=name,
        first=False,
        wall=sum(part.wall for part in parts),
        cpu=sum(part.cpu for part in parts),
        server_cpu=sum(part.server_cpu for part in parts),
        written=sum(part.written for part in parts),
        client_peak=None,
        service_peak=None,
    )


def _case_outcome(
    workload: Workload, case: Case, own: Sequence[Sample], samples: Sequence[Sample]
) -> CaseOutcome:
    runs = timed(own)
    cpu = _mean_cpu(runs)
    against = case.against or workload.baseline
    ratio = cpu_ratio = None
    if against is not None:
        ratio = median(_values(Goal(case.name, 0, way="ratio", against=against), samples))
        cpu_ratio = cpu / _mean_cpu(timed([s for s in samples if s.case == against]))
    return CaseOutcome(
        name=case.name,
        rows=own[0].rows,
        checksum=own[0].checksum,
        wall=median([s.wall for s in runs]),
        first=own[0].wall,
        against=against,
        ratio=ratio,
        cpu=cpu,
        cpu_ratio=cpu_ratio,
        server_cpu=sum(s.server_cpu for s in runs) / len(runs) if case.servers else None,
        written=max(s.written for s in own),
        peak=max(s.peak or 0 for s in own),
        service_peak=max(s.service_peak or 0 for s in own),
        size=own[0].size,
    )


def timed(own: Sequence[Sample]) -> list[Sample]:
    """A case's runs but the first of a process; all, where every run has a process of its own.

    Of those the one in which answers were compared is last: it stands beside the others' last round, in which there
    is none of such a case.
    """
    return [s for s in own if not s.first] or sorted(own, key=lambda s: s.number or math.inf)


def _mean_cpu(samples: Sequence[Sample]) -> float:
    return sum(s.cpu for s in samples) / len(samples)


def _values(goal: Goal, samples: Sequence[Sample]) -> list[float]:
    """What the goal is about, a value a round."""
    own = _rounds(goal.case, goal.measure, samples)
    if goal.against is None:
        return own
    other = _rounds(goal.against, goal.measure, samples)
    return [a / b if goal.way == "ratio" else a - b for a, b in zip(own, other, strict=False)]


def _rounds(case: str, measure: Measure, samples: Sequence[Sample]) -> list[float]:
    """A case's values by round: times as `timed`, memory of fresh processes."""
    own = [s for s in samples if s.case == case]
    wanted = timed(own) if measure in ("wall", "cpu") else own
    return [value for s in wanted if (value := s.value(measure)) is not None]
