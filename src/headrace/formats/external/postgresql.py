"""PostgreSQL.

Source: the driver's types, https://arrow.apache.org/adbc/current/driver/postgresql.html.
"""

from __future__ import annotations

import contextlib
import math
import socket
import struct
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

import pyarrow as pa
from adbc_driver_manager import Error
from adbc_driver_manager.dbapi import Connection, Cursor
from adbc_driver_postgresql import dbapi

from headrace.errors import InvalidArgument, Unauthenticated
from headrace.formats.external.column import Comparison, ExternalColumn
from headrace.formats.external.database import Database
from headrace.formats.external.dialect import Dialect
from headrace.formats.external.failure import told

_SCHEMES = ("postgresql", "postgres")
_TYPE = b"POSTGRESQL:type"
_MODIFIER = b"POSTGRESQL:typmod"
_COMPARED: dict[str, Comparison | None] = {
    "int2": "integer",
    "int4": "integer",
    "int8": "integer",
    "float4": None,  # which Headrace compares in four bytes
    "float8": "float",
    "bool": "bool",
    "text": "text",
    "varchar": "text",
    "bytea": None,
    "date": "date",
    "timestamp": "time",
    "timestamptz": "instant",
}
"""The types that are read as they come."""
_MOST_DIGITS = 38
_ANSWER_S = 5.0
_CONNECT_S = 10
_LEAST_CONNECT_S = 2
"""Which libpq makes of 1."""
_ROUNDED_S = 1
"""It counts whole seconds."""
_STARTUP = 196_608  # version 3.0 of the protocol


class _PostgreSQL(Dialect):
    text_type = "text"

    def text(self, value: str) -> str:
        # Whether a backslash is one is a setting; after E it stands for itself only if it is doubled.
        plain = super().text(value)
        return f"E{plain.replace(chr(92), chr(92) * 2)}" if "\\" in value else plain


class PostgreSQL(Database):
    dialect: ClassVar[Dialect] = _PostgreSQL()
    # What is read while it is still in the processor's cache costs a tenth less than sixteen times as much.
    options: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"adbc.postgresql.batch_size_hint_bytes": "1048576"}
    )

    def open(self, uri: str) -> Connection:
        if not _is_uri(uri):
            raise InvalidArgument(
                f"{self.where}: what {self.source.uri} holds is no URI of PostgreSQL",
                hint="it is postgresql://user:password@host:port/database, with % before the codes of other signs",
            )
        start = time.monotonic()
        try:
            connection = dbapi.connect(_with_an_end(uri))
        except Error as error:
            # One that fell silent is not waited for once more.
            if time.monotonic() - start < _patience_s(uri) - _ROUNDED_S and _answers(uri):
                raise Unauthenticated(
                    f"{self.where}: the database answers, and we are not let in: {told(error, uri)}",
                    hint=f"look at the user, the password and the database in the URI of {self.source.uri}",
                ) from None
            raise
        with contextlib.ExitStack() as unless_ready:
            unless_ready.enter_context(connection)
            with contextlib.closing(connection.cursor()) as cursor:
                cursor.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
                # The driver takes all text for UTF-8, whatever the URI or the environment asks for.
                cursor.execute("SET client_encoding TO 'UTF8'")
            connection.commit()
            unless_ready.pop_all()
        return connection

    def described(self, cursor: Cursor) -> list[ExternalColumn]:
        schema = cursor.adbc_execute_schema(f"SELECT * FROM {self.dialect.relation(self.source)}")
        return [self._column(field) for field in schema]

    def unique(self, cursor: Cursor) -> tuple[str, ...] | None:
        if self.source.table is None:
            return None
        table = self.dialect.text(self.dialect.relation(self.source))
        # Those that hold at every moment, of whole columns, for all rows. Those of the fewest columns first.
        cursor.execute(
            "SELECT a.attname FROM (SELECT i.indrelid, string_to_array(i.indkey::text, ' ')::int2[] AS keys "
            f"FROM pg_index i WHERE i.indrelid = {table}::regclass AND i.indisunique AND i.indisvalid "
            "AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indnatts = i.indnkeyatts "
            "AND NOT EXISTS (SELECT FROM pg_attribute n WHERE n.attrelid = i.indrelid "
            "AND n.attnum = ANY(i.indkey::int2[]) AND NOT n.attnotnull) "
            # Whose rows are read with those of the tables that inherit from it, which no index of it knows.
            "AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = i.indrelid AND c.relkind = 'r' AND c.relhassubclass) "
            "ORDER BY i.indnatts, i.indexrelid LIMIT 1) u "
            "JOIN pg_attribute a ON a.attrelid = u.indrelid AND a.attnum = ANY(u.keys)"
        )
        return tuple(name for (name,) in cursor.fetchall()) or None

    def _column(self, field: pa.Field) -> ExternalColumn:
        told = {key: str(value, "utf-8") for key, value in (field.metadata or {}).items()}
        name, kind = self.dialect.name(field.name), told.get(_TYPE, "")
        if kind in _COMPARED:
            return ExternalColumn(field.name, field.type, name, field.type, _COMPARED[kind])
        if kind == "numeric":
            modifier = int(told.get(_MODIFIER, "-1")) - 4
            digits, scale = modifier >> 16 & 0xFFFF, modifier & 0x7FF
            if modifier >= 0 and 0 < digits <= _MOST_DIGITS and scale <= digits:
                read = pa.decimal128(digits, scale)
                return ExternalColumn(field.name, read, name, field.type, "decimal")
            return ExternalColumn(field.name, pa.float64(), f"CAST({name} AS float8)", pa.float64())
        if pa.types.is_list(field.type) and _element(field) in _COMPARED:
            read = pa.list_(pa.field("element", field.type.value_type))
            # The driver makes one list of those of several dimensions; of their text no array can be made.
            what = self.dialect.text(f"column {field.name!r} holds an array of several dimensions: ")
            refused = f"CAST({what} || {name}::text AS {_element(field)}[])"
            value = f"CASE WHEN array_ndims({name}) > 1 THEN {refused} ELSE {name} END"
            return ExternalColumn(field.name, read, value, None)
        return ExternalColumn(field.name, pa.string(), self.dialect.as_text(field.name), pa.string())


