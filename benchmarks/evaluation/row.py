"""What a paper printed beside what was measured here."""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

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
    *("standard deviation", "times ours", "rows/s", "CPU-s per million rows", "peak bytes", "noisy"),
    *("stands for", "printed", "printed unit", "printed deviation", "printed rows/s", "where"),
    *(
        "begun",
        "commit",
        "processor",
        "memory",
        "% of processors before",
        "% of memory before",
        "% others used",
    ),
)
_RATIOS_HEAD = (
    *("paper", "experiment", "size", "processors", "system", "beside"),
    *("times as fast", "low", "high", "printed from", "printed to", "source", "noisy"),
)
AT_MOST = "% at most"
"""A figure's unit: of the whole."""
_LESS = "% less"
_THOUSANDS = "k rows/s"


@dataclasses.dataclass(frozen=True)
class Row:
    """One system at one size.

    Args:
        cpus: to which it was pinned; None where it had all.
        printed: of the paper's system for which it stands; None where the text has no figure.
        printed_speed: rows a second, likewise.
        printed_share: how much less it is than with one processor, where the text has that alone.
        here: None where it was not measured.
        longer: how many times as much as the experiment's own system takes; None for that one itself.
        report: of which it is; None as of `here`.
    """

    experiment: Experiment
    size: str
    cpus: int | None
    system: str
    printed: Figure | None
    printed_speed: float | None
    printed_share: Figure | None
    here: Measured | None
    longer: Median | None
    report: Report | None

    @property
    def noisy(self) -> bool:
        return self.report is not None and self.report.noisy


@dataclasses.dataclass(frozen=True)
class Printed:
    """How many times as fast, in a paper.

    Args:
        values: one number, or the two ends of a range.
        source: it is printed so; or it is that of two printed figures; or these were each reckoned of the one for one
            processor, and of how much less it is with more.
        words: as it is printed, where that is not a number.
    """

    values: tuple[float, ...]
    source: Literal["printed", "figures", "shares"]
    words: str = ""


@dataclasses.dataclass(frozen=True)
class SpeedUp:
    """How many times as fast what is new is as what it replaces, or how many times smaller.

    Args:
        printed: None where the text has neither it nor both its sides.
        noisy: others used the machine meanwhile.
    """

    experiment: Experiment
    size: str
    cpus: int | None
    system: str
    against: str
    printed: Printed | None
    here: Median | None
    noisy: bool


def rows(suite: Suite, reports: Mapping[Step, Report]) -> list[Row]:
    return [
        _row(chosen.experiment, case, stands_for, point, step, reports.get(step))
        for chosen in suite.chosen
        for point, step in chosen.steps
        for case, stands_for in chosen.experiment.systems.items()
    ]


def _row(
    experiment: Experiment, case: str, stands_for: str | None, point: Point, step: Step, report: Report | None
) -> Row:
    printed = [f for f in figures_of(experiment) if f.system == stands_for and f.size in ("", point.name)]
    own = [f for f in printed if f.cpus in (None, step.cpus)]
    speed = next((1000 * f.value for f in own if f.unit == _THOUSANDS), None)
    here = measured(experiment, case, point, report)
    longer = None
    if here is not None and case != experiment.ours:
        longer = _times(experiment, experiment.ours, case, report)
    return Row(
        experiment,
        point.name,
        step.cpus,
        case,
        next((f for f in own if f.unit in (experiment.unit, AT_MOST)), None),
        speed,
        next((f for f in own if f.unit == _LESS), None),
        here,
        longer,
        None if here is None else report,
    )


def speed_ups(suite: Suite, reports: Mapping[Step, Report]) -> list[SpeedUp]:
    return [
        SpeedUp(
            chosen.experiment,
            point.name,
            step.cpus,
            ours,
            against,
            _printed(chosen.experiment, ours, against, point, step.cpus),
            _times(chosen.experiment, ours, against, reports.get(step)),
            step in reports and reports[step].noisy,
        )
        for chosen in suite.chosen
        for ours, against in chosen.experiment.pairs
        for point, step in chosen.steps
    ]


