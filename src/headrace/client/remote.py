"""A project of a service, over Arrow Flight: the `Backend` that the embedded store is too."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from importlib.metadata import version
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
from msgspec.json import Decoder

from headrace import protocol
from headrace.backend import Spine
from headrace.calls import Calls, counted
from headrace.client.address import Address
from headrace.client.mapped import mapped_rows
from headrace.client.wire import Answer, SentRows, Wire
from headrace.errors import (
    Cancelled,
    Conflict,
    HeadraceError,
    InternalError,
    InvalidArgument,
    OutcomeUnknown,
    TLSError,
    Unauthenticated,
    Unavailable,
    Unsupported,
)
from headrace.model.dataset import DatasetDefinition
from headrace.model.definition import Commit, Group, GroupDefinition, ViewDefinition, write_schema
from headrace.model.detail import TableDetail
from headrace.model.expression import Condition
from headrace.model.kept_result import CacheStatistics, KeptResult
from headrace.model.request import Prepared, ReadRequest
from headrace.model.right import Grant
from headrace.model.token import NewToken, Token
from headrace.model.write_key import adding, deleting, inserting, restoring

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_HELLO = Decoder(protocol.Hello)
_GROUP, _GROUPS = Decoder(protocol.GroupBody), Decoder(list[protocol.GroupBody])
_VIEW, _VIEWS = Decoder(ViewDefinition), Decoder(list[ViewDefinition])
_DATASET, _DATASETS = Decoder(DatasetDefinition), Decoder(list[DatasetDefinition])
_DETAIL = Decoder(TableDetail)
_COMMIT, _COMMITS = Decoder(Commit), Decoder(list[Commit])
_MAYBE_COMMIT: Decoder[Commit | None] = Decoder(Commit | None)
_PREPARED = Decoder(Prepared)
_GRANT, _GRANTS = Decoder(Grant), Decoder(list[Grant])
_NEW_TOKEN, _TOKENS = Decoder(NewToken), Decoder(list[Token])
_QUERIES = Decoder(list[protocol.QueryInfo])
_RESULTS, _CACHE, _NUMBER = Decoder(list[KeptResult]), Decoder(CacheStatistics), Decoder(int)
_HEALTH = Decoder(protocol.HealthInfo)
_TEXT, _TEXTS, _NOTHING = Decoder(str), Decoder(list[str]), Decoder(None)

# What does not tell whether the service did what it was asked.
_PASSED = (Unauthenticated, Conflict)
"""What a ticket meets that has expired, or whose kept result has made room for others."""
_UNCERTAIN = (Unavailable, Cancelled, InternalError, OutcomeUnknown)
_SPINE_ROWS = 65_536


@counted
class RemoteBackend:
    """Calls a service.

    Args:
        timeout: seconds that a call may take before its first answer; the rows of a read, and of a write, may
            take any time. None waits for ever.
    """

    def __init__(self, address: Address, project: str, timeout: float | None) -> None:
        self.calls = Calls()
        self._wire = Wire(address, project, timeout, self.calls)
        hello = protocol.Hello(protocol.PROTOCOL_VERSION, version("headrace"), project)
        self.service_version = self._wire.ask("hello", hello, _HELLO).version

    def create_group(self, definition: GroupDefinition, schema: pa.Schema | None) -> Group:
        body = protocol.GroupBody.of(Group(definition, schema))
        return self._change("create_group", definition.name, body, _GROUP).group()

    def register_group(self, definition: GroupDefinition) -> Group:
        body = protocol.GroupBody(definition)
        return self._change("register_group", definition.name, body, _GROUP).group()

    def get_group(self, name: str, version: int | None) -> Group:
        return self._wire.ask("get_group", protocol.Named(name, version), _GROUP).group()

    def list_groups(self, name: str | None, tags: dict[str, str], search: str | None) -> list[Group]:
        listing = protocol.Listing(name, tags, search)
        return [body.group() for body in self._wire.ask("list_groups", listing, _GROUPS)]

    def delete_group(self, name: str, version: int, force: bool) -> None:
        self._change("delete_group", name, protocol.Named(name, version, force), _NOTHING)

    def set_group_tags(self, name: str, version: int, tags: dict[str, str | None]) -> Group:
        return self._wire.ask("set_group_tags", protocol.SetTags(name, version, tags), _GROUP).group()

    def outcome(self, ref: str, idempotency_key: str, call: str) -> Commit | None:
        return self._wire.ask("outcome", protocol.Outcome(ref, idempotency_key, call), _MAYBE_COMMIT)

    def delete_rows(
        self, ref: str, keys: pa.Table | None, condition: Condition | None, idempotency_key: str
    ) -> Commit:
        sent = None
        if keys is not None:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, keys.schema) as stream:
                stream.write_table(keys)
            sent = sink.getvalue().to_pybytes()
        body = protocol.DeleteRows(ref, idempotency_key, sent, condition)
        return self._written("delete_rows", body, deleting(keys is not None))

    def add_features(self, ref: str, wanted: pa.Schema, idempotency_key: str) -> Commit:
        body = protocol.AddFeatures(ref, write_schema(wanted), idempotency_key)
        return self._written("add_features", body, adding(wanted))

    def restore(self, ref: str, snapshot: int, idempotency_key: str) -> Commit:
        return self._written("restore", protocol.Restore(ref, snapshot, idempotency_key), restoring(snapshot))

    def compact(self, ref: str, zorder: tuple[str, ...]) -> Commit:
        return self._wire.ask("compact", protocol.Compact(ref, zorder), _COMMIT)

    def vacuum(self, ref: str, retention_hours: int, dry_run: bool) -> list[str]:
        return self._wire.ask("vacuum", protocol.Vacuum(ref, retention_hours, dry_run), _TEXTS)

    def _written(
        self,
        action: protocol.Action,
        body: protocol.DeleteRows | protocol.AddFeatures | protocol.Restore,
        call: str,
    ) -> Commit:
        try:
            return self._wire.ask(action, body, _COMMIT)
        except _UNCERTAIN as error:
            return self._lost(body.ref, body.idempotency_key, call, error)

    def detail(self, ref: str) -> TableDetail:
        return self._wire.ask("detail", protocol.Detail(ref), _DETAIL)

    def history(self, ref: str, limit: int | None) -> list[Commit]:
        return self._wire.ask("history", protocol.History(ref, limit), _COMMITS)

    def create_view(self, definition: ViewDefinition) -> ViewDefinition:
        return self._change("create_view", definition.name, definition, _VIEW)

    def get_view(self, name: str, version: int | None) -> ViewDefinition:
        return self._wire.ask("get_view", protocol.Named(name, version), _VIEW)

    def list_views(self, name: str | None, tags: dict[str, str], search: str | None) -> list[ViewDefinition]:
        return self._wire.ask("list_views", protocol.Listing(name, tags, search), _VIEWS)

    def delete_view(self, name: str, version: int, force: bool) -> None:
        self._change("delete_view", name, protocol.Named(name, version, force), _NOTHING)

    def create_dataset(self, asked: DatasetDefinition, spine: pa.Table | None) -> DatasetDefinition:
        sent = SentRows((spine if spine is not None else pa.table({})).to_reader(_SPINE_ROWS))
        failure: HeadraceError | None = None
        try:
            made = self._wire.put(protocol.DatasetCommand(asked), sent, _DATASET)
            if made is not None:
                return made
        except _UNCERTAIN as error:
            if not sent.ended:
                raise
            failure = error
        with contextlib.suppress(HeadraceError):
            for dataset in self.list_datasets(asked.name):
                if dataset.key == asked.key:
                    return dataset
        raise OutcomeUnknown(
            f"whether a training dataset of {asked.name} was made was not told"
            + ("" if failure is None else f": {failure.message}"),
            hint="look for it with list_training_datasets() before you make another",
        ) from failure

    def get_dataset(self, view: str, version: int | None) -> DatasetDefinition:
        return self._wire.ask("get_dataset", protocol.Named(view, version), _DATASET)

    def list_datasets(self, view: str) -> list[DatasetDefinition]:
        return self._wire.ask("list_datasets", protocol.Named(view), _DATASETS)

    def delete_dataset(self, view: str, version: int) -> None:
        self._change("delete_dataset", view, protocol.Named(view, version), _NOTHING)

    def explain(self, request: ReadRequest) -> str:
        return self._wire.ask("explain", request, _TEXT)

    def list_grants(self) -> list[Grant]:
        return self._wire.ask("list_grants", protocol.Nothing(), _GRANTS)

    def add_grant(self, grant: Grant) -> Grant:
        return self._wire.ask("add_grant", grant, _GRANT)

    def remove_grant(self, user: str, group: str | None) -> None:
        self._change("remove_grant", user, protocol.RemoveGrant(user, group), _NOTHING)

    def create_token(self, user: str | None, lifetime_us: int, description: str) -> NewToken:
        body = protocol.CreateToken(lifetime_us, user, description)
        return self._change("create_token", user or "", body, _NEW_TOKEN)

    def list_tokens(self) -> list[Token]:
        return self._wire.ask("list_tokens", protocol.Nothing(), _TOKENS)

    def revoke_token(self, token_id: str) -> None:
        self._change("revoke_token", token_id, protocol.RevokeToken(token_id), _NOTHING)

    def prepare(self, request: ReadRequest) -> Prepared:
        prepared, tickets = self._wire.prepare(request, _PREPARED)
        return msgspec.structs.replace(prepared, tickets=tickets)

    def stream(self, prepared: Prepared, spine: Spine | None) -> pa.RecordBatchReader:
        mapped = mapped_rows(prepared)
        if mapped is not None:
            return mapped.to_reader(protocol.BATCH_ROWS)
        schema = pa.ipc.read_schema(pa.py_buffer(prepared.schema_ipc))
        if spine is None:
            batches = self._batches(prepared)
        else:
            batches = self._wire.exchange(protocol.ReadCommand(prepared), spine.to_reader(_SPINE_ROWS))
        return pa.RecordBatchReader.from_batches(schema, self.calls.steps(batches))

    def read(self, prepared: Prepared, spine: Spine | None) -> pa.Table:
        mapped = mapped_rows(prepared)
        if mapped is not None:
            return mapped
        if spine is not None:
            return self.stream(prepared, spine).read_all()
        try:
            return self._wire.table(prepared.tickets)
        except _PASSED as error:
            if isinstance(error, Conflict) and prepared.kept is None:
                raise
        return self._wire.table(self._wire.prepare(prepared.request, _PREPARED)[1])

    def frame(self, prepared: Prepared, spine: Spine | None) -> DataFrame:
        raise Unsupported(
            "the rows of a service are not planned onto Spark, which would read the tables past its rights",
            hint="open the store itself, with hr.connect(root, spark=session), or give Spark to_arrow() of the result",
        )

    def list_queries(self) -> list[protocol.QueryInfo]:
        return self._wire.ask("list_queries", protocol.Nothing(), _QUERIES)

    def cancel_query(self, query_id: str) -> None:
        self._wire.ask("cancel_query", protocol.CancelQuery(query_id), _NOTHING)

    def list_results(self) -> list[KeptResult]:
        return self._wire.ask("list_results", protocol.Nothing(), _RESULTS)

    def cache_statistics(self) -> CacheStatistics:
        return self._wire.ask("cache_statistics", protocol.Nothing(), _CACHE)

    def clear_results(self) -> int:
        return self._wire.ask("clear_results", protocol.Nothing(), _NUMBER)

    def health(self) -> protocol.HealthInfo:
        return self._wire.ask("health", protocol.Nothing(), _HEALTH)

    def _batches(self, prepared: Prepared) -> Generator[pa.RecordBatch, None, None]:
        tickets, kept = prepared.tickets, prepared.kept
        number, renewed = 0, -1
        while number < len(tickets):
            came = False
            try:
                for batch in self._wire.batches(tickets[number]):
                    came = True
                    yield batch
            except _PASSED as error:
                if came or renewed == number or (isinstance(error, Conflict) and kept is None):
                    raise
                again, found = self._wire.prepare(prepared.request, _PREPARED)
                if number > 0 and (len(found) != len(tickets) or again.kept != kept):
                    raise Conflict(
                        "the service splits the read otherwise than before, and some of its rows were taken",
                        hint="read it again",
                    ) from None
                tickets, kept, renewed = found, again.kept, number
            else:
                number += 1

    def insert(
        self,
        ref: str,
        rows: pa.RecordBatchReader,
        mode: protocol.InsertMode,
        condition: Condition | None,
        idempotency_key: str,
    ) -> Commit:
        sent = SentRows(rows)
        call = inserting(mode, condition is not None)
        try:
            command = protocol.InsertCommand(ref, mode, idempotency_key, condition)
            commit = self._wire.put(command, sent, _COMMIT)
            return self._lost(ref, idempotency_key, call, None) if commit is None else commit
        except HeadraceError as error:
            if sent.failure is not None:
                raise sent.failure from None
            if isinstance(error, _UNCERTAIN) and sent.ended:
                return self._lost(ref, idempotency_key, call, error)
            raise  # the service had not all rows, and so committed none

    def close(self) -> None:
        self._wire.close()

    def _lost(self, ref: str, key: str, call: str, error: HeadraceError | None) -> Commit:
        """What became of a write whose answer was lost. That there is no commit yet does not tell."""
        try:
            found = self.outcome(ref, key, call)
            if found is not None:
                return found
        except InvalidArgument:
            raise
        except HeadraceError:
            pass
        told = "" if error is None else f": {error.message}"
        raise OutcomeUnknown(
            f"{ref}: whether the write was committed was not told{told}",
            hint=f"try again with idempotency_key={key!r}: it is then written once",
            details={"idempotency_key": key},
        ) from error

    def _change(self, action: protocol.Action, name: str, body: object, answer: Decoder[Answer]) -> Answer:
        """As `Wire.ask`, for what does more when it is done twice."""
        try:
            return self._wire.ask(action, body, answer)
        except _UNCERTAIN as error:
            if isinstance(error, TLSError | OutcomeUnknown):
                raise
            raise OutcomeUnknown(
                f"{action} {name!r}: whether it was done was not told: {error.message}",
                hint="look whether the change is there before you try again",
            ) from error