def _is_uri(uri: str) -> bool:
    try:
        parts = urlsplit(uri)
        return parts.scheme in _SCHEMES and ("," in parts.netloc or parts.port != 0)  # of several hosts
    except ValueError:  # its port is no number, or its brackets do not fit
        return False


def _with_an_end(uri: str) -> str:
    """The URI, by which a host that does not answer is not waited for longer than a person would."""
    query = urlsplit(uri).query
    if "connect_timeout" in parse_qs(query):
        return uri
    return f"{uri}{'&' if query else '?'}connect_timeout={_CONNECT_S}"


def _patience_s(uri: str) -> float:
    given = parse_qs(urlsplit(uri).query).get("connect_timeout", [str(_CONNECT_S)])[-1]
    try:
        return max(_LEAST_CONNECT_S, float(given)) if float(given) > 0 else math.inf
    except ValueError:
        return _CONNECT_S


def _element(field: pa.Field) -> str:
    return str((field.type.value_field.metadata or {}).get(_TYPE, b""), "utf-8")


def _answers(uri: str) -> bool:
    """Whether a server that is no PostgreSQL gone astray is there, and would have us say who we are.

    Else it is not to be reached, or has no place for us now, and what the driver says of that is right.
    """
    parts = urlsplit(uri)
    options = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    hosts, ports = options.get("host", parts.hostname or "localhost"), options.get("port")
    host = unquote(hosts).split(",")[0]
    asked = {"user": unquote(parts.username or ""), "database": unquote(parts.path.strip("/")) or "postgres"}
    body = b"".join(f"{key}\0{value}\0".encode() for key, value in asked.items() if value) + b"\0"
    try:
        port = int(ports.split(",")[0]) if ports else parts.port or 5432
        with _reached(host, port) as found:
            found.sendall(struct.pack("!ii", len(body) + 8, _STARTUP) + body)
            reply = found.recv(4096)
    except (OSError, ValueError):
        return False
    # R asks who we are; an error's field C is its SQLSTATE, of which those of class 28 are about that.
    return reply[:1] == b"R" or (reply[:1] == b"E" and b"\0C28" in reply)


def _reached(host: str, port: int) -> socket.socket:
    if not host.startswith("/"):
        return socket.create_connection((host, port), _ANSWER_S)
    found = socket.socket(socket.AF_UNIX)
    found.settimeout(_ANSWER_S)
    found.connect(f"{host}/.s.PGSQL.{port}")
    return found
