"""Databases of others, as far as rows are read from them."""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from adbc_driver_manager import Error
from adbc_driver_manager._reader import AdbcRecordBatchReader
from adbc_driver_manager.dbapi import Connection, Cursor

from headrace.credentials import resolve
from headrace.errors import (
    BadData,
    Cancelled,
    Conflict,
    HeadraceError,
    InvalidArgument,
    NotFound,
    Unavailable,
)
from headrace.formats.external.column import ExternalColumn
from headrace.formats.external.connections import Connections
from headrace.formats.external.dialect import Dialect
from headrace.formats.external.failure import translated
from headrace.model.external import ExternalSource

_NUMBERS = {32: pa.int32(), 64: pa.int64()}
_DAYS = [(day - dt.date(1970, 1, 1)).days for day in (dt.date.min, dt.date.max)]
_FIRST_AND_LAST = {32: _DAYS, 64: [_DAYS[0] * 86_400_000_000, (_DAYS[1] + 1) * 86_400_000_000 - 1]}
"""In days and in microseconds, by the width of a type: Python knows no others, and Arrow wraps some round."""


class Database(ABC):
    """One external group's table or query, where it is.

    Args:
        source: what is read.
        where: the same for people, and whose it is.
    """

    dialect: ClassVar[Dialect]
    options: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """What the driver is told of a statement that reads rows."""
    broken: ClassVar[HeadraceError] = Unavailable("broke off", hint="nothing of it was kept: read it again")
    """What it means that rows no longer come."""
    extra_rows: ClassVar[int] = 0
    """How many rows the statement gives before those that are asked for."""

    def __init__(self, source: ExternalSource, where: str, connections: Connections) -> None:
        self.source = source
        self.where = where
        self._connections = connections

    @abstractmethod
    def open(self, uri: str) -> Connection:
        """A connection that reads alone. Raises InvalidArgument if it is no URI of such a database."""

    @abstractmethod
    def described(self, cursor: Cursor) -> list[ExternalColumn]:
        """The columns, as they are now."""

    def unique(self, cursor: Cursor) -> tuple[str, ...] | None:
        """Columns in which the database lets no two rows be alike, nor any be null; None if it tells of none."""
        return None

    def uri(self) -> str:
        return resolve(self.source.uri)

    def origin(self) -> str:
        """Tells the database that the reference leads to now, and who is logged in there, from others."""
        return hashlib.sha256(self.uri().encode()).hexdigest()

    def identity(self, uri: str) -> tuple[str, ...]:
        """What tells the database from another that took its place, of which a kept connection would know nothing."""
        return ()

    def columns(self) -> tuple[list[ExternalColumn], tuple[str, ...] | None]:
        """As they are now, and what `unique` tells."""
        with self.cursor() as cursor:
            return self.described(cursor), self.unique(cursor)

    def converted(self, column: ExternalColumn, values: pa.Array) -> pa.Array:
        """Values as the driver gives them, in the type in which they are read. Raises BadData where they do not fit."""
        if isinstance(values, pa.ExtensionArray):
            values = values.storage
        try:
            fitting = values if values.type == column.kind else values.cast(column.kind)
        except pa.ArrowException as error:
            raise self.bad(column, str(error)) from None
        if pa.types.is_string(fitting.type) or pa.types.is_list(fitting.type):
            try:
                fitting.validate(full=True)
            except pa.ArrowException:
                raise self.bad(column, "bytes that are no UTF-8") from None
        times = fitting.flatten() if pa.types.is_list(fitting.type) else fitting
        if pa.types.is_timestamp(times.type) or pa.types.is_date(times.type):
            ends = pc.min_max(times.cast(_NUMBERS[times.type.bit_width])).as_py()
            first, last = _FIRST_AND_LAST[times.type.bit_width]
            if ends["min"] is not None and not first <= ends["min"] <= ends["max"] <= last:
                raise self.bad(column, "a time that is infinite, or outside the years 1 to 9999")
        return fitting

    def bad(self, column: ExternalColumn, what: str) -> BadData:
        return BadData(
            f"{self.where}: column {column.name!r} holds what is no {column.kind}: {what}",
            hint="name the rows and types that are wanted by query=",
        )

    def fetch(self, columns: Sequence[ExternalColumn], conditions: Sequence[str]) -> Fetch:
        """The rows for which these conditions, in SQL, are true."""
        return Fetch(self, columns, conditions)

    def select(self, columns: Sequence[ExternalColumn], conditions: Sequence[str]) -> str:
        return self.dialect.select(self.dialect.relation(self.source), columns, conditions)

    @contextlib.contextmanager
    def cursor(self) -> Iterator[Cursor]:
        """On a connection that nobody else uses meanwhile, and that is kept for the next if all goes well."""
        uri = self._resolved()
        key = self._kept_as(uri)
        with translated(self.where, uri, self.broken):
            connection = self._live(key) or self.open(uri)
            with contextlib.ExitStack() as unless_well:
                unless_well.callback(connection.close)
                with contextlib.closing(connection.cursor()) as cursor:
                    yield cursor
                self.ended(connection)
                if self._kept_as(uri) == key:
                    unless_well.pop_all()
                    self._connections.put(key, connection)

    def _kept_as(self, uri: str) -> tuple[str, ...]:
        return (self.source.driver, uri, *self.identity(uri))

    def _resolved(self) -> str:
        try:
            return self.uri()
        except HeadraceError as error:
            raise type(error)(f"{self.where}: {error.message}", hint=error.hint) from None

    def ended(self, connection: Connection) -> None:
        """Hold nothing in the database until the next read."""
        connection.rollback()

    def _live(self, key: tuple[str, ...]) -> Connection | None:
        """A connection that was kept, and that the database has not closed since."""
        kept = self._connections.take(key)
        if not isinstance(kept, Connection):
            return None
        try:
            with contextlib.closing(kept.cursor()) as cursor:
                cursor.execute("SELECT 1")
                cursor.fetchone()
            self.ended(kept)
        except (Error, OSError):
            with contextlib.suppress(Error, RuntimeError):
                kept.close()
            return None
        return kept


