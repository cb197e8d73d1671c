"""The registry's database: connections kept open, reads side by side, writes one after the other."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from sqlalchemy import Connection, Engine, create_engine, event, exc, make_url
from sqlalchemy.engine import URL

from headrace.errors import (
    Busy,
    InvalidArgument,
    MissingDependency,
    OutcomeUnknown,
    Unavailable,
    Unsupported,
)
from headrace.registry.failure import address, translated

PATIENCE = 30.0
"""Seconds that a write waits for the writes before it."""

_KEEPALIVES = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
_LIBPQ = {"connect_timeout": 10, "tcp_user_timeout": 60_000, **_KEEPALIVES}
"""What libpq is told: seconds, and milliseconds without an answer of the database's machine to what was sent."""
_LOCK = int.from_bytes(b"headrace", "big")
_DRIVERS = {
    "sqlite": "sqlite+pysqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}


class Database:
    """Connections to one database. For all threads of one process; a forked child opens its own.

    Connections commit each statement by itself, which makes a read one round trip. A write opens a
    transaction that excludes every other write, so that what it has checked still holds when it commits.

    Args:
        url: `sqlite:///path` or `postgresql://…`; options of the driver may follow as a query.
        patience: seconds that a write waits for the writes before it.

    Raises:
        InvalidArgument: not a URL.
        Unsupported: neither SQLite in a file nor PostgreSQL.
        MissingDependency: the driver is not installed.
    """

    def __init__(self, url: str, *, patience: float = PATIENCE) -> None:
        self.url = read_url(url)
        self._patience = patience
        self._turn = threading.Lock()
        self._inode: int | None = None
        try:
            self._engine = self._connect()
        except ImportError:
            raise MissingDependency(
                f"the registry at {address(self.url)} needs psycopg",
                hint='pip install "psycopg[binary]"',
            ) from None

    @property
    def is_sqlite(self) -> bool:
        return self.url.get_backend_name() == "sqlite"

    @property
    def is_there(self) -> bool:
        """False for a file that is not; of a server only an answer tells."""
        return not self.is_sqlite or os.path.exists(self._file)

    @property
    def _file(self) -> str:
        return sqlite_file(self.url)

    def _connect(self) -> Engine:
        if not self.is_sqlite:
            return postgresql_engine(self.url, pool_pre_ping=True)
        try:
            engine = create_engine(
                self.url, connect_args={"timeout": self._patience}, isolation_level="AUTOCOMMIT"
            )
        except ValueError as error:
            raise InvalidArgument(
                f"the registry's URL has an option that SQLite does not take: {error}"
            ) from None
        event.listen(engine, "connect", _enforce_foreign_keys)
        return engine

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection for reads; each statement sees all that was committed before it."""
        self._check_file()
        with translated(self.url), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that no other write runs beside, in any process; an exception rolls it back.

        Raises:
            Busy: others have been writing for longer than the patience.
            OutcomeUnknown: the connection was lost in the commit.
        """
        self._check_file()
        with self._own_turn(), translated(self.url), self._engine.connect() as connection:
            self._begin(connection)
            yield connection  # what is not committed is rolled back when the connection goes back to the pool
            try:
                connection.exec_driver_sql("COMMIT")
            except exc.DBAPIError as error:
                if not error.connection_invalidated:
                    raise
                raise OutcomeUnknown(
                    f"the connection to the registry at {address(self.url)} was lost while storing a change",
                    hint="look whether the change is there before making it again",
                ) from error

    def _check_file(self) -> None:
        """SQLite goes on with a file that was removed, and whatever it writes there is lost."""
        if not self.is_sqlite:
            return
        try:
            inode = os.stat(self._file).st_ino
        except FileNotFoundError:
            if self._inode is None:
                return  # it is about to be made
            raise Unavailable(
                f"the registry at {address(self.url)} was removed", hint="put it back"
            ) from None
        if self._inode not in (None, inode):
            self._engine.dispose()
        self._inode = inode

    @contextmanager
    def _own_turn(self) -> Iterator[None]:
        """One writer of this process at a time: the others wait without a connection, for readers to use."""
        if not self._turn.acquire(timeout=self._patience):
            raise Busy(f"others are writing to the registry at {address(self.url)}", hint="try again")
        try:
            yield
        finally:
            self._turn.release()

    def _begin(self, connection: Connection) -> None:
        if self.is_sqlite:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            # Read committed: the statements after the lock see what its former holder wrote.
            connection.exec_driver_sql("BEGIN ISOLATION LEVEL READ COMMITTED")
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(self._patience * 1000)}")
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")

    def use_write_ahead_log(self) -> None:
        """Let SQLite readers go on beside a writer. The file remembers; PostgreSQL needs no telling."""
        if not self.is_sqlite:
            return
        deadline = time.monotonic() + self._patience
        with translated(self.url), self._engine.connect() as connection:
            while True:
                try:
                    connection.exec_driver_sql("PRAGMA journal_mode = WAL").close()
                    return
                except exc.OperationalError as error:
                    # SQLite does not wait here by itself, since two processes might wait for each other.
                    code = getattr(error.orig, "sqlite_errorcode", 0)
                    if code & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                        raise
                    time.sleep(0.01)

    def close(self) -> None:
        self._engine.dispose()


