"""What was measured of a system at a size."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence

from benchmarks.evaluation.experiment import Experiment, Point
from benchmarks.median import Median, median
from benchmarks.outcome import one_after_another, timed
from benchmarks.report import Report
from benchmarks.sample import Sample


@dataclasses.dataclass(frozen=True)
class Measured:
    """Args:
    values: of the runs, in the experiment's unit.
    value: their median.
    mean, stdev: of the same; no deviation of a single run.
    rows_per_second: None where bytes are compared, or what is given has not the table's rows.
    cpu_per_million: seconds of processors for a million rows, of client and service; None as above.
    peak: bytes of memory of client and service, of systems that are several cases the most; None where it was not
        watched.
    """

    values: tuple[float, ...]
    value: Median
    mean: float
    stdev: float | None
    rows_per_second: float | None
    cpu_per_million: float | None
    peak: int | None


def measured(experiment: Experiment, case: str, point: Point, report: Report | None) -> Measured | None:
    """None where it was not measured."""
    found = [] if report is None else samples(experiment, report)
    own = [s for s in found if s.case == case]
    if report is None or not own:
        return None
    runs = timed(own)
    parts = experiment.sums.get(case, (case,))
    peaks = [s.peak for s in report.samples if s.case in parts and s.peak is not None]
    values = _values(experiment, point, own, found)
    speed = cpu = None
    if not values:
        return None
    if experiment.whole and experiment.unit in ("s", "MB/s") and all(sample.rows for sample in runs):
        rows = [sample.rows * point.times for sample in runs]
        speed = statistics.median(n / s.wall for n, s in zip(rows, runs, strict=True))
        cpu = statistics.fmean(1e6 * (s.cpu + s.server_cpu) / n for n, s in zip(rows, runs, strict=True))
    return Measured(
        tuple(values),
        median(values),
        statistics.fmean(values),
        statistics.stdev(values) if len(values) > 1 else None,
        speed,
        cpu,
        max(peaks, default=None),
    )


def samples(experiment: Experiment, report: Report) -> Sequence[Sample]:
    """Those of systems that are several cases, too."""
    sums = experiment.sums.items()
    return [
        *report.samples,
        *(sample for name, cases in sums for sample in one_after_another(name, cases, report.samples)),
    ]


def _values(
    experiment: Experiment, point: Point, own: Sequence[Sample], found: Sequence[Sample]
) -> list[float]:
    match experiment.unit:
        case "bytes":
            return [float(s.size) for s in own if s.size is not None]
        case "MB/s":
            return [point.number / s.wall for s in timed(own)]
        case "%":
            base = timed([s for s in found if s.case == experiment.beyond])
            return [100 * (1 - b.wall / s.wall) for s, b in zip(timed(own), base, strict=False)]
    return [s.wall / point.times for s in timed(own)]
