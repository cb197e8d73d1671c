"""A suite, step by step. What is done is kept, so a suite that was stopped goes on."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from rich.console import Console

from benchmarks.catalog import WORKLOADS
from benchmarks.evaluation.suite import Step, Suite
from benchmarks.measure import WrongResult
from benchmarks.pinning import pinned
from benchmarks.process import CaseFailed
from benchmarks.report import Report
from benchmarks.run import run


def path_of(step: Step, folder: Path) -> Path:
    return folder / f"{step.name}.json"


def done(suite: Suite, folder: Path) -> dict[Step, Report]:
    """The steps that need not be run again. Raises BadReport."""
    return {
        step: Report.read(path_of(step, folder)) for step in suite.steps if path_of(step, folder).exists()
    }


def list_steps(suite: Suite, folder: Path, console: Console) -> None:
    for step in suite.steps:
        told = "done" if path_of(step, folder).exists() else "to do"
        console.print(f"{step.name}: {step.runs} rounds, {told}", highlight=False)


def go_on(suite: Suite, folder: Path, force: bool, console: Console) -> dict[Step, str]:
    """Run what is left of a suite.

    Returns:
        The steps that could not be measured, with the reason.

    Raises:
        MachineBusy: what was done is kept; BadReport.
    """
    folder.mkdir(parents=True, exist_ok=True)
    kept = done(suite, folder)
    left = [step for step in suite.steps if step not in kept]
    seconds = [report.seconds for report in kept.values()]
    failed: dict[Step, str] = {}
    for at, step in enumerate(left):
        ahead = ""
        if seconds:
            ahead = (
                f", about {dt.timedelta(seconds=round(sum(seconds) / len(seconds) * (len(left) - at)))} left"
            )
        console.print(
            f"{len(kept) + at + 1} of {len(suite.steps)}: {step.name}, {step.runs} rounds{ahead}",
            highlight=False,
        )
        try:
            with pinned(step.cpus):
                report = run(WORKLOADS[step.workload], f"{step.scale:g}", step.runs, force)
        except (WrongResult, CaseFailed) as error:
            console.print(f"{step.name} is not measured: {error}", markup=False)
            failed[step] = str(error)
            continue
        report.write(path_of(step, folder))
        seconds.append(report.seconds)
    return failed
