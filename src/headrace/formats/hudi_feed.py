"""What changed in a Hudi table, from the files that its commits wrote and those that they came in the place of.

Source: https://hudi.apache.org/tech-specs-1point0. A row tells the commit that wrote it, in columns of Hudi's own. So
of a file, the rows that its own commit wrote are what it inserts; those of the file before it that it has no longer,
or has written anew, are what it deletes.
"""

from __future__ import annotations

import dataclasses
import re

import pyarrow as pa

from headrace.errors import SnapshotNotFound
from headrace.formats.base import Snapshot
from headrace.formats.duckdb_type import duckdb_type
from headrace.formats.feed import HIDDEN, Feed
from headrace.formats.hudi_files import files_table
from headrace.formats.hudi_listing import Group, HudiListing, Slice
from headrace.formats.hudi_properties import HudiProperties
from headrace.formats.hudi_timeline import Instant, time_of
from headrace.model.expression_sql import identifier, text
from headrace.model.feed import CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION
from headrace.storage.files import lost
from headrace.storage.folder import Folder

_TIME, _KEY = "_hoodie_commit_time", "_hoodie_record_key"
_OWN = (pa.field(_TIME, pa.string()), pa.field(_KEY, pa.string()))
_SAME_ROWS = frozenset({"CLUSTER", "COMPACT", "INDEX"})
_NEW, _OLD = "new", "old"
_DIGITS = re.compile(r"\d+")


@dataclasses.dataclass(frozen=True)
class HudiFeed(Feed):
    """`files` has, beside what a snapshot's has, each file's `role`, "new" or "old"; the number of the `pair` that they
    are in; and what its commit is: `begun`, as rows tell it, `commit` and `time`.
    """

    def relation(self, files: pa.Table | None = None) -> str:
        files = self.files if files is None else files
        if files.num_rows == 0:
            return Feed.relation(self, files)
        partitions = [f"partition.{name}" for name in self.partition_by]
        told = files.select([*partitions, "role", "pair", "begun", "commit", "time"]).to_pylist()
        values = ", ".join(f"({i}, {', '.join(map(_literal, row.values()))})" for i, row in enumerate(told))
        names = [
            *(f"p{i}" for i in range(len(self.partition_by))),
            "role",
            "pair",
            "begun",
            "version",
            "time",
        ]
        columns = [
            f"CAST(p.p{self.partition_by.index(f.name)} AS {duckdb_type(f.type)}) AS {identifier(f.name)}"
            if f.name in self.partition_by
            else f"r.{identifier(f.name)}"
            for f in self.schema
        ]
        columns += [
            f"CAST(p.version AS BIGINT) AS {COMMIT_VERSION}",
            f"make_timestamptz(CAST(p.time AS BIGINT)) AS {COMMIT_TIMESTAMP}",
        ]
        own = [
            f"p.role = {text(_NEW)} AS {HIDDEN}is_new",
            f"p.pair AS {HIDDEN}pair",
            f"r.{_KEY} AS {HIDDEN}key",
        ]
        own.append(f"r.{_TIME} = p.begun AS {HIDDEN}is_written")
        rows = (
            f"SELECT {', '.join([*columns, *own])} FROM {self.source(files, _OWN)} AS r "
            f"JOIN (VALUES {values}) AS p(i, {', '.join(names)}) ON r.file_index = p.i"
        )
        shown = ", ".join(
            [*(identifier(f.name) for f in self.schema), "{}", COMMIT_VERSION, COMMIT_TIMESTAMP]
        )
        inserted, deleted = (
            shown.format(f"{text(change)} AS {CHANGE_TYPE}") for change in ("insert", "delete")
        )
        is_new, is_written, pair, key = (HIDDEN + name for name in ("is_new", "is_written", "pair", "key"))
        stay = f"SELECT {pair}, {key} FROM found WHERE {is_new} AND NOT {is_written}"
        changed = (
            f"WITH found AS ({rows}) SELECT {inserted} FROM found WHERE {is_new} AND {is_written} UNION ALL "
            f"SELECT {deleted} FROM found ANTI JOIN ({stay}) AS kept USING ({pair}, {key}) WHERE NOT {is_new}"
        )
        return f"({self._paired(changed) if self.identity else changed})"


def hudi_feed(
    table: Folder,
    properties: HudiProperties,
    listing: HudiListing,
    since: int,
    until: Snapshot,
    identity: tuple[str, ...],
) -> HudiFeed:
    """The changes of the commits after `since`, up to the snapshot `until`.

    Raises:
        SnapshotNotFound: a commit, or a file of it, is no longer there.
    """
    writes = sorted(listing.timeline.writes.values(), key=lambda instant: instant.done)
    first = listing.timeline.known_from
    if writes and since < first and listing.is_archived():
        raise _forgotten(since, f"the timeline tells of all from {first} on")
    found: list[tuple[Group, Slice]] = []
    told: list[tuple[str, str, str, int, int]] = []
    for instant in writes:
        commit = listing.commits[instant.begun]
        if not since < instant.done <= until.version or commit.operation in _SAME_ROWS:
            continue
        begun = _DIGITS.findall(instant.name)[0]  # as rows tell it: those of old tables are shorter
        time = int(time_of(instant.done, properties.in_utc).timestamp() * 1_000_000)
        for group in sorted(commit.groups):
            new = [Slice(instant.begun, w.path, w.size, w.rows) for w in commit.written if w.group == group]
            for role, slices in ((_OLD, _before(listing, instant, group, since)), (_NEW, new)):
                found += [(group, one) for one in slices]
                told += [(role, f"{begun}/{'/'.join(group)}", begun, instant.done, time) for _ in slices]
    files = files_table(table.uri, properties, until.schema, found)
    # Statistics would leave out one file of a pair: only together they tell what changed.
    files = files.select([name for name in files.column_names if not name.startswith(("min.", "max."))])
    for i, name in enumerate(("role", "pair", "begun", "commit", "time")):
        kind = pa.string() if i < 3 else pa.int64()
        files = files.append_column(name, pa.array([row[i] for row in told], kind))
    gone = lost(table.files, files["path"].to_pylist())
    if gone is not None:
        raise _forgotten(since, f"{gone} is missing")
    return HudiFeed(
        version=until.version,
        schema=until.schema,
        files=files,
        partition_by=until.partition_by,
        identity=identity,
        exact=False,
    )


def _before(listing: HudiListing, instant: Instant, group: Group, since: int) -> list[Slice]:
    """The file that a commit wrote another in the place of, or took away."""
    old = listing.slice_at(group, instant.done - 1)
    commit = listing.commits[instant.begun]
    previous = next((w.previous for w in commit.written if w.group == group), None)
    if (
        old is None
        if group in commit.replaced
        else previous is not None and (old is None or old.begun != previous)
    ):
        raise _forgotten(since, f"a file of {'/'.join(filter(None, group))} is missing")
    return [] if old is None else [old]


def _forgotten(since: int, why: str) -> SnapshotNotFound:
    return SnapshotNotFound(
        f"changes since snapshot {since} are no longer there: {why}",
        hint="read changes since a later snapshot; Hudi removes and archives what is old",
    )


def _literal(value: object) -> str:
    return "NULL" if value is None else text(str(value))
