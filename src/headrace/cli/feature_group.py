"""`headrace fg`: feature groups."""

from __future__ import annotations

import contextlib
import datetime as dt
import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from headrace.cli.noun import no_version, noun
from headrace.cli.option import Description, Tags, columns_in, tags_in, tags_text
from headrace.cli.report import print_facts, print_json, print_table, print_text
from headrace.cli.rows import print_rows
from headrace.cli.target import Target, on_store
from headrace.errors import Cancelled, CorruptTable
from headrace.model.duration import format_duration
from headrace.model.name import parse_reference, reference

if TYPE_CHECKING:
    from headrace.client.feature_group import FeatureGroup
    from headrace.client.store import FeatureStore
    from headrace.model.definition import Commit

_MICROSECOND = dt.timedelta(microseconds=1)

app = noun("Feature groups: stored, versioned tables.")

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="Name, or name@v2; a name alone is its newest version.")
]


@app.command("list")
@on_store
def list_groups(
    target: Target,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Glob, such as 'weather*'.")] = None,
) -> None:
    """Every version of the feature groups."""
    with target.connect() as fs:
        found = [_told(group) for group in fs.list_feature_groups(name=name)]
    if target.json:
        print_json(found)
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
    """Definition, columns and newest commit of a group."""
    with target.connect() as fs:
        group = _get(fs, name)
        told = _told(group)
        told["newest_commit"] = next(iter(group.history(limit=1)), None)
    _print_group(told, target.json)


@app.command("create")
@on_store
def create(
    target: Target,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name, or name@v2; the next version by default.")
    ],
    primary_key: Annotated[
        list[str],
        typer.Option(help="Columns that name the entity, with commas between, or the option again for each."),
    ],
    event_time: Annotated[str | None, typer.Option(help="Column: from when on a row is true.")] = None,
    created_time: Annotated[
        str | None, typer.Option(help="Column: when a row was recorded; filled where it is lacking.")
    ] = None,
    partition_by: Annotated[
        list[str] | None, typer.Option(help="Columns by which files are laid out, with commas between.")
    ] = None,
    ttl: Annotated[
        str | None, typer.Option(help="Age beyond which a row is not used in joins: 90s, 10m, 6h, 7d.")
    ] = None,
    min_age: Annotated[
        str | None, typer.Option(help="Age below which a row is not yet used in joins.")
    ] = None,
    tie_breaker: Annotated[
        str | None, typer.Option(help="Column: of rows alike in key and times, the largest wins.")
    ] = None,
    event_time_unit: Annotated[
        Literal["s", "ms", "us", "ns"] | None, typer.Option(help="Of an event time stored as an integer.")
    ] = None,
    description: Description = "",
    tag: Tags = None,
) -> None:
    """Declare a feature group; the first insert sets its columns."""
    base, version = parse_reference(name)
    with target.connect() as fs:
        group = fs.create_feature_group(
            base,
            version=version,
            primary_key=columns_in(primary_key),
            event_time=event_time,
            created_time=created_time,
            partition_by=columns_in(partition_by or []),
            ttl=ttl,
            min_age=min_age,
            tie_breaker=tie_breaker,
            event_time_unit=event_time_unit,
            description=description,
            tags=tags_in(tag or ()),
        )
        _print_group(_told(group), target.json)


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
        print_rows(_get(fs, name).read(wanted, latest=latest, limit=rows), target.json)


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
        group = _get(fs, name)
        commit, took = insert_files(group, files, mode, idempotency_key, target.json)
        ref = reference(group.name, group.version)
    if target.json:
        print_json({"feature_group": ref, **_commit(commit)})
    else:
        print_text(f"{ref} at snapshot {commit.snapshot}: {_counts(commit)}")
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
        commits = [_commit(commit) for commit in _get(fs, name).history(limit)]
    if target.json:
        print_json(commits)
    elif commits:
        print_table(list(commits[0]), [list(commit.values()) for commit in commits])
    else:
        print_text("nothing was inserted yet")


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
        group = _get(fs, name)
        commit = group.compact(zorder=columns_in(zorder or []))
        ref = reference(group.name, group.version)
    if target.json:
        print_json({"feature_group": ref, **_commit(commit)})
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
        group = _get(fs, name)
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
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask on a terminal.")] = False,
) -> None:
    """Delete one version of a group with all its rows, for good."""
    base, version = parse_reference(name)
    with target.connect() as fs:
        if version is None:
            raise no_version(base, fs.get_feature_group(base).version)
        if sys.stdin.isatty() and not (yes or target.json):
            with contextlib.suppress(CorruptTable):
                fs.get_feature_group(base, version)  # nobody is asked about what is not there
            if not typer.confirm(f"Delete {name} with all its rows?", err=True):
                raise Cancelled("nothing was deleted")
        fs.delete_feature_group(base, version, force=force)
    if target.json:
        print_json({"deleted": name})
    else:
        print_text(f"deleted {name}")


def _get(fs: FeatureStore, name: str) -> FeatureGroup:
    return fs.get_feature_group(*parse_reference(name))


def _told(group: FeatureGroup) -> dict[str, Any]:
    schema = group.schema
    return {
        "name": group.name,
        "version": group.version,
        "description": group.description,
        "primary_key": group.primary_key,
        "event_time": group.event_time,
        "event_time_unit": group.event_time_unit,
        "created_time": group.created_time,
        "ttl": _age(group.ttl),
        "min_age": _age(group.min_age),
        "tie_breaker": group.tie_breaker,
        "partition_by": group.partition_by,
        "change_feed": group.change_feed,
        "tags": group.tags,
        "format": group.format,
        "location": group.location,
        "columns": [{"name": f.name, "type": str(f.type)} for f in schema or ()],
    }


def _age(age: dt.timedelta | None) -> str | None:
    return None if age is None else format_duration(age // _MICROSECOND)


def _print_group(told: dict[str, Any], json: bool) -> None:
    if json:
        print_json(told)
        return
    commit = told.pop("newest_commit", None)
    columns = told.pop("columns")
    facts = {
        "group": reference(told.pop("name"), told.pop("version")),
        **told,
        "primary_key": ", ".join(told["primary_key"]),
        "partition_by": ", ".join(told["partition_by"]),
        "change_feed": "yes" if told["change_feed"] else "no",
        "tags": tags_text(told["tags"]),
        "newest_commit": commit
        and f"snapshot {commit.snapshot}, {commit.timestamp:%Y-%m-%d %H:%M:%SZ}, {_counts(commit)}",
    }
    print_facts((name.replace("_", " "), value) for name, value in facts.items())
    print_text("")
    if columns:
        print_table(["column", "type"], [list(column.values()) for column in columns])
    else:
        print_text("no columns yet: the first insert sets them")


def _commit(commit: Commit) -> dict[str, Any]:
    return {
        "snapshot": commit.snapshot,
        "timestamp": commit.timestamp,
        "operation": commit.operation,
        "rows_inserted": commit.rows_inserted,
        "rows_updated": commit.rows_updated,
        "rows_deleted": commit.rows_deleted,
        "user": commit.user,
    }


def _counts(commit: Commit) -> str:
    counts = (
        ("inserted", commit.rows_inserted),
        ("updated", commit.rows_updated),
        ("deleted", commit.rows_deleted),
    )
    return ", ".join(f"{count:,} {what}" for what, count in counts if count is not None) or commit.operation
