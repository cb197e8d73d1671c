"""The interface that the embedded store and the client of a service both keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

import pyarrow as pa

from headrace.calls import Calls
from headrace.model.dataset import DatasetDefinition
from headrace.model.definition import Commit, Group, GroupDefinition, ViewDefinition
from headrace.model.detail import TableDetail
from headrace.model.expression import Condition
from headrace.model.kept_result import CacheStatistics, KeptResult
from headrace.model.request import Prepared, ReadRequest
from headrace.model.right import Grant
from headrace.model.token import NewToken, Token
from headrace.protocol import HealthInfo, InsertMode, QueryInfo

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


Spine: TypeAlias = "pa.Table | DataFrame"
"""Rows that a caller sends: in memory; or a frame of Spark's, for Spark alone."""


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

    def stream(self, prepared: Prepared, spine: Spine | None) -> pa.RecordBatchReader:
        """Run a prepared read, in batches as they come. Closing the reader, or letting it go, stops the work."""

    def read(self, prepared: Prepared, spine: Spine | None) -> pa.Table:
        """Run a prepared read, all rows at once."""

    def frame(self, prepared: Prepared, spine: Spine | None) -> DataFrame:
        """A prepared read as a frame of Spark's, which runs nothing. Raises Unsupported."""

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

    def list_results(self) -> list[KeptResult]:
        """Those of joins that a service keeps for the project. Raises Unsupported, PermissionDenied."""

    def cache_statistics(self) -> CacheStatistics:
        """Raises Unsupported, PermissionDenied."""

    def clear_results(self) -> int:
        """Let go of those of the project; how many there were. Raises Unsupported, PermissionDenied."""

    def health(self) -> HealthInfo:
        """Whether the store can do its work now: of a service, also whether it takes new queries."""

    def close(self) -> None: ...
