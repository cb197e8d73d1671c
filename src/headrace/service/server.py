"""The service: a store behind Arrow Flight."""

from __future__ import annotations

import contextlib
import logging
import threading
import uuid
from collections.abc import Callable, Generator, Iterator
from importlib.metadata import version
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.flight as fl

from headrace import protocol
from headrace.errors import Cancelled, HeadraceError, InternalError, InvalidArgument, Unsupported
from headrace.model.dataset import DatasetDefinition
from headrace.model.definition import ViewDefinition, read_schema
from headrace.model.request import ReadRequest
from headrace.model.right import Grant
from headrace.service.door import Door
from headrace.service.health import Health
from headrace.service.listening import check_address, refusal
from headrace.service.named import names_in
from headrace.service.project import ProjectStore, Rows
from headrace.service.queries import Queries, Query
from headrace.service.record import OK, CallRecord, Records, shown, shown_id
from headrace.service.store import Store
from headrace.service.tickets import Tickets
from headrace.service.watch import Watch

_log = logging.getLogger("headrace.service")
_HEADERS = "headrace"
_LET_GO_S = 1.0


class Server(fl.FlightServerBase):  # type: ignore[misc]
    """Serves one address of a store.

    Args:
        listen: `grpc://host:port`, `grpc+tls://host:port` or `grpc+unix:///path`; port 0 is any free one.
        identity: certificate chain and private key of the server, for `grpc+tls`.
        door: knows who calls.
        queries: the work under way, at whichever address it was asked for.
        records: take what became of each call.
        health: knows whether there is all that the service needs.

    Raises:
        Unavailable: the address is taken, or not this machine's. TLSError: the identity cannot be used.
    """

    def __init__(
        self,
        store: Store,
        listen: str,
        identity: tuple[bytes, bytes] | None,
        door: Door,
        queries: Queries,
        records: Records,
        health: Health,
    ) -> None:
        self._store = store
        self._door = door
        self._queries = queries
        self._records = records
        self._health = health
        self._tickets = Tickets(store.registry.secret("tickets"))
        client_ca = door.access.read_client_ca() if identity else None
        self._watch = Watch()
        check_address(listen)
        try:
            super().__init__(
                listen,
                tls_certificates=[identity] if identity else None,
                verify_client=client_ca is not None,
                root_certificates=client_ca,
                middleware={_HEADERS: _Headers(records)},
            )
        except (OSError, pa.ArrowException):
            del self._store  # the library keeps a server that did not start, and what it holds
            raise refusal(listen) from None

    def do_action(self, context: fl.ServerCallContext, action: fl.Action) -> Iterator[bytes]:
        if action.type == "health":
            with self._called(context, "health") as caller:
                _decode(action.body.to_pybytes(), protocol.Nothing)
                return iter([protocol.encode(self._told_health(*caller))])
        with self._answering(context, action.type if action.type in _ACTIONS else "unknown") as project:
            handler = _ACTIONS.get(action.type)
            if handler is None:
                raise Unsupported(f"the service knows no action {action.type!r}", hint="upgrade the service")
            kind, _ = handler
            body, record = _decode(action.body.to_pybytes(), kind), _record(context)
            record.names = names_in(action.type, body)
            answer = protocol.encode(self._acted(context, project, action.type, body))
            record.sent = len(answer)
            return iter([answer])

    def _told_health(self, user: str | None, project: str) -> protocol.HealthInfo:
        """Also where the registry does not tell who may know what is wrong: then nobody may."""
        problems = self._health.problems()
        try:
            sees_why = self._store.project(project, user).is_admin
        except HeadraceError:
            sees_why = False
        return protocol.HealthInfo(not problems, problems if sees_why else ())

    def _acted(self, context: fl.ServerCallContext, project: ProjectStore, action: str, body: Any) -> object:
        if action in _WORK:
            with contextlib.closing(self._query(context, action)):
                return _ACTIONS[action][1](project, body)
        bearer, everyone = self._bearer(context), project.is_admin
        match action:
            case "list_queries":
                return self._queries.list(*bearer, all_users=everyone)
            case "cancel_query":
                self._queries.cancel(*bearer, body.id, all_users=everyone)
                return None
        return _ACTIONS[action][1](project, body)

    def list_actions(self, context: fl.ServerCallContext) -> list[tuple[str, str]]:
        with self._answering(context, "list_actions"):
            return [(name, kind.__name__) for name, (kind, _) in _ACTIONS.items()]

    def get_flight_info(
        self, context: fl.ServerCallContext, descriptor: fl.FlightDescriptor
    ) -> fl.FlightInfo:
        with self._answering(context, "prepare") as project:
            request, record = _decode(descriptor.command, ReadRequest), _record(context)
            record.names = names_in("prepare", request)
            self._queries.check_open()
            record.begins("prepare")
            prepared = project.prepare(request)
            record.names = names_in("prepare", prepared.request)
            endpoints = []
            if prepared.request.spine_schema is None:
                parts = project.parts(prepared)
                bearer = self._bearer(context)
                commands = [protocol.ReadCommand(prepared, part, parts) for part in range(parts)]
                endpoints = [fl.FlightEndpoint(self._tickets.issue(*bearer, c), []) for c in commands]
            return fl.FlightInfo(
                read_schema(prepared.schema_ipc),
                descriptor,
                endpoints,
                -1,
                -1,
                False,
                protocol.encode(prepared),
            )

    def do_get(self, context: fl.ServerCallContext, ticket: fl.Ticket) -> fl.FlightDataStream:
        with self._answering(context, "read") as project:
            command, record = self._tickets.take(*self._bearer(context), ticket.ticket), _record(context)
            record.names = names_in("read", command)
            query = self._query(context, "read")
            try:
                running = project.run(command.prepared, None, command.part, command.parts)
                batches = self._started(context, running, query)
            except BaseException:
                query.close()
                raise
            record.outcome = Cancelled.code  # unless all rows are taken
            return fl.GeneratorStream(running.schema, _streaming(record, batches))

    def do_exchange(
        self,
        context: fl.ServerCallContext,
        descriptor: fl.FlightDescriptor,
        reader: fl.MetadataRecordBatchReader,
        writer: fl.MetadataRecordBatchWriter,
    ) -> None:
        with self._answering(context, "read") as project:
            command, record = _decode(descriptor.command, protocol.ReadCommand), _record(context)
            record.names = names_in("read", command)
            spool = self._store.storage.work.spool()
            try:
                with _arrow("the spine"):
                    _check_text(reader.schema)
                    for chunk in reader:
                        if chunk.data is not None:
                            chunk.data.validate(full=True)
                            record.received += chunk.data.get_total_buffer_size()
                            spool.add(chunk.data)
                    schema = reader.schema
                with contextlib.closing(self._query(context, "read")) as query:
                    running = project.run(command.prepared, spool.table(schema))
                    batches = self._started(context, running, query)
                    writer.begin(running.schema)
                    for batch in batches:
                        writer.write_batch(batch)
            finally:
                spool.close()

    def do_put(
        self,
        context: fl.ServerCallContext,
        descriptor: fl.FlightDescriptor,
        reader: fl.MetadataRecordBatchReader,
        writer: fl.FlightMetadataWriter,
    ) -> None:
        with self._answering(context, "insert") as project:
            command = _decode(descriptor.command, protocol.InsertCommand | protocol.DatasetCommand)
            record = _record(context)
            record.names = names_in("insert", command)
            if isinstance(command, protocol.DatasetCommand):
                record.kind = "create_dataset"
            with _arrow("the rows' schema"):
                _check_text(reader.schema)
                schema = reader.schema
            done: object
            kind = "training dataset" if isinstance(command, protocol.DatasetCommand) else "insert"
            with contextlib.closing(self._query(context, kind)) as query:
                rows = pa.RecordBatchReader.from_batches(schema, _received(reader, query, record))
                if isinstance(command, protocol.DatasetCommand):
                    done = self._make_dataset(context, project, command.asked, rows, query)
                else:
                    done = project.insert(
                        command.ref, rows, command.mode, command.condition, command.idempotency_key
                    )
            answer = protocol.encode(done)
            record.sent = len(answer)
            try:
                writer.write(pa.py_buffer(answer))
            except OSError as error:  # nobody waits for the answer, and whoever asks again gets it
                raise Cancelled(f"the caller has gone: {error}") from None

    def _make_dataset(
        self,
        context: fl.ServerCallContext,
        project: ProjectStore,
        asked: DatasetDefinition,
        rows: pa.RecordBatchReader,
        query: Query,
    ) -> DatasetDefinition:
        """Stopped if the caller goes away: nobody would know of the dataset."""
        spool = self._store.storage.work.spool()
        try:
            writing = project.start_dataset(asked)
            for batch in rows:
                with _arrow("the spine"):
                    batch.validate(full=True)
                spool.add(batch)
            spine = None if asked.request.spine_schema is None else spool.table(rows.schema)
            query.stops(writing.cancel)
            with self._watch.over(query.is_unwanted, writing.cancel):
                return project.make_dataset(writing, spine)
        finally:
            spool.close()

    @contextlib.contextmanager
    def _answering(self, context: fl.ServerCallContext, kind: str) -> Iterator[ProjectStore]:
        """Gives the project that is called, with what the caller may do in it, and turns errors into what crosses the
        wire. Every call comes in by it.
        """
        with self._called(context, kind) as (user, project):
            self._records.check()
            yield self._store.project(project, user)

    @contextlib.contextmanager
    def _called(self, context: fl.ServerCallContext, kind: str) -> Iterator[tuple[str | None, str]]:
        """Gives the caller, and the project that is named, which may not be there."""
        headers = context.get_middleware(_HEADERS)
        record = headers.record
        record.kind, record.peer = kind, context.peer()
        with _told(record):
            _check_protocol(headers.protocol)
            record.user, project = self._bearer(context)
            yield record.user, project

    def _bearer(self, context: fl.ServerCallContext) -> tuple[str | None, str]:
        """Who calls, and in which project."""
        return self._door.user(context.peer_identity()), context.get_middleware(_HEADERS).project

    def _query(self, context: fl.ServerCallContext, kind: str) -> Query:
        """Waits for the caller's turn. To be closed."""
        record = _record(context)
        record.begins("queue")
        query = self._queries.start(*self._bearer(context), kind, context.is_cancelled)
        record.begins("run")
        return query

    def _started(
        self, context: fl.ServerCallContext, running: Rows, query: Query
    ) -> Iterator[pa.RecordBatch]:
        """The batches, the first one made: an error before it is the answer to the call."""
        batches = self._watched(context, running, query)
        first = next(batches, None)
        record = _record(context)
        record.files = running.files
        record.begins("stream")
        return batches if first is None else _chain(first, batches, query)

    def _watched(
        self, context: fl.ServerCallContext, running: Rows, query: Query
    ) -> Generator[pa.RecordBatch, None, None]:
        """The batches. While one is made, nothing is sent, and only the watch notices that the caller has gone, or that
        the query was stopped before the engine had begun.
        """
        batches, making, record = running.batches(), threading.Lock(), _record(context)

        def stop() -> None:
            running.cancel()
            # While its rows are taken by nobody, nothing else would let go of what it holds.
            if making.acquire(timeout=_LET_GO_S):
                batches.close()
                query.close()
                making.release()

        with contextlib.closing(query):
            try:
                query.stops(stop)
                while True:
                    with making, self._watch.over(query.is_unwanted, running.cancel):
                        try:
                            batch = next(batches, None)
                        except Cancelled:
                            query.check_cancelled()  # which knows why
                            raise
                    if batch is None:
                        return
                    record.rows += batch.num_rows
                    record.sent += batch.nbytes
                    with query.still(batch.num_rows):
                        yield batch
            finally:
                with making:  # who stops it may be at that just now
                    batches.close()


