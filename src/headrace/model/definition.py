"""What the registry keeps of feature groups and views, and what a commit reports."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Literal

import msgspec
import pyarrow as pa

from headrace.model.name import reference
from headrace.model.query import Query
from headrace.model.struct import know

EventTimeUnit = Literal["s", "ms", "us", "ns"]
GroupFormat = Literal["delta"]


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
    format: GroupFormat = "delta"
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
    """One write to one table. Row counts are None where the table's log does not tell."""

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
    return pa.ipc.read_schema(pa.py_buffer(data))
