"""What is kept of a run, as JSON, and what is shown of it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.machine import Load, Machine
from benchmarks.median import Median
from benchmarks.outcome import CaseOutcome, GoalOutcome
from benchmarks.sample import Sample
from benchmarks.workload import Goal, Workload


@dataclasses.dataclass(frozen=True)
class Report:
    """Args:
    started: ISO 8601, UTC.
    load: before the first run.
    elsewhere: the share of the processors that others used during the runs.
    noisy: measured by force on a busy machine.
    background: how often each background case ran during the runs.
    goals: none unless the size is full, for which they are meant.
    """

    workload: str
    about: str
    size: str
    scale: float
    unit: str
    command: str
    started: str
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
        path.write_text(json.dumps(dataclasses.asdict(self), indent=1) + "\n")


def show(report: Report, console: Console) -> None:
    console.print(_cases(report))
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
    table = _table("Workloads", "name", "what", "systems", "sizes", "goals at full size", right=())
    for w in workloads:
        sizes = ", ".join(f"{name} {number:,g}" for name, number in w.sizes.items())
        goals = "\n".join(describe(goal) for goal in w.goals)
        table.add_row(w.name, w.about, ", ".join(w.systems), f"{w.unit}: {sizes}", goals)
    console.print(table)


def describe(goal: Goal) -> str:
    """Such as `tcp ÷ in-process ≤ 1.6`."""
    sign = {"value": "", "ratio": f" ÷ {goal.against}", "difference": f" - {goal.against}"}[goal.way]
    what = {"wall": "", "peak": ", memory", "service_peak": ", memory of the service"}[goal.measure]
    return f"{goal.case}{sign}{what} ≤ {goal_value(goal, goal.most)}"


def goal_value(goal: Goal, value: float) -> str:
    if goal.way == "ratio":
        return f"{value:.2f}"
    return seconds(value) if goal.measure == "wall" else megabytes(value)


def seconds(value: float) -> str:
    return f"{value * 1000:.1f} ms" if value < 0.1 else f"{value:.2f} s"


def megabytes(value: float) -> str:
    return f"{value / 1e6:,.0f} MB"


def _cases(report: Report) -> Table:
    noisy = ", noisy" if report.noisy else ""
    versus = f"÷ {report.baseline}" if report.baseline else "÷"
    table = _table(
        f"{report.workload}: {report.about} ({report.unit} {report.scale:,g}{noisy})",
        "system",
        "rows",
        "wall, median [95 %]",
        "first",
        versus,
        "CPU",
        "memory",
        "of the service",
        "written",
    )
    for c in report.cases:
        table.add_row(
            c.name,
            f"{c.rows:,}",
            _interval(c.wall, [seconds(v) for v in (c.wall.value, c.wall.low, c.wall.high)]),
            seconds(c.first),
            _interval(c.ratio, [f"{v:.2f}" for v in (c.ratio.value, c.ratio.low, c.ratio.high)])
            if c.ratio
            else "",
            seconds(c.cpu),
            megabytes(c.peak),
            megabytes(c.service_peak) if c.service_peak else "",
            megabytes(c.written),
        )
    return table


def _goals(report: Report) -> Table:
    table = _table("Goals", "goal", "reached [95 %]", "")
    for outcome in report.goals:
        r = outcome.reached
        texts = [goal_value(outcome.goal, v) for v in (r.value, r.low, r.high)]
        verdict = "[green]met[/]" if outcome.met else "[red]missed[/]"
        table.add_row(describe(outcome.goal), _interval(r, texts), verdict)
    return table


def _interval(median: Median, texts: Sequence[str]) -> str:
    value, low, high = texts
    return value if median.n == 1 else f"{value} [{low.split()[0]}, {high.split()[0]}]"


def _table(title: str, first: str, *others: str, right: Sequence[str] | None = None) -> Table:
    table = Table(
        title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, collapse_padding=True
    )
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="right" if right is None else "left")
    return table
