"""Progress of long work: what is done, rows so far and rows a second, on a terminal only."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence

from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from headrace.cli.report import err, out


class Counter:
    """Counts rows, and shows them while its block runs."""

    def __init__(self, progress: Progress, what: str, total: int | None) -> None:
        self.rows = 0
        self._start = time.perf_counter()
        self._progress = progress
        self._task = progress.add_task(what, total=total)

    def add(self, rows: int) -> None:
        self.rows += rows
        self._progress.advance(self._task, rows)

    def say(self, what: str) -> None:
        """Change what is said to be going on."""
        self._progress.update(self._task, description=what)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._start

    def __str__(self) -> str:
        """Such as `336,776 rows in 1.3 s, 259,058 rows/s`."""
        seconds = self.seconds
        return f"{self.rows:,} rows in {seconds:.1f} s, {self.rows / seconds:,.0f} rows/s"


@contextlib.contextmanager
def counting(what: str, total: int | None, json: bool) -> Iterator[Counter]:
    """Count the rows of the block, out of `total` where that is known."""
    bar = [BarColumn()] if total is not None else []
    with _shown([*bar, _Rows()], json) as progress:
        yield Counter(progress, what, total)


@contextlib.contextmanager
def working(what: str, json: bool) -> Iterator[None]:
    """Show what the block does, of which nothing can be counted from here."""
    with _shown([], json) as progress:
        progress.add_task(what, total=None)
        yield


def _shown(columns: Sequence[ProgressColumn], json: bool) -> Progress:
    console = err()
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        *columns,
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=json or not (console.is_terminal and out().is_terminal),
    )


class _Rows(TextColumn):
    def __init__(self) -> None:
        super().__init__("")

    def render(self, task: Task) -> Text:
        rate = f", {task.speed:,.0f} rows/s" if task.speed else ""
        return Text(f"{task.completed:,.0f} rows{rate}")
