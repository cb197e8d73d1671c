"""One workload at one size, measured."""

from __future__ import annotations

import datetime as dt
import sys
import time

from rich.console import Console

from benchmarks.machine import is_busy, machine, quiet_load
from benchmarks.measure import measure
from benchmarks.outcome import case_outcomes, goal_outcomes
from benchmarks.report import Report
from benchmarks.workload import FULL, SIZES, Workload


def run(workload: Workload, size: str, runs: int, force: bool) -> Report:
    """Tells on stderr what it does.

    Args:
        size: a size's name, or a number in the workload's unit.

    Raises:
        MachineBusy, WrongResult, CaseFailed.
    """
    progress = Console(stderr=True)
    scale = workload.sizes[size] if size in SIZES else float(size)
    begun, ours = time.perf_counter(), machine()
    with progress.status(f"{workload.name}: data") as status:

        def tell(text: str) -> None:
            status.update(f"{workload.name}: {text}")

        if not force:
            quiet_load(force, tell)  # before data are made, which may take long
            tell("data")
        with workload.opened(scale) as cases:
            load = quiet_load(force, tell)
            started = dt.datetime.now(dt.UTC)
            found = measure(cases, runs, tell)
    return Report(
        workload=workload.name,
        about=workload.about,
        size=size,
        scale=scale,
        unit=workload.unit,
        runs=runs,
        command=" ".join(["python -m benchmarks", *sys.argv[1:]]),
        started=started.isoformat(timespec="seconds"),
        seconds=time.perf_counter() - begun,
        machine=ours,
        load=load,
        elsewhere=found.elsewhere,
        noisy=load.busy or is_busy(found.elsewhere),
        background=found.background,
        baseline=workload.baseline,
        cases=case_outcomes(workload, cases, found.samples),
        goals=goal_outcomes(workload.goals, found.samples) if size == FULL else [],
        samples=found.samples,
    )
