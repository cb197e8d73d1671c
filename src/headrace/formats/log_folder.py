"""The folder of a Delta table's log, looked into without the wheel.

Source: https://github.com/delta-io/delta/blob/master/PROTOCOL.md#delta-log-entries.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from headrace.errors import CorruptTable
from headrace.storage.files import sync
from headrace.storage.folder import Folder

_ENTRY = re.compile(r"[0-9]{20}\.(.+\.)?(json|parquet)")
_LEAST_BYTES = 2
_TIMES = ("timestamp", "inCommitTimestamp")
_TIME_END = 253_402_300_800_000
"""Milliseconds from 1970 to the year 10000."""


class _Checkpoint(msgspec.Struct):
    version: int


_CHECKPOINT = msgspec.json.Decoder(_Checkpoint)


class _File(msgspec.Struct):
    path: str


class _Action(msgspec.Struct, rename="camel"):
    add: _File | None = None
    cdc: _File | None = None
    remove: _File | None = None
    commit_info: dict[str, Any] | None = None


_ACTION = msgspec.json.Decoder(_Action)


class LogFolder:
    """That of the table in a folder."""

    def __init__(self, table: Folder) -> None:
        self.table = table
        self.files = table.files

    def entry(self, version: int) -> bytes:
        """What a commit says. Raises FileNotFoundError."""
        return self.files.read(self._path(_name(version)))

    def removed(self, version: int) -> set[str]:
        """The files that a commit has removed, or given other rows. Raises FileNotFoundError."""
        return {action.remove.path for action in self._actions(version) if action.remove is not None}

    def written(self, version: int) -> list[str]:
        """The files that a commit has written, as its entry names them. Raises FileNotFoundError."""
        actions = self._actions(version)
        return [file.path for action in actions for file in (action.add, action.cdc) if file is not None]

    def commit(self, version: int) -> dict[str, Any]:
        """What a commit says of itself, which need be nothing; with `version`, and `timestamp` as of `time`.

        Raises FileNotFoundError; CorruptTable if the entry cannot be read.
        """
        try:
            info = next((a.commit_info for a in self._actions(version) if a.commit_info), {})
        except msgspec.MsgspecError as error:
            raise CorruptTable(
                f"entry {version} of the log of {self.table.shown} cannot be read: {error}"
            ) from None
        return {**info, "version": version, "timestamp": self.time(version, info)}

    def sync(self, version: int) -> None:
        """Bring an entry, which is on this machine, down to the disk. Raises OSError."""
        sync(self._path(_name(version)))
        sync(f"{self.table.uri}/_delta_log")

    def time(self, version: int, info: Mapping[str, Any]) -> int:
        """When a commit was made, in milliseconds since 1970: as its `info` says, or else as its entry was written."""
        for name in _TIMES:
            told = info.get(name)
            if isinstance(told, int) and 0 <= told < _TIME_END:
                return told
        fact = self.files.fact(self._path(_name(version)))
        return 0 if fact is None else fact.modified // 1_000_000

    def has_entries(self) -> bool:
        """Whether anything was ever committed. Raises OSError where that is not to be seen."""
        # Whole names: a writer that is killed may leave the start of its entry beside it, as `….json#1`.
        return any(_ENTRY.fullmatch(name) for name in self.files.names(f"{self.table.uri}/_delta_log"))

    def check(self, after: int, newest: int) -> None:
        """Raises CorruptTable if an entry behind `after` and the last checkpoint is empty, as a power cut leaves it.

        The wheel takes it for a commit that changed nothing. Elsewhere an entry is there as a whole, or not at all.
        """
        if not self.files.is_local:
            return
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            after = max(after, self.checkpoint())
        for version in range(after + 1, newest + 1):
            fact = self.files.fact(self._path(_name(version)))
            if fact is not None and fact.size < _LEAST_BYTES:
                raise CorruptTable(
                    f"an entry of the log of {self.table.shown} is empty: {_name(version)}",
                    hint="restore it from a copy; without one, the rows of its commit are unknown",
                )

    def stamp(self, version: int) -> tuple[int, ...] | None:
        """What tells an entry from another that took its place, as when a copy is restored; None if it is not there."""
        try:
            fact = self.files.fact(self._path(_name(version)))
        except OSError:
            return None
        return None if fact is None else fact.stamp

    def checkpoint(self) -> int:
        """The version of the last checkpoint; -1 if there is none."""
        try:
            return _CHECKPOINT.decode(self.files.read(self._path("_last_checkpoint"))).version
        except FileNotFoundError:
            return -1

    def _actions(self, version: int) -> Iterator[_Action]:
        return map(_ACTION.decode, filter(None, self.entry(version).splitlines()))

    def _path(self, name: str) -> str:
        return f"{self.table.uri}/_delta_log/{name}"


def _name(version: int) -> str:
    return f"{version:020d}.json"
