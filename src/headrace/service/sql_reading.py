"""Reads of queries that users wrote as SQL, over feature groups and views at fixed snapshots."""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec
import pyarrow as pa

from headrace.engine.session import Session
from headrace.errors import InvalidArgument, NameClash, NotFound, SqlRejected
from headrace.formats.base import Snapshot, addresses
from headrace.formats.duckdb_type import duckdb_type
from headrace.formats.streamed import StreamedSnapshot
from headrace.model.definition import write_schema
from headrace.model.duration import parse_time
from headrace.model.expression import Value
from headrace.model.expression_sql import identifier, literal, text
from headrace.model.query import Query, Source
from headrace.model.request import PointInTime, Prepared, ReadRequest
from headrace.model.sql_form import SqlForm
from headrace.planning.plan import Plan
from headrace.planning.sql_check import (
    WHAT_THERE_IS,
    CheckedQuery,
    SqlTable,
    check_query,
    parameters_of,
    with_parameters,
)
from headrace.planning.sql_form import computes, sql_form
from headrace.planning.sql_nulls import put_unforeseen
from headrace.planning.sql_simple import simple_select
from headrace.service.pinning import snapshots_of
from headrace.service.reading import Reader
from headrace.service.sql_refusal import NOT_CALLED, NOT_NAMED, explained, naming
from headrace.service.sql_rows import SqlRows, Started

_LONGEST = 100_000
_MOST_FOLDERS = 32
# Where other databases tell what is in them.
_CATALOGS = frozenset({"information_schema", "pg_catalog"})
_LEAN = "skip_default := true, skip_empty := true, skip_null := true"


