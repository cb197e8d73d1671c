"""Commands that belong together: `headrace fg list`, `headrace fg show`."""

from __future__ import annotations

import typer

from headrace.errors import InvalidArgument
from headrace.model.name import reference


def noun(description: str) -> typer.Typer:
    """A group of commands; alone, it shows what there is."""
    app = typer.Typer(help=description, invoke_without_command=True, add_completion=False)

    @app.callback()
    def show_help(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help(), nl=False)

    return app


def no_version(name: str, newest: int) -> InvalidArgument:
    """The error of a command that deletes one version, and was given none."""
    return InvalidArgument(
        f"delete takes one version of {name}", hint=f"name it, such as {reference(name, newest)}"
    )
