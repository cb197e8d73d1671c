"""`headrace td`: training datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from headrace.cli.confirmation import Yes, confirm, is_asked
from headrace.cli.noun import noun
from headrace.cli.option import (
    Description,
    End,
    Limit,
    Output,
    Start,
    Tags,
    columns_in,
    splits_in,
    tags_in,
    tags_text,
)
from headrace.cli.report import print_facts, print_json, print_table, print_text
from headrace.cli.rows import give_rows
from headrace.cli.target import Target, on_store
from headrace.errors import InvalidArgument
from headrace.model.name import parse_reference, reference

if TYPE_CHECKING:
    from headrace.client.feature_view import FeatureView
    from headrace.client.store import FeatureStore
    from headrace.client.training_dataset import SplitTimes, TrainingDataset

app = noun("Training datasets: training data of a feature view as it was once, stored.")

View = Annotated[
    str,
    typer.Argument(metavar="VIEW", help="Feature view, or view@v2; a name alone is its newest version."),
]
Version = Annotated[int | None, typer.Option(help="Which dataset of the view; the newest by default.", min=1)]


@app.command("list")
@on_store
def list_datasets(target: Target, view: View) -> None:
    """The training datasets of a view."""
    with target.connect() as fs:
        named = _view(fs, view)
        found = [_told(named, dataset) for dataset in named.list_training_datasets()]
    if target.json:
        print_json(found)
        return
    print_table(
        ["version", "splits", "format", "created", "snapshots", "description"],
        [
            (
                dataset["version"],
                ", ".join(f"{split['name']} {split['rows']:,}" for split in dataset["splits"]),
                dataset["format"],
                f"{dataset['created']:%Y-%m-%d %H:%M:%SZ}",
                _snapshots(dataset),
                dataset["description"],
            )
            for dataset in found
        ],
    )


@app.command("show")
@on_store
def show(target: Target, view: View, version: Version = None) -> None:
    """What a training dataset holds, and what it was made of."""
    with target.connect() as fs:
        named = _view(fs, view)
        told = _told(named, named.get_training_dataset(version))
    if target.json:
        print_json(told)
        return
    facts = {
        "view": told["view"],
        "version": told["version"],
        "description": told["description"],
        "tags": tags_text(told["tags"]),
        "format": told["format"],
        "created": f"{told['created']:%Y-%m-%d %H:%M:%SZ}",
        "snapshots": _snapshots(told),
        "location": told["location"],
    }
    print_facts(facts.items())
    print_text("")
    splits = told["splits"]
    print_table(["split", "rows", "part"], [(s["name"], s["rows"], _part_text(s)) for s in splits])
    print_text("")
    roles = dict.fromkeys(told["features"], "feature") | dict.fromkeys(told["labels"], "label")
    columns = [(c["name"], c["type"], roles.get(c["name"], "spine")) for c in told["columns"]]
    print_table(["column", "type", "role"], columns)


@app.command("create")
@on_store
def create(
    target: Target,
    view: View,
    start: Start = None,
    end: End = None,
    split: Annotated[
        list[str] | None,
        typer.Option(
            help="train=0.8 is drawn, train=2013-01-01..2013-10-01 goes by event time, either end left out is open; "
            "again for each split. Without any, all rows are one."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws the fractions; the same draws the same rows.")] = 0,
    stratify: Annotated[
        str | None, typer.Option(help="Column, of whose values each split has about as large a share.")
    ] = None,
    form: Annotated[
        Literal["parquet", "arrow", "csv"],
        typer.Option("--format", help="Of the files; arrow is mapped into memory on the same machine."),
    ] = "parquet",
    spine: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Rows to enrich instead of the root group's: .parquet, .csv, .jsonl or .arrow; "
            "- is an Arrow stream on stdin.",
        ),
    ] = None,
    description: Description = "",
    tag: Tags = None,
) -> None:
    """Store training data of a view: all of it, or nothing."""
    from headrace.cli.progress import working
    from headrace.cli.spine import read_spine

    splits, tags = splits_in(split or ()), tags_in(tag or ())
    with target.connect() as fs:
        named = _view(fs, view)
        rows = None if spine is None else read_spine(named, spine, target.json)
        with working("store training data", target.json):
            made = named.create_training_dataset(
                start,
                end,
                spine=rows,
                splits=splits,
                seed=seed,
                stratify=stratify,
                format=form,
                description=description,
                tags=tags,
            )
        told = _told(named, made)
    if target.json:
        print_json(told)
        return
    counts = ", ".join(f"{name} {rows:,} rows" for name, rows in made.rows.items())
    print_text(f"{_named(named, made.version)}: {counts}\n{made.location}")


@app.command("read")
@on_store
def read(
    target: Target,
    view: View,
    version: Version = None,
    split: Annotated[str | None, typer.Option(help="Its name; all by default, one after the other.")] = None,
    column: Annotated[
        list[str] | None, typer.Option(help="Names, with commas between, or the option again for each.")
    ] = None,
    limit: Limit = None,
    output: Output = None,
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Not from its files: from the snapshots that it was made of.")
    ] = False,
) -> None:
    """The rows of a training dataset, in the order in which they are stored.

    Without --output, the first rows as a table, or all of them as JSON.
    """
    if recompute and column:
        raise InvalidArgument("--recompute gives all columns", hint="leave --column out")
    with target.connect() as fs:
        dataset = _view(fs, view).get_training_dataset(version)
        wanted = columns_in(column) if column else None
        result = dataset.recompute(split) if recompute else dataset.read(split, wanted)
        give_rows(result, limit, output, target.json)


@app.command("delete")
@on_store
def delete(
    target: Target,
    view: View,
    version: Annotated[int, typer.Option(help="Which dataset of the view.", min=1)],
    yes: Yes = False,
) -> None:
    """Delete a training dataset with its files, for good."""
    with target.connect() as fs:
        named = _view(fs, view)
        if is_asked(yes, target.json):
            dataset = named.get_training_dataset(version)
            confirm(f"Delete {_named(named, version)} with its {sum(dataset.rows.values()):,} rows?")
        named.delete_training_dataset(version)
    if target.json:
        print_json({"view": reference(named.name, named.version), "deleted": version})
    else:
        print_text(f"deleted {_named(named, version)}")


def _view(fs: FeatureStore, name: str) -> FeatureView:
    return fs.get_feature_view(*parse_reference(name))


def _named(view: FeatureView, version: int) -> str:
    return f"training dataset {version} of {reference(view.name, view.version)}"


def _told(view: FeatureView, dataset: TrainingDataset) -> dict[str, Any]:
    return {
        "view": reference(view.name, view.version),
        "version": dataset.version,
        "description": dataset.description,
        "tags": dataset.tags,
        "format": dataset.format,
        "created": dataset.created,
        "splits": [
            {"name": name, "rows": rows, **_part(dataset.splits[name])} for name, rows in dataset.rows.items()
        ],
        "snapshots": dataset.snapshots,
        "features": dataset.features,
        "labels": dataset.labels,
        "columns": [{"name": f.name, "type": str(f.type)} for f in dataset.schema],
        "location": dataset.location,
    }


def _part(part: float | SplitTimes) -> dict[str, Any]:
    """Programs find the same names, whichever it is."""
    if isinstance(part, tuple):
        return {"fraction": None, "start": part[0], "end": part[1]}
    return {"fraction": part, "start": None, "end": None}


def _part_text(split: dict[str, Any]) -> str:
    """What a split is of all rows, as it is given."""
    if split["fraction"] is not None:
        return f"{split['fraction']:g}"
    start, end = (
        "" if time is None else time.isoformat().replace("+00:00", "Z")
        for time in (split["start"], split["end"])
    )
    return f"{start}..{end}"


def _snapshots(told: dict[str, Any]) -> str:
    return ", ".join(f"{ref} at {snapshot}" for ref, snapshot in told["snapshots"].items())
