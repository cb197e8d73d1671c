"""Errors of SQLAlchemy and of the drivers, as ours: told by their codes, never by their text."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import exc
from sqlalchemy.engine import URL

from headrace.errors import (
    Busy,
    Conflict,
    CorruptTable,
    HeadraceError,
    InternalError,
    InvalidArgument,
    LimitExceeded,
    PermissionDenied,
    Unavailable,
)

_FREE = "free space where the database lies"

_SQLITE: dict[int, tuple[type[HeadraceError], str]] = {
    sqlite3.SQLITE_BUSY: (Busy, "somebody else is writing to it: try again"),
    sqlite3.SQLITE_LOCKED: (Busy, "somebody else is writing to it: try again"),
    sqlite3.SQLITE_FULL: (LimitExceeded, _FREE),
    sqlite3.SQLITE_CANTOPEN: (Unavailable, "its folder must exist and be writable"),
    sqlite3.SQLITE_PERM: (PermissionDenied, "the file and its folder must be writable"),
    sqlite3.SQLITE_READONLY: (PermissionDenied, "the file and its folder must be writable"),
    sqlite3.SQLITE_CORRUPT: (CorruptTable, "restore the file from a copy"),
    sqlite3.SQLITE_NOTADB: (CorruptTable, "the file is not a SQLite database: name another, or restore it"),
}
"""By primary result code."""

_POSTGRESQL: dict[str, tuple[type[HeadraceError], str]] = {
    "22": (InvalidArgument, "the database cannot hold a value that was given"),
    "40": (Conflict, "somebody else changed the registry: try again"),
    "42501": (PermissionDenied, "grant the user USAGE and CREATE on the schema, and rights on its tables"),
    "53100": (LimitExceeded, _FREE),
    "53200": (LimitExceeded, "the database server is out of memory"),
    "53300": (Busy, "the database server has no connection left: try again"),
    "54": (LimitExceeded, "a value that was given is too long for the database"),
    "55P03": (Busy, "somebody else is writing to it: try again"),
}
"""By SQLSTATE, or its class."""


@contextmanager
def translated(url: URL) -> Iterator[None]:
    """Whatever the database raises inside comes out as an error of `headrace.errors`."""
    try:
        yield
    except exc.TimeoutError as error:
        raise Busy(f"the registry at {address(url)} has no connection free", hint="try again") from error
    except exc.DBAPIError as error:
        kind, hint = _kind(error)
        reason = (str(error.orig).splitlines() or [""])[0]
        raise kind(f"the registry at {address(url)} fails: {reason}", hint=hint) from error


def address(url: URL) -> str:
    """The URL as it may be shown: the password hidden, and no options, which may hold one."""
    return url.set(drivername=url.get_backend_name(), query={}).render_as_string(hide_password=True)


def _kind(error: exc.DBAPIError) -> tuple[type[HeadraceError], str | None]:
    code = getattr(error.orig, "sqlite_errorcode", None)
    if code is not None and code & 0xFF in _SQLITE:
        return _SQLITE[code & 0xFF]
    state = getattr(error.orig, "sqlstate", None) or ""
    known = _POSTGRESQL.get(state) or _POSTGRESQL.get(state[:2])
    if known:
        return known
    # What the driver refuses before any server is asked.
    if isinstance(error, exc.ProgrammingError) and error.statement is None:
        return InvalidArgument, "see the options of its URL"
    if isinstance(error, (exc.OperationalError, exc.InterfaceError)):
        return Unavailable, "see that the database runs and that the URL is right"
    return InternalError, None
