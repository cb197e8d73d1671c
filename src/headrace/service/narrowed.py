"""A table of which some columns are not shown."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Collection
from typing import TypeVar

import pyarrow as pa

from headrace.formats.base import Snapshot
from headrace.formats.feed import Feed
from headrace.formats.table import Table
from headrace.model.definition import Commit

AnySnapshot = TypeVar("AnySnapshot", bound=Snapshot)


class NarrowedTable:
    """As another table, but that it has these columns alone; a `headrace.formats.table.Table`."""

    def __init__(self, table: Table, columns: Collection[str]) -> None:
        self._whole = table
        self._columns = columns
        self.label = table.label
        self.marker = table.marker
        self.table = table.table
        self.keeps_snapshots = table.keeps_snapshots
        self.started = table.started

    @property
    def last_seen(self) -> Snapshot | None:
        return self._narrowed(self._whole.last_seen)

    def is_there(self) -> bool:
        return self._whole.is_there()

    def newest(self) -> Snapshot | None:
        found = self._narrowed(self._whole.newest())
        self.started = self._whole.started
        return found

    def at(self, version: int) -> Snapshot:
        return self._narrow(self._whole.at(version))

    def whole_at(self, version: int) -> Snapshot:
        return self._narrow(self._whole.whole_at(version))

    def version_at(self, time: dt.datetime) -> int:
        return self._whole.version_at(time)

    def history(self, limit: int | None) -> list[Commit]:
        return self._whole.history(limit)

    def changes(self, since: int, until: Snapshot, identity: tuple[str, ...]) -> Feed:
        return self._narrow(self._whole.changes(since, until, identity))

    def _narrowed(self, found: Snapshot | None) -> Snapshot | None:
        return None if found is None else self._narrow(found)

    def _narrow(self, found: AnySnapshot) -> AnySnapshot:
        schema = pa.schema([field for field in found.schema if field.name in self._columns])
        return dataclasses.replace(found, schema=schema)
