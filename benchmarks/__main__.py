"""`python -m benchmarks`: see `benchmarks`."""

from __future__ import annotations

import datetime as dt
import math
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.catalog import WORKLOADS
from benchmarks.machine import MachineBusy, check_load, current_load, machine
from benchmarks.measure import WrongResult, measure
from benchmarks.outcome import case_outcomes, goal_outcomes
from benchmarks.process import CaseFailed
from benchmarks.report import Report, list_workloads, show
from benchmarks.workload import FULL, SIZES, Workload

_RESULTS = Path(__file__).parent / "results"
_WRONG, _USAGE, _BUSY = 1, 2, 3


def main(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[WORKLOAD]...", help="All by default.")
    ] = None,
    runs: Annotated[int | None, typer.Option(help="Rounds; each workload has its own number.", min=1)] = None,
    size: Annotated[
        str, typer.Option(help=f"One of {', '.join(SIZES)}; or a number in the workload's unit.")
    ] = FULL,
    out: Annotated[Path, typer.Option(help="Folder for JSON and plots.")] = _RESULTS,
    list_: Annotated[bool, typer.Option("--list", help="Say what there is, and measure nothing.")] = False,
    force: Annotated[bool, typer.Option(help="Measure on a busy machine too, and mark the figures.")] = False,
) -> None:
    """Measure Headrace beside what it replaces, after checking that all give the same rows.

    Exit codes: 1 systems gave different rows, or one failed; 2 usage; 3 the machine is busy.
    """
    console = Console()
    if list_:
        list_workloads(list(WORKLOADS.values()), console)
        return
    if not _is_size(size) or not set(names or ()) <= WORKLOADS.keys():
        console.print(f"workloads are {', '.join(WORKLOADS)}; sizes are {', '.join(SIZES)}, or a number")
        raise typer.Exit(_USAGE)
    for chosen in [WORKLOADS[name] for name in names or WORKLOADS]:
        try:
            report = run(chosen, size, runs or chosen.runs, force)
        except MachineBusy as error:
            console.print(f"{chosen.name} is not measured: {error}")
            raise typer.Exit(_BUSY) from None
        except (WrongResult, CaseFailed) as error:
            console.print(f"{chosen.name} is not measured: {error}", markup=False)
            raise typer.Exit(_WRONG) from None
        from benchmarks.plot import draw  # a second that nobody waits for who only asks for help

        out.mkdir(parents=True, exist_ok=True)
        name = f"{report.workload}-{report.size}-{report.started[:19].replace(':', '')}"
        report.write(out / f"{name}.json")
        draw(report, out / f"{name}.png")
        show(report, console)
        console.print(f"{out / name}.json and .png", soft_wrap=True)


def run(workload: Workload, size: str, runs: int, force: bool) -> Report:
    """Raises MachineBusy, WrongResult, CaseFailed."""
    progress = Console(stderr=True)
    scale = workload.sizes[size] if size in SIZES else float(size)
    with progress.status(f"{workload.name}: data") as status, workload.opened(scale) as cases:
        load = current_load()
        check_load(load, force)
        started = dt.datetime.now(dt.UTC)
        found = measure(cases, runs, lambda text: status.update(f"{workload.name}: {text}"))
    return Report(
        workload=workload.name,
        about=workload.about,
        size=size,
        scale=scale,
        unit=workload.unit,
        command=" ".join(["python -m benchmarks", *sys.argv[1:]]),
        started=started.isoformat(timespec="seconds"),
        machine=machine(),
        load=load,
        elsewhere=found.elsewhere,
        noisy=load.busy,
        background=found.background,
        baseline=workload.baseline,
        cases=case_outcomes(workload, cases, found.samples),
        goals=goal_outcomes(workload.goals, found.samples) if size == FULL else [],
        samples=found.samples,
    )


def _is_size(text: str) -> bool:
    if text in SIZES:
        return True
    try:
        return 0 < float(text) < math.inf
    except ValueError:
        return False


if __name__ == "__main__":
    typer.run(main)
