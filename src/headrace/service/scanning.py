"""What a planned read scans, and what is known of the rows there."""

from __future__ import annotations

import dataclasses

import pyarrow as pa

from headrace.engine.duck import Engine
from headrace.engine.kept import Kept
from headrace.engine.key_index import KeyIndex
from headrace.engine.session import Session
from headrace.errors import AmbiguousRows
from headrace.formats.base import Snapshot
from headrace.formats.streamed import Batches, StreamedSnapshot
from headrace.model.expression import IsNull, Ref
from headrace.model.expression_sql import identifier
from headrace.planning.facts import Facts, duplicates_query, unique_columns
from headrace.planning.side_sql import side_sql
from headrace.service.ambiguity import ambiguous_rows
from headrace.service.planned import Planned
from headrace.service.record import FileCount

_KEPT_FACTS = 1024
_ROWS = "__headrace_rows"


class Scanner:
    """Tells it of the reads of one project, and keeps what it took a statement to know."""

    def __init__(self, engine: Engine, keys: KeyIndex) -> None:
        self._engine = engine
        self._keys = keys
        self._unique: Kept[bool] = Kept(_KEPT_FACTS)

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

    def straight(self, planned: Planned, share: tuple[int, int]) -> Batches | None:
        """The result, where it needs no engine: all rows of one table, as they come."""
        plan, snapshot = planned.plan, planned.snapshots.get(0)
        if not isinstance(snapshot, StreamedSnapshot) or plan.spine or plan.lookups or plan.latest:
            return None
        if plan.filters or plan.conditions[0] or plan.start or plan.end or plan.parts or plan.ordered:
            return None
        columns = plan.stored_columns
        if columns is None or plan.limit is not None or len(columns) != len(plan.schema):
            return None
        return snapshot.batches(columns, (), _share(snapshot, snapshot.files, share))

    def count(self, planned: Planned, share: tuple[int, int]) -> FileCount:
        """The files that are read, and those that were ruled out before, which the first share counts."""
        scanned = pruned = 0
        for side, snapshot in planned.snapshots.items():
            found = planned.found(side)
            files = planned.files(side) if found is None else found.files
            scanned += _share(snapshot, files, share).num_rows
            pruned += snapshot.files.num_rows - files.num_rows if share[0] == 0 else 0
        return FileCount(scanned, pruned)

    def facts(
        self, planned: Planned, scale: int, spine_scale: int, session: Session, share: tuple[int, int]
    ) -> Facts:
        """What the statements are written with. `share` says which part, of how many, is scanned."""
        relations = self._relations(planned, session, share)
        return Facts(relations, self._unique_sides(planned, session), scale, spine_scale)

    def _relations(self, planned: Planned, session: Session, share: tuple[int, int]) -> dict[int, str]:
        """SQL for the rows of each side: those that the index knows, or its files."""
        relations = {}
        for side, snapshot in planned.snapshots.items():
            found = planned.found(side)
            files = planned.files(side) if found is None else found.files
            rows = None if found is None else self._keys.rows(snapshot, found, planned.plan.scans[side])
            files = _share(snapshot, files, share)
            if rows is None:
                relations[side] = session.relation(snapshot, files, planned.plan.conditions[side])
            else:
                relations[side] = f"{_ROWS}{side}"
                session.register(relations[side], rows)
        return relations

    def _unique_sides(self, planned: Planned, session: Session) -> frozenset[int]:
        """The sides with one row per identity, of those of which the plan makes use of it."""
        plan = planned.plan
        columns = {lookup.side: unique_columns(plan, lookup) for lookup in plan.lookups}
        if plan.ordered and plan.spine is None:
            columns[0] = plan.resolved.root.definition.identity
        return frozenset(
            side for side, names in columns.items() if self._is_unique(planned, side, names, session)
        )

    def _is_unique(self, planned: Planned, side: int, columns: tuple[str, ...], session: Session) -> bool:
        """Whether `columns` identify a row of the side's snapshot: told by its log, or counted once."""
        definition, snapshot = planned.plan.resolved.sides[side].definition, planned.snapshots[side]
        if snapshot.unique_by(columns):
            return True
        if isinstance(snapshot, StreamedSnapshot):  # whose rows may be others by the time that they are read
            return False
        # The size, too: of Hudi's older tables a commit may be complete later, and of a time before the newest.
        key = (definition.location or definition.ref, snapshot.version, snapshot.size_bytes, columns)
        known = self._unique.get(key)
        if known is None:
            known = not session.rows(duplicates_query(snapshot.relation(), columns))
            self._unique.put(key, known)
        return known

    def ambiguity(self, planned: Planned, facts: Facts, side: int) -> AmbiguousRows:
        """The error to raise where a row found several of the side at once, with examples of them."""
        plan, examples = planned.plan, []
        lookup = next((x for x in plan.lookups if x.side == side), None)
        if lookup is not None:
            names = ", ".join(identifier("k_" + key) for _, key in lookup.on) or "true AS whole"
            # In another session, for the first is still at it; what was registered there is not known here.
            with self._engine.session() as session:
                there = dataclasses.replace(facts, relations=self._relations(planned, session, (0, 1)))
                found = session.rows(
                    f"SELECT {names} FROM ({side_sql(plan, lookup, there)}) WHERE ambiguous LIMIT 3"
                )
            examples = [{k.removeprefix("k_"): v for k, v in row.items()} for row in found]
        return ambiguous_rows(plan, side, examples)

    def timeless(self, planned: Planned) -> dict[int, int]:
        """How many rows of tables that others wrote have no event time, and so can never be found."""
        found = {}
        for lookup in planned.plan.lookups:
            definition = planned.plan.resolved.sides[lookup.side].definition
            if definition.adopted and definition.event_time and lookup.kind == "point in time":
                is_null = IsNull(Ref(definition.event_time))
                with self._engine.session() as session:
                    relation = session.relation(planned.snapshots[lookup.side], conditions=[is_null])
                    time = identifier(definition.event_time)
                    (row,) = session.rows(f"SELECT count(*) AS n FROM {relation} WHERE {time} IS NULL")
                found[lookup.side] = row["n"]
        return found


def _share(snapshot: Snapshot, files: pa.Table, share: tuple[int, int]) -> pa.Table:
    """Those of the files that are of one part, of so many."""
    part, parts = share
    if parts == 1:
        return files
    shares = snapshot.split(files, parts)
    return shares[part] if part < len(shares) else files.slice(0, 0)
