"""A read that is planned."""

from __future__ import annotations

import pyarrow as pa

from headrace.engine.found_rows import Found
from headrace.engine.key_index import KeyIndex
from headrace.formats.base import Snapshot
from headrace.planning.plan import Plan


class Planned:
    """A plan, the snapshot of each side that it scans, and where in these rows for it may be."""

    def __init__(self, plan: Plan, snapshots: dict[int, Snapshot], keys: KeyIndex) -> None:
        self.plan = plan
        self.snapshots = snapshots
        self._keys = keys
        self._files: dict[int, pa.Table] = {}
        self._found: dict[int, Found | None] = {}

    def files(self, side: int) -> pa.Table:
        """The files that may hold rows, by the statistics in the log."""
        if side not in self._files:
            self._files[side] = self.snapshots[side].prune(self.plan.conditions[side])
        return self._files[side]

    def found(self, side: int) -> Found | None:
        """What the index tells of the rows, where their keys are asked for."""
        if self.plan.resolved.sides[side].source.since is not None:
            return None
        if side not in self._found:
            keys = self.plan.resolved.sides[side].definition.primary_key
            conditions = self.plan.conditions[side]
            self._found[side] = self._keys.find(self.snapshots[side], self.files(side), keys, conditions)
        return self._found[side]
