"""One DuckDB instance, and sessions on it."""

from __future__ import annotations

import contextlib
import ctypes
import threading
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import msgspec
import pyarrow as pa

from headrace.engine.passed import may_be_interrupted, unpacked
from headrace.errors import (
    Cancelled,
    CorruptTable,
    HeadraceError,
    InternalError,
    InvalidArgument,
    LimitExceeded,
    SqlRejected,
    Unsupported,
)
from headrace.formats.base import Snapshot
from headrace.formats.streamed import Batches, StreamedSnapshot
from headrace.model.expression import Condition

if TYPE_CHECKING:
    from headrace.engine.streamed_rows import StreamedRows
    from headrace.storage.places import Places

_TRANSLATED: tuple[tuple[type[duckdb.Error], type[HeadraceError], str], ...] = (
    (
        duckdb.OutOfMemoryException,
        LimitExceeded,
        "the query needs more than memory_limit, or more disk to spill to than there is: {}",
    ),
    (duckdb.InterruptException, Cancelled, "the query was cancelled"),
    (duckdb.IOException, CorruptTable, "a file of the table cannot be read: {}"),
    (duckdb.InvalidInputException, CorruptTable, "a file of the table cannot be read: {}"),
    (duckdb.NotImplementedException, Unsupported, "the engine cannot do this: {}"),
    (duckdb.OutOfRangeException, InvalidArgument, "a value is out of range: {}"),
    (duckdb.ConversionException, InvalidArgument, "a value cannot be converted: {}"),
)


_OF_USERS: tuple[tuple[type[duckdb.Error], type[HeadraceError], str], ...] = (
    (duckdb.InvalidInputException, SqlRejected, "the query cannot be run: {}"),
)


class _Told(msgspec.Struct):
    """What DuckDB says of an error as JSON."""

    exception_type: str
    exception_message: str


_TOLD = msgspec.json.Decoder(_Told)

# What DuckDB's reader of Parquet raises where bytes make no sense is of no kind of its own, or not DuckDB's.
_NO_KIND = ("", "Invalid")


def translate(error: Exception, *, of_users: bool = False) -> HeadraceError | KeyboardInterrupt | None:
    """DuckDB's error as one of ours; what DuckDB said is in the details. None if the error is not DuckDB's.

    After Ctrl-C DuckDB raises a bare RuntimeError, which comes out as KeyboardInterrupt.

    An error in mid-stream has passed through Arrow, which keeps its text alone.

    Args:
        of_users: a user wrote the statement, who may have called a function with what it does not take.
    """
    if type(error) is RuntimeError and may_be_interrupted():
        return KeyboardInterrupt()
    _, brace, rest = str(error).partition("{")
    try:
        told = _TOLD.decode(brace + rest)
    except msgspec.MsgspecError:
        if not isinstance(error, duckdb.Error):
            return None
        told = _Told("", str(error))
    ours = unpacked(told.exception_message)
    if ours is not None:
        return ours
    raised = type(error) if isinstance(error, duckdb.Error) else _exception(told.exception_type)
    for kind, meant, message in (*(_OF_USERS if of_users else ()), *_TRANSLATED):
        if issubclass(raised, kind):
            first, *_ = told.exception_message.splitlines() or [""]
            return meant(message.format(first), details={"engine": told.exception_message})
    if raised is duckdb.Error and told.exception_type in _NO_KIND:
        return CorruptTable(
            f"a file of the table seems damaged: {told.exception_message}",
            details={"engine": told.exception_message},
        )
    return InternalError(f"the query engine failed: {told.exception_message}")


def _said(error: Exception) -> str:
    """The first line of what DuckDB says."""
    _, brace, rest = str(error).partition("{")
    try:
        message = _TOLD.decode(brace + rest).exception_message
    except msgspec.MsgspecError:
        message = str(error)
    return next(iter(message.splitlines()), "")


def _exception(name: str) -> type[Exception]:
    """DuckDB's class for what it calls "Out of Memory"; the root of them if there is none."""
    todo: list[type[Exception]] = [duckdb.Error]
    for kind in todo:
        if kind.__name__.casefold() == f"{name.replace(' ', '')}Exception".casefold():
            return kind
        todo += kind.__subclasses__()
    return todo[0]


