"""The steps of the demo as they run: shown, timed, counted."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from headrace.demo.report import Step

Advance = Callable[[int], None]


class Steps:
    """Runs one step after the other; `done` lists those that ended well.

    Args:
        console: shows progress on a terminal, and in a file a line for each step that is done; None shows nothing.
    """

    def __init__(self, console: Console | None) -> None:
        self.done: list[Step] = []
        self._start = time.perf_counter()
        self._console = console or Console(quiet=True)
        self._progress = Progress(
            SpinnerColumn(finished_text="[green]✓"),
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            console=self._console,
            disable=not self._console.is_interactive,
        )

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self._start

    def __enter__(self) -> Steps:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    @contextlib.contextmanager
    def step(self, name: str, rows: int | None = None) -> Iterator[Advance]:
        """Time the block as one step, over `rows` rows if that is known.

        Call what it yields with each number of rows done.
        """
        task = self._progress.add_task(name, total=rows)
        done = 0

        def advance(count: int) -> None:
            nonlocal done
            done += count
            self._progress.advance(task, count)

        start = time.perf_counter()
        yield advance
        seconds = time.perf_counter() - start
        self._progress.update(task, total=1, completed=1)
        if self._progress.disable:
            self._console.print(Text.assemble(("✓ ", "green"), name))
        self.done.append(Step(name, done, seconds, done / seconds))
