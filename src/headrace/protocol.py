"""What crosses between client and service.

Everything is Arrow Flight. Small things travel as JSON in actions and descriptors (structs below), rows as
record batches: `DoGet` for reads, `DoPut` for writes, `DoExchange` for reads that bring a spine. Errors travel
as an `ErrorBody` in the call's details. Every call names its protocol version in a header.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

import msgspec

from headrace.errors import HeadraceError, InternalError, error_types
from headrace.model.dataset import DatasetDefinition
from headrace.model.definition import (
    Group,
    GroupDefinition,
    read_schema,
    write_schema,
)
from headrace.model.expression import Condition
from headrace.model.query import Int64
from headrace.model.request import Prepared
from headrace.model.struct import know

PROTOCOL_VERSION = 1
VERSION_HEADER = "headrace-protocol"
REQUEST_HEADER = "headrace-request-id"
PROJECT_HEADER = "headrace-project"
AUTHORIZATION_HEADER = "authorization"
TRACE_HEADERS = ("traceparent", "tracestate")
"""Those of W3C's Trace Context."""

_LONGEST_DETAIL = 500
BATCH_ROWS = 16_384
"""Rows in a record batch: batches of 8 to 32 thousand rows move fastest."""

QueryState = Literal["waiting", "running", "paused"]
InsertMode = Literal["upsert", "append", "overwrite"]
Action = Literal[
    "hello",
    "create_group",
    "register_group",
    "get_group",
    "list_groups",
    "delete_group",
    "set_group_tags",
    "create_view",
    "get_view",
    "list_views",
    "delete_view",
    "get_dataset",
    "list_datasets",
    "delete_dataset",
    "delete_rows",
    "add_features",
    "restore",
    "compact",
    "vacuum",
    "detail",
    "history",
    "outcome",
    "explain",
    "list_grants",
    "add_grant",
    "remove_grant",
    "create_token",
    "list_tokens",
    "revoke_token",
    "list_queries",
    "cancel_query",
    "list_results",
    "cache_statistics",
    "clear_results",
    "health",
]


class Hello(msgspec.Struct, frozen=True):
    """The client's greeting, and the service's answer."""

    protocol: int
    version: str
    project: str = "default"


class GroupBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """A feature group, with its schema as Arrow IPC."""

    definition: GroupDefinition
    schema_ipc: bytes | None = None

    @classmethod
    def of(cls, group: Group) -> GroupBody:
        return cls(group.definition, None if group.schema is None else write_schema(group.schema))

    def group(self) -> Group:
        return Group(self.definition, None if self.schema_ipc is None else read_schema(self.schema_ipc))


class Named(msgspec.Struct, frozen=True, omit_defaults=True):
    """Names one version of a group or view; None is the newest."""

    name: str
    version: int | None = None
    force: bool = False


