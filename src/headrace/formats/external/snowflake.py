"""Snowflake. Not tried on a live one.

Source: https://arrow.apache.org/adbc/current/driver/snowflake.html, https://docs.snowflake.com/en/sql-reference.
"""

from __future__ import annotations

import datetime as dt
from typing import ClassVar

from adbc_driver_manager.dbapi import Connection, Cursor
from adbc_driver_snowflake import dbapi

from headrace.formats.external.arrow_column import arrow_column
from headrace.formats.external.column import ExternalColumn
from headrace.formats.external.database import Database
from headrace.formats.external.dialect import Dialect
from headrace.model.expression import Operator


class _Snowflake(Dialect):
    # Times have up to nine digits, of which six are read: one that is a little later is equal then.
    time_operators: ClassVar[frozenset[Operator]] = frozenset({"<", ">", ">="})

    def text(self, value: str) -> str:
        return super().text(value.replace("\\", "\\\\"))

    def instant(self, value: dt.datetime) -> str:
        return f"'{value.isoformat(sep=' ')}'::TIMESTAMP_TZ"

    def time(self, value: dt.datetime) -> str:
        return f"'{value.isoformat(sep=' ')}'::TIMESTAMP_NTZ"


class Snowflake(Database):
    dialect: ClassVar[Dialect] = _Snowflake()

    def open(self, uri: str) -> Connection:
        return dbapi.connect(uri.removeprefix("snowflake://"), autocommit=True)

    def ended(self, connection: Connection) -> None:
        """There is no transaction, which each statement is by itself."""

    def described(self, cursor: Cursor) -> list[ExternalColumn]:
        schema = cursor.adbc_execute_schema(f"SELECT * FROM {self.dialect.relation(self.source)}")
        return [arrow_column(field, self.dialect) for field in schema]