class Fetch:
    """The rows of one statement, as its database sends them. To be read once."""

    def __init__(
        self, database: Database, columns: Sequence[ExternalColumn], conditions: Sequence[str]
    ) -> None:
        self._database = database
        self._columns = columns
        self._conditions = conditions
        self._cursor: Cursor | None = None
        self._cancelled = False
        self.schema = pa.schema([pa.field(column.name, column.kind) for column in columns])

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._batches()
        except (InvalidArgument, NotFound):  # the statement fits the columns of then
            self._check_described()
            raise

    def _batches(self) -> Iterator[pa.RecordBatch]:
        database = self._database
        with database.cursor() as cursor:
            self._cursor = cursor
            try:
                cursor.adbc_statement.set_options(**database.options)
                cursor.execute(database.select(self._columns, self._conditions))
                # Of the ways to read, that which tells codes of errors that come after the first rows.
                stream = cursor.fetch_arrow()
                with AdbcRecordBatchReader._import_from_c(stream.address) as reader:
                    self._check(reader.schema)
                    extra = database.extra_rows
                    for batch in reader:
                        yield self._read(batch.slice(extra))
                        extra = max(0, extra - batch.num_rows)
            except (Error, OSError, pa.ArrowException):
                if self._cancelled:
                    raise Cancelled(f"{database.where}: the read was cancelled") from None
                raise
            finally:
                self._cursor = None

    def cancel(self) -> None:
        """Stop; from any thread."""
        self._cancelled = True
        cursor = self._cursor
        if cursor is not None:
            # A driver asks the database to stop, and waits for one that has fallen silent.
            threading.Thread(target=_cancel, args=[cursor], daemon=True).start()

    def _check(self, schema: pa.Schema) -> None:
        """Raises Conflict where the types of columns are others than when the read was prepared."""
        for column, field in zip(self._columns, schema, strict=True):
            if column.given is not None and field.type != column.given:
                raise self._changed(column, f"is {field.type} now, and was {column.given}")

    def _check_described(self) -> None:
        """Raises Conflict where the columns are others than when the read was prepared. NotFound: the table is gone."""
        now = {column.name: column for column in self._database.columns()[0]}
        for column in self._columns:
            if column.name not in now:
                raise self._changed(column, "is no longer there")
            if now[column.name] != column:
                raise self._changed(column, f"is {now[column.name].kind} now, and was {column.kind}")

    def _changed(self, column: ExternalColumn, how: str) -> Conflict:
        return Conflict(
            f"{self._database.where}: column {column.name!r} {how}",
            hint="somebody changed it as it was read: read it again",
        )

    def _read(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = [
            self._database.converted(column, values)
            for column, values in zip(self._columns, batch.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def _cancel(cursor: Cursor) -> None:
    with contextlib.suppress(Exception):  # it may end meanwhile
        cursor.adbc_cancel()
