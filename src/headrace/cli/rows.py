"""Rows of a read, for people, for programs, and into files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from headrace.cli.report import print_aside, print_json, print_table, print_text, to_json

if TYPE_CHECKING:
    from headrace.client.result import Result

_TABLE_ROWS = 20


def give_rows(result: Result, limit: int | None, output: str | None, json: bool) -> None:
    """Rows into a file, or the first of them as a table, or all as JSON."""
    if limit is not None:
        result = result.head(limit)
    if output is None:
        print_rows(result, json, _TABLE_ROWS if limit is None else None)
    else:
        _save(result, output, json)


def print_rows(result: Result, json: bool, most: int | None = None) -> None:
    """All rows as a JSON list, streamed with one row a line, or the first of them as a table.

    Args:
        most: rows in the table; None is all of them, in memory.
    """
    if json:
        separator = "[\n"
        for batch in result.to_reader():
            for row in batch.to_pylist():
                sys.stdout.write(separator + to_json(row))
                separator = ",\n"
        sys.stdout.write("\n]\n" if separator == ",\n" else "[]\n")
        return
    table = (result if most is None else result.head(most + 1)).to_arrow()
    shown = table if most is None else table.slice(0, most)
    print_table(table.column_names, list(zip(*(c.to_pylist() for c in shown.columns), strict=True)))
    if shown.num_rows < table.num_rows:
        print_aside(f"the first {most} rows: --limit, --output or --json gives more")


def _save(result: Result, output: str, json: bool) -> None:
    from headrace.cli.files import STANDARD, write_rows
    from headrace.cli.progress import counting

    with counting("read", None, json) as counter:
        write_rows(result.to_reader(), output, counter.add)
    if output == STANDARD:
        return
    if json:
        print_json({"output": output, "rows": counter.rows, "snapshots": result.snapshots})
    else:
        print_text(f"{output}: {counter}")
