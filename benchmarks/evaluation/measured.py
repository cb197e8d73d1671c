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
    peak: bytes of memory of client and service; None where it was not watched.
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
    own = [] if report is None else [s for s in samples(experiment, report) if s.case == case]
    if not own:
        return None
    runs = timed(own)
    peaks = [sample.peak for sample in own if sample.peak is not None]
    speed = cpu = None
    if experiment.unit == "bytes":
        values = [float(sample.size) for sample in own if sample.size is not None]
    else:
        values = [_value(sample, experiment, point) for sample in runs]
    if experiment.whole and experiment.unit != "bytes":
        speed = statistics.median(sample.rows / sample.wall for sample in runs)
        cpu = statistics.fmean(1e6 * (sample.cpu + sample.server_cpu) / sample.rows for sample in runs)
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


def _value(sample: Sample, experiment: Experiment, point: Point) -> float:
    if experiment.unit == "MB/s":
        return point.number / sample.wall
    return sample.wall / point.times
