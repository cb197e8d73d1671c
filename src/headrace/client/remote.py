"""A project of a service, over Arrow Flight: the `Backend` that the embedded store is too."""

from __future__ import annotations

import contextlib
import threading
import uuid
import weakref
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import version
from typing import TypeVar

import msgspec
import pyarrow as pa
import pyarrow.flight as fl
from msgspec.json import Decoder

from headrace import protocol
from headrace.calls import Calls, counted
from headrace.client.address import Address, diagnose
from headrace.client.mapped import mapped_rows
from headrace.client.packed import packed_rows
from headrace.errors import (
    Cancelled,
    HeadraceError,
    InternalError,
    OutcomeUnknown,
    PermissionDenied,
    Timeout,
    TLSError,
    Unauthenticated,
    Unavailable,
    Unsupported,
)
from headrace.model.dataset import DatasetDefinition
from headrace.model.definition import Commit, Group, GroupDefinition, ViewDefinition, write_schema
from headrace.model.detail import TableDetail
from headrace.model.expression import Condition
from headrace.model.request import Prepared, ReadRequest

Answer = TypeVar("Answer")

_HELLO = Decoder(protocol.Hello)
_GROUP, _GROUPS = Decoder(protocol.GroupBody), Decoder(list[protocol.GroupBody])
_VIEW, _VIEWS = Decoder(ViewDefinition), Decoder(list[ViewDefinition])
_DATASET, _DATASETS = Decoder(DatasetDefinition), Decoder(list[DatasetDefinition])
_DETAIL = Decoder(TableDetail)
_COMMIT, _COMMITS = Decoder(Commit), Decoder(list[Commit])
_MAYBE_COMMIT: Decoder[Commit | None] = Decoder(Commit | None)
_PREPARED = Decoder(Prepared)
_TEXT, _TEXTS, _NOTHING = Decoder(str), Decoder(list[str]), Decoder(None)

# What does not tell whether the service did what it was asked.
_UNCERTAIN = (Unavailable, Cancelled, InternalError, OutcomeUnknown)
_SPINE_ROWS = 65_536
_TRANSLATED: tuple[tuple[type[Exception], type[HeadraceError]], ...] = (
    (fl.FlightCancelledError, Cancelled),
    (fl.FlightUnauthenticatedError, Unauthenticated),
    (fl.FlightUnauthorizedError, PermissionDenied),
    (pa.ArrowNotImplementedError, Unsupported),
)


