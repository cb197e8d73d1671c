"""What a paper printed beside what was measured here."""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path

from benchmarks.evaluation.experiment import Experiment, Point
from benchmarks.evaluation.measured import Measured, measured, samples
from benchmarks.evaluation.paper import Figure, figures_of
from benchmarks.evaluation.suite import Step, Suite
from benchmarks.median import Median
from benchmarks.outcome import times
from benchmarks.report import Report
from benchmarks.sample import Measure

_HEAD = (
    *("paper", "experiment", "size", "processors", "system", "unit", "median", "low", "high", "runs", "mean"),
    *("standard deviation", "rows/s", "CPU-s per million rows", "peak bytes", "noisy"),
    *("stands for", "printed", "printed unit", "printed deviation", "where"),
)
_AT_MOST = "% at most"


@dataclasses.dataclass(frozen=True)
class Row:
    """One system at one size.

    Args:
        cpus: to which it was pinned; None where it had all.
        printed: of the paper's system for which it stands; None where the text has no figure.
        here: None where it was not measured.
    """

    experiment: Experiment
    size: str
    cpus: int | None
    system: str
    printed: Figure | None
    here: Measured | None
    noisy: bool


@dataclasses.dataclass(frozen=True)
class SpeedUp:
    """How many times as fast what is new is as what it replaces, or how many times smaller.

    Args:
        printed: one number, or the two ends of a range; None where the text has neither it nor both its sides.
    """

    experiment: Experiment
    size: str
    cpus: int | None
    printed: tuple[float, ...] | None
    here: Median | None


def rows(suite: Suite, reports: Mapping[Step, Report]) -> list[Row]:
    return [
        Row(
            chosen.experiment,
            point.name,
            step.cpus,
            case,
            _figure(chosen.experiment, stands_for, point, step.cpus),
            measured(chosen.experiment, case, point, reports.get(step)),
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
            step.cpus,
            _printed(chosen.experiment, point, step.cpus),
            _times(chosen.experiment, reports.get(step)),
        )
        for chosen in suite.chosen
        for point, step in chosen.steps
    ]


def _times(experiment: Experiment, report: Report | None) -> Median | None:
    if report is None:
        return None
    measure: Measure = "size" if experiment.unit == "bytes" else "wall"
    return times(experiment.ours, experiment.against, measure, samples(experiment, report))


def write(found: Iterable[Row], path: Path) -> None:
    """As CSV."""
    with path.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(_HEAD)
        for row in found:
            out.writerow([*_placed(row), *_told(row.here), row.noisy, *_quoted(row.printed)])


def _placed(row: Row) -> tuple[object, ...]:
    experiment = row.experiment
    return experiment.paper, experiment.name, row.size, row.cpus, row.system, experiment.unit


def _told(here: Measured | None) -> tuple[object, ...]:
    if here is None:
        return ("",) * 9
    value = here.value
    return (
        *(value.value, value.low, value.high, value.n, here.mean, here.stdev),
        *(here.rows_per_second, here.cpu_per_million, here.peak),
    )


def _quoted(printed: Figure | None) -> tuple[object, ...]:
    if printed is None:
        return ("",) * 5
    return printed.system, printed.value, printed.unit, printed.stdev, printed.where


def _figure(experiment: Experiment, system: str | None, point: Point, cpus: int | None) -> Figure | None:
    """Of as many processors, where the paper varies them; else of one."""
    found = [
        figure
        for figure in figures_of(experiment)
        if figure.system == system
        and figure.size in ("", point.name)
        and figure.cpus in (None, cpus or 1)
        and figure.unit in (experiment.unit, _AT_MOST)
    ]
    return found[0] if found else None


def _printed(experiment: Experiment, point: Point, cpus: int | None) -> tuple[float, ...] | None:
    against = experiment.systems[experiment.against]
    for figure in figures_of(experiment):
        if figure.unit == "x" and figure.system == against:
            return (figure.value,) if figure.high is None else (figure.value, figure.high)
    ours = _figure(experiment, experiment.systems[experiment.ours], point, cpus)
    other = _figure(experiment, against, point, cpus)
    if ours is None or other is None or {ours.unit, other.unit} != {experiment.unit}:
        return None
    return (ours.value / other.value,) if experiment.unit == "MB/s" else (other.value / ours.value,)
