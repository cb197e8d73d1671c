"""What a read asks for, and what it was promised: the same for an embedded store and over the wire."""

from __future__ import annotations

import datetime as dt
from typing import Literal

import msgspec

from headrace.errors import InvalidArgument
from headrace.model.expression import Value
from headrace.model.query import Instant, Int64, Query
from headrace.model.sql_form import SqlForm
from headrace.model.stored_file import StoredFile
from headrace.model.struct import know

Engine = Literal["duckdb", "spark", "auto"]
ReadKind = Literal["query", "training", "batch", "stored"]


def _check_times(**times: dt.datetime | None) -> None:
    """Raises InvalidArgument for a time that is none of the calendar once it is told in UTC."""
    for name, time in times.items():
        try:
            if time is not None:
                time.astimezone(dt.UTC)
        except OverflowError:
            raise InvalidArgument(f"{name}={time} is outside the years 1 to 9999") from None


class PointInTime(msgspec.Struct, frozen=True, omit_defaults=True):
    """The options of a point-in-time read. Ages are microseconds; None inherits.

    `start` and `end` bound the spine's rows, `[start, end)`. A row counts as known if it was recorded by
    `known_at`, or, with `known_at_event_time`, by the time of the spine row.
    """

    start: Instant | None = None
    end: Instant | None = None
    event_time: str | None = None
    as_of: Instant | None = None
    known_at: Instant | None = None
    known_at_event_time: bool = False
    max_age: Int64 | None = None
    min_age: Int64 | None = None
    engine: Engine | None = None

    def __post_init__(self) -> None:
        _check_times(start=self.start, end=self.end, as_of=self.as_of, known_at=self.known_at)


class Share(msgspec.Struct, frozen=True, omit_defaults=True, tag="share"):
    """A share of the rows, drawn by `seed`: of rows in random order, those from `low` until `high`, in parts of all.

    The rows of each value of the column `stratify` are drawn for themselves.
    """

    low: float
    high: float
    seed: Int64 = 0
    stratify: str | None = None


class Span(msgspec.Struct, frozen=True, omit_defaults=True, tag="span"):
    """The rows whose event time is in `[start, end)`; None is open."""

    start: Instant | None = None
    end: Instant | None = None

    def __post_init__(self) -> None:
        _check_times(start=self.start, end=self.end)


Part = Share | Span


class StoredRead(msgspec.Struct, frozen=True, omit_defaults=True):
    """A training dataset of a view (`delays@v1`): its rows as they are stored, or `recomputed`.

    Args:
        split: None is all of them, one after the other.
        columns: None is all.
    """

    view: str
    version: int
    split: str | None = None
    columns: tuple[str, ...] | None = None
    recomputed: bool = False


class ReadRequest(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A read: of a `query` given by value, of a `view` (`delays@v1`), of what is `stored`, or of `sql`.

    With `statistics`, not the rows of the query but what there is to tell of each of its columns. `parameters` are the
    values of those of `sql`, by number or name; None is null. Pinning puts beside it reads of the tables that it names.

    Pinning puts the view's query and labels in their places, a snapshot into every source, and the time of the
    call into `now`; a pinned request gives the same rows however often it is run. `spine_schema` is the Arrow
    IPC schema of the rows that the caller will send. `locations` are those of the tables at that time: a group
    that was deleted and made again is another one, though its name and the snapshot's number be the same. Tables
    that are read as they were have the columns of the snapshots in `schemas`, too, with nulls in those added since.

    Of `parts`, which share no row, the rows come one part after the other; without any, all rows. Rows that are
    `ordered` come, within their part, by event time, primary key, and then by the other columns, or as the spine
    has them.
    """

    kind: ReadKind
    query: Query | None = None
    view: str | None = None
    stored: StoredRead | None = None
    statistics: bool = False
    sql: str | None = None
    parameters: dict[str, Value | None] = {}
    tables: dict[str, ReadRequest] = {}
    labels: tuple[str, ...] = ()
    point_in_time: PointInTime = PointInTime()
    parts: tuple[Part, ...] = ()
    ordered: bool = False
    latest: bool = False
    limit: Int64 | None = None
    spine_schema: bytes | None = None
    now: Instant | None = None
    locations: dict[str, str] = {}
    schemas: dict[str, Int64] = {}

    def __post_init__(self) -> None:
        _check_times(now=self.now)


def in_parts(request: ReadRequest, parts: tuple[Part, ...]) -> ReadRequest:
    """The request for these parts of its rows; parts of a time bound what is looked at, too."""
    spans = [part for part in parts if isinstance(part, Span)]
    if not spans or len(spans) < len(parts):
        return msgspec.structs.replace(request, parts=parts)
    starts, ends = [span.start for span in spans], [span.end for span in spans]
    options = msgspec.structs.replace(
        request.point_in_time,
        start=None if None in starts else min(time for time in starts if time is not None),
        end=None if None in ends else max(time for time in ends if time is not None),
    )
    return msgspec.structs.replace(request, point_in_time=options, parts=parts if len(parts) > 1 else ())


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A pinned read: the request to run, and what it will give.

    `features` and `labels` are the columns of `.xy()`, in its order. `tickets` are what a service asks for to
    run it, one for each of its streams; an embedded store needs none. `warnings` are for the user. `mapped` are the
    Arrow files that hold exactly these rows, by their whole paths, for a caller on the same machine, and
    `mapped_columns` the names of its columns there, where they are others. `kept` names the result that a service has
    kept of it, and `form` tells what a query in SQL computes, where its result may be kept.
    """

    request: ReadRequest
    schema_ipc: bytes
    features: tuple[str, ...]
    labels: tuple[str, ...]
    snapshots: dict[str, int]
    tickets: tuple[bytes, ...] = ()
    warnings: tuple[str, ...] = ()
    mapped: tuple[StoredFile, ...] = ()
    mapped_columns: tuple[str, ...] = ()
    kept: str | None = None
    form: SqlForm | None = None


know(ReadRequest, Prepared)
