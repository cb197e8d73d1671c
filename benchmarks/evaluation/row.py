"""What a paper printed beside what was measured here."""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path

from benchmarks.evaluation.experiment import Experiment, Point
from benchmarks.evaluation.paper import PAPERS, Figure
from benchmarks.evaluation.suite import Step, Suite
from benchmarks.median import Median, median
from benchmarks.outcome import one_after_another, times
from benchmarks.report import Report
from benchmarks.sample import Measure, Sample

_HEAD = (
    *("paper", "experiment", "size", "system", "unit", "median", "low", "high", "runs", "noisy"),
    *("stands for", "printed", "where"),
)


@dataclasses.dataclass(frozen=True)
class Row:
    """One system at one size.

    Args:
        printed: of the paper's system for which it stands; None where the text has no figure.
        here: None where it was not measured.
    """

    experiment: Experiment
    size: str
    system: str
    printed: Figure | None
    here: Median | None
    noisy: bool


@dataclasses.dataclass(frozen=True)
class SpeedUp:
    """How many times as fast what is new is as what it replaces, or how many times smaller.

    Args:
        printed: one number, or the two ends of a range; None where the text has neither it nor both its sides.
    """

    experiment: Experiment
    size: str
    printed: tuple[float, ...] | None
    here: Median | None


def rows(suite: Suite, reports: Mapping[Step, Report]) -> list[Row]:
    return [
        Row(
            chosen.experiment,
            point.name,
            case,
            _figure(chosen.experiment, stands_for, point),
            _here(chosen.experiment, case, point, reports.get(step)),
            step in reports and reports[step].noisy,
        )
        for chosen in suite.chosen
        for point, step in chosen.steps
        for case, stands_for in chosen.experiment.systems.items()
    ]


def speed_ups(suite: Suite, reports: Mapping[Step, Report]) -> list[SpeedUp]:
    return [
        SpeedUp(
            chosen.experiment,
            point.name,
            _printed(chosen.experiment, point),
            _times(chosen.experiment, reports.get(step)),
        )
        for chosen in suite.chosen
        for point, step in chosen.steps
    ]


def _times(experiment: Experiment, report: Report | None) -> Median | None:
    if report is None:
        return None
    measure: Measure = "size" if experiment.unit == "bytes" else "wall"
    return times(experiment.ours, experiment.against, measure, _samples(experiment, report))


def _samples(experiment: Experiment, report: Report) -> list[Sample]:
    sums = experiment.sums.items()
    return [
        *report.samples,
        *(sample for name, cases in sums for sample in one_after_another(name, cases, report.samples)),
    ]


def write(found: Iterable[Row], path: Path) -> None:
    """As CSV."""
    with path.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(_HEAD)
        for row in found:
            here = (row.here.value, row.here.low, row.here.high, row.here.n) if row.here else ("",) * 4
            printed = (row.printed.system, row.printed.value, row.printed.where) if row.printed else ("",) * 3
            experiment = row.experiment
            out.writerow(
                (
                    experiment.paper,
                    experiment.name,
                    row.size,
                    row.system,
                    experiment.unit,
                    *here,
                    row.noisy,
                    *printed,
                )
            )


def _here(experiment: Experiment, case: str, point: Point, report: Report | None) -> Median | None:
    if report is None:
        return None
    own = [sample for sample in _samples(experiment, report) if sample.case == case]
    if experiment.unit == "bytes":
        return median([float(sample.size) for sample in own if sample.size is not None])
    timed = [sample for sample in own if not sample.first] or own
    return median([sample.wall / point.times for sample in timed])


def _figures(experiment: Experiment) -> list[Figure]:
    (paper,) = (paper for paper in PAPERS if paper.key == experiment.paper)
    return [figure for figure in paper.figures if figure.experiment == experiment.name]


def _figure(experiment: Experiment, system: str | None, point: Point) -> Figure | None:
    """Of one processor, where the paper varies them."""
    found = [
        figure
        for figure in _figures(experiment)
        if figure.system == system
        and figure.size in ("", point.name)
        and figure.cpus in (None, 1)
        and figure.unit == experiment.unit
    ]
    return found[0] if found else None


def _printed(experiment: Experiment, point: Point) -> tuple[float, ...] | None:
    against = experiment.systems[experiment.against]
    for figure in _figures(experiment):
        if figure.unit == "x" and figure.system == against:
            return (figure.value,) if figure.high is None else (figure.value, figure.high)
    ours = _figure(experiment, experiment.systems[experiment.ours], point)
    other = _figure(experiment, against, point)
    return None if ours is None or other is None else (other.value / ours.value,)
