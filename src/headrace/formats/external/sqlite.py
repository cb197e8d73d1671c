"""SQLite, in which each value has a type of its own, and a column declares the one that is meant.

Source: https://www.sqlite.org/datatype3.html.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar
from urllib.parse import quote

import pyarrow as pa
from adbc_driver_manager import Error
from adbc_driver_manager.dbapi import Connection, Cursor
from adbc_driver_sqlite import dbapi

from headrace.credentials import resolve
from headrace.errors import BadData, HeadraceError, InvalidArgument, NotFound, Unavailable
from headrace.formats.external.column import Comparison, ExternalColumn
from headrace.formats.external.database import Database
from headrace.formats.external.dialect import Dialect
from headrace.formats.instants import times

_VIEW = "headrace_query"
_DECIMAL = re.compile(r"(?:DECIMAL|NUMERIC)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")
_MOST_DIGITS = 38
_DATE, _TIME, _INSTANT = pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC")
_AS_TEXT = (pa.string(), _DATE, _TIME, _INSTANT)
"""What has no type in SQLite is written as ISO 8601 has it; and of numbers among texts the driver keeps few digits."""
_EXACT: dict[str, tuple[pa.DataType, Comparison | None]] = {
    "BOOL": (pa.bool_(), None),
    "BOOLEAN": (pa.bool_(), None),
    "DATE": (_DATE, None),
    "DATETIME": (_TIME, None),
    "TIMESTAMP": (_TIME, None),
    "TIMESTAMPTZ": (_INSTANT, None),
    "TIMESTAMP WITH TIME ZONE": (_INSTANT, None),
}
_WITHIN: tuple[tuple[str, pa.DataType, Comparison | None], ...] = (
    ("INT", pa.int64(), "integer"),
    ("CHAR", pa.string(), "text"),
    ("CLOB", pa.string(), "text"),
    ("TEXT", pa.string(), "text"),
    ("BLOB", pa.binary(), None),
)
"""By what a declared type holds, in the order in which SQLite looks."""
_REALS = ("REAL", "FLOA", "DOUB", "NUMERIC", "DECIMAL", "NUMBER")
# The driver takes the type of a column from the first rows, in which all may be null: so one goes before them.
_FIRST: dict[pa.DataType, str] = {pa.int64(): "0", pa.bool_(): "0", pa.float64(): "0.0", pa.binary(): "x''"}
_LOOKED_AT = 1_000
_PATIENCE_MS = 5_000
"""With a writer, who is mostly done at once."""
_HIDDEN = 1
"""A column of a virtual table that `*` does not give."""


class _SQLite(Dialect):
    text_type = "TEXT"

    def name(self, name: str) -> str:
        # In double quotes, what is no column is a text.
        return "`" + name.replace("`", "``") + "`"

    def truth(self, value: bool) -> str:
        return "1" if value else "0"

    def odd(self, column: ExternalColumn) -> str:
        known = {"integer": "'integer'", "float": "'real', 'integer'", "text": "'text'"}[
            column.compared or ""
        ]
        return f"typeof({self.name(column.name)}) NOT IN ({known}, 'null')"


class SQLite(Database):
    dialect: ClassVar[Dialect] = _SQLite()
    options: ClassVar[Mapping[str, str]] = MappingProxyType({"adbc.sqlite.query.batch_rows": "32768"})
    broken: ClassVar[HeadraceError] = BadData(
        "holds a value of another type than its column declares", hint="cast the column, by query="
    )
    extra_rows: ClassVar[int] = 1

    def uri(self) -> str:
        """The file of the database: a path has no secret to be kept, so `file:` names it itself."""
        kind, _, path = self.source.uri.partition(":")
        return path if kind == "file" else resolve(self.source.uri)

    def identity(self, uri: str) -> tuple[str, ...]:
        """Of a file that was written over, its pages are taken for known where as many writes made both."""
        try:
            found = _path(uri).stat()
        except OSError:
            return ()
        return tuple(map(str, (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)))

    def open(self, uri: str) -> Connection:
        path = _path(uri)
        if not path.is_file():
            raise NotFound(
                f"{self.where}: there is no SQLite database at the path that {self.source.uri} names",
                hint="it must be where the query runs, and its path absolute",
            )
        connection = _connect(path, "mode=ro")
        with contextlib.ExitStack() as unless_ready:
            unless_ready.enter_context(connection)
            with contextlib.closing(connection.cursor()) as cursor:
                cursor.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
            unless_ready.pop_all()
        return connection

    @contextlib.contextmanager
    def cursor(self) -> Iterator[Cursor]:
        try:
            with super().cursor() as cursor:
                yield cursor
        except (
            InvalidArgument,
            Unavailable,
        ) as error:  # whichever, the driver has one for all that fails then
            if self._is_held():
                raise Unavailable(
                    error.message,
                    hint="a program writes to it, or was ended as it did: try again; where none does, open it once "
                    "with one that may write, such as sqlite3, which undoes what was not complete",
                ) from None
            raise

    def _is_held(self) -> bool:
        """Whether a writer, or what one left behind, keeps a sound database from being read."""
        path = _path(self._resolved())
        return not _answers(path, "mode=ro") and _answers(path, "immutable=1")

    def described(self, cursor: Cursor) -> list[ExternalColumn]:
        relation, name = self.dialect.relation(self.source), self._name
        if name is None:
            # Of a query, too, the columns that come from tables have types: a view tells them.
            cursor.execute(f"CREATE TEMP VIEW {_VIEW} AS SELECT * FROM {relation}")
            name = _VIEW
        cursor.execute(f"PRAGMA table_xinfo({name})")
        found = [
            (column, kind) for _, column, kind, _, _, _, hidden in cursor.fetchall() if hidden != _HIDDEN
        ]
        if not found:
            raise NotFound(f"{self.where}: there is no such table", hint="it is named as the database has it")
        declared = {str(column): str(kind or "").strip().upper() for column, kind in found}
        told = self._told(cursor, [column for column, kind in declared.items() if not _says(kind)])
        key = self.unique(cursor) or ()
        return [
            self._column(column, kind, told.get(column), column in key) for column, kind in declared.items()
        ]

    def converted(self, column: ExternalColumn, values: pa.Array) -> pa.Array:
        """Where types are mixed, the driver gives texts for all of them."""
        given = values.type
        fits = {
            pa.int64(): (pa.int64(),),
            pa.bool_(): (pa.int64(),),
            pa.float64(): (pa.float64(), pa.int64()),
        }
        if column.kind in fits and given not in fits[column.kind] and values.null_count < len(values):
            raise self.bad(column, f"some values are {given}")
        try:
            if pa.types.is_string(given):
                values.validate(full=True)
            if pa.types.is_timestamp(column.kind):
                values = times(values.cast(pa.string()), column.kind)
        except pa.ArrowException as error:
            raise self.bad(column, str(error)) from None
        return super().converted(column, values)

    def unique(self, cursor: Cursor) -> tuple[str, ...] | None:
        if self._name is None:
            return None
        cursor.execute(f"PRAGMA table_xinfo({self._name})")
        # A rowid's alias holds no null and nothing twice; of other keys null may be there many times.
        keys = [(name, kind) for _, name, kind, _, _, key, _ in cursor.fetchall() if key]
        return (keys[0][0],) if len(keys) == 1 and str(keys[0][1]).upper() == "INTEGER" else None

    def select(self, columns: Sequence[ExternalColumn], conditions: Sequence[str]) -> str:
        first = ", ".join(_FIRST.get(column.kind, "''") for column in columns)
        return f"SELECT {first} UNION ALL {super().select(columns, conditions)}"

    def _told(self, cursor: Cursor, names: list[str]) -> dict[str, str]:
        """The types of the first values of columns that declare none, in one word."""
        if not names:
            return {}
        types = ", ".join(f"group_concat(DISTINCT typeof({self.dialect.name(name)}))" for name in names)
        cursor.execute(
            f"SELECT {types} FROM (SELECT * FROM {self.dialect.relation(self.source)} LIMIT {_LOOKED_AT})"
        )
        (row,) = cursor.fetchall()
        return {name: _common({*(kinds or "").split(",")}) for name, kinds in zip(names, row, strict=True)}

    def _decimal(self, name: str) -> str:
        """Of the decimals of which SQLite would keep the double that it has, one of the fewest digits."""
        value, whens = self.dialect.name(name), []
        for digits in (15, 16):
            written = f"printf('%!.{digits}g', {value})"
            whens.append(
                f"WHEN typeof({value}) = 'real' AND CAST({written} AS REAL) = {value} THEN {written}"
            )
        return f"CASE {' '.join(whens)} ELSE {self.dialect.as_text(name)} END"

    @property
    def _name(self) -> str | None:
        """That of the table, without a schema, which a PRAGMA takes otherwise; None of a query."""
        table = self.source.table
        return None if table is None else self.dialect.name(table.split(".")[-1])

    def _column(self, name: str, declared: str, found: str | None, is_key: bool) -> ExternalColumn:
        """`found` is what types the first values have, of a column that does not say."""
        decimal = _DECIMAL.fullmatch(declared)
        if decimal is not None:
            digits, scale = int(decimal[1]), int(decimal[2] or 0)
            if 0 < digits <= _MOST_DIGITS and scale <= digits:
                return ExternalColumn(name, pa.decimal128(digits, scale), self._decimal(name))
        if found == "":
            found = "BLOB" if declared == "BLOB" else "TEXT"
        kind, compared = _kind(found or declared)
        value = self.dialect.name(name)
        if kind in _AS_TEXT:
            value = self.dialect.as_text(name)
        elif kind == pa.binary():
            value = f"CAST({value} AS BLOB)"
        return ExternalColumn(name, kind, value, compared=compared, strict=is_key)


def _path(uri: str) -> Path:
    return Path("/" + uri.removeprefix("sqlite:").removeprefix("file:").lstrip("/"))


def _connect(path: Path, how: str) -> Connection:
    return dbapi.connect(f"file:{quote(str(path))}?{how}")


def _answers(path: Path, how: str) -> bool:
    try:
        with _connect(path, how) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM sqlite_schema")
    except Error:
        return False
    return True


def _common(kinds: set[str]) -> str:
    """What values of these types are read as; nothing if there are none."""
    kinds = kinds - {"null", ""}
    if kinds == {"integer", "real"}:
        return "REAL"
    if len(kinds) > 1:
        return "TEXT"
    return kinds.pop().upper() if kinds else ""


def _says(declared: str) -> bool:
    """Whether a declaration says of what type values are meant to be; a view says of none that they are a BLOB."""
    words = (*_EXACT, *(word for word, _, _ in _WITHIN if word != "BLOB"), *_REALS)
    return any(word in declared for word in words)


def _kind(declared: str) -> tuple[pa.DataType, Comparison | None]:
    if declared in _EXACT:
        return _EXACT[declared]
    for word, kind, compared in _WITHIN:
        if word in declared:
            return kind, compared
    return pa.float64(), "float"
