"""Which snapshot of each table a query reads."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Mapping

import msgspec
import pyarrow as pa

from headrace.errors import InvalidArgument, SnapshotNotFound, Unsupported
from headrace.formats.base import Snapshot
from headrace.formats.table import Table
from headrace.model.definition import Group, GroupDefinition
from headrace.model.external import only_now
from headrace.model.query import ENTITIES, Join, Query, Source, Step
from headrace.model.types import merged_schema
from headrace.service.adoption import check_fits

_KEEP = {
    ("delta", False): "create the group with change_feed=True",
    ("delta", True): "set delta.enableChangeDataFeed on the table: the commits after that are kept",
    (
        "hudi",
        True,
    ): "its rows do not tell their commits: that takes a table with hoodie.populate.meta.fields=true",
}
"""How a group comes to have a change feed, by its format and whether its table is of others."""


def pin(query: Query, snapshot: Callable[[Source], Snapshot | None]) -> tuple[Query, dict[Source, Snapshot]]:
    """The query with a snapshot's number in every source, and the snapshots; a table without any stays open."""
    found = None if query.source.group == ENTITIES else snapshot(query.source)
    source = query.source
    if found is not None:
        source = Source(source.group, snapshot=found.version, since=source.since)
    snapshots = {} if found is None else {source: found}
    steps: list[Step] = []
    for step in query.steps:
        if isinstance(step, Join):
            right, more = pin(step.right, snapshot)
            step = msgspec.structs.replace(step, right=right)
            snapshots |= more
        steps.append(step)
    return Query(source, tuple(steps)), snapshots


def later_schemas(
    tables: dict[str, tuple[GroupDefinition, Table]], snapshots: dict[Source, Snapshot]
) -> dict[str, int]:
    """The newest snapshot of each group that is read as it was, where its columns are others."""
    later = {}
    for source, snapshot in snapshots.items():
        log = tables[source.group][1]
        newest = snapshot if log.last_seen is snapshot else log.newest()
        if newest is not None and newest.version > snapshot.version and newest.schema != snapshot.schema:
            later[source.group] = newest.version
    return later


def groups_at(
    tables: dict[str, tuple[GroupDefinition, Table]],
    snapshots: dict[Source, Snapshot],
    schemas: Mapping[str, int],
    spine: pa.Schema | None,
) -> dict[str, Group]:
    """Each group with the columns of its snapshots that are read, and of `schemas`; and the rows given as a group.

    Raises:
        SchemaMismatch: these lack what the group is declared with.
    """
    read: dict[str, dict[int, pa.Schema]] = {ref: {} for ref in tables}
    for source, snapshot in snapshots.items():
        read[source.group][snapshot.version] = snapshot.schema
    for ref, version in schemas.items():
        if ref in tables:
            read[ref][version] = tables[ref][1].at(version).schema
    groups = {}
    for ref, (definition, log) in tables.items():
        schema = merged_schema([read[ref][version] for version in sorted(read[ref])])
        if schema is not None:
            check_fits(definition, schema, log.table.shown)
        groups[ref] = Group(definition, schema)
    if spine is not None:
        # A name that no group can have: whatever it is joined with is another one.
        groups[ENTITIES] = Group(GroupDefinition(name="the spine", version=0, primary_key=()), spine)
    return groups


def with_columns_of(groups: Mapping[str, Group], snapshots: dict[Source, Snapshot]) -> dict[Source, Snapshot]:
    """The snapshots, each with all columns of its group."""
    found = {}
    for source, snapshot in snapshots.items():
        schema = groups[source.group].schema
        found[source] = (
            snapshot if snapshot.schema == schema else dataclasses.replace(snapshot, schema=schema)
        )
    return found


def snapshot_of(
    source: Source, definition: GroupDefinition, log: Table, as_of: dt.datetime | None, now: dt.datetime
) -> Snapshot | None:
    time = source.timestamp or as_of
    if not log.keeps_snapshots and (time is not None or source.since is not None):
        raise only_now(source.group)
    if time is not None and time > now:
        raise InvalidArgument(
            f"{time.isoformat()} is in the future: no snapshot is of then", hint="leave it out for the newest"
        )
    found: Snapshot | None
    try:
        version = log.version_at(time) if source.snapshot is None and time is not None else source.snapshot
        if version is None:
            found = log.newest()
        elif source.since is None:
            found = log.whole_at(version)
        else:
            found = log.at(version)  # a feed looks at files of its own
        return found if found is None else _changes(source, definition, log, found)
    except SnapshotNotFound as error:
        raise SnapshotNotFound(f"{source.group}: {error.message}", hint=error.hint) from None


def check_kept(query: Query, tables: dict[str, tuple[GroupDefinition, Table]]) -> None:
    """Raises Unsupported if the query names a snapshot of a table that keeps none."""
    source = query.source
    if (
        source.snapshot is not None
        and source.group != ENTITIES
        and not tables[source.group][1].keeps_snapshots
    ):
        raise only_now(source.group)
    for step in query.steps:
        if isinstance(step, Join):
            check_kept(step.right, tables)


def pinned_snapshot(source: Source, definition: GroupDefinition, log: Table) -> Snapshot:
    if source.snapshot is None:
        raise InvalidArgument(f"the read is not prepared: {source.group} is pinned to no snapshot")
    return _changes(source, definition, log, log.at(source.snapshot))


def _changes(source: Source, definition: GroupDefinition, log: Table, until: Snapshot) -> Snapshot:
    """The changes up to a snapshot, where these are asked for; else the snapshot."""
    if source.since is None:
        return until
    if not until.keeps_changes:
        raise Unsupported(
            f"{source.group} keeps no change feed at snapshot {until.version}",
            hint=_KEEP.get((definition.format, definition.adopted)),
        )
    if not -1 <= source.since <= until.version:
        raise InvalidArgument(
            f"{source.group} has no changes from snapshot {source.since} up to {until.version}",
            hint="since= is the last snapshot seen: -1 before the first, and no later than until=",
        )
    return log.changes(source.since, until, definition.identity)


def snapshots_of(query: Query) -> dict[str, int]:
    found = {} if query.source.group == ENTITIES else {query.source.group: query.source.snapshot or 0}
    for step in query.steps:
        if isinstance(step, Join):
            for ref, version in snapshots_of(step.right).items():
                found.setdefault(ref, version)
    return found
