"""`headrace token`: by which users of a service say who they are."""

from __future__ import annotations

import datetime as dt
from typing import Annotated

import typer

from headrace.cli.noun import noun
from headrace.cli.option import Description
from headrace.cli.report import print_aside, print_json, print_table, print_text
from headrace.cli.target import Target, on_store

app = noun("Tokens by which users of a service say who they are, in all projects of a store.")


@app.command("create")
@on_store
def create(
    target: Target,
    user: Annotated[
        str | None, typer.Argument(metavar="[USER]", help="Whom it names; at a service the caller.")
    ] = None,
    expires: Annotated[str, typer.Option(help="For how long it is good, such as 12h; 366d at most.")] = "30d",
    description: Description = "",
) -> None:
    """Make a token. It is shown this once, alone on stdout: > FILE makes a file for --token-file."""
    with target.connect() as fs:
        made = fs.tokens.create(user, expires=expires, description=description)
    if target.json:
        print_json(made)
    else:
        print_aside(
            f"token {made.id} of {made.user}, good until {_minute(made.expires)}; keep it, it is shown this once:"
        )
        print_text(made.text)


@app.command("list")
@on_store
def list_tokens(target: Target) -> None:
    """The tokens of a store; at a service, the caller's."""
    with target.connect() as fs:
        tokens = fs.tokens.list()
    if target.json:
        print_json(tokens)
    elif tokens:
        now = dt.datetime.now(dt.UTC)
        rows = [
            [
                token.id,
                token.user,
                _minute(token.created),
                "expired" if token.expires <= now else _minute(token.expires),
                token.description,
            ]
            for token in tokens
        ]
        print_table(["id", "user", "created", "good until", "description"], rows)
    else:
        print_text("no tokens")


@app.command("revoke")
@on_store
def revoke(
    target: Target, token_id: Annotated[str, typer.Argument(metavar="ID", help="As list shows it.")]
) -> None:
    """Have services refuse a token."""
    with target.connect() as fs:
        fs.tokens.revoke(token_id)
    if target.json:
        print_json({"revoked": token_id})
    else:
        print_text(f"token {token_id} is revoked")


def _minute(time: dt.datetime) -> str:
    return f"{time:%Y-%m-%d %H:%MZ}"
