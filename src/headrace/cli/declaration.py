"""`headrace fg create`, `create-external`, `register` and `add-features`: what a feature group is."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from headrace.cli.group import Name, commit_told, group_named, print_group
from headrace.cli.option import Description, Tags, columns_in, tags_in
from headrace.cli.report import print_json, print_text
from headrace.cli.target import Target, on_store
from headrace.model.choice import DriverName, EventTimeUnit, GroupFormat
from headrace.model.name import parse_reference, reference

NewName = Annotated[
    str, typer.Argument(metavar="NAME", help="Name, or name@v2; the next version by default.")
]
PrimaryKey = Annotated[
    list[str],
    typer.Option(help="Columns that name the entity, with commas between, or the option again for each."),
]
EventTime = Annotated[str | None, typer.Option(help="Column: from when on a row is true.")]
CreatedTime = Annotated[
    str | None, typer.Option(help="Column: when a row was recorded; filled where it is lacking.")
]
Ttl = Annotated[
    str | None, typer.Option(help="Age beyond which a row is not used in joins: 90s, 10m, 6h, 7d.")
]
MinAge = Annotated[str | None, typer.Option(help="Age below which a row is not yet used in joins.")]
TieBreaker = Annotated[
    str | None, typer.Option(help="Column: of rows alike in key and times, the largest wins.")
]
TimeUnit = Annotated[EventTimeUnit | None, typer.Option(help="Of an event time stored as an integer.")]


@on_store
def create(
    target: Target,
    name: NewName,
    primary_key: PrimaryKey,
    event_time: EventTime = None,
    created_time: CreatedTime = None,
    partition_by: Annotated[
        list[str] | None, typer.Option(help="Columns by which files are laid out, with commas between.")
    ] = None,
    ttl: Ttl = None,
    min_age: MinAge = None,
    tie_breaker: TieBreaker = None,
    event_time_unit: TimeUnit = None,
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
        print_group(group, target.json)


@on_store
def create_external(
    target: Target,
    name: NewName,
    driver: Annotated[DriverName, typer.Option(help="Of the database.")],
    uri: Annotated[
        str,
        typer.Option(
            help="Where its URI is found when a query is run: env:NAME, or file:/path of a file that holds it; for "
            "SQLite the path of the database."
        ),
    ],
    primary_key: PrimaryKey,
    table: Annotated[
        str | None, typer.Option(help="Such as public.planes, spelt as the database has it.")
    ] = None,
    query: Annotated[str | None, typer.Option(help="In the database's own SQL, in place of a table.")] = None,
    freshness: Annotated[
        str | None,
        typer.Option(
            help="Age up to which a service's cache may give its rows again: 90s, 10m, 6h. Without it, none."
        ),
    ] = None,
    event_time: EventTime = None,
    created_time: CreatedTime = None,
    ttl: Ttl = None,
    min_age: MinAge = None,
    tie_breaker: TieBreaker = None,
    event_time_unit: TimeUnit = None,
    description: Description = "",
    tag: Tags = None,
) -> None:
    """Make a feature group of a table of another database, where it stays."""
    base, version = parse_reference(name)
    with target.connect() as fs:
        group = fs.create_external_feature_group(
            base,
            driver=driver,
            uri=uri if target.remote else _from_here(uri),
            table=table,
            query=query,
            freshness=freshness,
            version=version,
            primary_key=columns_in(primary_key),
            event_time=event_time,
            created_time=created_time,
            ttl=ttl,
            min_age=min_age,
            tie_breaker=tie_breaker,
            event_time_unit=event_time_unit,
            description=description,
            tags=tags_in(tag or ()),
        )
        print_group(group, target.json)


@on_store
def register(
    target: Target,
    name: NewName,
    location: Annotated[
        str,
        typer.Argument(
            metavar="LOCATION",
            help="Folder of the table, a URI, or one file; for a service, the absolute path on its machine.",
        ),
    ],
    primary_key: PrimaryKey,
    event_time: EventTime = None,
    created_time: CreatedTime = None,
    ttl: Ttl = None,
    min_age: MinAge = None,
    tie_breaker: TieBreaker = None,
    event_time_unit: TimeUnit = None,
    form: Annotated[GroupFormat, typer.Option("--format", help="Of the table, or of the files.")] = "delta",
    type: Annotated[  # noqa: A002
        list[str] | None,
        typer.Option(
            help="Type of a column of Parquet, CSV or Arrow files, as COLUMN=TYPE; may be given again."
        ),
    ] = None,
    description: Description = "",
    tag: Tags = None,
) -> None:
    """Make a feature group of a table, or of files, that others wrote; they stay where they are."""
    schema = None
    if type:
        import pyarrow as pa

        from headrace.cli.arrow_type import features_in

        schema = pa.schema(features_in(type))
    base, version = parse_reference(name)
    with target.connect() as fs:
        group = fs.register_feature_group(
            base,
            location if target.remote else _absolute(location),
            format=form,
            schema=schema,
            version=version,
            primary_key=columns_in(primary_key),
            event_time=event_time,
            created_time=created_time,
            ttl=ttl,
            min_age=min_age,
            tie_breaker=tie_breaker,
            event_time_unit=event_time_unit,
            description=description,
            tags=tags_in(tag or ()),
        )
        print_group(group, target.json)


@on_store
def add_features(
    target: Target,
    name: Name,
    features: Annotated[
        list[str],
        typer.Argument(metavar="COLUMN=TYPE...", help="Such as humidity=double 'price=decimal128(10, 2)'."),
    ],
) -> None:
    """Add columns, and widen the types of columns that are there, in one commit."""
    from headrace.cli.arrow_type import features_in

    wanted = features_in(features)
    with target.connect() as fs:
        group = group_named(fs, name)
        commit = group.add_features(wanted)
        ref = reference(group.name, group.version)
        schema = group.schema
    columns = [{"name": f.name, "type": str(f.type)} for f in schema or () if f.name in wanted]
    if target.json:
        print_json({"feature_group": ref, **commit_told(commit), "columns": columns})
        return
    told = ", ".join(f"{column['name']} {column['type']}" for column in columns)
    same = "nothing to change, " if commit.operation == "NONE" else ""
    print_text(f"{ref} at snapshot {commit.snapshot}: {same}{told}")


def _from_here(reference: str) -> str:
    kind, _, path = reference.partition(":")
    return f"{kind}:{os.path.abspath(path)}" if kind == "file" and path else reference


def _absolute(location: str) -> str:
    """A folder as seen from here; what is none is left for the store to refuse."""
    return location if not location or "://" in location else os.path.abspath(location)