class Engine:
    """A DuckDB instance with bounded memory; what does not fit is spilled to `spill`.

    Args:
        memory_limit: such as "4GB", in which bytes of object stores are kept, too; None leaves DuckDB's own, 80 % of
            the machine's, and keeps none.
        threads: None is one a processor.
        spill: a folder, made when it is needed.
    """

    def __init__(self, *, memory_limit: str | None, threads: int | None, spill: Path) -> None:
        config: dict[str, Any] = {
            "temp_directory": str(spill),
            "preserve_insertion_order": False,
            # What was read of S3 and its kin would be kept until the limit is reached: that is for whoever names one.
            "enable_external_file_cache": memory_limit is not None,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        if memory_limit is not None:
            config["memory_limit"] = memory_limit
        if threads is not None:
            config["threads"] = threads
        self._reaching = threading.Lock()
        self._reaches = False
        self._sessions: weakref.WeakValueDictionary[int, Session] = weakref.WeakValueDictionary()
        try:
            self._instance: duckdb.DuckDBPyConnection | None = duckdb.connect(config=config)
            self._instance.execute("SET GLOBAL TimeZone = 'UTC'")
            self._instance.execute("SET GLOBAL errors_as_json = true")
            self._threads = int(self._instance.sql("SELECT current_setting('threads')").fetchall()[0][0])
        except duckdb.Error as error:
            given = {"memory_limit": memory_limit, "threads": threads}
            named = " or ".join(f"{k}={v!r}" for k, v in given.items() if v is not None)
            raise InvalidArgument(f"{named or 'the configuration'} is refused: {error}") from None

    @property
    def threads(self) -> int:
        """Threads that all sessions share."""
        return self._threads

    def memory(self) -> tuple[int, int]:
        """Bytes that are held in memory, and that are spilled to disk."""
        with self.session() as session:
            (row,) = session.rows(
                "SELECT sum(memory_usage_bytes)::BIGINT AS held, sum(temporary_storage_bytes)::BIGINT AS spilled "
                "FROM duckdb_memory()"
            )
        return row["held"], row["spilled"]

    def reach(self, places: Places) -> None:
        """Read files that are not of this machine, too, from now on."""
        with self._reaching:
            if self._reaches or self._instance is None:
                return
            from headrace.engine.lake import Lake  # what it needs takes a while to load

            self._instance.register_filesystem(Lake(places))
            self._reaches = True

    def abandon(self) -> None:
        """Keep it until the process ends, which is a fork: without its threads, to end it brings the process down."""
        for kept in (self, *self._sessions.values()):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))

    @contextlib.contextmanager
    def session(self) -> Iterator[Session]:
        session = self.open()
        try:
            yield session
        finally:
            session.close()

    def open(self) -> Session:
        if self._instance is None:
            raise InvalidArgument("the store is closed", hint="connect again")
        session = Session(self._instance.cursor())
        self._sessions[id(session)] = session
        return session

    def interrupt(self) -> None:
        """Stop what all sessions run."""
        for session in self._open_sessions():
            session.interrupt()

    def close(self) -> None:
        """Close all sessions, which must not be running, and the instance."""
        for session in self._open_sessions():
            session.close()
        # Let go of it, too: what still refers to the engine at the interpreter's end would keep it from ending well.
        if self._instance is not None:
            self._instance.close()
            self._instance = None

    def _open_sessions(self) -> list[Session]:
        found = [ref() for ref in self._sessions.valuerefs()]
        return [session for session in found if session is not None]