def _record(context: fl.ServerCallContext) -> CallRecord:
    found: CallRecord = context.get_middleware(_HEADERS).record
    return found


def _received(
    reader: fl.MetadataRecordBatchReader, query: Query, record: CallRecord
) -> Iterator[pa.RecordBatch]:
    rows, told = 0, b""
    chunks = _chunks(reader)
    while True:
        with query.still():
            chunk = next(chunks, None)
        if chunk is None:
            break
        if chunk.data is not None and chunk.data.num_rows:
            rows += chunk.data.num_rows
            query.rows = record.rows = rows
            # Not `nbytes`, which would follow offsets that nobody has checked yet.
            record.received += chunk.data.get_total_buffer_size()
            yield chunk.data
        if chunk.app_metadata is not None:
            told = chunk.app_metadata.to_pybytes()
    if told != protocol.complete(rows):
        raise Cancelled("the rows broke off before they were complete: nothing was written")


def _chunks(reader: fl.MetadataRecordBatchReader) -> Iterator[fl.FlightStreamChunk]:
    """What the caller sends. Its bytes are believed by nobody before the rows are checked."""
    with _arrow("the rows"):
        yield from reader


def _chain(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch], query: Query) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest
    query.check_cancelled()  # then what has come is not all


def _streaming(record: CallRecord, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    with _told(record):
        yield from batches
        record.outcome = OK


def _check_protocol(given: str) -> None:
    if given != str(protocol.PROTOCOL_VERSION):
        raise Unsupported(
            f"the client speaks protocol {given or 'unknown'}, and this service {version('headrace')} "
            f"speaks {protocol.PROTOCOL_VERSION}",
            hint="install the same headrace version on both sides",
        )


@contextlib.contextmanager
def _told(record: CallRecord) -> Iterator[None]:
    try:
        yield
    except HeadraceError as error:
        record.outcome = error.code
        raise _flight_error(error, record.request_id) from None
    except fl.FlightError:
        record.outcome = Cancelled.code  # it is the library's, which found nobody to write to
        raise
    except Exception as error:
        record.outcome = InternalError.code
        _log.exception("request %s failed", record.request_id, extra={"request_id": record.request_id})
        raise _flight_error(InternalError(f"{type(error).__name__}: {error}"), record.request_id) from error


def _flight_error(error: HeadraceError, request_id: str) -> fl.FlightError:
    return fl.FlightServerError(error.message, protocol.encode_error(error, request_id))


class _Headers(fl.ServerMiddlewareFactory):  # type: ignore[misc]
    def __init__(self, records: Records) -> None:
        super().__init__()
        self._records = records

    def start_call(self, info: fl.CallInfo, headers: dict[str, list[str]]) -> _Call:
        return _Call({name.lower(): values[0] for name, values in headers.items() if values}, self._records)


class _Call(fl.ServerMiddleware):  # type: ignore[misc]
    """What the headers of one call say, and its record."""

    def __init__(self, headers: dict[str, str], records: Records) -> None:
        super().__init__()
        self.protocol = headers.get(protocol.VERSION_HEADER, "")
        self.request_id = shown_id(headers.get(protocol.REQUEST_HEADER) or uuid.uuid4().hex[:16])
        self.project = headers.get(protocol.PROJECT_HEADER, "default")
        self.record = CallRecord(
            self.request_id,
            shown(self.project),
            {name: headers[name] for name in protocol.TRACE_HEADERS if name in headers},
        )
        self._records = records

    def call_completed(self, exception: BaseException | None) -> None:
        """After the last row was sent, or nobody takes it any more; before the caller is told the end."""
        self._records.end(self.record)


def _decode(body: bytes | None, kind: Any) -> Any:
    try:
        return msgspec.json.decode(body or b"", type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidArgument(f"the request cannot be read: {error}") from None


@contextlib.contextmanager
def _arrow(what: str) -> Iterator[None]:
    """Around the reading of Arrow data that a caller sent."""
    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        raise InvalidArgument(f"{what} cannot be read: {error}") from None


def _check_text(schema: pa.Schema | None) -> None:
    """Raises UnicodeDecodeError if a name in it, however deep, is no text: Arrow reads names when they are used."""
    str(schema)


def _create_group(store: ProjectStore, body: protocol.GroupBody) -> protocol.GroupBody:
    with _arrow("the schema"):
        given = body.group()
        _check_text(given.schema)
    return _body(store.create_group(given.definition, given.schema))


def _register_group(store: ProjectStore, body: protocol.GroupBody) -> protocol.GroupBody:
    return _body(store.register_group(body.definition))


def _hello(store: ProjectStore, body: protocol.Hello) -> protocol.Hello:
    return protocol.Hello(protocol.PROTOCOL_VERSION, version("headrace"), body.project)


def _delete_rows(store: ProjectStore, body: protocol.DeleteRows) -> object:
    with _arrow("the keys"):
        keys = None if body.keys_ipc is None else pa.ipc.open_stream(body.keys_ipc).read_all()
        if keys is not None:
            keys.validate(full=True)
            _check_text(keys.schema)
    return store.delete_rows(body.ref, keys, body.condition, body.idempotency_key)


def _add_features(store: ProjectStore, body: protocol.AddFeatures) -> object:
    with _arrow("the columns"):
        wanted = read_schema(body.schema_ipc)
        _check_text(wanted)
    return store.add_features(body.ref, wanted, body.idempotency_key)


_body = protocol.GroupBody.of

_WORK = ("delete_rows", "add_features", "restore", "compact", "vacuum")
"""Actions that wait for a turn."""

_ACTIONS: dict[str, tuple[type, Callable[[ProjectStore, Any], object]]] = {
    "hello": (protocol.Hello, _hello),
    "create_group": (protocol.GroupBody, _create_group),
    "register_group": (protocol.GroupBody, _register_group),
    "get_group": (protocol.Named, lambda s, b: _body(s.get_group(b.name, b.version))),
    "list_groups": (
        protocol.Listing,
        lambda s, b: [_body(g) for g in s.list_groups(b.name, b.tags, b.search)],
    ),
    "delete_group": (protocol.Named, lambda s, b: s.delete_group(b.name, b.version, b.force)),
    "set_group_tags": (protocol.SetTags, lambda s, b: _body(s.set_group_tags(b.name, b.version, b.tags))),
    "create_view": (ViewDefinition, lambda s, b: s.create_view(b)),
    "get_view": (protocol.Named, lambda s, b: s.get_view(b.name, b.version)),
    "list_views": (protocol.Listing, lambda s, b: s.list_views(b.name, b.tags, b.search)),
    "delete_view": (protocol.Named, lambda s, b: s.delete_view(b.name, b.version, b.force)),
    "get_dataset": (protocol.Named, lambda s, b: s.get_dataset(b.name, b.version)),
    "list_datasets": (protocol.Named, lambda s, b: s.list_datasets(b.name)),
    "delete_dataset": (protocol.Named, lambda s, b: s.delete_dataset(b.name, b.version)),
    "delete_rows": (protocol.DeleteRows, _delete_rows),
    "add_features": (protocol.AddFeatures, _add_features),
    "restore": (protocol.Restore, lambda s, b: s.restore(b.ref, b.snapshot, b.idempotency_key)),
    "compact": (protocol.Compact, lambda s, b: s.compact(b.ref, b.zorder)),
    "vacuum": (protocol.Vacuum, lambda s, b: s.vacuum(b.ref, b.retention_hours, b.dry_run)),
    "detail": (protocol.Detail, lambda s, b: s.detail(b.ref)),
    "history": (protocol.History, lambda s, b: s.history(b.ref, b.limit)),
    "outcome": (protocol.Outcome, lambda s, b: s.outcome(b.ref, b.idempotency_key, b.call)),
    "explain": (ReadRequest, lambda s, b: s.explain(b)),
    "list_grants": (protocol.Nothing, lambda s, b: s.list_grants()),
    "add_grant": (Grant, lambda s, b: s.add_grant(b)),
    "remove_grant": (protocol.RemoveGrant, lambda s, b: s.remove_grant(b.user, b.group)),
    "list_queries": (protocol.Nothing, lambda s, b: s.list_queries()),
    "cancel_query": (protocol.CancelQuery, lambda s, b: s.cancel_query(b.id)),
    "health": (protocol.Nothing, lambda s, b: s.health()),
}
