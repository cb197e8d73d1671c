"""What is kept of a run, as JSON, and what is shown of it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.machine import Load, Machine
from benchmarks.median import Median
from benchmarks.outcome import CaseOutcome, GoalOutcome, timed
from benchmarks.sample import Sample
from benchmarks.workload import Goal, Workload


class BadReport(Exception):
    """A file that was to hold a report holds something else."""


@dataclasses.dataclass(frozen=True)
class Report:
    """Args:
    runs: rounds.
    started: ISO 8601, UTC.
    seconds: from there on, and of what was made before.
    load: before the first run.
    elsewhere: the share of the processors that others used during the runs.
    noisy: others used more than half of the machine: before, and it was forced, or meanwhile.
    background: how often each background case ran during the runs.
    goals: none unless the size is full, for which they are meant.
    """

    workload: str
    about: str
    size: str
    scale: float
    unit: str
    runs: int
    command: str
    started: str
    seconds: float
    machine: Machine
    load: Load
    elsewhere: float
    noisy: bool
    background: dict[str, int]
    baseline: str | None
    cases: list[CaseOutcome]
    goals: list[GoalOutcome]
    samples: Sequence[Sample]

    def write(self, path: Path) -> None:
        """Whole or not at all."""
        write_whole(path, json.dumps(dataclasses.asdict(self), indent=1) + "\n")

    @classmethod
    def read(cls, path: Path) -> Report:
        """Raises BadReport."""
        try:
            found = msgspec.json.decode(path.read_bytes(), type=cls)
        except (msgspec.MsgspecError, RecursionError, OSError) as error:
            raise BadReport(
                f"{path} is not a report of this version: {error}; measure anew without it"
            ) from None
        for case in found.cases:
            own = [sample for sample in found.samples if sample.case == case.name]
            if len(timed(own)) != found.runs:
                raise BadReport(
                    f"{path} has {len(timed(own))} rounds of {case.name}, and is to have {found.runs}; "
                    "measure anew without it"
                )
            if any(sample.wall <= 0 or sample.size == 0 or sample.rows < 0 for sample in own):
                raise BadReport(f"{path} has runs of {case.name} that cannot be; measure anew without it")
        return found


def write_whole(path: Path, text: str) -> None:
    """Or not at all."""
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(text)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def show(report: Report, console: Console) -> None:
    console.print(_times(report))
    console.print(_first_runs(report))
    for name, count in report.background.items():
        console.print(f"  {name} ran {count} times meanwhile")
    if report.goals:
        console.print(_goals(report))
    mark = "[yellow]noisy[/]: " if report.noisy else ""
    console.print(
        f"{mark}before the first run {report.load.cpu:.0f} % of the processors and {report.load.memory:.0f} % of "
        f"the memory were in use; others used {report.elsewhere:.0%} of the processors meanwhile"
    )


def list_workloads(workloads: Sequence[Workload], console: Console) -> None:
    for w in workloads:
        console.print(f"[bold]{w.name}[/]: {w.about}", highlight=False)
        console.print(f"  systems: {'; '.join(w.systems)}", highlight=False)
        sizes = ", ".join(f"{name} {number:,g}" for name, number in w.sizes.items())
        console.print(f"  sizes ({w.unit}): {sizes}; {w.runs} rounds", highlight=False)
        console.print(
            f"  goals at full size: {'; '.join(describe(goal) for goal in w.goals)}", highlight=False
        )


def describe(goal: Goal) -> str:
    """Such as `tcp ÷ in-process ≤ 1.60`."""
    sign = {"value": "", "ratio": f" ÷ {goal.against}", "difference": f" - {goal.against}"}[goal.way]
    what = {
        "wall": "",
        "cpu": ", CPU",
        "peak": ", memory",
        "service_peak": ", memory of the service",
        "size": ", bytes",
    }
    return f"{goal.case}{sign}{what[goal.measure]} ≤ {goal_value(goal, goal.most)}"


def goal_value(goal: Goal, *values: float) -> str:
    """A value, or a median and its interval, in the goal's unit."""
    if goal.way == "ratio":
        return _interval(values, 1, 2, "")
    return _seconds(*values) if goal.measure in ("wall", "cpu") else _megabytes(*values)


def _seconds(*values: float) -> str:
    return _interval(values, 1000, 1, " ms") if values[0] < 0.1 else _interval(values, 1, 2, " s")


def _megabytes(*values: float) -> str:
    return _interval(values, 1e-6, 0, " MB")


def _interval(values: Sequence[float], factor: float, digits: int, unit: str) -> str:
    """Such as `1.52 s`; or `1.52 s [1.48, 1.60]`, of a median and its interval."""
    first, *rest = [f"{value * factor:,.{digits}f}" for value in values]
    return f"{first}{unit} [{', '.join(rest)}]" if rest else first + unit


def _shown(median: Median) -> list[float]:
    """The median, and its interval if it is of more than one value."""
    return [median.value] if median.n == 1 else [median.value, median.low, median.high]


def _times(report: Report) -> Table:
    noisy = ", noisy" if report.noisy else ""
    title = f"{report.workload}: {report.about} ({report.unit} {report.scale:,g}{noisy})"
    names = {c.against for c in report.cases if c.against}
    versus = [f"÷ {next(iter(names))}" if len(names) == 1 else "ratio"] if names else []
    served = any(c.server_cpu is not None for c in report.cases)
    servers = ["CPU, 1 M rows", "CPU of the servers"] if served else []
    sized = any(c.size is not None for c in report.cases)
    sizes = ["bytes a row"] if sized else []
    table = _table(title, "system", "wall, median [95 %]", *versus, "CPU", *versus, *servers, *sizes)
    for c in report.cases:
        ratio = [_interval(_shown(c.ratio), 1, 2, "")] if c.ratio else []
        cpu_ratio = [f"{c.cpu_ratio:.2f}"] if c.cpu_ratio else []
        apart = [_seconds(1e6 * c.cpu / c.rows), "" if c.server_cpu is None else _seconds(c.server_cpu)]
        cells = [_seconds(*_shown(c.wall)), *ratio, _seconds(c.cpu), *cpu_ratio]
        size = ["" if c.size is None else f"{c.size / c.rows:,.1f}"] if sized else []
        table.add_row(c.name, *cells, *(apart if served else []), *size)
    return table


def _first_runs(report: Report) -> Table:
    table = _table(
        "First run, in a fresh process",
        "system",
        "rows",
        "wall",
        "memory",
        "of the service",
        "written to disk",
    )
    for c in report.cases:
        service = _megabytes(c.service_peak) if c.service_peak else ""
        written = _megabytes(c.written) if c.written else ""
        table.add_row(c.name, f"{c.rows:,}", _seconds(c.first), _megabytes(c.peak), service, written)
    return table


def _goals(report: Report) -> Table:
    table = _table("Goals", "goal", "reached [95 %]", "")
    for outcome in report.goals:
        verdict = "[green]met[/]" if outcome.met else "[red]missed[/]"
        table.add_row(describe(outcome.goal), goal_value(outcome.goal, *_shown(outcome.reached)), verdict)
    return table


def _table(title: str, first: str, *others: str) -> Table:
    table = Table(
        title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, collapse_padding=True
    )
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="right")
    return table
