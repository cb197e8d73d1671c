"""`headrace fv`: feature views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.confirmation import Yes, confirm, is_asked
from headrace.cli.noun import no_version, noun
from headrace.cli.option import End, Limit, Output, Search, Start, Tags, tags_in, tags_text
from headrace.cli.report import print_facts, print_json, print_table, print_text
from headrace.cli.rows import give_rows
from headrace.cli.target import Target, on_store
from headrace.errors import BadData, CorruptTable, InvalidArgument, NotFound, PermissionDenied
from headrace.model.name import parse_reference, reference

if TYPE_CHECKING:
    from headrace.client.feature_view import FeatureView

app = noun("Feature views: named, versioned queries that give training data.")

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="Name, or name@v2; a name alone is its newest version.")
]


@app.command("list")
@on_store
def list_views(
    target: Target,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Glob, such as 'delay*'.")] = None,
    tag: Tags = None,
    search: Search = None,
) -> None:
    """Every version of the feature views."""
    with target.connect() as fs:
        views = fs.list_feature_views(name=name, tags=tags_in(tag or []), search=search)
        found = [_listed(view) for view in views]
    if target.json:
        print_json(found)
        return
    if not found:
        print_text(f"no feature view to show in project {target.project}")
        return
    print_table(
        ["view", "features", "labels", "description"],
        [
            (
                reference(view["name"], view["version"]),
                view["problem"] or len(view["features"]),
                ", ".join(view["labels"]),
                view["description"],
            )
            for view in found
        ],
    )


@app.command("show")
@on_store
def show(target: Target, name: Name) -> None:
    """Definition and columns of a view, and how it is read."""
    with target.connect() as fs:
        view = fs.get_feature_view(*parse_reference(name))
        query = view.query
        told = _told(view, view.features)
        told["columns"] = [{"name": f.name, "type": str(f.type)} for f in query.read().schema]
        told["plan"] = query.explain()
    if target.json:
        print_json(told)
        return
    facts = {
        "view": reference(view.name, view.version),
        "description": view.description,
        "tags": tags_text(view.tags),
    }
    print_facts(facts.items())
    print_text("")
    roles = dict.fromkeys(view.labels, "label")
    columns = [(c["name"], c["type"], roles.get(c["name"], "feature")) for c in told["columns"]]
    print_table(["column", "type", "role"], columns)
    print_text(f"\n{told['plan']}")


@app.command("read")
@on_store
def read(
    target: Target,
    name: Name,
    start: Start = None,
    end: End = None,
    limit: Limit = None,
    output: Output = None,
) -> None:
    """Training data: features and labels, each row as it was known at its event time.

    Without --output, the first rows as a table, or all of them as JSON.
    """
    with target.connect() as fs:
        result = fs.get_feature_view(*parse_reference(name)).training_data(start, end)
        give_rows(result, limit, output, target.json)


@app.command("delete")
@on_store
def delete(
    target: Target,
    name: Annotated[str, typer.Argument(metavar="NAME@VERSION", help="Such as delays@v1.")],
    force: Annotated[
        bool, typer.Option("--force", help="With its training datasets, if it has any.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Delete one version of a view; the rows of its groups stay."""
    base, version = parse_reference(name)
    with target.connect() as fs:
        if version is None:
            raise no_version(base, fs.get_feature_view(base).version)
        if force and is_asked(yes, target.json):
            datasets = fs.get_feature_view(base, version).list_training_datasets()
            versions = ", ".join(str(dataset.version) for dataset in datasets)
            told = f" with its training datasets: {versions}" if datasets else ""
            confirm(f"Delete {reference(base, version)}{told}?")
        fs.delete_feature_view(base, version, force=force)
    if target.json:
        print_json({"deleted": name})
    else:
        print_text(f"deleted {name}")


def _listed(view: FeatureView) -> dict[str, Any]:
    """A view that cannot be read tells why, and hides no others."""
    try:
        return _told(view, view.features) | {"problem": None}
    except (NotFound, InvalidArgument, BadData, CorruptTable, PermissionDenied) as error:
        return _told(view, None) | {"problem": f"{error.code}: {error.message}"}


def _told(view: FeatureView, features: tuple[str, ...] | None) -> dict[str, Any]:
    return {
        "name": view.name,
        "version": view.version,
        "description": view.description,
        "features": features,
        "labels": view.labels,
        "tags": view.tags,
    }