class Listing(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str | None = None
    tags: dict[str, str] = {}
    search: str | None = None


class SetTags(msgspec.Struct, frozen=True):
    name: str
    version: int
    tags: dict[str, str | None]


class DeleteRows(msgspec.Struct, frozen=True, omit_defaults=True):
    """`keys_ipc` is an Arrow IPC stream."""

    ref: str
    idempotency_key: str
    keys_ipc: bytes | None = None
    condition: Condition | None = None


class AddFeatures(msgspec.Struct, frozen=True):
    """`schema_ipc` is an Arrow IPC schema."""

    ref: str
    schema_ipc: bytes
    idempotency_key: str


class Restore(msgspec.Struct, frozen=True):
    ref: str
    snapshot: Int64
    idempotency_key: str


class Compact(msgspec.Struct, frozen=True):
    ref: str
    zorder: tuple[str, ...]


class Vacuum(msgspec.Struct, frozen=True):
    ref: str
    retention_hours: Int64
    dry_run: bool


class Detail(msgspec.Struct, frozen=True):
    ref: str


class History(msgspec.Struct, frozen=True, omit_defaults=True):
    ref: str
    limit: Int64 | None = None


class RemoveGrant(msgspec.Struct, frozen=True, omit_defaults=True):
    user: str
    group: str | None = None


class CreateToken(msgspec.Struct, frozen=True, omit_defaults=True):
    lifetime_us: Int64
    user: str | None = None
    description: str = ""


class RevokeToken(msgspec.Struct, frozen=True):
    id: str


class QueryInfo(msgspec.Struct, frozen=True):
    """What a service does for a caller now.

    Args:
        kind: "read", "insert" and the like.
        state: "waiting" for its turn, "running", or "paused", while nobody takes its rows.
        seconds: since it came.
        rows: that were sent, or received.
    """

    id: str
    user: str
    kind: str
    state: QueryState
    started: dt.datetime
    seconds: float
    rows: int


class HealthInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether a store, or a service, can do its work now.

    Args:
        problems: what keeps it from that, in words; of a service, admins alone are told.
    """

    ready: bool
    problems: tuple[str, ...] = ()


class CancelQuery(msgspec.Struct, frozen=True):
    id: str


class Nothing(msgspec.Struct, frozen=True):
    """Of actions that need not be told anything."""


class Outcome(msgspec.Struct, frozen=True):
    ref: str
    idempotency_key: str
    call: str


class InsertCommand(msgspec.Struct, frozen=True, tag="insert"):
    ref: str
    mode: InsertMode
    idempotency_key: str
    condition: Condition | None = None


class DatasetCommand(msgspec.Struct, frozen=True, tag="dataset"):
    """A training dataset to be made; the rows of its spine follow, if it has one."""

    asked: DatasetDefinition


class ReadCommand(msgspec.Struct, frozen=True, tag="read"):
    """In a ticket or an exchange: a prepared read. `part` of `parts` is one of several endpoints."""

    prepared: Prepared
    part: int = 0
    parts: int = 1


class ErrorBody(msgspec.Struct, frozen=True, omit_defaults=True):
    code: str
    message: str
    hint: str | None = None
    details: dict[str, object] = {}
    request_id: str | None = None


know(RemoveGrant, CreateToken, RevokeToken, Nothing, QueryInfo, CancelQuery, HealthInfo)
know(Hello, GroupBody, Named, Listing, SetTags, DeleteRows, AddFeatures, Restore, History, Outcome)
know(
    Compact,
    Vacuum,
    Detail,
    InsertCommand,
    DatasetCommand,
    InsertCommand | DatasetCommand,
    ReadCommand,
    ErrorBody,
)


def complete(rows: int) -> bytes:
    """Ends the rows of a write, and tells how many they are: a stream that breaks off looks like one that ends."""
    return f"complete {rows}".encode()


def encode(struct: object) -> bytes:
    return msgspec.json.encode(struct)


def encode_error(error: HeadraceError, request_id: str | None = None) -> bytes:
    body = ErrorBody(
        error.code, error.message, error.hint, _clipped(error.details), error.request_id or request_id
    )
    return msgspec.json.encode(body, enc_hook=str)


def _clipped(details: Any) -> Any:
    """Details repeat what was given, and cross in a header, of which most clients take a few kilobytes."""
    match details:
        case str():
            return details if len(details) <= _LONGEST_DETAIL else details[: _LONGEST_DETAIL - 1] + "…"
        case dict():
            return {key: _clipped(value) for key, value in details.items()}
        case list() | tuple():
            return [_clipped(value) for value in details]
    return details


def decode_error(body: bytes) -> HeadraceError:
    """The error that the other side raised; a code from a newer side becomes an InternalError that tells it."""
    try:
        told = msgspec.json.decode(body, type=ErrorBody)
    except msgspec.MsgspecError:
        return InternalError(f"the service sent an error that cannot be read: {body[:200]!r}")
    for kind in error_types():
        if kind.code == told.code:
            error = kind(told.message, hint=told.hint, details=told.details, request_id=told.request_id)
            break
    else:
        error = InternalError(
            f"{told.code}: {told.message}", hint=told.hint, details=told.details, request_id=told.request_id
        )
    return error
