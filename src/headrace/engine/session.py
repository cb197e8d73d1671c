"""An instance of DuckDB, and sessions on it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import duckdb
import pyarrow as pa

from headrace.engine.failure import said, translate, translated
from headrace.errors import Cancelled, SqlRejected
from headrace.formats.base import PATTERN, Snapshot
from headrace.formats.streamed import StreamedSnapshot
from headrace.model.expression import Condition
from headrace.model.expression_sql import text

if TYPE_CHECKING:
    from headrace.engine.lake import Lake
    from headrace.engine.streamed_rows import StreamedRows


class Instance:
    """One of DuckDB, with memory, threads and spilled files of its own.

    Args:
        spill: the folder of those files, which DuckDB makes.
        spill_limit: bytes of them; None is what the disk has.
    """

    def __init__(self, config: Mapping[str, Any], spill: Path, spill_limit: int | None) -> None:
        self._root = duckdb.connect(config={**config, "temp_directory": str(spill)})
        if spill_limit is not None:
            # Given along with the folder, DuckDB says that it has it, and does not keep it.
            self._root.execute(f"SET GLOBAL max_temp_directory_size = '{spill_limit}B'")
        self._root.execute("SET GLOBAL TimeZone = 'UTC'")
        self._root.execute("SET GLOBAL errors_as_json = true")
        # One that nobody closes, such as of a read that never begins, is gone with its connection.
        self._sessions: weakref.WeakSet[Session] = weakref.WeakSet()

    @property
    def sessions(self) -> int:
        """That are open."""
        return len(self._sessions)

    def setting(self, name: str) -> str:
        return str(self._root.sql(f"SELECT current_setting('{name}')").fetchall()[0][0])

    def reach(self, lake: Lake) -> None:
        self._root.register_filesystem(lake)

    def enter(self, session: Session) -> duckdb.DuckDBPyConnection:
        """A connection for one session more."""
        self._sessions.add(session)
        return self._root.cursor()

    def leave(self, session: Session) -> None:
        self._sessions.discard(session)

    def seal(self, folders: Iterable[str]) -> None:
        """From now on it reads files of these folders alone, and changes no setting."""
        # DuckDB compares paths as they are written, where what looks like a pattern is escaped.
        written = {form for folder in folders for form in (folder, PATTERN.sub(r"[\g<0>]", folder))}
        self._root.execute(f"SET allowed_directories = [{', '.join(map(text, sorted(written)))}]")
        self._root.execute("SET enable_external_access = false")
        self._root.execute("SET lock_configuration = true")

    def close(self) -> None:
        """Nothing may be asked of it any more."""
        self._root.close()
        # What is left of DuckDB at the interpreter's end keeps that from ending well; a session may outlive this.
        del self._root


class Stoppable(Protocol):
    """What a statement gets its rows from."""

    def cancel(self) -> None:
        """Stop; from any thread."""


class Session:
    """One connection: temporary tables and registered Arrow data are its own, and go with it."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._held: duckdb.DuckDBPyConnection | None = instance.enter(self)
        self._reader: pa.RecordBatchReader | None = None
        self._streamed: list[Stoppable] = []
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

    def also_cancel(self, rows: Stoppable) -> None:
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
            raise SqlRejected(f"the query cannot be run: {said(error)}") from error
        except duckdb.Error as error:
            raise translate(error, of_users=True) or error from error
        except pa.ArrowException as error:
            raise SqlRejected(f"the query gives columns that cannot be sent: {error}") from None

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
                self._instance.leave(self)

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
