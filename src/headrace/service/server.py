"""The service: a store behind Arrow Flight."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.flight as fl

from headrace import protocol
from headrace.errors import Cancelled, HeadraceError, InvalidArgument, Unsupported
from headrace.model.dataset import DatasetDefinition
from headrace.model.definition import read_schema
from headrace.model.request import Prepared, ReadRequest
from headrace.service.actions import ACTIONS, WORK
from headrace.service.door import Door
from headrace.service.flight_sql import handler as flight_sql
from headrace.service.flight_sql.handler import Bearer, FlightSql
from headrace.service.flight_sql.messages import is_wrapped, unwrapped
from headrace.service.headers import HEADERS, CallHeaders, Headers, record_of
from headrace.service.health import Health
from headrace.service.listening import check_address, refusal
from headrace.service.named import names_in
from headrace.service.project import ProjectStore
from headrace.service.queries import Queries, Query
from headrace.service.received import (
    arrow,
    check_text,
    decode,
    ingested_rows,
    received_rows,
    received_schema,
    received_spine,
)
from headrace.service.record import OK, Records
from headrace.service.sending import started
from headrace.service.store import Store
from headrace.service.tickets import CatalogCommand, Tickets
from headrace.service.told import told
from headrace.service.watch import Watch

# Of others all is there before anybody can say no.
_ADMITTED = {
    fl.FlightMethod.DO_PUT: "insert",
    fl.FlightMethod.DO_EXCHANGE: "read",
    fl.FlightMethod.GET_SCHEMA: "prepare",
}


class Server(fl.FlightServerBase):  # type: ignore[misc]
    """Serves one address of a store.

    Args:
        listen: `grpc://host:port`, `grpc+tls://host:port` or `grpc+unix:///path`; port 0 is any free one.
        identity: certificate chain and private key of the server, for `grpc+tls`.
        door: knows who calls.
        queries: the work under way, at whichever address it was asked for.
        records: take what became of each call.
        health: knows whether there is all that the service needs.
        client_ca: authorities of the certificates that clients must show; without them none is asked for.

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
        client_ca: bytes | None = None,
    ) -> None:
        self._store = store
        self._door = door
        self._queries = queries
        self._records = records
        self._health = health
        self._tickets = Tickets(store.registry.secret("tickets"))
        self._flight_sql = FlightSql(store, self._tickets, queries, self._endpoints)
        self._watch = Watch()
        # Certificates are seen when a call is answered; who can have none shows a token before anything is read.
        by_token = client_ca is None and not door.is_open
        check_address(listen)
        try:
            super().__init__(
                listen,
                tls_certificates=[identity] if identity else None,
                verify_client=client_ca is not None,
                root_certificates=client_ca,
                middleware={HEADERS: Headers(records, self._admit if by_token else lambda *_: None)},
            )
        except (OSError, pa.ArrowException):
            self._watch.close()
            del self._store  # the library keeps a server that did not start, and what it holds
            raise refusal(listen) from None

    def shutdown(self) -> None:
        """Take no new calls, and wait for those under way."""
        super().shutdown()
        self._watch.close()

    def do_action(self, context: fl.ServerCallContext, action: fl.Action) -> Iterator[bytes]:
        if action.type == "health":
            with self._called(context, "health") as caller:
                decode(action.body.to_pybytes(), protocol.Nothing)
                return iter([protocol.encode(self._told_health(*caller))])
        is_sql = action.type in flight_sql.ACTIONS
        kind = action.type if is_sql or action.type in ACTIONS else "unknown"
        with self._answering(context, kind, is_sql) as project:
            body, record = action.body.to_pybytes(), record_of(context)
            if is_sql:
                answers = self._flight_sql.act(
                    project, self._bearer(context), kind, body, context.is_cancelled
                )
            elif kind == "unknown":
                raise Unsupported(f"the service knows no action {action.type!r}", hint="upgrade the service")
            else:
                asked = decode(body, ACTIONS[kind][0])
                record.names = names_in(kind, asked)
                answers = [protocol.encode(self._acted(context, project, kind, asked))]
            record.sent = sum(map(len, answers))
            return iter(answers)

    def _told_health(self, user: str | None, project: str) -> protocol.HealthInfo:
        """Also where the registry does not tell who may know what is wrong: then nobody may."""
        problems = self._health.problems()
        try:
            sees_why = self._store.project(project, user).is_admin
        except HeadraceError:
            sees_why = False
        return protocol.HealthInfo(not problems, problems if sees_why else ())

    def _acted(self, context: fl.ServerCallContext, project: ProjectStore, action: str, body: Any) -> object:
        if action in WORK:
            with contextlib.closing(self._query(context, action)):
                return ACTIONS[action][1](project, body)
        bearer, everyone = self._bearer(context), project.is_admin
        match action:
            case "list_queries":
                return self._queries.list(*bearer, all_users=everyone)
            case "cancel_query":
                self._queries.cancel(*bearer, body.id, all_users=everyone)
                return None
        return ACTIONS[action][1](project, body)

    def list_actions(self, context: fl.ServerCallContext) -> list[tuple[str, str]]:
        with self._answering(context, "list_actions", is_sql=True):
            return [
                *((name, kind.__name__) for name, (kind, _) in ACTIONS.items()),
                *flight_sql.ACTIONS.items(),
            ]

    def get_flight_info(
        self, context: fl.ServerCallContext, descriptor: fl.FlightDescriptor
    ) -> fl.FlightInfo:
        is_sql = is_wrapped(descriptor.command)
        with self._answering(context, "prepare", is_sql) as project:
            bearer, record = self._bearer(context), record_of(context)
            self._queries.check_open()
            record.begins("prepare")
            if is_sql:
                info, prepared = self._flight_sql.info(
                    project, bearer, descriptor, wanted="rows", gone=context.is_cancelled
                )
            else:
                request = decode(descriptor.command, ReadRequest)
                record.names = names_in("prepare", request)
                # What SQL means is found out in another process, and may take long.
                with self._queries.lanes.short() if request.sql is None else contextlib.nullcontext():
                    prepared = project.prepare(request, context.is_cancelled)
                brings_rows = prepared.request.spine_schema is not None
                endpoints = [] if brings_rows else self._endpoints(bearer, project, prepared)
                schema, told = read_schema(prepared.schema_ipc), protocol.encode(prepared)
                info = fl.FlightInfo(schema, descriptor, endpoints, -1, -1, False, told)
            if prepared is not None:
                record.names = names_in("prepare", prepared.request)
            return info

    def list_flights(self, context: fl.ServerCallContext, criteria: bytes) -> Iterator[fl.FlightInfo]:
        with self._answering(context, "list_flights", is_sql=True):
            raise Unsupported(
                "the service lists no flights", hint="ask for tables, by headrace.connect(…) or Flight SQL"
            )

    def get_schema(self, context: fl.ServerCallContext, descriptor: fl.FlightDescriptor) -> fl.SchemaResult:
        with self._answering(context, "prepare", is_sql=True) as project:
            info, _ = self._flight_sql.info(
                project, self._bearer(context), descriptor, wanted="schema", gone=context.is_cancelled
            )
            return fl.SchemaResult(info.schema)

    def _endpoints(
        self, bearer: Bearer, project: ProjectStore, prepared: Prepared
    ) -> list[fl.FlightEndpoint]:
        parts = project.parts(prepared)
        commands = [protocol.ReadCommand(prepared, part, parts) for part in range(parts)]
        return [fl.FlightEndpoint(self._tickets.issue(*bearer, command), []) for command in commands]

    def do_get(self, context: fl.ServerCallContext, ticket: fl.Ticket) -> fl.FlightDataStream:
        with self._answering(context, "read", is_sql=True) as project:
            bearer, record = self._bearer(context), record_of(context)
            command = self._tickets.take(*bearer, ticket.ticket)
            if isinstance(command, CatalogCommand):
                record.kind = "catalog"
                return fl.RecordBatchStream(self._flight_sql.rows(bearer, command))
            if not isinstance(command, protocol.ReadCommand):
                raise InvalidArgument("this is no ticket to rows")
            record.names = names_in("read", command)
            small = project.is_small(command.prepared)
            query = self._query(context, "read", ticket.ticket, small=small)
            try:
                running = project.run(command.prepared, None, command.part, command.parts)
                batches = started(running, query, record, self._watch)
            except BaseException:
                query.close()
                raise
            record.outcome = Cancelled.code  # unless all rows are taken
            return fl.GeneratorStream(running.schema, _streaming(context, batches))

    def do_exchange(
        self,
        context: fl.ServerCallContext,
        descriptor: fl.FlightDescriptor,
        reader: fl.MetadataRecordBatchReader,
        writer: fl.MetadataRecordBatchWriter,
    ) -> None:
        with self._answering(context, "read") as project:
            command, record = decode(descriptor.command, protocol.ReadCommand), record_of(context)
            record.names = names_in("read", command)
            with arrow("the spine"):
                check_text(reader.schema)
                schema = reader.schema
            project.check_spine(command.prepared, schema)
            spool = self._store.storage.work.spool(of_caller=True)
            try:
                with contextlib.closing(self._query(context, "read")) as query:
                    for batch in received_spine(reader, query, record):
                        spool.add(batch)
                    query.begins_now()
                    running = project.run(command.prepared, spool.table(schema))
                    batches = started(running, query, record, self._watch)
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
        is_sql = is_wrapped(descriptor.command)
        with self._answering(context, "insert", is_sql) as project:
            if is_sql:
                answer = self._put_by_sql(context, project, descriptor.command, reader)
            else:
                command = decode(descriptor.command, protocol.InsertCommand | protocol.DatasetCommand)
                answer = protocol.encode(self._put(context, project, command, reader))
            record_of(context).sent = len(answer)
            try:
                writer.write(pa.py_buffer(answer))
            except OSError as error:  # nobody waits for the answer, and whoever asks again gets it
                raise Cancelled(f"the caller has gone: {error}") from None

    def _put(
        self,
        context: fl.ServerCallContext,
        project: ProjectStore,
        command: protocol.InsertCommand | protocol.DatasetCommand,
        reader: fl.MetadataRecordBatchReader,
    ) -> object:
        kind, record = "insert", record_of(context)
        record.names = names_in("insert", command)
        if isinstance(command, protocol.DatasetCommand):
            kind, record.kind = "training dataset", "create_dataset"
        schema = received_schema(reader)
        with contextlib.closing(self._query(context, kind)) as query:
            rows = pa.RecordBatchReader.from_batches(schema, received_rows(reader, query, record))
            if isinstance(command, protocol.DatasetCommand):
                return self._make_dataset(context, project, command.asked, rows, query)
            return project.insert(command.ref, rows, command.mode, command.condition, command.idempotency_key)

    def _put_by_sql(
        self,
        context: fl.ServerCallContext,
        project: ProjectStore,
        body: bytes,
        reader: fl.MetadataRecordBatchReader,
    ) -> bytes:
        name, command = unwrapped(body)
        bearer, record = self._bearer(context), record_of(context)
        match name:
            case "CommandPreparedStatementQuery":
                record.kind = "bind"
                return self._flight_sql.bind(project, bearer, command, reader)
            case "CommandStatementIngest":
                record.names = names_in("ingest", command)
                schema = received_schema(reader)
                with contextlib.closing(self._query(context, "insert")) as query:
                    batches = ingested_rows(reader, query, record, context.is_cancelled)
                    rows = pa.RecordBatchReader.from_batches(schema, batches)
                    return self._flight_sql.ingest(bearer, command, rows)
        raise Unsupported(
            f"the service does not answer {name}: SQL reads, and changes nothing",
            hint="append by ingesting, or write by headrace.connect(…)",
        )

    def _make_dataset(
        self,
        context: fl.ServerCallContext,
        project: ProjectStore,
        asked: DatasetDefinition,
        rows: pa.RecordBatchReader,
        query: Query,
    ) -> DatasetDefinition:
        """Stopped if the caller goes away: nobody would know of the dataset."""
        spool = self._store.storage.work.spool(of_caller=True)
        try:
            writing = project.start_dataset(asked)
            for batch in rows:
                with arrow("the spine"):
                    batch.validate(full=True)
                spool.add(batch)
            spine = None if asked.request.spine_schema is None else spool.table(rows.schema)
            query.stops(writing.cancel)
            with (
                query.told_why(),
                self._watch.over(query.is_unwanted, writing.cancel),
            ):
                return project.make_dataset(writing, spine)
        finally:
            spool.close()

    @contextlib.contextmanager
    def _answering(
        self, context: fl.ServerCallContext, kind: str, is_sql: bool = False
    ) -> Iterator[ProjectStore]:
        """Gives the project that is called, with what the caller may do in it, and turns errors into what crosses the
        wire. Every call comes in by it.

        Args:
            is_sql: clients of others may call, too.
        """
        with self._called(context, kind, is_sql) as (user, project):
            self._records.check()
            yield self._store.project(project, user)

    @contextlib.contextmanager
    def _called(self, context: fl.ServerCallContext, kind: str, is_sql: bool = False) -> Iterator[Bearer]:
        """Gives the caller, and the project that is named, which may not be there."""
        headers = context.get_middleware(HEADERS)
        headers.record.kind, headers.record.peer, headers.record.outcome = kind, context.peer(), OK
        with told(headers):
            bearer = self._bearer(context)
            headers.record.user = bearer[0]
            if headers.is_ours or not is_sql:
                headers.check_protocol()
            yield bearer

    def _admit(self, call: CallHeaders, method: fl.FlightMethod) -> None:
        """Who shows no token is told so before the rows that they send are taken in."""
        kind = _ADMITTED.get(method)
        if kind is not None:
            call.record.kind = kind
            with told(call):
                call.bearer = self._door.user(b"", call.authorization), call.project

    def _bearer(self, context: fl.ServerCallContext) -> Bearer:
        """Who calls, and in which project: found once in a call, for the registry is asked about tokens."""
        call = context.get_middleware(HEADERS)
        if call.bearer is None:
            call.bearer = self._door.user(context.peer_identity(), call.authorization), call.project
        bearer: Bearer = call.bearer
        return bearer

    def _query(
        self, context: fl.ServerCallContext, kind: str, ticket: bytes = b"", *, small: bool = False
    ) -> Query:
        """Waits for the caller's turn. To be closed."""
        record = record_of(context)
        record.begins("queue")
        bearer = self._bearer(context)
        query = self._queries.start(*bearer, kind, context.is_cancelled, ticket, small=small)
        record.begins("run")
        return query


def _streaming(context: fl.ServerCallContext, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    headers = context.get_middleware(HEADERS)
    with told(headers):
        yield from batches
        headers.record.outcome = OK
