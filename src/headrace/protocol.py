"""What crosses between client and service, and the interface that both sides keep.

Everything is Arrow Flight. Small things travel as JSON in actions and descriptors (structs below), rows as
record batches: `DoGet` for reads, `DoPut` for writes, `DoExchange` for reads that bring a spine. Errors travel
as an `ErrorBody` in the call's details. Every call names its protocol version in a header.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal, Protocol

import msgspec
import pyarrow as pa

from headrace.calls import Calls
from headrace.errors import HeadraceError, InternalError, error_types
from headrace.model.dataset import DatasetDefinition
from headrace.model.definition import (
    Commit,
    Group,
    GroupDefinition,
    ViewDefinition,
    read_schema,
    write_schema,
)
from headrace.model.detail import TableDetail
from headrace.model.expression import Condition
from headrace.model.query import Int64
from headrace.model.request import Prepared, ReadRequest
from headrace.model.right import Grant
from headrace.model.struct import know
from headrace.model.token import NewToken, Token

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
    "health",
]


class Backend(Protocol):
    """One project of a store: what the embedded store and the client of a service both do.

    Every method raises errors of `headrace.errors` and nothing else. Reads see every commit made before they
    were prepared. Writes are atomic. All methods may be called from several threads.
    """

    calls: Calls
    """Every call is counted there, and what else must not be cut off by the end of the program."""

    @property
    def service_version(self) -> str:
        """The version of Headrace that answers."""

    def create_group(self, definition: GroupDefinition, schema: pa.Schema | None) -> Group:
        """Version 0 means the next free one. Raises AlreadyExists, InvalidName."""

    def register_group(self, definition: GroupDefinition) -> Group:
        """A group of the table at the definition's location. Raises NotFound, SchemaMismatch, Unsupported."""

    def get_group(self, name: str, version: int | None) -> Group:
        """None is the newest version. Raises NotFound."""

    def list_groups(self, name: str | None, tags: dict[str, str], search: str | None) -> list[Group]:
        """Every version of the groups whose name matches the glob, that bear all tags, and in whose name, description,
        tags or columns all words of `search` stand; by name, version.
        """

    def delete_group(self, name: str, version: int, force: bool) -> None:
        """Raises NotFound, or Conflict if a feature view or a training dataset needs it and `force` is false."""

    def set_group_tags(self, name: str, version: int, tags: dict[str, str | None]) -> Group:
        """None removes a tag."""

    def insert(
        self,
        ref: str,
        rows: pa.RecordBatchReader,
        mode: InsertMode,
        condition: Condition | None,
        idempotency_key: str,
    ) -> Commit:
        """Write all of `rows` in one commit, or nothing. `condition` limits what is overwritten.

        The same key again gives the first commit again and writes nothing. Reads `rows` once, in order.
        Raises SchemaMismatch, NullKeys, DuplicateKeys, Conflict, OutcomeUnknown, LimitExceeded.
        """

    def outcome(self, ref: str, idempotency_key: str, call: str) -> Commit | None:
        """The commit of the write with this key, or None. Raises InvalidArgument: it was another call's."""

    def delete_rows(
        self, ref: str, keys: pa.Table | None, condition: Condition | None, idempotency_key: str
    ) -> Commit:
        """Delete the rows with these keys, or for which the condition is true."""

    def add_features(self, ref: str, wanted: pa.Schema, idempotency_key: str) -> Commit:
        """Add columns, or widen their types. Raises SchemaMismatch, Conflict, OutcomeUnknown."""

    def restore(self, ref: str, snapshot: int, idempotency_key: str) -> Commit:
        """Commit the table as it was at a snapshot. Raises SnapshotNotFound, Conflict, OutcomeUnknown."""

    def compact(self, ref: str, zorder: tuple[str, ...]) -> Commit:
        """Put the rows of small files into large ones. Raises UnknownColumn, InvalidArgument, Conflict."""

    def vacuum(self, ref: str, retention_hours: int, dry_run: bool) -> list[str]:
        """Remove the files that no snapshot of the last hours and no training dataset needs, or only list them."""

    def detail(self, ref: str) -> TableDetail:
        """How the newest snapshot is stored."""

    def history(self, ref: str, limit: int | None) -> list[Commit]:
        """Newest first."""

    def create_view(self, definition: ViewDefinition) -> ViewDefinition:
        """Version 0 means the next free one. Raises AlreadyExists, InvalidName, Leakage, UnknownColumn."""

    def get_view(self, name: str, version: int | None) -> ViewDefinition: ...

    def list_views(
        self, name: str | None, tags: dict[str, str], search: str | None
    ) -> list[ViewDefinition]: ...

    def delete_view(self, name: str, version: int, force: bool) -> None:
        """With `force` its training datasets, too. Raises NotFound; Conflict if there are any, and not `force`."""

    def create_dataset(self, asked: DatasetDefinition, spine: pa.Table | None) -> DatasetDefinition:
        """Write the training dataset that is asked for, all of it or nothing; it is given the next version.

        Raises NotFound, InvalidArgument, InvalidName, Unsupported, Conflict, OutcomeUnknown, LimitExceeded.
        """

    def get_dataset(self, view: str, version: int | None) -> DatasetDefinition:
        """Of a view, such as `delays@v1`. None is the newest version. Raises NotFound."""

    def list_datasets(self, view: str) -> list[DatasetDefinition]:
        """By version."""

    def delete_dataset(self, view: str, version: int) -> None:
        """Raises NotFound."""

    def prepare(self, request: ReadRequest) -> Prepared:
        """Check a read, pin its snapshots and tell its schema; runs nothing."""

    def stream(self, prepared: Prepared, spine: pa.Table | None) -> pa.RecordBatchReader:
        """Run a prepared read, in batches as they come. Closing the reader, or letting it go, stops the work."""

    def read(self, prepared: Prepared, spine: pa.Table | None) -> pa.Table:
        """Run a prepared read, all rows at once."""

    def explain(self, request: ReadRequest) -> str:
        """How the read would be run, for people."""

    def list_grants(self) -> list[Grant]:
        """All of the project, by user; to who is no admin, their own."""

    def add_grant(self, grant: Grant) -> Grant:
        """In place of the one that the user has in the project, or on the group. Raises NotFound, InvalidArgument."""

    def remove_grant(self, user: str, group: str | None) -> None:
        """Raises NotFound."""

    def create_token(self, user: str | None, lifetime_us: int, description: str) -> NewToken:
        """For a user of every project of the store; None is the caller. Raises PermissionDenied, LimitExceeded."""

    def list_tokens(self) -> list[Token]:
        """The caller's own; all to whoever opened the store itself."""

    def revoke_token(self, token_id: str) -> None:
        """Raises NotFound, also for those of others."""

    def list_queries(self) -> list[QueryInfo]:
        """What a service does in the project now, the oldest first; to who is no admin, their own."""

    def cancel_query(self, query_id: str) -> None:
        """Raises NotFound."""

    def health(self) -> HealthInfo:
        """Whether the store can do its work now: of a service, also whether it takes new queries."""

    def close(self) -> None: ...


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
