"""BigQuery. Not tried on a live one.

Source: https://arrow.apache.org/adbc/current/driver/bigquery.html, https://cloud.google.com/bigquery/docs/reference.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import socket
from collections.abc import Iterator
from typing import Any, ClassVar
from urllib.parse import urlsplit

import msgspec
from adbc_driver_bigquery import DatabaseOptions, dbapi
from adbc_driver_manager import AdbcStatusCode, Error
from adbc_driver_manager.dbapi import Connection, Cursor

from headrace.errors import InvalidArgument, Unauthenticated
from headrace.formats.external.arrow_column import arrow_column
from headrace.formats.external.column import ExternalColumn
from headrace.formats.external.database import Database
from headrace.formats.external.dialect import Dialect
from headrace.formats.external.failure import told

_SCHEME = "bigquery://"
_ANSWER_S = 5.0


class _BigQuery(Dialect):
    text_type = "STRING"
    compares_decimals = False  # a literal with a point is a float

    def name(self, name: str) -> str:
        return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"

    def text(self, value: str) -> str:
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
        return f"'{escaped}'"

    def instant(self, value: dt.datetime) -> str:
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"

    def time(self, value: dt.datetime) -> str:
        return f"DATETIME '{value.isoformat(sep=' ')}'"


class BigQuery(Database):
    """Its "URI" is the JSON of a service account's key, or `bigquery://project/dataset` for the machine's own login."""

    dialect: ClassVar[Dialect] = _BigQuery()

    def open(self, uri: str) -> Connection:
        if uri.startswith("{"):
            options = {
                DatabaseOptions.PROJECT_ID.value: str(self._key(uri).get("project_id", "")),
                DatabaseOptions.AUTH_TYPE.value: DatabaseOptions.AUTH_VALUE_JSON_CREDENTIAL_STRING.value,
                DatabaseOptions.AUTH_CREDENTIALS.value: uri,
            }
        elif uri.startswith(_SCHEME):
            project, _, dataset = uri.removeprefix(_SCHEME).partition("/")
            options = {DatabaseOptions.PROJECT_ID.value: project}
            if dataset:
                options[DatabaseOptions.DATASET_ID.value] = dataset
        else:
            raise InvalidArgument(
                f"{self.where}: what {self.source.uri} holds names no project of BigQuery",
                hint="it is the JSON of a service account's key, or bigquery://project/dataset",
            )
        return dbapi.connect(options, autocommit=True)

    def ended(self, connection: Connection) -> None:
        """There is no transaction, which each statement is by itself."""

    def described(self, cursor: Cursor) -> list[ExternalColumn]:
        with self._signed_in():
            if self.source.table is not None:  # of which the columns can be had for nothing
                *outer, name = self.source.table.split(".")
                schema = cursor.connection.adbc_get_table_schema(
                    name,
                    catalog_filter=outer[0] if len(outer) > 1 else None,
                    db_schema_filter=outer[-1] if outer else None,
                )
            else:
                cursor.execute(f"SELECT * FROM {self.dialect.relation(self.source)} LIMIT 0")
                schema = cursor.fetch_arrow_table().schema
        return [arrow_column(field, self.dialect) for field in schema]

    @contextlib.contextmanager
    def _signed_in(self) -> Iterator[None]:
        """The driver has a status for what BigQuery answers, and none for keys for which it is given no token."""
        try:
            yield
        except Error as error:
            uri = self.uri()
            if (
                error.status_code == AdbcStatusCode.UNKNOWN
                and uri.startswith("{")
                and _answers(self._key(uri))
            ):
                raise Unauthenticated(
                    f"{self.where}: no token is given for the key in {self.source.uri}: {told(error, uri)}",
                    hint="see that the service account is there, and the key its own",
                ) from None
            raise

    def _key(self, text: str) -> dict[str, Any]:
        try:
            return msgspec.json.decode(text, type=dict[str, Any])
        except msgspec.MsgspecError:
            raise InvalidArgument(
                f"{self.where}: what {self.source.uri} holds is no JSON of a service account's key"
            ) from None


def _answers(key: dict[str, Any]) -> bool:
    """Whether the address that gives tokens is to be reached."""
    try:
        parts = urlsplit(str(key.get("token_uri", "")))
        socket.create_connection(
            (parts.hostname or "", parts.port or {"http": 80}.get(parts.scheme, 443)), _ANSWER_S
        ).close()
    except (OSError, ValueError):
        return False
    return True
