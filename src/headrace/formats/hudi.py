"""Hudi tables, copy-on-write ones, which are read and not written.

The number of a snapshot is the time at which its newest write was complete, as Hudi writes it: 17 digits, from the year
to the millisecond. In tables of version 6, which do not tell that, it is the time at which the write began.

Source: https://hudi.apache.org/tech-specs-1point0.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections import OrderedDict
from collections.abc import Mapping
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.errors import CorruptTable, SnapshotNotFound, Unsupported
from headrace.formats.avro_schema import arrow_schema
from headrace.formats.base import Snapshot
from headrace.formats.feed import Feed
from headrace.formats.footers import Footers, FooterSnapshot
from headrace.formats.hudi_evolution import check_names
from headrace.formats.hudi_feed import hudi_feed
from headrace.formats.hudi_files import files_table
from headrace.formats.hudi_listing import Group, HudiListing, Slice
from headrace.formats.hudi_properties import HudiProperties, read_properties
from headrace.formats.hudi_timeline import instant_at, time_of
from headrace.formats.normal_schema import normal_schema
from headrace.formats.turn import Turn
from headrace.model.definition import Commit
from headrace.storage.failure import failure, stored
from headrace.storage.files import lost
from headrace.storage.folder import Folder

_KEPT_SNAPSHOTS = 8
_OWN = "_hoodie_"
"""What the names of columns begin with that Hudi adds to files for itself."""


class HudiTable:
    """One table; a `headrace.formats.table.Table`. Its files are listed once, and then followed commit by commit."""

    label = "Hudi table"
    marker = ".hoodie"
    keeps_snapshots: ClassVar[bool] = True

    def __init__(self, table: Folder) -> None:
        self.table = table
        self.started = False
        self._lock = Turn()
        self._known: tuple[HudiProperties, HudiListing] | None = None
        self._newest: Snapshot | None = None
        self._current: dict[Group, Slice] = {}
        self._kept: OrderedDict[int, Snapshot] = OrderedDict()
        self._footers = Footers(table.files)
        self._schemas: dict[str, pa.Schema] = {}

    @property
    def last_seen(self) -> Snapshot | None:
        return self._newest

    def is_there(self) -> bool:
        with stored(self.table.shown):
            return self.table.files.fact(f"{self.table.uri}/.hoodie/hoodie.properties") is not None

    def newest(self) -> Snapshot | None:
        with self._lock:
            self._follow()
            return self._newest

    def at(self, version: int) -> Snapshot:
        with self._lock:
            known = self._follow()
            if known is None:
                raise SnapshotNotFound(f"there is no snapshot {version}: the table holds nothing")
            if self._newest is not None and version == self._newest.version:
                return self._newest
            if version not in self._kept:
                self._kept[version] = self._older(*known, version)
            self._kept.move_to_end(version)
            while len(self._kept) > _KEPT_SNAPSHOTS:
                self._kept.popitem(last=False)
            return self._kept[version]

    def whole_at(self, version: int) -> Snapshot:
        snapshot = self.at(version)
        with stored(self.table.shown):
            gone = lost(self.table.files, snapshot.files["path"].to_pylist())
        if gone is not None:
            raise _cleaned(version, gone)
        return snapshot

    def version_at(self, time: dt.datetime) -> int:
        with self._lock:
            known = self._follow()
            told = "the table has none"
            if known is not None and known[1].timeline.writes:
                properties, listing = known
                until, first = instant_at(time, properties.in_utc), listing.timeline.known_from
                done = (instant.done for instant in listing.timeline.writes.values())
                version = max((d for d in done if d <= until), default=None)
                # Of a savepoint's snapshot it is not known which came next, but at its own time.
                in_gap = version is not None and version != until and version < first
                if version is not None and not (in_gap and listing.is_archived()):
                    return version
                told = f"the first that the timeline tells of is {first}"
        raise SnapshotNotFound(f"no snapshot was committed by {time.isoformat()}: {told}")

    def history(self, limit: int | None) -> list[Commit]:
        with self._lock:
            known = self._follow()
            if known is None:
                return []
            properties, listing = known
            writes = sorted(listing.timeline.writes.values(), key=lambda i: i.done, reverse=True)
            told = [(instant, listing.commits[instant.begun]) for instant in writes[:limit]]
        return [
            Commit(
                snapshot=instant.done,
                timestamp=time_of(instant.done, properties.in_utc),
                operation=commit.operation,
                rows_inserted=commit.inserted,
                rows_updated=commit.updated,
                rows_deleted=commit.deleted,
            )
            for instant, commit in told
        ]

    def changes(self, since: int, until: Snapshot, identity: tuple[str, ...]) -> Feed:
        with self._lock:
            known = self._follow()
            if known is None:
                raise SnapshotNotFound(
                    f"there are no changes up to snapshot {until.version}: the table is gone"
                )
            return hudi_feed(self.table, *known, since, until, identity)

    def _follow(self) -> tuple[HudiProperties, HudiListing] | None:
        """What is known of the table, brought up to date, the newest snapshot with it; None where there is none."""
        try:
            if self._known is None:
                self._known = self._opened()
            properties, listing = self._known
            new = listing.refresh()
            if new is None and read_properties(self.table) != properties:  # it was upgraded, or made anew
                self._known = properties, listing = self._opened()
                listing.refresh()
            if new is None or self._newest is None:
                self._kept.clear()
                self._begin(properties, listing)
            elif new:
                self._advance(properties, listing, new)
        except FileNotFoundError:
            self._forget()
            if not self.started:
                return None
            raise CorruptTable(
                f"the Hudi table at {self.table.shown} is lost: there is no .hoodie/hoodie.properties",
                hint="bring the folder back, or delete the feature group and register it anew",
            ) from None
        except OSError as error:
            self._forget()
            raise failure(self.table.shown, error.strerror or error, error.errno) from error
        except BaseException:
            self._forget()
            raise
        self.started = True
        return self._known

    def _opened(self) -> tuple[HudiProperties, HudiListing]:
        properties = read_properties(self.table)
        return properties, HudiListing(self.table, properties)

    def _forget(self) -> None:
        self._known = self._newest = None
        self._kept.clear()

    def _begin(self, properties: HudiProperties, listing: HudiListing) -> None:
        """The newest snapshot, from all files."""
        listing.check_timeline()
        self._newest, self._current = None, {}
        if listing.slices or listing.timeline.writes:
            version = listing.timeline.newest or 0
            self._current = listing.current(version)
            self._newest = self._snapshot(properties, listing, version, self._current)

    def _advance(self, properties: HudiProperties, listing: HudiListing, new: list[int]) -> None:
        """The newest snapshot, from the one before and the writes after it."""
        version = listing.timeline.newest
        before = self._newest
        if before is None or version is None or self._schema(properties, listing, version) != before.schema:
            self._begin(properties, listing)
            return
        touched = {group for begun in new for group in listing.commits[begun].groups}
        gone = [self._path(old) for group in touched if (old := self._current.pop(group, None))]
        came = {group: found for group in touched if (found := listing.slice_at(group, version))}
        self._current |= came
        stay = pc.invert(pc.is_in(before.files["path"], pa.array(gone, pa.string())))
        added = files_table(self.table.uri, properties, before.schema, came.items())
        files = pa.concat_tables([before.files.filter(stay), added]).combine_chunks()
        self._newest = dataclasses.replace(before, version=version, files=files)
        # Where no time of completion is told, a write may be of a time before the newest.
        for version in [v for v in self._kept if v >= min(listing.timeline.writes[b].done for b in new)]:
            del self._kept[version]

    def _older(self, properties: HudiProperties, listing: HudiListing, version: int) -> Snapshot:
        timeline = listing.timeline
        # What Spark tells of a commit is when it began.
        begun = timeline.writes.get(version)
        until = version if begun is None else begun.done
        if all(instant.done != until for instant in timeline.writes.values()):
            told = (
                f"commits from {timeline.first} up to {timeline.newest}" if timeline.writes else "no commits"
            )
            raise SnapshotNotFound(
                f"there is no snapshot {version}: the timeline tells of {told}",
                hint="history() has their numbers; timestamp= takes any time",
            )
        if until < listing.kept_from:
            raise _cleaned(version, f"files older than {listing.kept_from}")
        current = listing.current(until)
        lacking = listing.lacks(until, current)
        if lacking is not None:
            raise _cleaned(version, f"a file of {lacking}")
        return self._snapshot(properties, listing, until, current)

    def _snapshot(
        self, properties: HudiProperties, listing: HudiListing, version: int, current: Mapping[Group, Slice]
    ) -> Snapshot:
        schema = self._schema(properties, listing, version)
        return FooterSnapshot(
            footers=self._footers,
            version=version,
            schema=schema,
            files=files_table(self.table.uri, properties, schema, current.items()),
            partition_by=properties.partition_fields if properties.drops_partitions else (),
            exact=False,
            keeps_changes=properties.meta_fields,
        )

    def _schema(self, properties: HudiProperties, listing: HudiListing, version: int) -> pa.Schema:
        """The table's columns as of a snapshot, as the newest commit tells them that does."""
        complete = [i for i in listing.timeline.writes.values() if i.done <= version]
        commits = [listing.commits[i.begun] for i in sorted(complete, key=lambda i: i.done)]
        check_names(self.table, commits)
        told = next((commit.schema for commit in reversed(commits) if commit.schema), properties.schema)
        if told not in self._schemas:
            self._schemas = {told: self._read_schema(properties, listing, told)}
        return self._schemas[told]

    def _read_schema(self, properties: HudiProperties, listing: HudiListing, told: str) -> pa.Schema:
        if told:
            schema = self._arrow(told)
        elif listing.slices:
            newest = max(slice_ for slices in listing.slices.values() for slice_ in slices)
            with self.table.files.open(self._path(newest)) as file:
                schema = pq.read_schema(file)
        else:
            raise CorruptTable(f"the Hudi table at {self.table.shown} does not tell its columns")
        fields = [field for field in schema if not field.name.startswith(_OWN)]
        if properties.drops_partitions:
            made = self._arrow(properties.schema) if properties.schema else pa.schema([])
            names = {field.name for field in fields}
            for name in properties.partition_fields:
                if name not in names:
                    fields.append(made.field(name) if name in made.names else pa.field(name, pa.string()))
        return normal_schema(pa.schema(fields))

    def _arrow(self, told: str) -> pa.Schema:
        try:
            return arrow_schema(told)
        except ValueError as error:
            raise Unsupported(
                f"the columns of the Hudi table at {self.table.shown} are not read: {error}"
            ) from None

    def _path(self, found: Slice) -> str:
        return f"{self.table.uri}/{found.path}"


def _cleaned(version: int, what: str) -> SnapshotNotFound:
    return SnapshotNotFound(
        f"snapshot {version} is no longer whole: {what} is missing", hint="Hudi's cleaner removes what is old"
    )