def _times(experiment: Experiment, case: str, against: str, report: Report | None) -> Median | None:
    if report is None:
        return None
    found = samples(experiment, report)
    if not {case, against} <= {sample.case for sample in found}:
        return None
    measure: Measure = "size" if experiment.unit == "bytes" else "wall"
    return times(case, against, measure, found)


def _printed(
    experiment: Experiment, case: str, against: str, point: Point, cpus: int | None
) -> Printed | None:
    figures = [f for f in figures_of(experiment) if f.size in ("", point.name)]
    ours, theirs = experiment.systems[case], experiment.systems[against]
    if ours is None or theirs is None or ours == theirs:
        return None
    for figure in figures:
        if figure.unit == "x" and figure.system == theirs:
            values = (figure.value,) if figure.high is None else (figure.value, figure.high)
            return Printed(values, "printed", figure.words)

    def value_of(system: str, unit: str, cpus: int | None) -> float | None:
        of_it = (f for f in figures if f.system == system and f.cpus in (None, cpus))
        return next((f.value for f in of_it if f.unit == unit), None)

    def reckoned(system: str) -> float | None:
        alone, less = value_of(system, experiment.unit, 1), value_of(system, _LESS, cpus)
        return None if alone is None or less is None else alone * (1 - less / 100)

    one, other = (value_of(system, experiment.unit, cpus) for system in (ours, theirs))
    if one is not None and other is not None:
        return Printed((one / other if experiment.unit == "MB/s" else other / one,), "figures")
    one, other = reckoned(ours), reckoned(theirs)
    return None if one is None or other is None else Printed((other / one,), "shares")


def write(found: Iterable[Row], path: Path) -> None:
    """As CSV."""
    lines = ([*_placed(row), *_told(row), row.noisy, *_quoted(row), *_measured(row)] for row in found)
    write_lines(path, _HEAD, lines)


def write_ratios(found: Iterable[SpeedUp], path: Path) -> None:
    """As CSV."""
    write_lines(path, _RATIOS_HEAD, map(_ratio, found))


def write_lines(path: Path, head: Sequence[str], lines: Iterable[Sequence[object]]) -> None:
    """As CSV."""
    with path.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(head)
        out.writerows(lines)


def _placed(row: Row) -> tuple[object, ...]:
    experiment = row.experiment
    return experiment.paper, experiment.name, row.size, row.cpus, row.system, experiment.unit


def _told(row: Row) -> tuple[object, ...]:
    here = row.here
    if here is None:
        return ("",) * 10
    value = here.value
    return (
        *(value.value, value.low, value.high, value.n, here.mean, here.stdev),
        *(row.longer and row.longer.value, here.rows_per_second, here.cpu_per_million, here.peak),
    )


def _quoted(row: Row) -> tuple[object, ...]:
    printed = row.printed or row.printed_share
    if printed is None:
        stands_for = row.experiment.systems[row.system]
        return stands_for, "figure not in text" if stands_for else "", "", "", row.printed_speed, ""
    words = printed.words or printed.value
    return printed.system, words, printed.unit, printed.stdev, row.printed_speed, printed.where


def _measured(row: Row) -> tuple[object, ...]:
    report = row.report
    if report is None:
        return ("",) * 7
    machine, load = report.machine, report.load
    return (
        *(report.started, machine.commit, machine.processor, machine.memory),
        *(load.cpu, load.memory, round(100 * report.elsewhere, 1)),
    )


def _ratio(found: SpeedUp) -> tuple[object, ...]:
    here, printed = found.here, found.printed
    return (
        *(found.experiment.paper, found.experiment.name, found.size, found.cpus, found.system, found.against),
        *(("", "", "") if here is None else (here.value, here.low, here.high)),
        *(("", "", "") if printed is None else (min(printed.values), max(printed.values), printed.source)),
        found.noisy,
    )
