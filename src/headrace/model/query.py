"""A query as data: a root, then steps in the order in which they were written."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Literal

import msgspec

from headrace.model.expression import Condition
from headrace.model.formula import Formula
from headrace.model.struct import know

How = Literal["left", "inner"]

Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""What crosses the wire as a number: a larger one is refused there, because nothing behind it holds more bits."""

Instant = Annotated[dt.datetime, msgspec.Meta(tz=True)]
"""A time that crosses the wire says its zone."""


ENTITIES = ""
"""A root that is no group: the rows that the caller sends."""


class Source(msgspec.Struct, frozen=True, omit_defaults=True):
    """A feature group (`weather@v1`), newest or pinned to one snapshot of its table.

    With `since`, not its rows but the changes of the commits after that snapshot.
    """

    group: str
    snapshot: Int64 | None = None
    timestamp: Instant | None = None
    since: Int64 | None = None


class Select(msgspec.Struct, frozen=True, tag_field="step", tag="select"):
    """`columns=None` selects all: of a root all columns, of what is joined all features."""

    columns: tuple[str, ...] | None


class Filter(msgspec.Struct, frozen=True, tag_field="step", tag="filter"):
    condition: Condition


class Join(msgspec.Struct, frozen=True, tag_field="step", tag="join", omit_defaults=True):
    """`on` pairs columns of the left side with the joined group's; None means its whole primary key.

    Ages are microseconds; None inherits.
    """

    right: Query
    on: tuple[tuple[str, str], ...] | None = None
    how: How = "left"
    prefix: str = ""
    max_age: Int64 | None = None
    min_age: Int64 | None = None
    point_in_time: bool | None = None


class Limit(msgspec.Struct, frozen=True, tag_field="step", tag="limit"):
    rows: Int64


class Compute(msgspec.Struct, frozen=True, tag_field="step", tag="compute"):
    """A column more: the formula reads the columns that the query has by then, and those of its root."""

    name: str
    formula: Formula


Step = Select | Filter | Join | Limit | Compute


class Query(msgspec.Struct, frozen=True, omit_defaults=True):
    source: Source
    steps: tuple[Step, ...] = ()


know(Query)


def pins_of(query: Query, group: str) -> set[int]:
    """The snapshots of a group that a pinned query reads."""
    source = query.source
    found = {source.snapshot} if source.group == group and source.snapshot is not None else set()
    for step in query.steps:
        if isinstance(step, Join):
            found |= pins_of(step.right, group)
    return found


def groups_of(query: Query) -> list[str]:
    """References of every group in the query, the root first, each once."""
    found = [] if query.source.group == ENTITIES else [query.source.group]
    for step in query.steps:
        if isinstance(step, Join):
            found += groups_of(step.right)
    return list(dict.fromkeys(found))
