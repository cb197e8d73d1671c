"""Processes that act on a store and may be killed.

They are forked from a process that has imported everything and used nothing, which makes them cheap and safe.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

_PATIENCE = 300.0
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["headrace.wiring", "deltalake", "duckdb", "pyarrow.flight", "sqlalchemy"])


class Child:
    """Runs `act(line, *arguments)` in a process of its own; `line` leads to whoever holds the child."""

    def __init__(self, act: Callable[..., Any], *arguments: Any) -> None:
        self._line, theirs = _context.Pipe()
        self._process = _context.Process(target=_run, args=(theirs, act, arguments), daemon=True)
        self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def send(self, word: Any) -> None:
        self._line.send(word)

    def hear(self) -> Any:
        """The next word of the child, or what its act returned; raises what it raised."""
        if not self._line.poll(_PATIENCE):
            raise TimeoutError(f"process {self.pid} says nothing")
        word = self._line.recv()
        if isinstance(word, BaseException):
            raise word
        return word

    def kill_when(self, moment: Iterator[bool]) -> None:
        """Kill it, unless it ends before, as soon as the moment has come."""
        for come in moment:
            if come or not self._process.is_alive():
                break
            time.sleep(0.0005)
        self.kill()

    def kill(self) -> None:
        self._process.kill()
        self._process.join(_PATIENCE)

    def join(self) -> None:
        self._process.join(_PATIENCE)
        assert self._process.exitcode == 0


def _run(line: Connection, act: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        answer = act(line, *arguments)
    except Exception as error:
        answer = error
    line.send(answer)


def files_made(root: Path, number: int, later: float = 0.0) -> Iterator[bool]:
    """True `later` seconds after so many files or folders that were not there before have been seen."""
    before = _paths(root)
    seen: set[Path] = set()
    while len(seen) < number:
        seen |= _paths(root) - before
        yield False
    end = time.monotonic() + later
    while time.monotonic() < end:
        yield False
    yield True


def _paths(root: Path) -> set[Path]:
    found = set()
    folders = [root]
    for folder in folders:
        try:
            inside = list(folder.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            continue  # gone again, or a file
        found |= set(inside)
        folders += inside
    return found
