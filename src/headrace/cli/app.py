"""The root command, and how every command ends."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from importlib import metadata
from typing import Annotated

import typer

from headrace.cli import (
    cache,
    doctor,
    feature_group,
    feature_view,
    grant,
    queries,
    registry,
    serve,
    start,
    status,
    token,
    training_dataset,
)
from headrace.cli.noun import noun
from headrace.cli.report import print_error, print_text, print_warning
from headrace.config import debugging, quiet_libraries
from headrace.errors import Cancelled, HeadraceError, InternalError, InvalidArgument

app = noun("Feature groups on a lakehouse, point-in-time-correct training data, Arrow all the way.")


@app.callback()
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print_text(f"headrace {metadata.version('headrace')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)


app.command("init")(start.init)
app.command("demo")(start.demo)
app.command("serve")(serve.serve)
app.command("status")(status.status)
app.add_typer(doctor.app, name="doctor")
app.add_typer(feature_group.app, name="fg")
app.add_typer(feature_view.app, name="fv")
app.add_typer(training_dataset.app, name="td")
app.add_typer(grant.app, name="grant")
app.add_typer(token.app, name="token")
app.add_typer(queries.app, name="queries")
app.add_typer(cache.app, name="cache")
app.add_typer(registry.app, name="registry")


def main() -> None:
    """Run the command line, and end the process with its exit code."""
    sys.exit(run(app, sys.argv[1:]))


def run(command: typer.Typer, arguments: Sequence[str]) -> int:
    """Run one command and give its exit code; what it raises is told on stderr."""
    json = "--json" in arguments
    quiet_libraries()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: print_warning(str(message), json)
            code = _invoke(command, arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Who reads has had enough. What is still buffered goes nowhere, or Python would complain when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (Exception, KeyboardInterrupt) as error:
        told = _as_ours(error)
        print_error(told, json)
        if debugging():
            traceback.print_exc()
        return told.exit_code


def _invoke(command: typer.Typer, arguments: Sequence[str]) -> int:
    """Typer's own `main` would take broken pipes and interrupts for itself."""
    program = typer.main.get_command(command)
    try:
        with program.make_context("headrace", list(arguments)) as context:
            program.invoke(context)
    except typer.Exit as ended:
        return ended.exit_code
    return 0


def _as_ours(error: BaseException) -> HeadraceError:
    if isinstance(error, HeadraceError):
        return error
    if isinstance(error, typer.TyperException):
        return InvalidArgument(error.format_message(), hint="add --help to see what the command takes")
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return Cancelled("interrupted")
    said = " ".join(str(error).split())
    return InternalError(
        f"{type(error).__name__}: {said}", hint="set HEADRACE_DEBUG=1 to see where it happened"
    )
