"""The rows that a caller sends to be enriched, and which of their columns is the time."""

from __future__ import annotations

import dataclasses

import pyarrow as pa

from headrace.errors import InvalidArgument, NameClash, SchemaMismatch, UnknownColumn
from headrace.model.query import ENTITIES
from headrace.model.request import ReadRequest
from headrace.model.resolved import Resolved

ENTITY_TIME = "event_timestamp"
"""The spine's time column by Feast's convention."""


@dataclasses.dataclass(frozen=True)
class Spine:
    """Rows that the caller sends. `time` is their event time; None where every row has the time of the call."""

    schema: pa.Schema
    time: str | None


def make_spine(request: ReadRequest, resolved: Resolved, schema: pa.Schema) -> Spine:
    what = "entity_df" if resolved.root.source.group == ENTITIES else "spine"
    names = list(schema.names)
    folded = [n.casefold() for n in names]
    if len(set(folded)) < len(folded):
        twice = sorted({n for n in names if folded.count(n.casefold()) > 1})
        raise NameClash(f"{what}: columns are equal, or differ by case alone: {', '.join(map(repr, twice))}")
    if not names:
        raise InvalidArgument(f"{what}: there are no columns")
    root_time = resolved.root.definition.event_time
    time = request.point_in_time.event_time
    if time is not None and time not in names:
        raise UnknownColumn(
            f"{what} has no column {time!r} for event_time", hint=f"it has {', '.join(names[:20])}"
        )
    if time is None:
        stamps = [f.name for f in schema if pa.types.is_timestamp(f.type)]
        if root_time in names:
            time = root_time
        elif root_time is None:
            time = ENTITY_TIME if ENTITY_TIME in names else stamps[0] if len(stamps) == 1 else None
            if time is None and len(stamps) > 1:
                raise InvalidArgument(
                    f"{what} has several times: {', '.join(stamps)}", hint="say which with event_time="
                )
    if time is None:
        if request.kind == "training":
            named = f"{resolved.root.definition.ref} calls it {root_time!r}"
            raise InvalidArgument(
                f"{what} has no event time; {named if root_time else f'it is looked for as {ENTITY_TIME!r}'}",
                hint="add the column, or say which it is with event_time=; batch_data() looks back from now",
            )
        return Spine(schema, None)
    kind = schema.field(time).type
    if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_null(kind)):
        raise SchemaMismatch(
            f"{what}: event time {time!r} is {kind}",
            hint="make it a timestamp; naive times are UTC",
            details={
                "problems": [{"code": "SCHEMA_MISMATCH", "column": time, "message": f"{time!r} is {kind}"}]
            },
        )
    return Spine(schema, time)
