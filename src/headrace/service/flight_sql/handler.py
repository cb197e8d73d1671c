"""Answers the calls of clients of Flight SQL, by what the service does for its own."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, Literal

import pyarrow as pa
import pyarrow.flight as fl

from headrace.errors import HeadraceError, InvalidArgument, NotFound, Unsupported
from headrace.model.definition import read_schema
from headrace.model.parameters import to_parameters
from headrace.model.request import Prepared, ReadRequest
from headrace.planning.sql_check import CATALOG
from headrace.service.flight_sql.catalog import Catalog
from headrace.service.flight_sql.information import STATEMENT_LIFETIME_S
from headrace.service.flight_sql.messages import read, unwrapped, wrapped, written
from headrace.service.project import ProjectStore
from headrace.service.queries import Queries
from headrace.service.received import arrow, check_text
from headrace.service.store import Store
from headrace.service.tickets import CatalogCommand, Statement, Tickets

ACTIONS = {
    "CreatePreparedStatement": "Prepares a statement in SQL.",
    "ClosePreparedStatement": "Forgets a prepared statement.",
    "CancelQuery": "Stops a query, by its FlightInfo.",
    "CancelFlightInfo": "Stops a query, by its FlightInfo.",
    "CloseSession": "Ends a session, of which nothing is kept.",
}
_CANCELLED, _NOT_CANCELLABLE = 1, 3
_CLOSED = 1
_MUST_EXIST, _APPEND = 2, 2
_KEY_OPTION = "headrace.idempotency_key"

Bearer = tuple[str | None, str]
Endpoints = Callable[[Bearer, ProjectStore, Prepared], list[fl.FlightEndpoint]]


class FlightSql:
    """The calls of clients of Flight SQL. Nothing is kept between them: a prepared statement is in its handle.

    Args:
        endpoints: where the rows of a prepared read are to be had.
    """

    def __init__(self, store: Store, tickets: Tickets, queries: Queries, endpoints: Endpoints) -> None:
        self._store = store
        self._tickets = tickets
        self._queries = queries
        self._endpoints = endpoints

    def info(
        self,
        project: ProjectStore,
        bearer: Bearer,
        descriptor: fl.FlightDescriptor,
        *,
        wanted: Literal["rows", "schema"],
        gone: Callable[[], bool],
    ) -> tuple[fl.FlightInfo, Prepared | None]:
        """What a command will give, and the tickets for its rows; and the read that they are of, if it is one.

        Args:
            wanted: "schema" if nobody will ask for the rows.
            gone: whether the caller has.
        """
        name, command = unwrapped(descriptor.command)
        schema = self._catalog(bearer).schema(name, command)
        if schema is not None:
            ticket = self._tickets.issue(*bearer, CatalogCommand(descriptor.command))
            return _info(schema, descriptor, [fl.FlightEndpoint(ticket, [])]), None
        prepared = project.prepare(self._asked(bearer, name, command), gone)
        endpoints = self._endpoints(bearer, project, prepared) if wanted == "rows" else []
        return _info(read_schema(prepared.schema_ipc), descriptor, endpoints), prepared

    def rows(self, bearer: Bearer, command: CatalogCommand) -> pa.Table:
        """The answer to a command for metadata."""
        return self._catalog(bearer).rows(*unwrapped(command.command))

    def act(
        self, project: ProjectStore, bearer: Bearer, action: str, body: bytes, gone: Callable[[], bool]
    ) -> list[bytes]:
        """The answer to an action."""
        match action:
            case "CreatePreparedStatement":
                _, asked = _expected(body, "ActionCreatePreparedStatementRequest")
                _check_no_transaction(asked)
                return [self._statement(project, bearer, asked.query, gone)]
            case "ClosePreparedStatement":
                _expected(body, "ActionClosePreparedStatementRequest")
                return []
            case "CancelQuery":
                _, asked = _expected(body, "ActionCancelQueryRequest")
                return [wrapped("ActionCancelQueryResult", result=self._cancel(project, bearer, asked.info))]
            case "CancelFlightInfo":
                asked = read("CancelFlightInfoRequest", body)
                return [written("CancelFlightInfoResult", status=self._cancel(project, bearer, asked.info))]
            case "CloseSession":
                return [written("CloseSessionResult", status=_CLOSED)]
        raise Unsupported(f"the service knows no action {action!r}")

    def bind(
        self, project: ProjectStore, bearer: Bearer, command: Any, rows: fl.MetadataRecordBatchReader
    ) -> bytes:
        """A prepared statement with the values of its parameters. Raises InvalidArgument, Unsupported."""
        statement = self._prepared(bearer, command.prepared_statement_handle)
        names = project.sql_parameters(statement.sql)
        with arrow("the parameters"):
            check_text(rows.schema)
            given = _one_row(rows)
            if set(given.schema.names) != set(names) and all(name.isdigit() for name in names):
                given = given.rename_columns([str(number + 1) for number in range(given.num_columns)])
            values = {field.name: _value(given.column(i)) for i, field in enumerate(given.schema)}
        bound = Statement(statement.sql, to_parameters(values))
        handle = self._tickets.issue(*bearer, bound, lifetime=STATEMENT_LIFETIME_S)
        return written("DoPutPreparedStatementResult", prepared_statement_handle=handle)

    def ingest(self, bearer: Bearer, command: Any, rows: pa.RecordBatchReader) -> bytes:
        """Append rows to a feature group. Raises Unsupported, and what `insert` raises."""
        user, project = bearer
        _check_no_transaction(command)
        if command.temporary:
            raise Unsupported(
                "temporary tables are not kept here: ingesting appends to feature groups that are there",
                hint="leave temporary out",
            )
        definition = command.definition
        if (definition.if_not_exist, definition.if_exists) != (_MUST_EXIST, _APPEND):
            raise Unsupported(
                "ingesting appends to feature groups that are there, and makes none",
                hint='use mode="append", and make the group by headrace.connect(…).create_feature_group(…)',
            )
        if command.HasField("catalog") and command.catalog != CATALOG:
            raise NotFound(f"there is no catalog {command.catalog!r}", hint=f"the one there is is {CATALOG}")
        store = self._store.project(command.schema or project, user)
        options = {option.key: option.value for option in command.options}
        key = options.get(_KEY_OPTION) or f"once/{uuid.uuid4().hex}"
        commit = store.insert(command.table, rows, "append", None, key)
        return written("DoPutUpdateResult", record_count=commit.rows_inserted)

    def _catalog(self, bearer: Bearer) -> Catalog:
        user, _ = bearer
        return Catalog(lambda: self._store.projects(user), lambda name: self._store.project(name, user))

    def _asked(self, bearer: Bearer, name: str, command: Any) -> ReadRequest:
        match name:
            case "CommandStatementQuery":
                _check_no_transaction(command)
                return ReadRequest(kind="query", sql=command.query)
            case "CommandPreparedStatementQuery":
                statement = self._prepared(bearer, command.prepared_statement_handle)
                return ReadRequest(kind="query", sql=statement.sql, parameters=statement.parameters)
        raise Unsupported(f"the service does not answer {name}", hint="it reads, and appends by ingesting")

    def _statement(self, project: ProjectStore, bearer: Bearer, sql: str, gone: Callable[[], bool]) -> bytes:
        """A statement's handle, the columns of its rows, as far as they can be told before its parameters are known,
        and the parameters, which have no type of their own and are told as text.
        """
        names = project.sql_parameters(sql)
        request = ReadRequest(kind="query", sql=sql, parameters=dict.fromkeys(names))
        schema = b""
        try:
            schema = project.prepare(request, gone).schema_ipc
        except HeadraceError:
            if not names:
                raise
        handle = self._tickets.issue(*bearer, Statement(sql), lifetime=STATEMENT_LIFETIME_S)
        told = pa.schema([pa.field(name, pa.string()) for name in names]).serialize().to_pybytes()
        return wrapped(
            "ActionCreatePreparedStatementResult",
            prepared_statement_handle=handle,
            dataset_schema=schema,
            parameter_schema=told if names else b"",
        )

    def _prepared(self, bearer: Bearer, handle: bytes) -> Statement:
        statement = self._tickets.take(*bearer, handle)
        if not isinstance(statement, Statement):
            raise InvalidArgument("this is the handle of no prepared statement")
        return statement

    def _cancel(self, project: ProjectStore, bearer: Bearer, info: bytes) -> int:
        with arrow("the request's FlightInfo"):
            tickets = [endpoint.ticket.ticket for endpoint in fl.FlightInfo.deserialize(info).endpoints]
        found = self._queries.cancel_tickets(*bearer, tickets, all_users=project.is_admin)
        return _CANCELLED if found else _NOT_CANCELLABLE


def _info(
    schema: pa.Schema, descriptor: fl.FlightDescriptor, endpoints: list[fl.FlightEndpoint]
) -> fl.FlightInfo:
    return fl.FlightInfo(schema, descriptor, endpoints, -1, -1)


def _expected(body: bytes, name: str) -> tuple[str, Any]:
    found, message = unwrapped(body)
    if found != name:
        raise InvalidArgument(f"{name} is expected, and {found} was sent")
    return found, message


def _check_no_transaction(message: Any) -> None:
    if message.transaction_id:
        raise Unsupported(
            "there are no transactions: each statement is one of its own", hint="use autocommit"
        )


def _one_row(rows: fl.MetadataRecordBatchReader) -> pa.Table:
    batches, count = [], 0
    for chunk in rows:
        if chunk.data is None or not chunk.data.num_rows:
            continue
        chunk.data.validate(full=True)
        count += chunk.data.num_rows
        if count > 1:
            raise Unsupported("a query takes one row of parameters", hint="run it once for each row")
        batches.append(chunk.data)
    if count == 0:
        raise InvalidArgument("no row of parameters was given")
    return pa.Table.from_batches(batches, rows.schema)


def _value(column: pa.ChunkedArray) -> object:
    kind = column.type
    if pa.types.is_timestamp(kind):  # Python knows microseconds
        column = column.cast(pa.timestamp("us", kind.tz))
    elif pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    try:
        return column[0].as_py()
    except (ValueError, OverflowError, KeyError) as error:
        raise InvalidArgument(f"a parameter of type {kind} is no value of Python: {error}") from None
