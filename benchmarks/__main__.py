"""`python -m benchmarks`: see `benchmarks`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.catalog import WORKLOADS
from benchmarks.evaluation import suite as suites
from benchmarks.evaluation.session import done, failed, go_on, list_steps
from benchmarks.machine import MachineBusy
from benchmarks.measure import WrongResult
from benchmarks.process import CaseFailed
from benchmarks.report import BadReport, list_workloads, show
from benchmarks.run import run
from benchmarks.workload import FULL, SIZES

_RESULTS = Path(__file__).parent / "results"
_WRONG, _USAGE, _BUSY = 1, 2, 3


def main(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[WORKLOAD]...", help="All by default.")
    ] = None,
    runs: Annotated[int | None, typer.Option(help="Rounds; each workload has its own number.", min=1)] = None,
    size: Annotated[
        str | None,
        typer.Option(
            help=f"One of {', '.join(SIZES)}; or a number in the workload's unit. By default {FULL}."
        ),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(
            help=f"The papers' experiments in place of workloads; one of {', '.join(suites.NAMES)}."
        ),
    ] = None,
    report: Annotated[
        bool, typer.Option("--report", help="Of a suite: write its page, and measure nothing.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for JSON and plots.")] = _RESULTS,
    list_: Annotated[bool, typer.Option("--list", help="Say what there is, and measure nothing.")] = False,
    force: Annotated[bool, typer.Option(help="Measure on a busy machine too, and mark the figures.")] = False,
) -> None:
    """Measure Headrace beside what it replaces, after checking that all give the same rows.

    Exit codes: 1 systems gave different rows, or one failed (a report of it is none); 2 usage; 3 the machine is busy.
    """
    console = Console()
    if suite is not None or report:
        if suite not in suites.NAMES or names or runs or size:
            console.print(
                f"suites are {', '.join(suites.NAMES)}: their files say which workloads, sizes and rounds they have"
            )
            raise typer.Exit(_USAGE)
        raise typer.Exit(_evaluate(suite, out, list_, report, force, console))
    if list_:
        list_workloads(list(WORKLOADS.values()), console)
        return
    size = size or FULL
    if not _is_size(size) or not set(names or ()) <= WORKLOADS.keys():
        console.print(f"workloads are {', '.join(WORKLOADS)}; sizes are {', '.join(SIZES)}, or a number")
        raise typer.Exit(_USAGE)
    for chosen in [WORKLOADS[name] for name in names or WORKLOADS]:
        try:
            found = run(chosen, size, runs or chosen.runs, force)
        except MachineBusy as error:
            console.print(f"{chosen.name} is not measured: {error}")
            raise typer.Exit(_BUSY) from None
        except (WrongResult, CaseFailed) as error:
            console.print(f"{chosen.name} is not measured: {error}", markup=False)
            raise typer.Exit(_WRONG) from None
        from benchmarks.plot import draw  # a second that nobody waits for who only asks for help

        out.mkdir(parents=True, exist_ok=True)
        name = f"{found.workload}-{found.size}-{found.started[:19].replace(':', '')}"
        found.write(out / f"{name}.json")
        draw(found, out / f"{name}.png")
        show(found, console)
        console.print(f"{out / name}.json and .png", soft_wrap=True)


def _evaluate(name: str, out: Path, list_: bool, report: bool, force: bool, console: Console) -> int:
    """Its exit code."""
    suite, folder = suites.load(name), out / name
    try:
        if list_:
            list_steps(suite, folder, console)
            return 0
        if not report:
            go_on(suite, folder, force, console)
        kept, why = done(suite, folder), failed(suite, folder)
    except MachineBusy as error:
        console.print(f"{error}. The same command goes on from here.")
        return _BUSY
    except BadReport as error:
        console.print(str(error), markup=False)
        return _WRONG
    from benchmarks.evaluation import page

    console.print(f"{page.write(suite, kept, why, folder / 'page')}", soft_wrap=True)
    for step, told in why.items():
        console.print(f"{step.name} failed: {told.splitlines()[0]}", markup=False)
    return _WRONG if why and not report else 0


def _is_size(text: str) -> bool:
    if text in SIZES:
        return True
    try:
        return 0 < float(text) < math.inf
    except ValueError:
        return False


if __name__ == "__main__":
    typer.run(main)
