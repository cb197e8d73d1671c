"""Commands that belong together: `headrace fg list`, `headrace fg show`."""

from __future__ import annotations

import typer


def noun(description: str) -> typer.Typer:
    """A group of commands; alone, it shows what there is."""
    app = typer.Typer(help=description, invoke_without_command=True, add_completion=False)

    @app.callback()
    def show_help(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help(), nl=False)

    return app
