"""`headrace grant`: who may do what in a project."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.cli.noun import noun
from headrace.cli.option import columns_in
from headrace.cli.report import print_json, print_table, print_text
from headrace.cli.target import Target, on_store

app = noun("Who may do what in a project, as a service asks for it.")

User = Annotated[
    str, typer.Argument(metavar="USER", help="As the service knows them, by certificate or token.")
]
Group = Annotated[
    str | None, typer.Option(help="One feature group, in all its versions; without it, the project.")
]


@app.command("add")
@on_store
def add(
    target: Target,
    user: User,
    role: Annotated[str, typer.Argument(metavar="ROLE", help="reader, writer or admin.")],
    group: Group = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns that a reader of a group sees beside its keys and times: a,b; by default all."
        ),
    ] = None,
) -> None:
    """Let a user do something, in place of what they were granted there before."""
    with target.connect() as fs:
        grant = fs.grants.add(user, role, group=group, columns=columns_in(columns or []))  # type: ignore[arg-type]
    if target.json:
        print_json(grant)
    else:
        print_text(f"{user} is {role} of {_where(target, group)}")


@app.command("list")
@on_store
def list_grants(target: Target) -> None:
    """The grants of a project."""
    with target.connect() as fs:
        grants = fs.grants.list()
    if target.json:
        print_json(grants)
    elif grants:
        rows = [
            [grant.user, grant.role, grant.group or "all", ", ".join(grant.columns) or "all"]
            for grant in grants
        ]
        print_table(["user", "role", "group", "columns"], rows)
    elif target.remote:
        # A service does not say whether it has others.
        print_text(f"no grants to show in project {target.project}: admins see all, others their own")
    else:
        print_text(f"nobody is granted anything in project {target.project}")


@app.command("remove")
@on_store
def remove(target: Target, user: User, group: Group = None) -> None:
    """Take back a grant."""
    with target.connect() as fs:
        fs.grants.remove(user, group=group)
    if target.json:
        print_json({"removed": user, "group": group})
    else:
        print_text(f"{user} is no longer granted anything in {_where(target, group)}")


def _where(target: Target, group: str | None) -> str:
    return (
        f"project {target.project}" if group is None else f"feature group {group} of project {target.project}"
    )