@counted
class RemoteBackend:
    """Calls a service.

    Args:
        timeout: seconds that a call may take before its first answer; the rows of a read, and of a write, may
            take any time. None waits for ever.
    """

    def __init__(self, address: Address, project: str, timeout: float | None) -> None:
        self._address = address
        self._project = project
        self._timeout = timeout
        self.calls = Calls()
        self._client = address.connect()
        self._connections = [self._client]
        self._lock = threading.Lock()
        # Called as the program ends, too.
        self._ending = weakref.finalize(self, _close, self.calls, self._connections)
        hello = protocol.Hello(protocol.PROTOCOL_VERSION, version("headrace"), project)
        self.service_version = self._ask("hello", hello, _HELLO).version

    def create_group(self, definition: GroupDefinition, schema: pa.Schema | None) -> Group:
        body = protocol.GroupBody.of(Group(definition, schema))
        return self._change("create_group", definition.name, body, _GROUP).group()

    def register_group(self, definition: GroupDefinition) -> Group:
        body = protocol.GroupBody(definition)
        return self._change("register_group", definition.name, body, _GROUP).group()

    def get_group(self, name: str, version: int | None) -> Group:
        return self._ask("get_group", protocol.Named(name, version), _GROUP).group()

    def list_groups(self, name: str | None, tags: dict[str, str]) -> list[Group]:
        return [body.group() for body in self._ask("list_groups", protocol.Listing(name, tags), _GROUPS)]

    def delete_group(self, name: str, version: int, force: bool) -> None:
        self._change("delete_group", name, protocol.Named(name, version, force), _NOTHING)

    def set_group_tags(self, name: str, version: int, tags: dict[str, str | None]) -> Group:
        return self._ask("set_group_tags", protocol.SetTags(name, version, tags), _GROUP).group()

    def outcome(self, ref: str, idempotency_key: str) -> Commit | None:
        return self._ask("outcome", protocol.Outcome(ref, idempotency_key), _MAYBE_COMMIT)

    def delete_rows(
        self, ref: str, keys: pa.Table | None, condition: Condition | None, idempotency_key: str
    ) -> Commit:
        sent = None
        if keys is not None:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, keys.schema) as stream:
                stream.write_table(keys)
            sent = sink.getvalue().to_pybytes()
        return self._written("delete_rows", protocol.DeleteRows(ref, idempotency_key, sent, condition))

    def add_features(self, ref: str, wanted: pa.Schema, idempotency_key: str) -> Commit:
        return self._written("add_features", protocol.AddFeatures(ref, write_schema(wanted), idempotency_key))

    def restore(self, ref: str, snapshot: int, idempotency_key: str) -> Commit:
        return self._written("restore", protocol.Restore(ref, snapshot, idempotency_key))

    def compact(self, ref: str, zorder: tuple[str, ...]) -> Commit:
        return self._ask("compact", protocol.Compact(ref, zorder), _COMMIT)

    def vacuum(self, ref: str, retention_hours: int, dry_run: bool) -> list[str]:
        return self._ask("vacuum", protocol.Vacuum(ref, retention_hours, dry_run), _TEXTS)

    def _written(
        self, action: protocol.Action, body: protocol.DeleteRows | protocol.AddFeatures | protocol.Restore
    ) -> Commit:
        try:
            return self._ask(action, body, _COMMIT)
        except _UNCERTAIN as error:
            return self._lost(body.ref, body.idempotency_key, error)

    def detail(self, ref: str) -> TableDetail:
        return self._ask("detail", protocol.Detail(ref), _DETAIL)

    def history(self, ref: str, limit: int | None) -> list[Commit]:
        return self._ask("history", protocol.History(ref, limit), _COMMITS)

    def create_view(self, definition: ViewDefinition) -> ViewDefinition:
        return self._change("create_view", definition.name, definition, _VIEW)

    def get_view(self, name: str, version: int | None) -> ViewDefinition:
        return self._ask("get_view", protocol.Named(name, version), _VIEW)

    def list_views(self, name: str | None, tags: dict[str, str]) -> list[ViewDefinition]:
        return self._ask("list_views", protocol.Listing(name, tags), _VIEWS)

    def delete_view(self, name: str, version: int, force: bool) -> None:
        self._change("delete_view", name, protocol.Named(name, version, force), _NOTHING)

    def create_dataset(self, asked: DatasetDefinition, spine: pa.Table | None) -> DatasetDefinition:
        source = _Source((spine if spine is not None else pa.table({})).to_reader(_SPINE_ROWS))
        failure: HeadraceError | None = None
        try:
            answer = self._put(protocol.DatasetCommand(asked), source)
            if answer is not None:
                return _decode(answer, _DATASET)
        except _UNCERTAIN as error:
            if not source.ended:
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
        return self._ask("get_dataset", protocol.Named(view, version), _DATASET)

    def list_datasets(self, view: str) -> list[DatasetDefinition]:
        return self._ask("list_datasets", protocol.Named(view), _DATASETS)

    def delete_dataset(self, view: str, version: int) -> None:
        self._change("delete_dataset", view, protocol.Named(view, version), _NOTHING)

    def explain(self, request: ReadRequest) -> str:
        return self._ask("explain", request, _TEXT)

    def prepare(self, request: ReadRequest) -> Prepared:
        descriptor = fl.FlightDescriptor.for_command(protocol.encode(request))
        with self._call(self._timeout) as options:
            info = self._client.get_flight_info(descriptor, options)
        prepared = _decode(bytes(info.app_metadata), _PREPARED)
        return msgspec.structs.replace(prepared, tickets=tuple(e.ticket.ticket for e in info.endpoints))

    def stream(self, prepared: Prepared, spine: pa.Table | None) -> pa.RecordBatchReader:
        mapped = mapped_rows(prepared)
        if mapped is not None:
            return mapped.to_reader(protocol.BATCH_ROWS)
        schema = pa.ipc.read_schema(pa.py_buffer(prepared.schema_ipc))
        return pa.RecordBatchReader.from_batches(schema, self.calls.steps(self._batches(prepared, spine)))

    def read(self, prepared: Prepared, spine: pa.Table | None) -> pa.Table:
        mapped = mapped_rows(prepared)
        if mapped is not None:
            return mapped
        if prepared.packed:
            unpacked = packed_rows(prepared, partial(self._pieces, prepared))
            if unpacked is not None:
                return unpacked
        if spine is not None:
            return self.stream(prepared, spine).read_all()
        if len(prepared.tickets) == 1:
            return self._fetch(prepared.tickets[0], self._client)
        clients = self._clients(len(prepared.tickets))
        with ThreadPoolExecutor(len(clients)) as threads:
            return pa.concat_tables(threads.map(self._fetch, prepared.tickets, clients))

    def insert(
        self,
        ref: str,
        rows: pa.RecordBatchReader,
        mode: protocol.InsertMode,
        condition: Condition | None,
        idempotency_key: str,
    ) -> Commit:
        source = _Source(rows)
        try:
            answer = self._put(protocol.InsertCommand(ref, mode, idempotency_key, condition), source)
            return self._lost(ref, idempotency_key, None) if answer is None else _decode(answer, _COMMIT)
        except HeadraceError as error:
            if source.failure is not None:
                raise source.failure from None
            if isinstance(error, _UNCERTAIN) and source.ended:
                return self._lost(ref, idempotency_key, error)
            raise  # the service had not all rows, and so committed none

    def close(self) -> None:
        self._ending()

    def _clients(self, number: int) -> list[fl.FlightClient]:
        """A connection for each of several streams: one thread works for each, and encrypts."""
        with self._lock:
            while len(self._connections) < number:
                self._connections.append(self._address.connect())
            return self._connections[:number]

    def _fetch(self, ticket: bytes, client: fl.FlightClient) -> pa.Table:
        with self._call(None) as options:
            return client.do_get(fl.Ticket(ticket), options).read_all()

    def _pieces(self, prepared: Prepared, number: int) -> Iterator[memoryview]:
        """The bytes of a file that holds rows of a read."""
        ticket = fl.Ticket(protocol.encode(protocol.FileCommand(prepared, number)))
        with self._call(None) as options:
            for batch in _chunks(self._client.do_get(ticket, options)):
                for piece in batch.column(0):
                    yield memoryview(piece.as_buffer())

    def _batches(self, prepared: Prepared, spine: pa.Table | None) -> Generator[pa.RecordBatch, None, None]:
        if spine is not None:
            yield from self._exchange(prepared, spine)
            return
        for ticket in prepared.tickets:
            with self._call(None) as options:
                yield from _chunks(self._client.do_get(fl.Ticket(ticket), options))

    def _exchange(self, prepared: Prepared, spine: pa.Table) -> Iterator[pa.RecordBatch]:
        command = protocol.encode(protocol.ReadCommand(prepared))
        with self._call(None) as options:
            writer, reader = self._client.do_exchange(fl.FlightDescriptor.for_command(command), options)
            try:
                with contextlib.suppress(pa.ArrowException, OSError):
                    # If the service has refused already, writing fails first, and reading tells why.
                    writer.begin(spine.schema)
                    for batch in spine.to_batches(_SPINE_ROWS):
                        writer.write_batch(batch)
                    writer.done_writing()
                yield from _chunks(reader)
            finally:
                with contextlib.suppress(pa.ArrowException, OSError):
                    writer.close()

    def _put(
        self, command: protocol.InsertCommand | protocol.DatasetCommand, source: _Source
    ) -> bytes | None:
        """The answer; None if the service did not want all rows, because it has made this write before."""
        descriptor = fl.FlightDescriptor.for_command(protocol.encode(command))
        with self._call(None) as options:
            writer, answers = self._client.do_put(descriptor, source.schema, options)
            try:
                for batch in source:
                    writer.write_batch(batch)
                # Only this tells the service that the rows are complete: without it, nothing is committed.
                writer.write_metadata(protocol.COMPLETE)
                writer.done_writing()
                answer = answers.read()
            except (pa.ArrowException, OSError):
                # Once the service has answered, writing fails without a reason: closing tells an error of it.
                writer.close()
                if source.failure is not None:
                    raise
                answer = None
            except BaseException:
                with contextlib.suppress(pa.ArrowException, OSError):
                    writer.close()
                raise
            else:
                writer.close()
        return None if answer is None else bytes(answer.to_pybytes())

    def _lost(self, ref: str, key: str, error: HeadraceError | None) -> Commit:
        """What became of a write whose answer was lost. That there is no commit yet does not tell."""
        with contextlib.suppress(HeadraceError):
            found = self.outcome(ref, key)
            if found is not None:
                return found
        told = "" if error is None else f": {error.message}"
        raise OutcomeUnknown(
            f"{ref}: whether the write was committed was not told{told}",
            hint=f"try again with idempotency_key={key!r}: it is then written once",
            details={"idempotency_key": key},
        ) from error

    def _change(self, action: protocol.Action, name: str, body: object, answer: Decoder[Answer]) -> Answer:
        """As `_ask`, for what does more when it is done twice."""
        try:
            return self._ask(action, body, answer)
        except _UNCERTAIN as error:
            if isinstance(error, TLSError | OutcomeUnknown):
                raise
            raise OutcomeUnknown(
                f"{action} {name!r}: whether it was done was not told: {error.message}",
                hint="look whether the change is there before you try again",
            ) from error

    def _ask(self, action: protocol.Action, body: object, answer: Decoder[Answer]) -> Answer:
        with self._call(self._timeout) as options:
            results = list(self._client.do_action(fl.Action(action, protocol.encode(body)), options))
        return _decode(results[0].body.to_pybytes(), answer)

    @contextlib.contextmanager
    def _call(self, timeout: float | None) -> Iterator[fl.FlightCallOptions]:
        request_id = uuid.uuid4().hex[:16]
        headers = [
            (protocol.VERSION_HEADER.encode(), str(protocol.PROTOCOL_VERSION).encode()),
            (protocol.REQUEST_HEADER.encode(), request_id.encode()),
            (protocol.PROJECT_HEADER.encode(), self._project.encode()),
        ]
        try:
            yield fl.FlightCallOptions(timeout=timeout, headers=headers)
        except (pa.ArrowException, OSError) as error:
            raise self._translate(error, request_id, timeout) from error

    def _translate(self, error: Exception, request_id: str, timeout: float | None) -> HeadraceError:
        told = getattr(error, "extra_info", None)
        if told:
            return protocol.decode_error(bytes(told))
        service = f"the service at {self._address.uri}"
        if isinstance(error, fl.FlightUnavailableError):
            return diagnose(self._address) or Unavailable(f"{service} did not answer", request_id=request_id)
        if isinstance(error, fl.FlightTimedOutError):
            waited = "" if timeout is None else f" within {timeout:g} seconds"
            return Timeout(f"{service} did not answer{waited}", request_id=request_id)
        for kind, ours in _TRANSLATED:
            if isinstance(error, kind):
                return ours(f"{service}: {error}", request_id=request_id)
        return InternalError(f"{service} failed: {error}", request_id=request_id)


def _close(calls: Calls, clients: list[fl.FlightClient]) -> None:
    """In a fork nothing is, for the connections are the parent's."""
    if calls.is_ours:
        calls.close()
        for client in clients:
            client.close()


class _Source:
    """Batches of the caller's; remembers whether they ended, and what reading them raised."""

    def __init__(self, rows: pa.RecordBatchReader) -> None:
        self._rows = rows
        self.schema = rows.schema
        self.ended = False
        self.failure: BaseException | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._rows
        except GeneratorExit:
            raise
        except BaseException as error:
            self.failure = error
            raise
        self.ended = True


def _chunks(reader: fl.FlightStreamReader) -> Iterator[pa.RecordBatch]:
    """The batches of a stream. Left early, it is cancelled, so that the service stops too."""
    whole = False
    try:
        while True:
            try:
                chunk = reader.read_chunk()
            except StopIteration:
                whole = True
                return
            if chunk.data is not None:
                yield chunk.data
    finally:
        if not whole:
            reader.cancel()


def _decode(body: bytes, kind: Decoder[Answer]) -> Answer:
    try:
        return kind.decode(body)
    except msgspec.MsgspecError as error:
        raise InternalError(f"the service sent an answer that cannot be read: {error}") from None
