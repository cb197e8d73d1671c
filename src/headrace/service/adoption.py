"""Tables that others made, as feature groups."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import msgspec
import pyarrow as pa

from headrace.errors import InvalidArgument, NotFound, SchemaMismatch
from headrace.formats.base import Snapshot
from headrace.formats.duckdb_type import is_readable
from headrace.formats.table import Table
from headrace.model.definition import GroupDefinition
from headrace.model.name import check_columns
from headrace.service.ingest import Problem, definition_problems, refuse


def adopted(definition: GroupDefinition, log: Table) -> GroupDefinition:
    """The definition, completed by what the table says of itself.

    Raises:
        NotFound: no table is there. Unsupported: it has what is not read.
        SchemaMismatch: the columns that the definition names are not there, or not of a type for it.
    """
    # Looked at first, for the library makes the folder that it does not find.
    snapshot = log.newest() if log.is_there() else None
    if snapshot is None:
        raise NotFound(
            f"there is no {log.label} at {log.table.shown}",
            hint=f"name the folder that holds its {log.marker}",
        )
    check_columns(definition.ref, snapshot.schema.names)
    if definition.partition_by and definition.partition_by != snapshot.partition_by:
        raise InvalidArgument(
            f"{definition.ref}: the table is partitioned by {', '.join(snapshot.partition_by) or 'no column'}",
            hint="leave partition_by out",
        )
    definition = msgspec.structs.replace(
        definition,
        partition_by=snapshot.partition_by,
        change_feed=snapshot.keeps_changes,
        started=True,
        adopted=True,
    )
    problems = list(_problems(definition, snapshot))
    if problems:
        raise refuse(definition.ref, problems)
    return definition


def check_fits(definition: GroupDefinition, schema: pa.Schema, uri: str) -> None:
    """Raises SchemaMismatch where others changed the table so that it no longer does for what its group is declared."""
    d = msgspec.structs.replace(definition, partition_by=())
    parts = [(name, "primary key column") for name in d.primary_key]
    named = (("event time", d.event_time), ("created time", d.created_time), ("tie breaker", d.tie_breaker))
    parts += [(name, part) for part, name in named if name is not None]
    problems = []
    for name, part in parts:
        if name not in schema.names:
            problems.append(Problem(SchemaMismatch, name, f"{part} {name!r} is no longer there"))
        else:
            problems += definition_problems(d, name, schema.field(name).type)
    if problems:
        refused = refuse(d.ref, problems)
        raise SchemaMismatch(
            f"{refused.message}; others changed the table at {uri}",
            hint="bring the column back (of a Delta table, restore does); or register the table anew",
            details=refused.details,
        )


def _problems(definition: GroupDefinition, snapshot: Snapshot) -> Iterator[Problem]:
    d, schema = definition, snapshot.schema
    for name in dict.fromkeys([*d.identity, *filter(None, (d.created_time, d.tie_breaker))]):
        if name not in schema.names:
            yield Problem(
                SchemaMismatch,
                name,
                f"the table has no column {name!r}",
                hint=f"it has {', '.join(schema.names[:20])}",
            )
    for field in schema:
        if not is_readable(field.type):
            yield Problem(
                SchemaMismatch, field.name, f"column {field.name!r} is {field.type}, which is not read"
            )
        else:
            # By what a table is partitioned that is there already, it can be partitioned.
            for problem in definition_problems(
                msgspec.structs.replace(d, partition_by=()), field.name, field.type
            ):
                yield dataclasses.replace(problem, hint=_remedy(d))


def _remedy(definition: GroupDefinition) -> str | None:
    """How a column that others wrote comes to be of another type."""
    if definition.format == "csv":
        return (
            "give it a type, such as pa.timestamp('us', 'UTC'): schema= in Python, --type in the command line"
        )
    if definition.external is None:
        return None
    if definition.external.driver == "sqlite":  # which has no times to cast to
        return "of times, read the seconds, by query= with unixepoch(…), and event_time_unit='s'"
    return "cast the column by query="
