"""Reads: prepared (checked and pinned to snapshots), then streamed."""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping

import msgspec
import numpy as np
import pyarrow as pa

from headrace.calls import Calls
from headrace.engine.duck import Engine, Session, translated
from headrace.engine.kept import Kept
from headrace.engine.key_index import KeyIndex
from headrace.errors import (
    AmbiguousRows,
    CorruptTable,
    HeadraceError,
    InvalidArgument,
    NotFound,
    SchemaMismatch,
    Unavailable,
)
from headrace.formats.base import Snapshot
from headrace.formats.delta import DeltaLog
from headrace.model.definition import GroupDefinition, ViewDefinition, read_schema, write_schema
from headrace.model.expression_sql import identifier
from headrace.model.leakage import check_labels
from headrace.model.name import parse_reference
from headrace.model.query import ENTITIES, Query, Source, groups_of
from headrace.model.request import Prepared, ReadRequest
from headrace.model.resolve import Resolved, resolve
from headrace.planning.duckdb_sql import (
    SPINE,
    Facts,
    Program,
    duplicates_query,
    needs_nanos,
    render,
    side_sql,
    unique_columns,
)
from headrace.planning.plan import Plan, make_plan
from headrace.protocol import BATCH_ROWS
from headrace.service.assembly import Assembly, engine_spine
from headrace.service.explanation import explain, warnings_of
from headrace.service.pinning import (
    groups_at,
    later_schemas,
    pin,
    pinned_snapshot,
    snapshot_of,
    snapshots_of,
    with_columns_of,
)
from headrace.service.planned import Planned

_MOST_SCANS_AT_ONCE = 4
_KEPT_PLANS = 16
_KEPT_FACTS = 1024
_ROWS = "__headrace_rows"


