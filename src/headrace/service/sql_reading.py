"""Reads of queries that users wrote as SQL, over feature groups at fixed snapshots."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Generator, Mapping

import msgspec
import pyarrow as pa

from headrace.engine.duck import Session, translated
from headrace.errors import InvalidArgument, NameClash, NotFound, SqlRejected
from headrace.formats.duckdb_type import duckdb_type
from headrace.model.definition import read_schema, write_schema
from headrace.model.expression_sql import identifier, text
from headrace.model.query import Query, Source
from headrace.model.request import Prepared, ReadRequest
from headrace.planning.sql_check import CheckedQuery, check_query, shown_as
from headrace.protocol import BATCH_ROWS
from headrace.service.reading import Reader
from headrace.service.record import FileCount

_LONGEST = 100_000
# Columns by their looks: where there is none of the name, the engine calls these functions, which these macros hide.
_HIDDEN = """
current_catalog current_date current_localtime current_localtimestamp current_role current_schema current_time
current_timestamp current_user get_current_time get_current_timestamp localtime localtimestamp session_user user"""
_NO_CLOCK = ";".join(
    f"CREATE TEMP MACRO {identifier(name)}() AS error('the clock and the user have no place in a query')"
    for name in _HIDDEN.split()
)


class SqlReader:
    """Reads of SQL of one project. Its tables are the project's feature groups: `flights`, or `"flights@v1"`."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def prepare(self, request: ReadRequest) -> Prepared:
        """Check the query and fix the snapshots of its tables.

        Raises:
            SqlRejected: what cannot be read, or has no place in a query. NotFound: a table is no feature group.
        """
        with self._reader.engine.session() as session:
            query = _checked(session, request.sql)
            # A request that was prepared before has its tables.
            tables = request.tables if request.now else {name: self._table(name) for name in query.tables}
            schema = _schema(session, self._shown(session, query, tables))
        snapshots: dict[str, int] = {}
        for pinned in tables.values():
            source = pinned.query.source if pinned.query else Source("")
            snapshots[source.group] = source.snapshot or 0
        return Prepared(
            request=msgspec.structs.replace(
                request, tables=tables, now=request.now or dt.datetime.now(dt.UTC)
            ),
            schema_ipc=write_schema(schema),
            features=(),
            labels=(),
            snapshots=snapshots,
        )

    def parts(self, prepared: Prepared) -> int:
        return 1

    def run(self, prepared: Prepared, spine: pa.Table | None, part: int, parts: int) -> SqlRows:
        """The rows, to be read once."""
        request = prepared.request
        if request.now is None:
            raise InvalidArgument("the read is not prepared")
        session = self._reader.engine.open()
        try:
            sql = self._shown(session, _checked(session, request.sql), request.tables)
        except BaseException:
            session.close()
            raise
        scans = map(self._reader.scan_of, request.tables.values())
        files = FileCount(sum(snapshot.files.num_rows for _, snapshot in scans if snapshot is not None), 0)
        return SqlRows(self._reader, session, sql, read_schema(prepared.schema_ipc), request.limit, files)

    def explain(self, request: ReadRequest) -> str:
        """Which snapshots the query is of."""
        prepared = self.prepare(request)
        told = ", ".join(f"{ref} at snapshot {n}" for ref, n in prepared.snapshots.items())
        return f"SQL over {told or 'no feature group'}\n{request.sql}"

    def _table(self, name: str) -> ReadRequest:
        try:
            query = Query(Source(self._reader.reference(name)))
            return self._reader.prepare(ReadRequest(kind="query", query=query)).request
        except (InvalidArgument, NotFound) as error:
            raise type(error)(
                f"table {name!r}: {error.message}", hint=error.hint, details=error.details
            ) from None

    def _shown(self, session: Session, query: CheckedQuery, tables: Mapping[str, ReadRequest]) -> str:
        """Give the session the tables of the query, which then has no others, and the query as it is run."""
        if set(query.tables) != set(tables):
            raise InvalidArgument("the read was prepared for other tables than the query names")
        session.execute(_NO_CLOCK)
        for name, pinned in tables.items():
            plan, snapshot = self._reader.scan_of(pinned)
            if snapshot is not None:
                columns = ", ".join(map(identifier, plan.schema.names))
                rows = f"SELECT {columns} FROM {session.relation(snapshot)}"
            else:
                columns = ", ".join(
                    f"CAST(NULL AS {duckdb_type(f.type)}) AS {identifier(f.name)}" for f in plan.schema
                )
                rows = f"SELECT {columns} WHERE false"
            session.execute(f"CREATE TEMP VIEW {identifier(shown_as(name))} AS {rows}")
        (row,) = session.rows(f"SELECT json_deserialize_sql({text(json.dumps(query.tree))}) AS sql")
        return str(row["sql"])


class SqlRows:
    """The rows of a query, as `Running` gives those of a plan.

    Args:
        files: of its tables. Which of them the engine leaves out by itself, it does not tell.
    """

    def __init__(
        self,
        reader: Reader,
        session: Session,
        sql: str,
        schema: pa.Schema,
        limit: int | None,
        files: FileCount,
    ) -> None:
        self._calls = reader.calls
        self._session = session
        self._sql = sql
        self._limit = limit
        self.schema = schema
        self.files = files

    def cancel(self) -> None:
        """Stop; from any thread. The batches then end in `Cancelled`."""
        self._session.interrupt()

    def batches(self, batch_rows: int = BATCH_ROWS) -> Generator[pa.RecordBatch, None, None]:
        """The rows as they are made. Once only; closing the iterator stops the work."""
        return self._calls.steps(self._batches(batch_rows))

    def _batches(self, batch_rows: int) -> Generator[pa.RecordBatch, None, None]:
        left = self._limit
        try:
            with translated(of_users=True):
                for batch in self._session.stream(self._sql, batch_rows, of_users=True):
                    if left is not None and left <= 0:
                        return
                    if batch.schema.names != self.schema.names:
                        raise InvalidArgument("the read was prepared for other columns than the query has")
                    yield batch.slice(0, left).cast(self.schema)
                    left = None if left is None else left - batch.num_rows
        finally:
            self._session.close()

    def table(self) -> pa.Table:
        """All rows at once."""
        return pa.Table.from_batches(self._batches(BATCH_ROWS), self.schema)

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())


def _checked(session: Session, sql: str | None) -> CheckedQuery:
    """The query as DuckDB reads it. Raises SqlRejected."""
    if sql is None or len(sql) > _LONGEST:
        raise SqlRejected(f"a query has at most {_LONGEST} characters")
    if "\0" in sql:
        raise SqlRejected("the query holds a NUL character")
    lean = "skip_default := true, skip_empty := true, skip_null := true"
    (row,) = session.rows(f"SELECT json_serialize_sql({text(sql)}, {lean}) AS parsed")
    if "\\u0000" in row["parsed"]:
        raise SqlRejected("a text in the query holds a NUL character, at which the engine would cut it")
    return check_query(json.loads(row["parsed"]))


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
