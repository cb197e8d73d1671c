"""A suite, step by step. What is done is kept, so a suite that was stopped goes on."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console

from benchmarks.catalog import WORKLOADS
from benchmarks.evaluation.suite import Step, Suite
from benchmarks.machine import MachineBusy
from benchmarks.measure import WrongResult
from benchmarks.pinning import pinned
from benchmarks.process import CaseFailed
from benchmarks.report import Report
from benchmarks.run import run


def path_of(step: Step, folder: Path) -> Path:
    return folder / f"{step.name}.json"


def why_path_of(step: Step, folder: Path) -> Path:
    """The file that says why it could not be measured."""
    return folder / f"{step.name}.failed.txt"


def done(suite: Suite, folder: Path) -> dict[Step, Report]:
    """The steps that need not be run again: those of as many rounds as the suite wants. Raises BadReport."""
    found = {
        step: Report.read(path_of(step, folder)) for step in suite.steps if path_of(step, folder).exists()
    }
    return {step: report for step, report in found.items() if report.runs >= step.runs}


def failed(suite: Suite, folder: Path) -> dict[Step, str]:
    """The steps that could not be measured, with the reason."""
    paths = {step: why_path_of(step, folder) for step in suite.steps}
    return {step: path.read_text() for step, path in paths.items() if path.exists()}


def list_steps(suite: Suite, folder: Path, console: Console) -> None:
    kept = done(suite, folder)
    for step in suite.steps:
        told = "to do" if step not in kept else "disturbed" if kept[step].noisy else "done"
        console.print(f"{step.name}: {step.runs} rounds, {told}", highlight=False)


def go_on(suite: Suite, folder: Path, force: bool, console: Console) -> None:
    """Run what is left of a suite, what failed before, and, unless forced, what was disturbed.

    Raises:
        MachineBusy: what was done is kept; BadReport.
    """
    folder.mkdir(parents=True, exist_ok=True)
    kept = {step: report for step, report in done(suite, folder).items() if force or not report.noisy}
    left = [step for step in suite.steps if step not in kept]
    seconds = {step: report.seconds for step, report in kept.items()}
    for at, step in enumerate(left):
        console.print(
            f"{len(kept) + at + 1} of {len(suite.steps)}: {step.name}, {step.runs} rounds"
            f"{_ahead(seconds, left[at:])}",
            highlight=False,
        )
        try:
            with pinned(step.cpus):
                report = run(WORKLOADS[step.workload], f"{step.scale:g}", step.runs, force)
        except MachineBusy:
            raise
        except Exception as error:  # of any rival's: the steps after it are measured all the same
            told = (
                str(error)
                if isinstance(error, WrongResult | CaseFailed)
                else f"{type(error).__name__}: {error}"
            )
            console.print(f"{step.name} is not measured: {told}", markup=False)
            why_path_of(step, folder).write_text(told + "\n")
            continue
        report.write(path_of(step, folder))
        why_path_of(step, folder).unlink(missing_ok=True)
        seconds[step] = report.seconds


def _ahead(seconds: dict[Step, float], left: Iterable[Step]) -> str:
    """How long it will take, once that can be told: by the nearest steps of the same workloads."""
    total = 0.0
    for step in left:
        alike = [other for other in seconds if other.workload == step.workload]
        if not alike:
            return ""
        total += seconds[min(alike, key=lambda other: abs(other.scale - step.scale))]
    return f", about {dt.timedelta(seconds=round(total))} left"