class Session:
    """One connection: temporary tables and registered Arrow data are its own, and go with it."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._held: duckdb.DuckDBPyConnection | None = connection
        self._reader: pa.RecordBatchReader | None = None
        self._streamed: list[Batches | StreamedRows] = []
        self._lock = threading.Lock()

    def register(self, name: str, data: pa.Table | pa.RecordBatchReader | StreamedRows) -> None:
        with translated():
            self._connection.register(name, data)

    def relation(
        self,
        snapshot: Snapshot,
        files: pa.Table | None = None,
        conditions: Iterable[Condition] = (),
    ) -> str:
        """SQL for the rows of a snapshot's `files`, by default of all; it may leave out some for which the conditions
        are not true.
        """
        if not isinstance(snapshot, StreamedSnapshot):
            return snapshot.relation(files)
        from headrace.engine.streamed_rows import StreamedRows  # what it needs takes a while to load

        rows = StreamedRows(snapshot, conditions, snapshot.files if files is None else files)
        name = f"__headrace_streamed{len(self._streamed)}"
        self.register(name, rows)
        self.also_cancel(rows)
        return name

    def also_cancel(self, rows: Batches | StreamedRows) -> None:
        """What is to be stopped when the session is."""
        self._streamed.append(rows)

    def execute(self, sql: str) -> None:
        with translated():
            self._connection.execute(sql)

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """A small result, whole."""
        with translated():
            found: list[dict[str, Any]] = self._connection.sql(sql).to_arrow_table().to_pylist()
            return found

    def table(self, sql: str) -> pa.Table:
        with translated():
            return self._connection.sql(sql).to_arrow_table()

    def columns(self, sql: str) -> pa.Schema:
        """The columns of a query that a user wrote. Raises SqlRejected if it does not fit the tables that there are."""
        try:
            relation = self._connection.sql(sql)
            names = relation.columns
            for name, kind in zip(names, relation.types, strict=True):
                if not _is_sent(kind):
                    raise SqlRejected(
                        f"column {name!r} of the query is {kind}, which cannot be sent as it is",
                        hint=f"cast it, such as CAST({name} AS VARCHAR)",
                    )
            found = self._connection.sql(f"SELECT * FROM ({sql}) LIMIT 0").to_arrow_table().schema
            return pa.schema([field.with_name(name) for name, field in zip(names, found, strict=True)])
        except (duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException) as error:
            raise SqlRejected(f"the query cannot be run: {_said(error)}") from error
        except duckdb.Error as error:
            raise translate(error, of_users=True) or error from error

    def stream(self, sql: str, batch_rows: int, *, of_users: bool = False) -> pa.RecordBatchReader:
        """The result as it is made. Errors on the way come out as DuckDB's: read it under `translated`."""
        with translated(of_users=of_users):
            self._reader = self._connection.sql(sql).to_arrow_reader(batch_rows)
            return self._reader

    def interrupt(self) -> None:
        """Stop what the session runs; from any thread."""
        with self._lock:
            if self._held is not None:
                self._held.interrupt()
                for rows in self._streamed:
                    rows.cancel()

    def close(self) -> None:
        with self._lock:
            if self._held is not None:
                # A reader holds the connection, too.
                if self._reader is not None:
                    self._reader.close()
                    self._reader = None
                self._held.close()
                self._held = None

    @property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        if self._held is None:
            raise Cancelled("the store was closed meanwhile", hint="connect again")
        return self._held


# Of others Arrow has no type, loses a part, or ends the process where it has a map without keys.
_SCALARS = """
boolean tinyint smallint integer bigint hugeint utinyint usmallint uinteger ubigint float double decimal varchar blob
date time interval timestamp timestamp_s timestamp_ms timestamp_ns null"""
_SENT = {*_SCALARS.split(), "timestamp with time zone"}


def _is_sent(kind: duckdb.sqltypes.DuckDBPyType) -> bool:
    if kind.id not in ("list", "array", "struct", "map"):
        return kind.id in _SENT
    within = [inner for _, inner in kind.children if isinstance(inner, duckdb.sqltypes.DuckDBPyType)]
    return all(map(_is_sent, within)) and not (kind.id == "map" and within[0].id == "null")


@contextlib.contextmanager
def translated(*, of_users: bool = False) -> Iterator[None]:
    """Turns DuckDB's errors into ours; for `of_users` see `translate`."""
    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError, RuntimeError) as error:
        ours = translate(error, of_users=of_users)
        if ours is None:
            raise
        raise ours from error
