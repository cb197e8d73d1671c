"""A read that is planned."""

from __future__ import annotations

import functools
from collections.abc import Callable

import msgspec
import pyarrow as pa

from headrace.cache.period import Period, period
from headrace.engine.found_rows import Found
from headrace.engine.key_index import KeyIndex
from headrace.formats.base import Snapshot
from headrace.formats.streamed import StreamedSnapshot
from headrace.planning.canonical import Canonical, canonical, hash_of
from headrace.planning.plan import Plan


class Planned:
    """A plan, the snapshot of each side that it scans, and where in these rows for it may be.

    Args:
        digest: tells snapshots by their content.
    """

    def __init__(
        self, plan: Plan, snapshots: dict[int, Snapshot], keys: KeyIndex, digest: Callable[[Snapshot], str]
    ) -> None:
        self.plan = plan
        self.snapshots = snapshots
        self._keys = keys
        self._digest = digest
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

    @functools.cached_property
    def uncached(self) -> str | None:
        """Why its result is not kept; None if it can be."""
        if self.plan.spine is None and not self.plan.lookups:
            return "it joins nothing"
        return self.passing

    @functools.cached_property
    def passing(self) -> str | None:
        """Why its plan and its snapshots do not tell which rows it gives; None if they do."""
        if self.plan.spine is not None:
            return "it is of rows that the caller sends"
        if self.plan.latest or self.plan.feed:
            return "it is of what has changed"
        if self.plan.now is not None:
            return "it is of the time of its call"
        for side in self.plan.scans:
            snapshot = self.snapshots.get(side)
            definition = self.plan.resolved.sides[side].definition
            if snapshot is None:
                return f"{definition.ref} has no snapshot yet"
            if definition.external is not None and definition.external.freshness is None:
                return f"{definition.ref} is of another database, which may change at any time, and has no freshness="
            if not snapshot.lasting:
                return f"files of {definition.ref} may be replaced by others of their names"
        return None

    @property
    def until(self) -> Period | None:
        """When a result that is kept now ceases to be given; None where the snapshots tell that."""
        return min(map(period, self._freshness), key=lambda one: one.ends, default=None)

    @functools.cached_property
    def _freshness(self) -> list[int]:
        """Of its tables in other databases, in microseconds."""
        external = (self.plan.resolved.sides[side].definition.external for side in self.plan.scans)
        return [
            source.freshness for source in external if source is not None and source.freshness is not None
        ]

    @property
    def canonical(self) -> Canonical | None:
        """What its result is kept under now; None if it is not."""
        return None if self.uncached is not None else self._form()

    @property
    def content(self) -> str | None:
        """Equal for reads that give the same rows in the same columns; None where that cannot be told."""
        if self.passing is not None:
            return None
        form = self._form()
        columns = [[f.name, str(f.type)] for f in self.plan.schema]
        return hash_of([form.key, form.columns, columns, self.plan.limit])

    def _form(self) -> Canonical:
        return canonical(self.plan, self._table) if self._freshness else self._lasting_form

    @functools.cached_property
    def _lasting_form(self) -> Canonical:
        return canonical(self.plan, self._table)

    def _table(self, side: int) -> str:
        definition = self.plan.resolved.sides[side].definition
        snapshot = self.snapshots[side]
        if definition.external is None or definition.external.freshness is None:
            return f"{definition.location or definition.ref} {self._digest(snapshot)}"
        assert isinstance(snapshot, StreamedSnapshot)
        columns = [[f.name, str(f.type)] for f in snapshot.schema]
        form = hash_of([msgspec.to_builtins(definition), snapshot.origin, columns])
        return f"{form} {period(definition.external.freshness)}"