class SqlReader:
    """Reads of SQL, asked in one project. Its tables are feature groups and views: `flights`, `shop."orders@v1"`.

    Args:
        readers: gives the reads of a project, for the caller; None is the project in which they ask.
    """

    def __init__(self, readers: Callable[[str | None], Reader]) -> None:
        self._readers = readers

    def prepare(self, request: ReadRequest, gone: Callable[[], bool] = lambda: False) -> Prepared:
        """Check the query and fix the snapshots of its tables, whether or not the caller has `gone`.

        Raises:
            SqlRejected: what cannot be read, or has no place in a query. NotFound: a table is no feature group or view.
            The details name the `tables` of the query, once it was read.
        """
        if request.limit is not None and request.limit < 0:
            raise InvalidArgument(f"a limit of {request.limit} rows is refused", hint="it is at least 0")
        with contextlib.closing(self._readers(None).engine.open_for_user()) as session:
            query = _checked(session, request)
            with naming(query):
                # A request that was prepared before has its tables.
                tables = request.tables if request.now else {t.label: self._table(t) for t in query.tables}
                columns = self._show_columns(session, query, tables)
                with explained(columns):
                    schema = _schema(session, _written(session, query.tree))
        simple = self._simple(query, tables, schema)
        snapshots: dict[str, int] = {}
        for table in query.tables:
            read = tables[table.label].query
            for ref, snapshot in ({} if read is None else snapshots_of(read)).items():
                snapshots[ref if table.project is None else f"{table.project}.{ref}"] = snapshot
        pinned = request if simple is None else msgspec.structs.replace(simple, limit=request.limit)
        return Prepared(
            request=msgspec.structs.replace(
                pinned, tables=tables, now=request.now or dt.datetime.now(dt.UTC)
            ),
            schema_ipc=write_schema(schema),
            features=(),
            labels=(),
            snapshots=snapshots,
            form=None if simple is not None else _form(query, tables, columns.values()),
        )

    def parameters(self, sql: str) -> list[str]:
        """The names of the parameters of a query: numbers from 1 on, or what stands after each `$`."""
        with contextlib.closing(self._readers(None).engine.open_for_user()) as session:
            return parameters_of(_parsed(session, sql))

    def parts(self, prepared: Prepared) -> int:
        return 1

    def run(self, prepared: Prepared, spine: pa.Table | None, part: int, parts: int) -> SqlRows:
        """The rows, to be read once."""
        if prepared.request.now is None:
            raise InvalidArgument("the read is not prepared")
        return SqlRows(self.start, self._readers(None).calls, prepared)

    def explain(self, request: ReadRequest) -> str:
        """Which snapshots the query is of."""
        prepared = self.prepare(request)
        told = ", ".join(
            f"{ref} at snapshot {n}" if n >= 0 else f"{ref} as it is now"
            for ref, n in prepared.snapshots.items()
        )
        return f"SQL over {told or 'no feature group'}\n{request.sql}"

    def start(self, request: ReadRequest) -> Started:
        """What runs a pinned request, in a session of its own."""
        engine = self._readers(None).engine
        with contextlib.closing(engine.open_for_user()) as session:
            query = _checked(session, request)
            statement = _written(session, query.tree)
        _check_tables(query, request.tables)
        read = {table: request.tables[table.label] for table in query.tables}
        scans = {
            table: self._readers(table.project).scan_of(pinned)
            for table, pinned in read.items()
            if pinned.kind != "training"
        }
        snapshots = [snapshot for _, snapshot in scans.values() if snapshot is not None]
        session = engine.open_for_user(_folders(snapshots))

        def shown() -> str:
            session.execute(NOT_CALLED)
            for table, pinned in read.items():
                if table in scans:
                    _show_group(session, table, *scans[table])
                else:
                    self._show_view(session, table, pinned)
            return statement

        @contextlib.contextmanager
        def reading() -> Iterator[None]:
            with contextlib.ExitStack() as stack:
                for table in scans:
                    stack.enter_context(self._readers(table.project).reading(read[table]))
                yield

        files = sum(snapshot.files.num_rows for snapshot in snapshots)
        return Started(session, shown, reading(), files)

    def _show_view(self, session: Session, table: SqlTable, pinned: ReadRequest) -> None:
        """Its rows, computed once: a query may scan them several times."""
        running = self._readers(table.project).running(pinned)
        session.also_cancel(running)
        rows = f"{table.shown}_rows"
        session.register(rows, running.for_engine())
        columns = ", ".join(map(identifier, running.schema.names))
        session.execute(
            f"CREATE TEMP TABLE {identifier(table.shown)} AS SELECT {columns} FROM {identifier(rows)}"
        )

    def _simple(
        self, query: CheckedQuery, tables: Mapping[str, ReadRequest], schema: pa.Schema
    ) -> ReadRequest | None:
        """The query as a read of a group, which is planned, if it is no more than that and gives the same columns."""
        if len(query.tables) != 1 or query.tables[0].project is not None:
            return None
        select, pinned = simple_select(query.tree), tables[query.tables[0].label]
        if select is None or pinned.query is None or pinned.kind == "training":
            return None
        reader = self._readers(None)
        read = select.query(pinned.query.source, reader.schema_of(pinned))
        if read is None:
            return None
        request = msgspec.structs.replace(pinned, query=read)
        return request if reader.schema_of(request).equals(schema) else None

    def _show_columns(
        self, session: Session, query: CheckedQuery, tables: Mapping[str, ReadRequest]
    ) -> dict[SqlTable, pa.Schema]:
        """Give the session tables with the columns of the query's, and no rows."""
        _check_tables(query, tables)
        session.execute(NOT_NAMED)
        schemas = {t: self._readers(t.project).schema_of(tables[t.label]) for t in query.tables}
        for table, schema in schemas.items():
            _show_nothing(session, table, schema)
        return schemas

    def _table(self, table: SqlTable) -> ReadRequest:
        """A pinned read of a feature group, or, where there is none of the name, of a view."""
        reader = self._readers(table.project)
        try:
            time = None if table.timestamp is None else parse_time("AT (TIMESTAMP => …)", table.timestamp)
            try:
                source = Source(reader.reference(table.name), table.snapshot, time)
            except NotFound as absent:
                return self._view(reader, table, time, absent)
            return reader.prepare(ReadRequest(kind="query", query=Query(source))).request
        except (InvalidArgument, NotFound) as error:
            hint = WHAT_THERE_IS if table.project in _CATALOGS else error.hint
            raise type(error)(
                f"table {table.label!r}: {error.message}", hint=hint, details=error.details
            ) from None

    def _view(
        self, reader: Reader, table: SqlTable, time: dt.datetime | None, absent: NotFound
    ) -> ReadRequest:
        try:
            ref = reader.view_reference(table.name)
        except NotFound:
            raise absent from None
        if table.snapshot is not None:
            raise InvalidArgument(
                f"{ref} is a feature view, and a snapshot is one of a table",
                hint="name the time: AT (TIMESTAMP => '2026-11-02T00:00Z')",
            )
        asked = ReadRequest(kind="training", view=ref, point_in_time=PointInTime(as_of=time))
        return reader.prepare(asked).request


def _form(
    query: CheckedQuery, tables: Mapping[str, ReadRequest], columns: Iterable[pa.Schema]
) -> SqlForm | None:
    """What the query computes; None if that is no more than some rows of a table, or is nested too deeply to tell."""
    if not computes(query) and all(read.kind != "training" for read in tables.values()):
        return None
    with contextlib.suppress(RecursionError):
        return sql_form(query, columns)
    return None


def _show(session: Session, table: SqlTable, rows: str) -> None:
    session.execute(f"CREATE TEMP VIEW {identifier(table.shown)} AS {rows}")


def _show_group(session: Session, table: SqlTable, plan: Plan, snapshot: Snapshot | None) -> None:
    if snapshot is None:
        _show_nothing(session, table, plan.schema)
        return
    columns = ", ".join(map(identifier, plan.schema.names))
    _show(session, table, f"SELECT {columns} FROM {session.relation(snapshot)}")