def postgresql_engine(url: URL, **options: Any) -> Engine:
    """Connections that commit each statement by itself, and end soon where either machine is gone."""
    told = {name: value for name, value in _LIBPQ.items() if name not in url.query}
    engine = create_engine(url, isolation_level="AUTOCOMMIT", connect_args=told, **options)
    event.listen(engine, "connect", _notice_dead_clients)
    return engine


def _notice_dead_clients(connection: Any, _: object) -> None:
    """Or the locks of a machine that lost its power would be held for two hours."""
    with connection.cursor() as cursor:
        for name, value in _KEEPALIVES.items():
            cursor.execute(f"SET tcp_{name} = {value}")
    connection.commit()


def sqlite_file(url: URL) -> str:
    """The file, which SQLite may be told as a URI, too."""
    name = url.database or ""
    return unquote(urlsplit(name).path) if name.startswith("file:") else name


def read_url(text: str) -> URL:
    """Raises InvalidArgument, Unsupported."""
    unreadable = InvalidArgument(
        "the registry's URL cannot be read", hint="write sqlite:///path or postgresql://user@host/database"
    )
    try:
        url = make_url(text)
    except (exc.ArgumentError, ValueError):
        raise unreadable from None
    if "\0" in text:
        raise unreadable
    if "@" in (url.host or ""):
        raise InvalidArgument(
            "the registry's URL has more than one @", hint="in a user's name or a password, write %40 for it"
        )
    driver = _DRIVERS.get(url.drivername)
    if driver is None:
        raise Unsupported(
            f"a registry cannot be kept in {url.drivername}", hint="use sqlite:///path or postgresql://…"
        )
    if url.get_backend_name() == "sqlite":
        url = _whole(url)
    return url.set(drivername=driver)


def _whole(url: URL) -> URL:
    """The file as whoever works in another folder can find it: a store remembers which registry is its own."""
    name, file = url.database or "", sqlite_file(url)
    if file in ("", ":memory:") or url.query.get("mode") == "memory":
        raise Unsupported("a registry cannot be kept in memory", hint="name a file: sqlite:///path")
    is_uri = name.startswith("file:")
    if is_uri != (url.query.get("uri") == "true"):
        raise InvalidArgument(
            "the registry's URL names its file half as a path, and half as a URI of SQLite",
            hint="write sqlite:///path, or sqlite:///file:path?uri=true",
        )
    whole = os.path.abspath(file)
    return url.set(database=f"file:{quote(whole)}" if is_uri else whole)


def _enforce_foreign_keys(connection: sqlite3.Connection, _record: object) -> None:
    connection.execute("PRAGMA foreign_keys = ON").close()