class Reader:
    """Reads of one project.

    Args:
        table: gives a feature group and its table's log by name and version.
        view: gives a feature view by name and version.
    """

    def __init__(
        self,
        calls: Calls,
        engine: Engine,
        keys: KeyIndex,
        table: Callable[[str, int | None], tuple[GroupDefinition, DeltaLog]],
        view: Callable[[str, int | None], ViewDefinition],
    ) -> None:
        self.calls = calls
        self.engine = engine
        self._table = table
        self._view = view
        self._keys = keys
        self._unique: Kept[bool] = Kept(_KEPT_FACTS)
        # A read is prepared, split and run in calls of their own, which need not all plan it.
        self._plans: Kept[Planned] = Kept(_KEPT_PLANS)

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
        with self.told(definition for definition, _ in tables.values()):
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
        plan = self._make(request, resolved, snapshots).plan
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

    @contextlib.contextmanager
    def told(self, definitions: Iterable[GroupDefinition]) -> Iterator[None]:
        """A table that is not as it should be may be one that was deleted since."""
        try:
            yield
        except (CorruptTable, Unavailable):
            deleted = self.deleted(definitions)
            if deleted is not None:
                raise deleted from None
            raise

    def deleted(self, definitions: Iterable[GroupDefinition]) -> NotFound | None:
        """The error to raise if one of the groups was deleted since: what its files do then tells nothing."""
        for was in definitions:
            try:
                there = self._table(was.name, was.version)[0].location == was.location
            except NotFound:
                there = False
            except HeadraceError:
                continue  # the registry does not tell
            if not there:
                return NotFound(f"feature group {was.ref} was deleted meanwhile")
        return None

    def run(self, prepared: Prepared, spine: pa.Table | None, part: int = 0, parts: int = 1) -> Running:
        if not 0 <= part < parts <= _MOST_SCANS_AT_ONCE:
            raise InvalidArgument(f"the read has no part {part} of {parts}")
        planned = self._planned(prepared.request)
        expected = planned.plan.spine
        if (spine is None) != (expected is None):
            raise InvalidArgument(
                "the read was prepared with a spine and run without, or the other way round"
            )
        if spine is not None and expected is not None and spine.schema != expected.schema:
            raise SchemaMismatch(
                "the spine has other columns, or of other types, than the one that the read was prepared for",
                hint="prepare the read with this spine",
            )
        return Running(self, planned, spine, (part, parts))

    def parts(self, prepared: Prepared) -> int:
        """Into how many streams the read can be split without running anything twice."""
        planned = self._planned(prepared.request)
        plan = planned.plan
        if plan.spine or plan.lookups or plan.limit is not None or plan.latest or plan.feed:
            return 1
        if plan.parts or plan.ordered or planned.found(0) is not None:
            return 1
        # More streams than threads take turns, and are slower than as many.
        files: int = planned.files(0).num_rows
        return max(1, min(_MOST_SCANS_AT_ONCE, self.engine.threads, files))

    def reference(self, name: str) -> str:
        """The whole reference of a group, `flights@v1`, of which the name may be all that is given. Raises NotFound."""
        definition, _ = self._table(*parse_reference(name))
        return definition.ref

    def scan_of(self, request: ReadRequest) -> tuple[Plan, Snapshot | None]:
        """The plan of a pinned read of one table, and the snapshot that it is of; None before the first."""
        planned = self._planned(request)
        return planned.plan, planned.snapshots.get(0)

    def plan_of(self, request: ReadRequest) -> tuple[Plan, Snapshot]:
        """As `scan_of`, where there must be a snapshot."""
        planned = self._planned(request)
        snapshot = planned.snapshots.get(0)
        if snapshot is None:
            raise InvalidArgument(f"{planned.plan.resolved.root.definition.ref} has no rows yet")
        return planned.plan, snapshot

    def explain(self, request: ReadRequest) -> str:
        prepared = self.prepare(request)
        planned = self._planned(prepared.request)
        return explain(prepared, planned.plan, planned.snapshots, self._timeless(planned))

    def _timeless(self, planned: Planned) -> dict[int, int]:
        """How many rows of tables that others wrote have no event time, and so can never be found."""
        found = {}
        for lookup in planned.plan.lookups:
            definition = planned.plan.resolved.sides[lookup.side].definition
            if definition.adopted and definition.event_time and lookup.kind == "point in time":
                relation, time = planned.snapshots[lookup.side].relation(), identifier(definition.event_time)
                with self.engine.session() as session:
                    (row,) = session.rows(f"SELECT count(*) AS n FROM {relation} WHERE {time} IS NULL")
                found[lookup.side] = row["n"]
        return found

    def _tables(
        self, query: Query, locations: Mapping[str, str]
    ) -> dict[str, tuple[GroupDefinition, DeltaLog]]:
        tables = {ref: self._table(*parse_reference(ref)) for ref in groups_of(query)}
        for ref, (definition, _) in tables.items():
            if locations.get(ref, definition.location) != definition.location:
                raise NotFound(f"feature group {ref} was deleted meanwhile, and made again")
        return tables

    def _planned(self, request: ReadRequest) -> Planned:
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
        planned = Planned(plan, {side: s for side, s in scanned.items() if s is not None}, self._keys)
        if len(planned.snapshots) == len(scanned):
            self._plans.put(msgspec.msgpack.encode(request), planned)
        return planned

    def known(self, planned: Planned) -> pa.Table | None:
        """The result, where it needs no engine: rows of one table that the index knows one by one."""
        plan = planned.plan
        if plan.spine or plan.lookups or plan.latest or plan.filters or plan.start or plan.end:
            return None
        if plan.parts or plan.ordered:
            return None
        found = planned.found(0)
        columns = plan.stored_columns
        if found is None or found.exact is None or columns is None:
            return None
        rows = self._keys.rows(planned.snapshots[0], found, list(dict.fromkeys(columns)))
        if rows is None:
            return None
        return rows.select(columns).rename_columns(plan.schema.names).cast(plan.schema).slice(0, plan.limit)

    def facts(
        self, planned: Planned, scale: int, spine_scale: int, session: Session, share: tuple[int, int]
    ) -> Facts:
        plan, (part, parts) = planned.plan, share
        relations = {}
        for side, snapshot in planned.snapshots.items():
            found = planned.found(side)
            files = planned.files(side) if found is None else found.files
            rows = None if found is None else self._keys.rows(snapshot, found, plan.scans[side])
            if parts > 1:
                shares = snapshot.split(files, parts)
                files = shares[part] if part < len(shares) else files.slice(0, 0)
            if rows is None:
                relations[side] = snapshot.relation(files)
            else:
                relations[side] = f"{_ROWS}{side}"
                session.register(relations[side], rows)
        unique = set()
        if plan.ordered and plan.spine is None:
            root = plan.resolved.root.definition
            if self._is_unique(root.ref, planned.snapshots[0], root.identity, plan.resolved, 0, session):
                unique.add(0)
        for lookup in plan.lookups:
            columns = unique_columns(plan, lookup)
            ref = plan.resolved.sides[lookup.side].definition.ref
            if self._is_unique(
                ref, planned.snapshots[lookup.side], columns, plan.resolved, lookup.side, session
            ):
                unique.add(lookup.side)
        return Facts(relations, frozenset(unique), scale, spine_scale)

    def _is_unique(
        self,
        ref: str,
        snapshot: Snapshot,
        columns: tuple[str, ...],
        resolved: Resolved,
        side: int,
        session: Session,
    ) -> bool:
        """Whether `columns` identify a row of the snapshot: told by its log, or counted once."""
        identity = resolved.sides[side].definition.identity
        if identity and snapshot.unique and set(identity) <= set(columns):
            return True
        key = (resolved.sides[side].definition.location or ref, snapshot.version, columns)
        known = self._unique.get(key)
        if known is None:
            known = not session.rows(duplicates_query(snapshot.relation(), columns))
            self._unique.put(key, known)
        return known

    def ambiguity(self, plan: Plan, facts: Facts, side: int) -> AmbiguousRows:
        definition = plan.resolved.sides[side].definition
        examples = []
        lookup = next((x for x in plan.lookups if x.side == side), None)
        if lookup is not None:
            names = ", ".join(identifier("k_" + key) for _, key in lookup.on) or "true AS whole"
            with self.engine.session() as session:
                found = session.rows(
                    f"SELECT {names} FROM ({side_sql(plan, lookup, facts)}) WHERE ambiguous LIMIT 3"
                )
            examples = [{k.removeprefix("k_"): v for k, v in row.items()} for row in found]
        shown = "; ".join(", ".join(f"{k}={v!r}" for k, v in row.items()) for row in examples)
        timeless = lookup is not None and lookup.kind == "plain" and definition.event_time is not None
        what = "key and event time" if definition.event_time and not timeless else "key"
        return AmbiguousRows(
            f"{definition.ref} has several different rows for the same {what}"
            + (f", such as {shown}" if shown else ""),
            hint="the join takes no account of time, so leave point_in_time=False out or filter the group first"
            if timeless
            else "declare created_time or tie_breaker, or insert with mode='upsert'",
            details={"feature_group": definition.ref, "examples": [str(e) for e in examples]},
        )


