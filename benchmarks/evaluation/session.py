"""A suite, step by step. What is done is kept, so a suite that was stopped goes on."""

from __future__ import annotations

import contextlib
import datetime as dt
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Console

from benchmarks import data
from benchmarks.catalog import WORKLOADS
from benchmarks.evaluation.suite import Step, Suite
from benchmarks.machine import MachineBusy
from benchmarks.measure import WrongResult
from benchmarks.pinning import pinned
from benchmarks.process import CaseFailed
from benchmarks.report import BadReport, Report, write_whole
from benchmarks.run import run
from benchmarks.stop import Stop


class BadFolder(Exception):
    """Results cannot be kept there."""


def path_of(step: Step, folder: Path) -> Path:
    return folder / f"{step.name}.json"


def why_path_of(step: Step, folder: Path) -> Path:
    """The file that says why it could not be measured."""
    return folder / f"{step.name}.failed.txt"


def done(suite: Suite, folder: Path) -> dict[Step, Report]:
    """The steps that need not be run again: those of as many rounds as the suite wants. Raises BadReport."""
    found = {step: _read(step, folder) for step in suite.steps if path_of(step, folder).exists()}
    return {step: report for step, report in found.items() if report.runs >= step.runs}


def failed(suite: Suite, folder: Path) -> dict[Step, str]:
    """The steps that could not be measured, with the reason."""
    paths = {step: why_path_of(step, folder) for step in suite.steps}
    return {
        step: path.read_text(errors="replace").strip() or "it is not told why"
        for step, path in paths.items()
        if path.exists()
    }


def list_steps(suite: Suite, folder: Path, console: Console) -> None:
    """Each with the experiments that it is for."""
    kept = done(suite, folder)
    for step in suite.steps:
        told = "to do" if step not in kept else "disturbed" if kept[step].noisy else "done"
        keys = [
            chosen.experiment.key for chosen in suite.chosen if step in (asked for _, asked in chosen.steps)
        ]
        console.print(
            f"{step.name}: {_rounds(step)}, {told} ({'; '.join(keys)})", highlight=False, soft_wrap=True
        )


def go_on(suite: Suite, folder: Path, force: bool, console: Console, stop: Stop) -> None:
    """Run what is left of a suite, what failed before, and, unless forced, what was disturbed.

    Raises:
        MachineBusy: what was done is kept; BadReport, BadFolder.
    """
    with _held(folder):
        _go_on(suite, folder, force, console, stop)


def _go_on(suite: Suite, folder: Path, force: bool, console: Console, stop: Stop) -> None:
    kept = {step: report for step, report in done(suite, folder).items() if force or not report.noisy}
    left = [step for step in suite.steps if step not in kept]
    seconds = {step: report.seconds for step, report in kept.items()}
    for at, step in enumerate(left):
        console.print(
            f"{len(kept) + at + 1} of {len(suite.steps)}: {step.name}, {_rounds(step)}"
            f"{_ahead(seconds, left[at:])}",
            highlight=False,
        )
        try:
            with pinned(step.cpus):
                report = run(WORKLOADS[step.workload], f"{step.scale:g}", step.runs, force)
        except MachineBusy:
            raise
        except Exception as error:  # of any rival's: the steps after it are measured all the same
            if stop.asked is not None:  # which a library took for a failure of its own
                raise KeyboardInterrupt from error
            told = (
                str(error)
                if isinstance(error, WrongResult | CaseFailed)
                else f"{type(error).__name__}: {error}"
            )
            path = why_path_of(step, folder)
            console.print(f"{step.name} is not measured: {told.splitlines()[0]}\n{path}", markup=False)
            write_whole(path, told + "\n")
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


def _read(step: Step, folder: Path) -> Report:
    path = path_of(step, folder)
    found = Report.read(path)
    cpus = len(found.machine.processors)
    if (found.workload, found.scale) != (step.workload, step.scale) or step.cpus not in (None, cpus):
        raise BadReport(
            f"{path} is of {found.workload} at {found.scale:g} on {cpus} processors, which is not what it is "
            "named for; move it away"
        )
    return found


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Nobody else measures into it meanwhile. Raises BadFolder, also where nothing can be written."""
    with contextlib.ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder) as probe:
                probe.write(bytes(4096))
            stack.enter_context(data.held(folder))
        except BlockingIOError:
            raise BadFolder(
                f"another run measures into {folder}: wait for it, or give another by --out"
            ) from None
        except OSError as error:
            raise BadFolder(f"results cannot be kept in {folder}: {error.strerror}") from None
        yield


def _rounds(step: Step) -> str:
    return f"{step.runs} round{'' if step.runs == 1 else 's'}"
