"""What was looked at, for people as a table and for programs as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import typer

from headrace.cli.report import out, print_json
from headrace.storage.doctor.check import Check, State

_STYLES: dict[State, str] = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def conclude(checks: Sequence[Check], json: bool) -> None:
    """Print checks, and end the command with the exit code of the first that failed, if one did."""
    failed = [check for check in checks if check.state == "fail"]
    if json:
        told = [{k: v for k, v in dataclasses.asdict(c).items() if k != "exit_code"} for c in checks]
        print_json({"ok": not failed, "checks": told})
    else:
        _show(checks)
    if failed:
        raise typer.Exit(failed[0].exit_code or 1)


def _show(checks: Sequence[Check]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table("check", "", "found", "what to do", box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for check in checks:
        state = Text(check.state, style=_STYLES[check.state])
        table.add_row(check.name, state, check.found, check.advice or "")
    out().print(table)
