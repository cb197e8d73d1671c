"""The root command."""

from __future__ import annotations

import sys

import typer

from headrace.cli.report import tell_error
from headrace.cli.serve import serve
from headrace.errors import HeadraceError

app = typer.Typer(
    name="headrace",
    help="Feature groups on a lakehouse, point-in-time-correct training data, Arrow all the way.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command()(serve)


@app.callback()
def root() -> None:
    """Nothing is common to all commands."""


def main() -> None:
    """Run the command line; an error of Headrace ends it with the error's exit code."""
    try:
        app()
    except HeadraceError as error:
        tell_error(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
