"""`headrace registry`: the database of definitions."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.cli.noun import noun
from headrace.cli.report import print_json, print_text
from headrace.cli.target import Json
from headrace.config import default_registry, default_store, find_store, store_config
from headrace.errors import InvalidArgument

app = noun("The database that keeps the definitions of groups and views.")


@app.command("upgrade")
def upgrade(
    store: Annotated[str | None, typer.Option(help="Folder whose registry to upgrade.")] = None,
    registry: Annotated[str | None, typer.Option(help="SQLAlchemy URL of the registry.")] = None,
    json: Json = False,
) -> None:
    """Bring a registry to the revision that this version needs. What it holds stays.

    Stop the services that use it first: older ones refuse a newer registry.
    """
    from headrace.wiring import upgrade_registry

    revision = upgrade_registry(_url(store, registry))
    if json:
        print_json({"revision": revision})
    else:
        print_text(f"the registry is at revision {revision}")


def _url(store: str | None, registry: str | None) -> str:
    if store and registry:
        raise InvalidArgument("--store and --registry name two registries", hint="give one of them")
    if registry:
        return registry
    target = store or default_store()
    if target:
        find_store(target)
        return store_config(target).registry
    url = default_registry()
    if url is None:
        raise InvalidArgument("no registry is named", hint="give --store FOLDER or --registry URL")
    return url
