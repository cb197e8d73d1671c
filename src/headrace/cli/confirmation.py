"""The question before something goes for good."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from headrace.errors import Cancelled

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask on a terminal.")]


def is_asked(yes: bool, json: bool) -> bool:
    """Whether there is somebody to ask."""
    return sys.stdin.isatty() and not (yes or json)


def confirm(question: str) -> None:
    """Raises Cancelled for any answer but a yes."""
    if not typer.confirm(question, err=True):
        raise Cancelled("nothing was deleted")
