"""Reads: prepared (checked and pinned to snapshots), then streamed."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from headrace.backend import Spine
from headrace.cache.period import Period
from headrace.calls import Calls
from headrace.engine.duck import Engine
from headrace.engine.kept import Kept
from headrace.engine.key_index import KeyIndex
from headrace.errors import (
    Conflict,
    CorruptTable,
    HeadraceError,
    InvalidArgument,
    NotFound,
    SchemaMismatch,
    SnapshotNotFound,
)
from headrace.formats.base import Snapshot
from headrace.formats.table import Table
from headrace.model.definition import GroupDefinition, ViewDefinition, read_schema, write_schema
from headrace.model.leakage import check_labels
from headrace.model.name import parse_reference
from headrace.model.query import ENTITIES, Query, Source, groups_of
from headrace.model.request import Prepared, ReadRequest
from headrace.model.resolve import resolve
from headrace.model.resolved import Resolved
from headrace.planning.canonical import Canonical
from headrace.planning.plan import Plan, make_plan
from headrace.service.digests import Digests
from headrace.service.explanation import explain, warnings_of
from headrace.service.groups import Groups
from headrace.service.pinning import (
    check_kept,
    groups_at,
    later_schemas,
    pin,
    pinned_snapshot,
    snapshot_of,
    snapshots_of,
    with_columns_of,
)
from headrace.service.planned import Planned
from headrace.service.running import Running
from headrace.service.scanning import Scanner
from headrace.service.spark_choice import SparkChoice, check_on_spark, chosen, session_of
from headrace.service.spark_running import SparkRunning

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MOST_SCANS_AT_ONCE = 4
_KEPT_PLANS = 128


class Reader:
    """Reads of one project.

    Args:
        view: gives a feature view by name and version.
        spark: runs what is asked of Spark, or is large.
    """

    def __init__(
        self,
        calls: Calls,
        engine: Engine,
        keys: KeyIndex,
        groups: Groups,
        view: Callable[[str, int | None], ViewDefinition],
        spark: SparkChoice | None = None,
    ) -> None:
        self._spark = spark
        self.calls = calls
        self.engine = engine
        self._groups = groups
        self._view = view
        self._keys = keys
        self._scanner = Scanner(engine, keys)
        # A read is prepared, split and run in calls of their own, which need not all plan it.
        self._plans: Kept[Planned] = Kept(_KEPT_PLANS)
        self._digests = Digests()

    def prepare(self, request: ReadRequest) -> Prepared:
        query, labels = request.query, request.labels
        if request.view is not None and query is None:
            view = self._view(*parse_reference(request.view))
            query, labels = view.query, view.labels
        if query is None:
            raise InvalidArgument("a read needs a query or a feature view")
        now = request.now or dt.datetime.now(dt.UTC)
        as_of = request.point_in_time.as_of
        tables = self._tables(query, request.locations)
        if request.now is None:
            check_kept(query, tables)
        with self._groups.used(definition for definition, _ in tables.values()):
            pinned, snapshots = pin(
                query, lambda source: snapshot_of(source, *tables[source.group], as_of, now)
            )
            # A request that was prepared before says what it was prepared for.
            schemas = later_schemas(tables, snapshots) if request.now is None else request.schemas
            groups = groups_at(tables, snapshots, schemas, _spine(request))
        snapshots = with_columns_of(groups, snapshots)
        resolved = resolve(pinned, groups)
        if labels:
            check_labels(resolved, labels, request.point_in_time.min_age)
        locations = {ref: definition.location for ref, (definition, _) in tables.items()}
        request = msgspec.structs.replace(
            request, query=pinned, labels=labels, now=now, locations=locations, schemas=schemas
        )
        planned = self._make(request, resolved, snapshots)
        plan = planned.plan
        if chosen(self._spark, request, planned).engine == "spark":
            options = msgspec.structs.replace(request.point_in_time, engine="spark")
            request = msgspec.structs.replace(request, point_in_time=options)
        names = [f.name for f in resolved.fields]
        held = set(plan.schema.names)
        return Prepared(
            request=request,
            schema_ipc=write_schema(plan.schema),
            features=tuple(n for n in names if n not in labels),
            labels=tuple(n for n in labels if n in held),
            snapshots=snapshots_of(pinned),
            warnings=warnings_of(plan),
        )

    def run(
        self, prepared: Prepared, spine: Spine | None, part: int = 0, parts: int = 1
    ) -> Running | SparkRunning:
        return self.running(prepared.request, spine, part, parts)

    def running(
        self, request: ReadRequest, spine: Spine | None = None, part: int = 0, parts: int = 1
    ) -> Running | SparkRunning:
        """One run of a pinned read."""
        if not 0 <= part < parts <= _MOST_SCANS_AT_ONCE:
            raise InvalidArgument(f"the read has no part {part} of {parts}")
        planned = self.check_spine(request, _columns_of(spine, request))
        if request.point_in_time.engine == "spark":
            return self._on_spark(planned, spine)
        return Running(
            planned,
            spine,
            (part, parts),
            self._scanner,
            self.engine.open(),
            self.calls,
            lambda: self._running(planned),
        )

    def frame(self, request: ReadRequest, spine: Spine | None) -> DataFrame:
        """The result of a pinned read as a frame of Spark's, which runs nothing."""
        planned = self.check_spine(request, _columns_of(spine, request))
        check_on_spark(self._spark, planned)
        return self._on_spark(planned, spine).frame()

    def _on_spark(self, planned: Planned, spine: Spine | None) -> SparkRunning:
        return SparkRunning(
            planned,
            spine,
            session_of(self._spark),
            lambda definition: self._groups.table(definition.name, definition.version)[1].table,
            self.calls,
            lambda: self._running(planned),
        )

    def check_spine(self, request: ReadRequest, given: pa.Schema | None) -> Planned:
        """The plan of a pinned read that the caller may run with such a spine.

        Raises:
            NotFound: a group was deleted since. SchemaMismatch, InvalidArgument: it was prepared for another spine.
        """
        planned = self.planned(request)
        self.check_there(request)
        expected = planned.plan.spine
        if (given is None) != (expected is None):
            raise InvalidArgument(
                "the read was prepared with a spine and run without, or the other way round"
            )
        if given is not None and expected is not None and given != expected.schema:
            raise SchemaMismatch(
                "the spine has other columns, or of other types, than the one that the read was prepared for",
                hint="prepare the read with this spine",
            )
        return planned

    def reading(self, request: ReadRequest) -> AbstractContextManager[None]:
        """Around what reads the tables of a pinned request otherwise than by `running`: what has become of them
        meanwhile is told. Raises Conflict, NotFound.
        """
        return self._running(self.planned(request))

    @contextlib.contextmanager
    def _running(self, planned: Planned) -> Iterator[None]:
        sides = planned.plan.resolved.sides
        with self._groups.used(side.definition for side in sides if side.source.group != ENTITIES):
            try:
                yield
                self._check_unchanged(planned)
            except CorruptTable:
                cleaned = self._cleaned(planned)
                if cleaned is not None:
                    raise cleaned from None
                raise

    def _check_unchanged(self, planned: Planned) -> None:
        """Raises Conflict if files were replaced as they were read: some rows may be of others than the rest."""
        for side, snapshot in planned.snapshots.items():
            if snapshot.lasting:
                continue
            definition = planned.plan.resolved.sides[side].definition
            newest = self._groups.table(definition.name, definition.version)[1].newest()
            if newest is None or newest.version != snapshot.version:
                raise Conflict(
                    f"{definition.ref}: files were added, replaced or removed as they were read",
                    hint="read it again",
                )

    def _cleaned(self, planned: Planned) -> Conflict | None:
        """The error to raise if a table went on meanwhile, and files were removed that it no longer needs."""
        for side, snapshot in planned.snapshots.items():
            definition = planned.plan.resolved.sides[side].definition
            try:
                table = self._groups.table(definition.name, definition.version)[1]
                newest = table.newest()
                if newest is not None and newest.version != snapshot.version:
                    table.whole_at(snapshot.version)
            except SnapshotNotFound:
                return Conflict(
                    f"{definition.ref}: files of snapshot {snapshot.version} were removed as it was read",
                    hint="read it again: the newest snapshot is another",
                )
            except HeadraceError:
                continue  # which says nothing of its files
        return None

    def parts(self, prepared: Prepared) -> int:
        """Into how many streams the read can be split without running anything twice."""
        planned = self.planned(prepared.request)
        plan = planned.plan
        if plan.spine or plan.lookups or plan.limit is not None or plan.latest or plan.feed:
            return 1
        if plan.parts or plan.ordered or prepared.request.point_in_time.engine == "spark":
            return 1
        if planned.found(0) is not None:
            return 1
        # More streams than threads take turns, and are slower than as many.
        files: int = planned.files(0).num_rows
        return max(1, min(_MOST_SCANS_AT_ONCE, self.engine.threads, files))

    def is_small(self, prepared: Prepared) -> bool:
        """Whether the index has found the few rows that it asks for, so that no engine need look for them."""
        planned = self.planned(prepared.request)
        plan = planned.plan
        if plan.spine or plan.lookups or plan.feed or plan.parts:
            return False
        return prepared.request.point_in_time.engine != "spark" and planned.found(0) is not None

    def check_there(self, request: ReadRequest) -> None:
        """Raises NotFound if a group of a pinned read was deleted since, or may not be seen any more.

        Its rows may still be there: those of an adopted table are.
        """
        if request.query is not None:
            self._tables(request.query, request.locations)

    def check_kept(self, request: ReadRequest) -> None:
        """Raises Unsupported if what a prepared read was of is kept nowhere."""
        if request.query is not None:
            check_kept(request.query, self._tables(request.query, request.locations))

    def is_newest(self, request: ReadRequest) -> bool:
        """Whether the tables of a prepared query in SQL are groups, each at the snapshot that is the newest now."""
        try:
            for label, pinned in request.tables.items():
                definition, table = self._groups.table(*parse_reference(label))
                newest = table.newest()
                source = None if pinned.query is None else pinned.query.source
                if (
                    pinned.kind == "training"
                    or source is None
                    or newest is None
                    or source.group != definition.ref
                ):
                    return False
                if (
                    source.snapshot != newest.version
                    or pinned.locations.get(source.group) != definition.location
                ):
                    return False
                if not newest.lasting or definition.external is not None:  # whose columns may be others now
                    return False
        except HeadraceError:
            return False
        return True

    def reference(self, name: str) -> str:
        """The whole reference of a group, `flights@v1`, of which the name may be all that is given. Raises NotFound."""
        definition, _ = self._groups.table(*parse_reference(name))
        return definition.ref

    def view_reference(self, name: str) -> str:
        """As `reference`, of a feature view."""
        return self._view(*parse_reference(name)).ref

    def schema_of(self, request: ReadRequest) -> pa.Schema:
        """The columns of a pinned read."""
        return self.planned(request).plan.schema

    def canonical(self, request: ReadRequest) -> Canonical | None:
        """What the result of a pinned read is kept under; None if it is not."""
        return self.planned(request).canonical

    def content(self, request: ReadRequest) -> str | None:
        """Equal for pinned reads that give the same rows; None where that cannot be told. Raises as `check_there`."""
        self.check_there(request)
        return self.planned(request).content

    def passing(self, request: ReadRequest) -> str | None:
        """Why it cannot be told which rows a pinned read gives."""
        return self.planned(request).passing

    def until(self, request: ReadRequest) -> Period | None:
        """When a kept result of a pinned read ceases to be given; None where its snapshots tell that."""
        return self.planned(request).until

    def scan_of(self, request: ReadRequest) -> tuple[Plan, Snapshot | None]:
        """The plan of a pinned read of one table, and the snapshot that it is of; None before the first."""
        planned = self.planned(request)
        self.check_there(request)
        return planned.plan, planned.snapshots.get(0)

    def plan_of(self, request: ReadRequest) -> tuple[Plan, Snapshot]:
        """As `scan_of`, where there must be a snapshot."""
        planned = self.planned(request)
        self.check_there(request)
        snapshot = planned.snapshots.get(0)
        if snapshot is None:
            raise InvalidArgument(f"{planned.plan.resolved.root.definition.ref} has no rows yet")
        return planned.plan, snapshot

    def explain(self, request: ReadRequest) -> str:
        prepared = self.prepare(request)
        planned = self.planned(prepared.request)
        choice = chosen(self._spark, prepared.request, planned)
        return explain(prepared, planned.plan, planned.snapshots, self._scanner.timeless(planned), choice)

    def _tables(self, query: Query, locations: Mapping[str, str]) -> dict[str, tuple[GroupDefinition, Table]]:
        tables = {ref: self._groups.table(*parse_reference(ref)) for ref in groups_of(query)}
        for ref, (definition, _) in tables.items():
            if locations.get(ref, definition.location) != definition.location:
                raise NotFound(f"feature group {ref} was deleted meanwhile, and made again")
        return tables

    def planned(self, request: ReadRequest) -> Planned:
        """The plan of a pinned request."""
        kept = self._plans.get(msgspec.msgpack.encode(request))
        if kept is not None:
            return kept
        if request.query is None:
            raise InvalidArgument("the read is not prepared: it names no query")
        tables = self._tables(request.query, request.locations)
        pinned, found = pin(request.query, lambda source: pinned_snapshot(source, *tables[source.group]))
        groups = groups_at(tables, found, request.schemas, _spine(request))
        return self._make(request, resolve(pinned, groups), with_columns_of(groups, found))

    def _make(self, request: ReadRequest, resolved: Resolved, snapshots: dict[Source, Snapshot]) -> Planned:
        plan = make_plan(request, resolved, _spine(request))
        # An empty table without a snapshot is scanned by nobody: its read is refused when it is run.
        scanned = {side: snapshots.get(resolved.sides[side].source) for side in plan.scans}
        planned = Planned(
            plan, {side: s for side, s in scanned.items() if s is not None}, self._keys, self._digests.of
        )
        if len(planned.snapshots) == len(scanned):
            self._plans.put(msgspec.msgpack.encode(request), planned)
        return planned


def _columns_of(spine: Spine | None, request: ReadRequest) -> pa.Schema | None:
    """Of a frame of Spark's, those that it had when the read was prepared: it never changes."""
    if spine is None:
        return None
    return spine.schema if isinstance(spine, pa.Table) else _spine(request)


def _spine(request: ReadRequest) -> pa.Schema | None:
    """The columns of the rows that the caller will send."""
    try:
        return None if request.spine_schema is None else read_schema(request.spine_schema)
    except (pa.ArrowException, OSError) as error:
        raise InvalidArgument(f"the spine's schema cannot be read: {error}") from None
