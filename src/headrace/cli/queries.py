"""`headrace queries`: what a service does now."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.cli.noun import noun
from headrace.cli.report import print_json, print_table, print_text
from headrace.cli.target import Target, on_store

app = noun("What a service does now.")


@app.command("list")
@on_store
def list_queries(target: Target) -> None:
    """The queries under way in a project, the oldest first."""
    with target.connect() as fs:
        queries = fs.queries.list()
    if target.json:
        print_json(queries)
    elif queries:
        rows = [
            [query.id, query.user, query.kind, query.state, f"{query.seconds:.1f}", query.rows]
            for query in queries
        ]
        print_table(["id", "user", "kind", "state", "seconds", "rows"], rows)
    else:
        print_text("no queries")


@app.command("cancel")
@on_store
def cancel(
    target: Target, query_id: Annotated[str, typer.Argument(metavar="ID", help="As list shows it.")]
) -> None:
    """Stop a query."""
    with target.connect() as fs:
        fs.queries.cancel(query_id)
    if target.json:
        print_json({"cancelled": query_id})
    else:
        print_text(f"query {query_id} is cancelled")
