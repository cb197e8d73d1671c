"""What the registry keeps of feature groups and views, and what a commit reports."""

from __future__ import annotations

import dataclasses
import datetime as dt

import msgspec
import pyarrow as pa

from headrace.errors import InvalidArgument, InvalidName
from headrace.model.age import check_ages
from headrace.model.choice import EventTimeUnit, TableFormat
from headrace.model.external import ExternalSource, check_source
from headrace.model.name import check_columns, check_name, reference
from headrace.model.query import Query
from headrace.model.struct import know


class GroupDefinition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A feature group as declared. `ttl` and `min_age` are microseconds."""

    name: str
    version: int
    primary_key: tuple[str, ...]
    event_time: str | None = None
    created_time: str | None = None
    partition_by: tuple[str, ...] = ()
    ttl: int | None = None
    min_age: int | None = None
    tie_breaker: str | None = None
    event_time_unit: EventTimeUnit | None = None
    change_feed: bool = True
    description: str = ""
    tags: dict[str, str] = {}
    format: TableFormat = "delta"
    external: ExternalSource | None = None
    """Where its rows are, if they are in another database."""
    types_ipc: bytes | None = None
    """Types of columns that the files of a folder do not tell well, as an Arrow schema."""
    location: str = ""
    started: bool = False
    """Its table was made: one that is not there is lost."""
    adopted: bool = False
    """Its table was there before the group, and stays when the group is deleted."""

    @property
    def ref(self) -> str:
        return reference(self.name, self.version)

    @property
    def identity(self) -> tuple[str, ...]:
        """The columns that identify a row: the primary key, and the event time where there is one."""
        return (*self.primary_key, self.event_time) if self.event_time else self.primary_key

    @property
    def declared(self) -> tuple[str, ...]:
        """The columns that the definition names."""
        named = [*self.primary_key, self.event_time, self.created_time, *self.partition_by, self.tie_breaker]
        return tuple(dict.fromkeys(name for name in named if name is not None))


def check_definition(definition: GroupDefinition) -> None:
    """Raises InvalidName or InvalidArgument for a definition that contradicts itself."""
    d = definition
    check_name("feature group", d.name)
    if d.declared:
        check_columns(f"feature group {d.name}", d.declared)
    for column in d.partition_by:
        if {".", ".."} & set(column.split("/")):
            raise InvalidName(f"feature group {d.name}: {column!r} cannot name the folders of a partition")
    for role, names in (("primary_key", d.primary_key), ("partition_by", d.partition_by)):
        if len(set(names)) < len(names):
            raise InvalidArgument(f"feature group {d.name}: {role} names a column twice")
    for role in ("event_time", "created_time"):
        column = getattr(d, role)
        if column in d.primary_key:
            raise InvalidArgument(f"feature group {d.name}: {role} {column!r} cannot be in primary_key")
    if d.created_time is not None and d.created_time == d.event_time:
        raise InvalidArgument(f"feature group {d.name}: created_time and event_time are the same column")
    if d.event_time is None:
        for role in ("ttl", "min_age", "event_time_unit"):
            if getattr(d, role) is not None:
                raise InvalidArgument(f"feature group {d.name}: {role} needs an event_time")
    check_ages(f"feature group {d.name}", "ttl", d.ttl, d.min_age)
    if d.event_time_unit not in (None, "s", "ms", "us", "ns"):
        raise InvalidArgument(
            f"feature group {d.name}: event_time_unit {d.event_time_unit!r} is none of s, ms, us, ns"
        )
    if (d.external is None) != (d.format != "external"):
        raise InvalidArgument(f"feature group {d.name}: format {d.format!r} and what it is of do not fit")
    if d.external is not None:
        check_source(d.external)
    if d.types_ipc is not None and d.format not in ("parquet", "csv", "arrow"):
        raise InvalidArgument(
            f"feature group {d.name}: types are given to columns of files; a {d.format} table tells its own",
            hint="leave them out: schema= in Python, --type in the command line",
        )
    if d.version < 0:
        raise InvalidArgument(f"feature group {d.name}: version {d.version} is negative")


@dataclasses.dataclass(frozen=True)
class Group:
    """A feature group as it is now: its definition, and its schema once it has one."""

    definition: GroupDefinition
    schema: pa.Schema | None


class ViewDefinition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A feature view: a query whose groups have their versions fixed, and its label columns."""

    name: str
    version: int
    query: Query
    labels: tuple[str, ...] = ()
    description: str = ""
    tags: dict[str, str] = {}

    @property
    def ref(self) -> str:
        return reference(self.name, self.version)


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """One write to one table. Row counts are None where the table's log does not tell; the user, where it was written
    without a service that asks for one.
    """

    snapshot: int
    timestamp: dt.datetime
    operation: str
    rows_inserted: int | None = None
    rows_updated: int | None = None
    rows_deleted: int | None = None
    user: str | None = None


know(GroupDefinition, ViewDefinition, Commit)


def nothing(snapshot: int) -> Commit:
    """The answer to a write that changes nothing and so commits nothing; -1 where there is no snapshot yet."""
    return Commit(
        snapshot=snapshot,
        timestamp=dt.datetime.now(dt.UTC),
        operation="NONE",
        rows_inserted=0,
        rows_updated=0,
        rows_deleted=0,
    )


def write_schema(schema: pa.Schema) -> bytes:
    return bytes(schema.serialize())


def read_schema(data: bytes) -> pa.Schema:
    """Raises InvalidArgument if it is none, or has names that are no text."""
    try:
        schema = pa.ipc.read_schema(pa.py_buffer(data))
        schema.names  # noqa: B018
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"a schema cannot be read: {error}") from None
    return schema
