"""What commands print: tables for people, JSON for programs, errors for both."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Container, Iterable, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from headrace.errors import HeadraceError

_CELL = 60
_BETWEEN = 3
"""Blanks between two columns of a table."""
_UNBOUNDED = 10_000
_PROBLEMS = 20


class _Terminal(Console):
    """A console that treats text as text, breaks no line in a file, and lets a broken pipe end the command."""

    def __init__(self, *, stderr: bool) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False, soft_wrap=True)
        if not self.is_terminal:
            self.width = _UNBOUNDED

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def out() -> Console:
    return _Terminal(stderr=False)


def err() -> Console:
    return _Terminal(stderr=True)


def print_json(value: object) -> None:
    """One line of JSON, written at once."""
    sys.stdout.write(to_json(value) + "\n")
    sys.stdout.flush()


def to_json(value: object) -> str:
    import msgspec

    return msgspec.json.encode(value, enc_hook=str).decode()


def print_text(text: str) -> None:
    out().print(text)


def print_error(error: HeadraceError, json: bool) -> None:
    """Tell an error on stderr."""
    if json:
        told = {
            "code": error.code,
            "message": error.message,
            "hint": error.hint,
            "details": error.details,
            "request_id": error.request_id,
        }
        print(to_json({"error": told}), file=sys.stderr)
        return
    request = f" (request {error.request_id})" if error.request_id else ""
    console = err()
    console.print(Text.assemble((error.code, "bold red"), f": {error.message}{request}"))
    if error.hint:
        console.print(f"hint: {error.hint}")


def print_warning(message: str, json: bool) -> None:
    """Tell a warning on stderr."""
    if json:
        print(to_json({"warning": message}), file=sys.stderr)
    else:
        err().print(Text.assemble(("warning", "yellow"), f": {message}"))


def print_aside(text: str) -> None:
    """Tell people something on stderr, beside what is printed for whoever takes it."""
    err().print(text)


def print_facts(facts: Iterable[tuple[str, object]]) -> None:
    """Names and values, one pair a line; what is None or empty is left out."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    for name, value in facts:
        if value is not None and value != "":
            grid.add_row(name, str(value))
    out().print(grid)


def print_table(names: Sequence[str], rows: Sequence[Sequence[Any]], *, right: Container[str] = ()) -> None:
    """Rows as a table.

    On a terminal that is too narrow, columns are left out from the right, and it is said which.

    Args:
        right: columns that hold numbers as texts; those that hold numbers are found.
    """
    console = out()
    cells = [[_cell(value) for value in row] for row in rows]
    shown = _fitting(names, cells, console.width)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for place, name in enumerate(names[:shown]):
        numeric = all(isinstance(row[place], int | float | None) for row in rows)
        to_right = name in right or (numeric and rows)
        table.add_column(_line(name), justify="right" if to_right else "left", overflow="fold")
    for row in cells:
        table.add_row(*row[:shown])
    console.print(table)
    if names[shown:]:
        print_aside(f"columns left out: {', '.join(names[shown:])}; a wider terminal, or --json, shows them")


def _fitting(names: Sequence[str], rows: Sequence[Sequence[Text]], width: int) -> int:
    used = 0
    for place, name in enumerate(names):
        used += max(cell_len(name), *(row[place].cell_len for row in rows), 0)
        if used > width and place:
            return place
        used += _BETWEEN
    return len(names)


def _cell(value: Any) -> Text:
    """One line of plain text, whatever the value holds."""
    if value is None:
        return Text("null", style="dim")
    if isinstance(value, dt.datetime):
        value = value.isoformat(" ").replace("+00:00", "Z")
    return Text(_line(str(value)))


def _line(text: str) -> str:
    """Without control characters, which could do anything to a terminal; cut where it is long."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= _CELL else text[: _CELL - 1] + "…"


def bytes_text(size: int) -> str:
    """Such as `812 bytes`, `1.3 MB`."""
    if size < 1000:
        return f"{size} bytes"
    value, units = size / 1000, iter(("kB", "MB", "GB"))
    unit = next(units)
    for larger in units:
        if value < 999.95:
            break
        value, unit = value / 1000, larger
    return f"{value:,.1f} {unit}"