def _show_nothing(session: Session, table: SqlTable, schema: pa.Schema) -> None:
    columns = (f"CAST(NULL AS {duckdb_type(f.type)}) AS {identifier(f.name)}" for f in schema)
    _show(session, table, f"SELECT {', '.join(columns)} WHERE false")


def _check_tables(query: CheckedQuery, tables: Mapping[str, ReadRequest]) -> None:
    """What was prepared comes back from the caller, and may be another's work."""
    if {table.label for table in query.tables} != set(tables):
        raise InvalidArgument("the read was prepared for other tables than the query names")
    for label, pinned in tables.items():
        if pinned.kind != "training" and not _is_all_of_a_group(pinned):
            raise InvalidArgument(
                f"the read was not prepared here: of table {label!r} it is more than a snapshot"
            )


def _is_all_of_a_group(pinned: ReadRequest) -> bool:
    """Whether it names nothing that a plan would make: the engine is shown a group's files as they are."""
    if pinned.query is None:
        return False
    source = msgspec.structs.replace(pinned.query.source, since=None)
    return pinned == ReadRequest(
        kind="query",
        query=Query(source),
        now=pinned.now,
        locations=pinned.locations,
        schemas=pinned.schemas,
    )


def _folders(snapshots: Iterable[Snapshot]) -> set[str]:
    """Those of the files that the engine reads. Those of the partitions of a table are many: then what they are in."""
    folders: set[str] = set()
    for snapshot in snapshots:
        if isinstance(snapshot, StreamedSnapshot):
            continue
        found = {file.rpartition("/")[0] for file in addresses(snapshot.files)}
        if len(found) > _MOST_FOLDERS:
            levels = zip(*(folder.split("/") for folder in found), strict=False)
            alike = itertools.takewhile(lambda level: len(set(level)) == 1, levels)
            found = {"/".join(level[0] for level in alike)}
        folders |= found
    return folders


def _checked(session: Session, request: ReadRequest) -> CheckedQuery:
    """The query of a request as DuckDB reads it, with its parameters. Raises SqlRejected, InvalidArgument."""
    parsed = _parsed(session, request.sql)
    if not parsed.get("error"):
        parsed = with_parameters(parsed, _constants(session, request.parameters))
    query = check_query(parsed)
    put_unforeseen(query.tree, lambda column: _name(session, column))
    return query


def _parsed(session: Session, sql: str | None) -> dict[str, Any]:
    if sql is None or len(sql) > _LONGEST:
        raise SqlRejected(f"a query has at most {_LONGEST} characters")
    if "\0" in sql:
        raise SqlRejected("the query holds a NUL character")
    (row,) = session.rows(f"SELECT json_serialize_sql({text(sql)}, {_LEAN}) AS parsed")
    if "\\u0000" in row["parsed"]:
        raise SqlRejected("a text in the query holds a NUL character, at which the engine would cut it")
    with _not_too_deep():
        parsed: dict[str, Any] = json.loads(row["parsed"])
    return parsed


@contextlib.contextmanager
def _not_too_deep() -> Iterator[None]:
    """Around what follows a query into its depth, which is bounded by what Python's stack is."""
    try:
        yield
    except RecursionError:
        raise SqlRejected("the query is nested too deeply") from None


def _constants(session: Session, parameters: Mapping[str, Value | None]) -> dict[str, Any]:
    """Values as parsed expressions, by the names of their parameters."""
    if not parameters:
        return {}
    for name, value in parameters.items():
        if value is not None and "\0" in value.text:
            raise InvalidArgument(f"parameter ${name} holds a NUL character")
    written = ", ".join("NULL" if value is None else literal(value) for value in parameters.values())
    parsed = _parsed(session, f"SELECT {written}")
    return dict(zip(parameters, parsed["statements"][0]["node"]["select_list"], strict=True))


def _written(session: Session, tree: Mapping[str, Any]) -> str:
    with _not_too_deep():
        written = json.dumps(tree)
    (row,) = session.rows(f"SELECT json_deserialize_sql({text(written)}) AS sql")
    return str(row["sql"])


def _name(session: Session, column: Mapping[str, Any]) -> str:
    """The name that DuckDB gives to a column of a result without one, which is its expression, written out."""
    node = {
        "type": "SELECT_NODE",
        "cte_map": {},
        "select_list": [column],
        "from_table": {"type": "EMPTY"},
        "aggregate_handling": "STANDARD_HANDLING",
    }
    return _written(session, {"error": False, "statements": [{"node": node}]}).removeprefix("SELECT ")


def _schema(session: Session, sql: str) -> pa.Schema:
    schema = session.columns(sql)
    folded = [name.casefold() for name in schema.names]
    if len(set(folded)) < len(folded):
        twice = sorted({name for name in schema.names if folded.count(name.casefold()) > 1})
        raise NameClash(
            f"the query gives several columns of one name: {', '.join(map(repr, twice))}",
            hint="name them with AS",
        )
    return schema
