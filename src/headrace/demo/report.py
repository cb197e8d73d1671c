"""What the demo did and found, for programs (`--json`) and for people."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text


@dataclasses.dataclass(frozen=True)
class Step:
    """One step of the demo: how many rows it took, and how long."""

    name: str
    rows: int
    seconds: float
    rows_per_second: float


@dataclasses.dataclass(frozen=True)
class Match:
    """How well a feature group answered the flights. Ages are seconds between feature and departure."""

    group: str
    rows: int
    matched: int
    match_rate: float
    age_median: float
    age_p95: float
    age_max: float


@dataclasses.dataclass(frozen=True)
class MeanError:
    """Mean absolute error in minutes on flights that the model was not trained on.

    Args:
        month: such as "October"; None for all of them.
        model: gradient-boosted trees over what was known at departure.
        median: always saying the median of the training set.
        last_leg: saying that the flight is as late as its plane's leg before.
    """

    month: str | None
    flights: int
    model: float
    median: float
    last_leg: float


@dataclasses.dataclass(frozen=True)
class DemoReport:
    """Everything that a run of the demo gives; `checked` counts the flights checked by brute force."""

    root: str
    plot: str
    seconds: float
    steps: list[Step]
    matches: list[Match]
    checked: int
    errors: list[MeanError]
    first_rows: list[dict[str, Any]]


def show(report: DemoReport, console: Console) -> None:
    """Print the report as tables."""
    console.print(_steps(report))
    console.print(_matches(report))
    console.print(_errors(report))
    console.print(_rows(report))
    for line in (
        f"{report.checked:,} flights checked by brute force: nothing is from after departure, or not the newest",
        f"plot: {report.plot}",
        f'the lake stays: hr.connect("{report.root}", project="demo")',
        f"or: headrace fg list --store {report.root} --project demo",
    ):
        console.print(Text.assemble(("✓ ", "green"), line), soft_wrap=True)


def _steps(report: DemoReport) -> Table:
    table = _table("What it did", "step", "rows", "seconds", "rows/s")
    for step in report.steps:
        rate = f"{step.rows_per_second:,.0f}" if step.rows else ""
        table.add_row(step.name, f"{step.rows:,}" if step.rows else "", f"{step.seconds:.2f}", rate)
    table.add_section()
    table.add_row("all", "", f"{report.seconds:.2f}", "")
    return table


def _matches(report: DemoReport) -> Table:
    table = _table(
        "What was known at departure",
        "feature group",
        "matched",
        "of flights",
        "rate",
        "age: median",
        "95 %",
        "oldest",
    )
    for match in report.matches:
        ages = [_age(seconds) for seconds in (match.age_median, match.age_p95, match.age_max)]
        table.add_row(match.group, f"{match.matched:,}", f"{match.rows:,}", f"{match.match_rate:.1%}", *ages)
    return table


def _errors(report: DemoReport) -> Table:
    table = _table(
        "Arrival delay, unseen flights: mean error in minutes",
        "month",
        "flights",
        "model",
        "always the median",
        "as the last leg",
    )
    for error in report.errors:
        figures = [f"{minutes:.1f}" for minutes in (error.model, error.median, error.last_leg)]
        if error.month is None:
            table.add_section()
        table.add_row(error.month or "all", f"{error.flights:,}", *figures)
    return table


def _rows(report: DemoReport) -> Table:
    names = list(report.first_rows[0]) if report.first_rows else []
    # Names break after their prefix, so that the table fits a terminal of 80 columns.
    heads = [name.replace("wx_", "wx_\n").replace("prev_", "prev_\n") for name in names]
    table = _table("First rows to be answered (times in UTC)", *heads)
    for row in report.first_rows:
        table.add_row(*map(_cell, row.values()))
    return table


def _table(title: str, first: str, *others: str) -> Table:
    table = Table(
        title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, collapse_padding=True
    )
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="right")
    return table


def _age(seconds: float) -> str:
    """Such as `24 min`, `21.5 h`, `8.8 d`."""
    if seconds < 2 * 3600 + 1:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 2 * 86_400 else f"{seconds / 86_400:.1f} d"


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, dt.datetime):
        return f"{value:%m-%d %H:%M}"
    return f"{value:g}" if isinstance(value, float) else str(value)
