"""The files of a Hudi table, and the writes that they are of.

The table is listed once. After that, what a write tells of itself says which files came with it.
"""

from __future__ import annotations

import errno
import re
import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from headrace.errors import CorruptTable, Unavailable
from headrace.formats.hudi_commit import HudiCommit, earliest_kept, read_commit
from headrace.formats.hudi_properties import HudiProperties
from headrace.formats.hudi_timeline import Timeline, number, time_of
from headrace.storage.folder import Folder

_BASE_FILE = re.compile(r"(?P<id>.+)_(?P<token>\d+-\d+-\d+)_(?P<begun>\d{14}|\d{17})\.parquet")
_PARTITION_MARK = ".hoodie_partition_metadata"
_ROUNDS = 8
_PATIENCE = (0.01, 0.05, 0.2)

Group = tuple[str, str]
"""A partition, and the id of a file group in it: files that replace each other."""


class Slice(NamedTuple):
    """One file of a group.

    Args:
        begun: when the write began that wrote it.
        path: within the table.
        rows: None where no commit in the timeline tells.
    """

    begun: int
    path: str
    size: int
    rows: int | None


class HudiListing:
    """What is known of the files. `refresh` brings it up to date.

    Args:
        timeline: as it was found last.
        commits: what its writes tell of themselves, by when they began.
        slices: the files of each group, oldest first; those of writes that are not complete among them.
        gone: when groups were replaced by others.
        kept_from: the oldest write whose snapshot is surely whole; 0 where no clean has removed anything.
    """

    def __init__(self, table: Folder, properties: HudiProperties) -> None:
        self._table = table
        self._folder = f"{table.uri}/{properties.timeline}"
        self._archive = f"{table.uri}/{properties.archive}"
        self.timeline = Timeline.of(())
        self.commits: dict[int, HudiCommit] = {}
        self.slices: dict[Group, list[Slice]] = {}
        self.gone: dict[Group, int] = {}
        self.kept_from = 0
        self._names: frozenset[str] | None = None

    def refresh(self) -> list[int] | None:
        """The writes that came since the last time, in the order in which they were completed.

        None where more than that is new, and all was listed anew.
        """
        names = self._found()
        if names == self._names:
            return []
        timeline = Timeline.of(names)
        new = self._added(timeline)
        if new is None:
            self._list(names)
            return None
        commits = self._read(timeline, new)
        if commits is None:  # archived, or rolled back, as it was read
            self._list(self._found())
            return None
        for begun in new:
            self._take(begun, timeline.writes[begun].done, commits[begun])
        self._settle(names, timeline)
        return new

    def _found(self) -> frozenset[str]:
        return frozenset(self._table.files.names(self._folder))

    def _added(self, timeline: Timeline) -> list[int] | None:
        """The writes that the timeline has more than before; None if it lacks some, was set back, or is another."""
        if self._names is None:
            return None
        before = self.timeline
        if before.writes and not before.writes.keys() & timeline.writes.keys():
            return None  # all are archived, or the table was made anew
        if any(begun not in timeline.writes and begun >= timeline.first for begun in before.writes):
            return None
        if before.pending - timeline.pending - timeline.writes.keys():
            return None  # one was completed and archived meanwhile, or rolled back, with what it had written
        if any(o.action == "restore" for name, o in timeline.others.items() if name not in before.others):
            return None
        new = [instant for begun, instant in timeline.writes.items() if begun not in before.writes]
        return [instant.begun for instant in sorted(new, key=lambda instant: instant.done)]

    def _list(self, names: frozenset[str]) -> None:
        """Anew, until nothing was written meanwhile: a clean may remove what a listing has passed, or not yet."""
        for _ in range(_ROUNDS):
            timeline = Timeline.of(names)
            found = list(self._table.files.tree(self._table.uri, ".hoodie"))
            commits = self._read(timeline, timeline.writes)
            after = self._found()
            if after == names and commits is not None:
                break
            names = after
        else:
            raise Unavailable(
                f"the Hudi table at {self._table.shown} was written to each time that it was listed",
                hint="try again",
            )
        self.commits, self.slices, self.gone = {}, {}, {}
        written = [w for commit in commits.values() for w in commit.written]
        told = {w.path: w.rows for w in written}
        partitions = _partitions(file.path for file in found) | {w.partition for w in written}
        for path, size, _ in found:
            partition, _, name = path.rpartition("/")
            base = _BASE_FILE.fullmatch(name) if partition in partitions else None
            if base is not None:
                slice_ = Slice(number(base["begun"]), path, size, told.get(path))
                self.slices.setdefault((partition, base["id"]), []).append(slice_)
        for slices in self.slices.values():
            slices.sort()
        for begun, instant in sorted(timeline.writes.items()):
            self.commits[begun] = commits[begun]
            for group in commits[begun].replaced:
                self.gone[group] = instant.done
        self._settle(names, timeline)
        self._check(timeline)

    def _read(self, timeline: Timeline, which: Iterable[int]) -> dict[int, HudiCommit] | None:
        """What writes tell of themselves; None if the file of one is not there."""
        found = {}
        for begun in which:
            instant = timeline.writes[begun]
            path = f"{self._folder}/{instant.name}"
            try:
                found[begun] = self.commits.get(begun) or read_commit(self._content(path), path)
                time_of(instant.begun, in_utc=True)
                time_of(instant.done, in_utc=True)
            except FileNotFoundError:
                return None
            except ValueError:
                raise CorruptTable(f"{path} is of no time that there is") from None
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
                raise CorruptTable(f"{path} is no file") from None
        return found

    def _content(self, path: str) -> bytes:
        """That of a commit's file, which a writer on a disk makes first, and fills then."""
        for patience in _PATIENCE:
            data = self._table.files.read(path)
            if data:
                return data
            time.sleep(patience)
        return self._table.files.read(path)

    def _take(self, begun: int, done: int, commit: HudiCommit) -> None:
        self.commits[begun] = commit
        for written in commit.written:
            slices = self.slices.setdefault(written.group, [])
            slices[:] = [s for s in slices if s.path != written.path]
            slices.append(Slice(begun, written.path, written.size, written.rows))
            slices.sort()
        for group in commit.replaced:
            self.gone[group] = done

    def _settle(self, names: frozenset[str], timeline: Timeline) -> None:
        for clean in timeline.others.values():
            if clean.action == "clean" and clean.name not in self.timeline.others:
                self._note_clean(clean.name)
        self._names, self.timeline = names, timeline
        # What is archived, and cleaned, is told of no more: a table that goes on would be all of the memory.
        self.commits = {begun: commit for begun, commit in self.commits.items() if begun in timeline.writes}
        for group, slices in self.slices.items():
            older = [s for s in slices if s.begun < self.kept_from and timeline.is_complete(s.begun)]
            if len(older) > 1:
                self.slices[group] = [older[-1], *(s for s in slices if s.begun >= self.kept_from)]

    def _note_clean(self, name: str) -> None:
        path = f"{self._folder}/{name}"
        try:
            kept = earliest_kept(self._table.files.read(path), path)
        except FileNotFoundError:
            return  # archived as it was read
        self.kept_from = max(self.kept_from, kept)

    def _check(self, timeline: Timeline) -> None:
        """Raises CorruptTable if a file is not there that a write tells of, and none came in its place."""
        newest = {}
        for begun in sorted(self.commits):
            for written in self.commits[begun].written:
                newest[written.group] = begun, written.path
        for group, (begun, path) in newest.items():
            there = any(s.begun >= begun for s in self.slices.get(group, ()))
            if not there and group not in self.gone:
                raise CorruptTable(
                    f"{self._table.uri}/{path} is missing, which {timeline.writes[begun].name} says it wrote",
                    hint="bring it back from a copy, or roll that write back by Hudi's command line",
                )

    def check_timeline(self) -> None:
        """Raises CorruptTable if it tells of nothing, and there are files."""
        told = self.timeline
        if self.slices and not (told.writes or told.pending or told.others):
            raise CorruptTable(
                f"{self._folder} tells of no write, and there are files that some have written",
                hint="bring the folder back from a copy",
            )

    def current(self, until: int) -> dict[Group, Slice]:
        """The file of each group that is read at a snapshot."""
        return {group: found for group in self.slices if (found := self.slice_at(group, until))}

    def slice_at(self, group: Group, until: int) -> Slice | None:
        """The file of one group that is read at a snapshot; None where that has none."""
        if self.gone.get(group, until + 1) <= until:
            return None
        complete = (
            s for s in reversed(self.slices.get(group, ())) if self.timeline.is_complete(s.begun, until)
        )
        return next(complete, None)

    def is_archived(self) -> bool:
        """Whether there were writes that the timeline no longer tells of."""
        return any(name[0] != "_" for name in self._table.files.names(self._archive))

    def lacks(self, until: int, current: Mapping[Group, Slice]) -> str | None:
        """The file group of which a snapshot has no file, or too old a one; None if it is whole."""
        least: dict[Group, int] = {}
        for begun, commit in self.commits.items():
            complete = self.timeline.is_complete(begun, until)
            for written in commit.written:
                # A write that came later tells what was there before it.
                at = begun if complete else written.previous or 0
                if at and self.timeline.is_complete(at, until):
                    group = written.group
                    least[group] = max(least.get(group, 0), at)
        for group, begun in least.items():
            is_read = self.gone.get(group, until + 1) > until
            if is_read and (group not in current or current[group].begun < begun):
                return "/".join(filter(None, group))
        return None


def _partitions(paths: Iterable[str]) -> set[str]:
    """The folders that are marked as partitions, but for those of tables within the table."""
    marked, tables = set(), set()
    for path in paths:
        folder, _, name = path.rpartition("/")
        if name.startswith(_PARTITION_MARK):
            marked.add(folder)
        elif "/.hoodie/" in path:
            tables.add(path.partition("/.hoodie/")[0])
    return {folder for folder in marked if not any(f"{folder}/".startswith(f"{table}/") for table in tables)}