class Running:
    """One run of a read, on an engine session of its own. Nothing happens before the first row is asked for."""

    def __init__(
        self,
        reader: Reader,
        planned: Planned,
        spine: pa.Table | None,
        share: tuple[int, int],
    ) -> None:
        self._reader = reader
        self._planned = planned
        self._plan = planned.plan
        self.schema = planned.plan.schema
        self._spine = spine
        self._share = share
        self._session = reader.engine.open()

    def cancel(self) -> None:
        """Stop; from any thread. The batches then end in `Cancelled`."""
        self._session.interrupt()

    def batches(self, batch_rows: int = BATCH_ROWS) -> Generator[pa.RecordBatch, None, None]:
        """The rows as they are made. Once only; closing the iterator stops the work."""
        return self._reader.calls.steps(self._batches(batch_rows))

    def _batches(self, batch_rows: int) -> Generator[pa.RecordBatch, None, None]:
        with self._ending():
            known = self._reader.known(self._planned)
            if known is None:
                yield from self._rows(*self._start(), batch_rows)
            else:
                yield from known.combine_chunks().to_batches(batch_rows)

    def table(self) -> pa.Table:
        """All rows at once, made by all threads of the engine. Once only."""
        with self._ending():
            known = self._reader.known(self._planned)
            if known is not None:
                return known
            facts, program = self._start()
            if (
                len(program.outputs) == len(self.schema)
                and not program.ambiguous
                and len(self._plan.parts) < 2
            ):
                found = self._session.table(program.query)
                return found.rename_columns(self.schema.names).cast(self.schema)
            return pa.Table.from_batches(self._rows(facts, program, BATCH_ROWS), self.schema)

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    def in_parts(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The rows as they are made, each batch with the number of the part that it is of. Once only."""
        with self._ending():
            facts, program = self._start()
            several = len(self._plan.parts) > 1
            for batch, told in self._told(facts, program, BATCH_ROWS):
                yield from _by_part(batch, told.column(told.num_columns - 1)) if several else [(0, batch)]

    @contextlib.contextmanager
    def _ending(self) -> Iterator[None]:
        try:
            sides = self._plan.resolved.sides
            with self._reader.told(s.definition for s in sides if s.source.group != ENTITIES):
                yield
        finally:
            self._session.close()

    def _rows(self, facts: Facts, program: Program, batch_rows: int) -> Iterator[pa.RecordBatch]:
        return (batch for batch, _ in self._told(facts, program, batch_rows))

    def _told(
        self, facts: Facts, program: Program, batch_rows: int
    ) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
        """Batches of the result, each with the engine's that it was made of."""
        assembly = Assembly(self._plan, program, self._spine)
        with translated():
            for batch in self._session.stream(program.query, batch_rows):
                side = assembly.ambiguous_side(batch)
                if side is not None:
                    raise self._reader.ambiguity(self._plan, facts, side)
                yield assembly.batch(batch), batch

    def _start(self) -> tuple[Facts, Program]:
        """Everything before the statement whose rows are the result."""
        plan, scale = self._plan, 1000 if needs_nanos(self._plan) else 1
        spine_scale = scale
        if self._spine is not None:
            columns, nanos = engine_spine(plan, self._spine)
            if nanos:
                scale, spine_scale = 1000, 1
            self._session.register(SPINE, columns)
        facts = self._reader.facts(self._planned, scale, spine_scale, self._session, self._share)
        program = render(plan, facts)
        for stage in program.stages:
            self._session.execute(stage)
        return facts, program


def _by_part(batch: pa.RecordBatch, parts: pa.Array) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The batch, whose rows come part by part, cut where a part ends."""
    numbers = parts.to_numpy()
    cuts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
    for start, end in itertools.pairwise(cuts):
        if end > start:
            yield int(numbers[start]), batch.slice(start, end - start)


def _spine(request: ReadRequest) -> pa.Schema | None:
    """The columns of the rows that the caller will send."""
    try:
        return None if request.spine_schema is None else read_schema(request.spine_schema)
    except (pa.ArrowException, OSError) as error:
        raise InvalidArgument(f"the spine's schema cannot be read: {error}") from None
