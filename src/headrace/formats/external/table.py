"""Tables of other databases as tables of feature groups. They are read when they are asked for, and keep no history."""

from __future__ import annotations

import dataclasses
import datetime as dt
import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, NoReturn

import pyarrow as pa

from headrace.errors import MissingDependency, NotFound, Unsupported
from headrace.formats.base import Snapshot
from headrace.formats.external.column import ExternalColumn
from headrace.formats.external.connections import Connections
from headrace.formats.feed import Feed
from headrace.formats.streamed import Batches, StreamedSnapshot
from headrace.model.definition import Commit
from headrace.model.expression import Condition
from headrace.model.external import ExternalSource
from headrace.storage.files import LocalFiles
from headrace.storage.folder import Folder

if TYPE_CHECKING:
    from headrace.formats.external.database import Database

NOW = -1
"""In place of a snapshot's number, of which there is none."""


@dataclasses.dataclass(frozen=True)
class ExternalSnapshot(StreamedSnapshot):
    """What is there at the moment at which it is read."""

    database: Database | None = None
    columns: tuple[ExternalColumn, ...] = ()

    def batches(self, columns: Sequence[str], conditions: Iterable[Condition], files: pa.Table) -> Batches:
        assert self.database is not None
        by_name = self._by_name
        return self.database.fetch([by_name[name] for name in columns], self._told(conditions))

    def shown(self, columns: Sequence[str], conditions: Sequence[Condition]) -> str:
        assert self.database is not None
        source, dialect, by_name = self.database.source, self.database.dialect, self._by_name
        wanted = [by_name[name] for name in columns] or self.columns[:1]
        # A query of the group's own may tell of columns that are not shown.
        hides = source.query is not None and len(self.schema) < len(self.columns)
        relation = "…" if hides else dialect.relation(source)
        statement = dialect.select(relation, wanted, self._told(conditions))
        return f"in {source.driver} ({source.uri}), as it is now: {' '.join(statement.split())}"

    @property
    def _by_name(self) -> dict[str, ExternalColumn]:
        return {column.name: column for column in self.columns}

    def _told(self, conditions: Iterable[Condition]) -> list[str]:
        assert self.database is not None
        return self.database.dialect.conditions(conditions, self._by_name)


class ExternalTable:
    """One table or query of another database; a `headrace.formats.table.Table`."""

    label = "table of another database"
    marker = "table"
    keeps_snapshots: ClassVar[bool] = False

    def __init__(self, source: ExternalSource, of: str, connections: Connections) -> None:
        self.table = Folder("", source.shown, LocalFiles())
        self.started = False
        self._database = open_database(source, f"feature group {of}, {source.shown}", connections)
        self._lock = threading.Lock()
        self._seen: ExternalSnapshot | None = None

    @property
    def last_seen(self) -> Snapshot | None:
        return self._seen

    def is_there(self) -> bool:
        return True

    def newest(self) -> Snapshot:
        columns, unique = self._database.columns()
        if not columns:
            raise NotFound(f"{self._database.where} has no columns")
        schema = pa.schema([pa.field(column.name, column.kind) for column in columns])
        found = ExternalSnapshot(
            version=NOW,
            schema=schema,
            files=_FILES,
            unique=unique,
            exact=False,
            origin=self._database.origin(),
            database=self._database,
            columns=tuple(columns),
        )
        with self._lock:
            self._seen = found
            self.started = True
            return found

    def at(self, version: int) -> Snapshot:
        if version != NOW:
            self._refuse(f"has no snapshot {version}")
        return self._seen or self.newest()

    def whole_at(self, version: int) -> Snapshot:
        return self.at(version)

    def version_at(self, time: dt.datetime) -> int:
        self._refuse("cannot be read as it was")

    def history(self, limit: int | None) -> list[Commit]:
        return []

    def changes(self, since: int, until: Snapshot, identity: tuple[str, ...]) -> Feed:
        self._refuse("keeps no changes")

    def _refuse(self, what: str) -> NoReturn:
        raise Unsupported(
            f"{self._database.where} {what}: it is in another database, and read as it is now",
            hint="make a training dataset of it, which keeps what was read; or insert its rows into a feature group",
        )


_FILES = pa.table(
    {
        "path": pa.array([""], pa.string()),
        "num_records": pa.array([None], pa.int64()),
        "size_bytes": pa.array([0], pa.int64()),
    }
)
"""One, as it were, of which nothing is known."""


def open_database(source: ExternalSource, where: str, connections: Connections) -> Database:
    """Raises MissingDependency where its driver is not installed."""
    try:
        match source.driver:
            case "postgresql":
                from headrace.formats.external.postgresql import PostgreSQL

                return PostgreSQL(source, where, connections)
            case "sqlite":
                from headrace.formats.external.sqlite import SQLite

                return SQLite(source, where, connections)
            case "snowflake":
                from headrace.formats.external.snowflake import Snowflake

                return Snowflake(source, where, connections)
            case "bigquery":
                from headrace.formats.external.bigquery import BigQuery

                return BigQuery(source, where, connections)
    except ModuleNotFoundError as error:
        raise MissingDependency(
            f"{where}: {error.name} is not installed, which reads it",
            hint=f"pip install 'headrace[{source.driver}]'",
        ) from None
