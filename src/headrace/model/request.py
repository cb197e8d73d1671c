"""What a read asks for, and what it was promised: the same for an embedded store and over the wire."""

from __future__ import annotations

import datetime as dt
from typing import Literal

import msgspec

from headrace.model.query import Query

ReadKind = Literal["query", "training", "batch"]


class PointInTime(msgspec.Struct, frozen=True, omit_defaults=True):
    """The options of a point-in-time read. Ages are microseconds; None inherits.

    `start` and `end` bound the spine's rows, `[start, end)`. A row counts as known if it was recorded by
    `known_at`, or, with `known_at_event_time`, by the time of the spine row.
    """

    start: dt.datetime | None = None
    end: dt.datetime | None = None
    event_time: str | None = None
    as_of: dt.datetime | None = None
    known_at: dt.datetime | None = None
    known_at_event_time: bool = False
    max_age: int | None = None
    min_age: int | None = None
    engine: Literal["duckdb", "auto"] | None = None


class ReadRequest(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A read: of a `query` given by value, or of a `view` (`delays@v1`).

    Pinning puts the view's query and labels in their places, a snapshot into every source, and the time of the
    call into `now`; a pinned request gives the same rows however often it is run. `spine_schema` is the Arrow
    IPC schema of the rows that the caller will send. `locations` are those of the tables at that time: a group
    that was deleted and made again is another one, though its name and the snapshot's number be the same.
    """

    kind: ReadKind
    query: Query | None = None
    view: str | None = None
    labels: tuple[str, ...] = ()
    point_in_time: PointInTime = PointInTime()
    latest: bool = False
    limit: int | None = None
    spine_schema: bytes | None = None
    now: dt.datetime | None = None
    locations: dict[str, str] = {}


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A pinned read: the request to run, and what it will give.

    `features` and `labels` are the columns of `.xy()`, in its order. `tickets` are what a service asks for to
    run it, one for each of its streams; an embedded store needs none.
    """

    request: ReadRequest
    schema_ipc: bytes
    features: tuple[str, ...]
    labels: tuple[str, ...]
    snapshots: dict[str, int]
    tickets: tuple[bytes, ...] = ()
