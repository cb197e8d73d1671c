"""`python -m benchmarks`: see `benchmarks`."""

from __future__ import annotations

import math
import signal
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.catalog import WORKLOADS
from benchmarks.evaluation import suite as suites
from benchmarks.evaluation.session import BadFolder, done, failed, go_on, list_steps
from benchmarks.machine import MachineBusy
from benchmarks.measure import WrongResult
from benchmarks.process import CaseFailed
from benchmarks.report import BadReport, list_workloads, show
from benchmarks.run import run
from benchmarks.stop import Stop, stoppable
from benchmarks.workload import FULL, SIZES

_RESULTS = Path(__file__).parent / "results"
_WRONG, _USAGE, _BUSY = 1, 2, 3
_SIGNALLED = 128
"""And the signal's number, as shells have it."""


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
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Of a suite: these experiments alone, such as 'aoki-2021/*'."),
    ] = None,
    report: Annotated[
        bool, typer.Option("--report", help="Of a suite: write its page, and measure nothing.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for JSON and plots.")] = _RESULTS,
    list_: Annotated[bool, typer.Option("--list", help="Say what there is, and measure nothing.")] = False,
    force: Annotated[bool, typer.Option(help="Measure on a busy machine too, and mark the figures.")] = False,
) -> None:
    """Measure Headrace beside what it replaces, after checking that all give the same rows.

    Exit codes: 1 systems gave different rows, or one failed (a report of it is none), or results cannot be
    kept; 2 usage; 3 the machine is busy; 130 and 143 stopped.
    """
    console = Console()
    misuse = _misuse(names, runs, size, suite, only, report)
    if misuse:
        console.print(misuse, markup=False)
        raise typer.Exit(_USAGE)
    with stoppable() as stop:
        try:
            if suite is not None:
                code = _evaluate(suite, only, out, list_, report, force, console, stop)
            elif list_:
                list_workloads(list(WORKLOADS.values()), console)
                code = 0
            else:
                code = _measure(names or list(WORKLOADS), size or FULL, runs, out, force, console)
        except KeyboardInterrupt:
            console.print(f"stopped{': the same command goes on from here' if suite else ''}")
            code = _SIGNALLED + (stop.asked or signal.SIGINT)
        except OSError as error:
            console.print(f"{error.filename or out}: {error.strerror}", markup=False)
            code = _WRONG
    raise typer.Exit(code)


def _misuse(
    names: list[str] | None,
    runs: int | None,
    size: str | None,
    suite: str | None,
    only: list[str] | None,
    report: bool,
) -> str | None:
    """What is wrong with what is asked for."""
    if suite is not None and suite not in suites.NAMES:
        return f"there is no suite {suite}; there are {', '.join(suites.NAMES)}"
    if suite is not None and (names or runs or size):
        return f"suite {suite} has its own workloads, sizes and rounds; --only takes some of its experiments"
    if suite is None and (report or only):
        return f"{'--report' if report else '--only'} is of a suite: --suite with {', '.join(suites.NAMES)}"
    for name in names or ():
        if name not in WORKLOADS:
            return f"there is no workload {name}; there are {', '.join(WORKLOADS)}"
    if size is not None and not _is_size(size):
        return f"{size} is no size; sizes are {', '.join(SIZES)}, or a number"
    return None


def _measure(names: list[str], size: str, runs: int | None, out: Path, force: bool, console: Console) -> int:
    """Its exit code."""
    out.mkdir(parents=True, exist_ok=True)
    for chosen in [WORKLOADS[name] for name in names]:
        try:
            found = run(chosen, size, runs or chosen.runs, force)
        except MachineBusy as error:
            console.print(f"{chosen.name} is not measured: {error}")
            return _BUSY
        except (WrongResult, CaseFailed) as error:
            console.print(f"{chosen.name} is not measured: {error}", markup=False)
            return _WRONG
        from benchmarks.plot import draw  # a second that nobody waits for who only asks for help

        name = f"{found.workload}-{found.size}-{found.started[:19].replace(':', '')}"
        found.write(out / f"{name}.json")
        draw(found, out / f"{name}.png")
        show(found, console)
        console.print(f"{out / name}.json and .png", soft_wrap=True)
    return 0


def _evaluate(
    name: str,
    only: list[str] | None,
    out: Path,
    list_: bool,
    report: bool,
    force: bool,
    console: Console,
    stop: Stop,
) -> int:
    """Its exit code."""
    folder = out / name
    try:
        suite = suites.load(name)
        asked = suites.only(suite, only) if only else suite
        if list_:
            list_steps(asked, folder, console)
            return 0
        if not report:
            go_on(asked, folder, force, console, stop)
        kept, why = done(suite, folder), failed(suite, folder)
    except suites.BadSuite as error:
        console.print(str(error), markup=False)
        return _USAGE
    except MachineBusy as error:
        console.print(f"{error}. The same command goes on from here.")
        return _BUSY
    except (BadReport, BadFolder) as error:
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
