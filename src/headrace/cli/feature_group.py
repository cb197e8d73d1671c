"""`headrace fg`: feature groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from headrace.cli import declaration, statistics
from headrace.cli.confirmation import Yes, confirm, is_asked
from headrace.cli.group import Name, commit_told, counts_text, group_named, group_told, print_group
from headrace.cli.noun import no_version, noun
from headrace.cli.option import Search, Tags, columns_in, tags_in
from headrace.cli.report import print_json, print_table, print_text
from headrace.cli.rows import print_rows
from headrace.cli.target import Target, on_store
from headrace.model.name import parse_reference, reference

if TYPE_CHECKING:
    from headrace.client.store import FeatureStore

app = noun("Feature groups: stored, versioned tables.")


@app.command("list")
@on_store
def list_groups(
    target: Target,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Glob, such as 'weather*'.")] = None,
    tag: Tags = None,
    search: Search = None,
) -> None:
    """Every version of the feature groups."""
    from headrace.client.feature_group import listed_schema

    with target.connect() as fs:
        found = [
            group_told(group, listed_schema(group))
            for group in fs.list_feature_groups(name=name, tags=tags_in(tag or []), search=search)
        ]
    if target.json:
        print_json(found)
        return
    if not found:
        print_text(f"no feature group to show in project {target.project}")
        return
    print_table(
        ["group", "primary key", "event time", "ttl", "columns", "description"],
        [
            (
                reference(group["name"], group["version"]),
                ", ".join(group["primary_key"]),
                group["event_time"] or "",
                group["ttl"] or "",
                len(group["columns"]),
                group["description"],
            )
            for group in found
        ],
    )


@app.command("show")
@on_store
def show(target: Target, name: Name) -> None:
    """Definition, columns, files and newest commit of a group."""
    with target.connect() as fs:
        print_group(group_named(fs, name), target.json, stored=True)


app.command("create")(declaration.create)
app.command("create-external")(declaration.create_external)
app.command("register")(declaration.register)
app.command("add-features")(declaration.add_features)


@app.command("preview")
@on_store
def preview(
    target: Target,
    name: Name,
    rows: Annotated[int, typer.Option("-n", "--rows", help="At most so many rows.", min=0)] = 10,
    latest: Annotated[bool, typer.Option("--latest", help="Only the newest row of each key.")] = False,
    columns: Annotated[str | None, typer.Option(help="Names, with commas between; all by default.")] = None,
) -> None:
    """Some rows of a group; which ones is not said."""
    wanted = None if columns is None else columns_in([columns])
    with target.connect() as fs:
        print_rows(group_named(fs, name).read(wanted, latest=latest, limit=rows), target.json)


app.command("stats")(statistics.stats)


@app.command("insert")
@on_store
def insert(
    target: Target,
    name: Name,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...", help="Of .parquet, .csv, .jsonl or .arrow; - is an Arrow stream on stdin."
        ),
    ],
    mode: Annotated[
        Literal["upsert", "append", "overwrite"],
        typer.Option(
            help="upsert replaces rows with the same key and event time, append keeps both, overwrite replaces all; "
            "no rows at all commit nothing."
        ),
    ] = "upsert",
    idempotency_key: Annotated[
        str | None, typer.Option(help="Names the write: run again with the same, it changes nothing.")
    ] = None,
) -> None:
    """Write the rows of files in one commit, or nothing."""
    from headrace.cli.insertion import insert_files

    with target.connect() as fs:
        group = group_named(fs, name)
        commit, took = insert_files(group, files, mode, idempotency_key, target.json)
        ref = reference(group.name, group.version)
    if target.json:
        print_json({"feature_group": ref, **commit_told(commit)})
    else:
        print_text(f"{ref} at snapshot {commit.snapshot}: {counts_text(commit)}")
        print_text(f"read {took}")


@app.command("history")
@on_store
def history(
    target: Target,
    name: Name,
    limit: Annotated[int | None, typer.Option(help="At most so many commits.", min=0)] = None,
) -> None:
    """The commits of a group, newest first."""
    with target.connect() as fs:
        commits = [commit_told(commit) for commit in group_named(fs, name).history(limit)]
    if target.json:
        print_json(commits)
    elif commits:
        names = [name.replace("_", " ") for name in commits[0]]
        print_table(names, [["" if v is None else v for v in commit.values()] for commit in commits])
    else:
        print_text("no commits")


@app.command("compact")
@on_store
def compact(
    target: Target,
    name: Name,
    zorder: Annotated[
        list[str] | None, typer.Option(help="Columns whose like values come into the same files: a,b.")
    ] = None,
) -> None:
    """Put the rows of small files into large ones; no row changes."""
    with target.connect() as fs:
        group = group_named(fs, name)
        commit = group.compact(zorder=columns_in(zorder or []))
        ref = reference(group.name, group.version)
    if target.json:
        print_json({"feature_group": ref, **commit_told(commit)})
    else:
        did = "no small files" if commit.operation == "NONE" else "compacted"
        print_text(f"{ref} at snapshot {commit.snapshot}: {did}")


@app.command("vacuum")
@on_store
def vacuum(
    target: Target,
    name: Name,
    retention_hours: Annotated[
        int, typer.Option(help="Keep what snapshots of so many hours need.", min=0)
    ] = 168,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove the files; without it, only list them.")
    ] = False,
) -> None:
    """List, or remove, the files that no snapshot of the last hours needs."""
    with target.connect() as fs:
        group = group_named(fs, name)
        files = group.vacuum(retention_hours=retention_hours, dry_run=not remove)
        ref = reference(group.name, group.version)
    if target.json:
        print_json({"feature_group": ref, "removed": remove, "files": files})
    else:
        for file in files:
            print_text(file)
        print_text(f"{ref}: {len(files)} files {'removed' if remove else 'that --remove would remove'}")


@app.command("delete")
@on_store
def delete(
    target: Target,
    name: Annotated[str, typer.Argument(metavar="NAME@VERSION", help="Such as weather@v1.")],
    force: Annotated[
        bool, typer.Option("--force", help="Also if a feature view or a training dataset needs it.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Delete one version of a group with all its rows, for good; a registered table stays."""
    base, version = parse_reference(name)
    with target.connect() as fs:
        if version is None:
            raise no_version(base, fs.get_feature_group(base).version)
        if is_asked(yes, target.json):
            confirm(_question(fs, base, version))
        fs.delete_feature_group(base, version, force=force)
    if target.json:
        print_json({"deleted": name})
    else:
        print_text(f"deleted {name}")


def _question(fs: FeatureStore, base: str, version: int) -> str:
    """Nobody is asked about what is not there, and a table that cannot be read can be deleted."""
    from headrace.client.feature_group import is_adopted

    ref = reference(base, version)
    listed = (group for group in fs.list_feature_groups(name=base) if group.version == version)
    if is_adopted(next(listed, None) or fs.get_feature_group(base, version)):
        return f"Delete {ref}, and leave its table?"
    return f"Delete {ref} with all its rows?"
