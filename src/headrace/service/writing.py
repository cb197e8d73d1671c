"""Writes to one feature group: one commit or nothing, safe against other writers and unknown outcomes."""

from __future__ import annotations

import dataclasses
import datetime as dt
import random
import time
from collections.abc import Callable, Iterator

import pyarrow as pa

from headrace.engine.duck import Engine, translated
from headrace.errors import Conflict, InvalidArgument
from headrace.formats.attempt import attempt
from headrace.formats.base import Snapshot
from headrace.formats.delta import DeltaLog
from headrace.formats.delta_write import Write
from headrace.model.coerce import coerce
from headrace.model.definition import Commit, GroupDefinition, nothing
from headrace.model.expression import (
    And,
    Compare,
    Condition,
    IsIn,
    IsNull,
    Or,
    Ref,
    Value,
    columns_of,
    to_value,
)
from headrace.model.expression_sql import condition_sql, identifier
from headrace.protocol import BATCH_ROWS, InsertMode
from headrace.service.evolution import evolved, widened
from headrace.service.ingest import Intake, check_key_frame, duplicate_problem, refuse
from headrace.service.overwriting import Overwriting
from headrace.storage.local import LocalStorage

_ATTEMPTS = 20
_INCOMING = "__headrace_incoming"
_MARK = "__headrace_old"
# A change of few rows writes anew the files that they are in: of a table in 64 files these are few, too, and files
# of less than a megabyte are not worth their place in the log. Of more rows the condition takes the wheel longer to
# plan than a merge takes.
_FEW_ROWS = 30
_FEW_PARTITIONS = 64
_FILES = 64
_LEAST_FILE_BYTES = 1 << 20
_MOST_FILE_BYTES = 100 << 20


class Writer:
    """Writes to the table of one feature group."""

    def __init__(
        self, definition: GroupDefinition, log: DeltaLog, engine: Engine, storage: LocalStorage
    ) -> None:
        self._definition = definition
        self._log = log
        self._engine = engine
        self._storage = storage

    def insert(
        self, rows: pa.RecordBatchReader, mode: InsertMode, condition: Condition | None, write_id: str
    ) -> Commit:
        """`condition` limits what is overwritten."""
        done = self._log.committed(write_id)
        if done is not None:
            return done
        snapshot = self._log.newest()
        now = dt.datetime.now(dt.UTC)
        stored = None if snapshot is None else snapshot.schema
        intake = Intake(self._definition, stored, rows.schema, now)
        # All of them, before the wheel is called: it waits for rows in threads that all writes of a process share.
        spool = self._storage.spool()
        try:
            for batch in rows:
                if batch.num_rows:
                    spool.add(intake.fit(batch))
            table = spool.table(intake.schema)
            if condition is not None:
                return self._overwrite_where(table, condition, write_id)
            if table.num_rows == 0:
                return nothing(-1 if snapshot is None else snapshot.version)
            if mode == "append":
                return self._tried(lambda newest: self._append_once(newest, table, write_id))
            self._check_unique(table)
            return self._commit(lambda newest: self._insert_once(newest, table, mode, write_id))
        finally:
            spool.close()

    def delete(self, keys: pa.Table | None, condition: Condition | None, write_id: str) -> Commit:
        done = self._log.committed(write_id)
        if done is not None:
            return done
        snapshot = self._log.newest()
        if snapshot is None:
            raise InvalidArgument(f"{self._definition.ref} has no rows to delete: nothing was inserted yet")
        if (keys is None) == (condition is None):
            raise InvalidArgument("delete takes keys or a filter: exactly one of them")
        if condition is not None:
            kinds = snapshot.schema
            bound = coerce(condition, lambda ref: kinds.field(ref.name).type)
            return self._commit(lambda newest: self._delete_where(newest, bound, write_id))
        assert keys is not None
        table = check_key_frame(self._definition, snapshot.schema, keys)
        return self._commit(lambda newest: self._delete_keys(newest, table, write_id))

    def restore(self, snapshot: int, write_id: str) -> Commit:
        done = self._log.committed(write_id)
        return done or self._commit(lambda newest: self._restore_once(newest, snapshot, write_id))

    def add_features(self, wanted: pa.Schema, write_id: str) -> Commit:
        done = self._log.committed(write_id)
        return done or self._commit(lambda newest: self._add_once(newest, wanted, write_id))

    def _append_once(self, snapshot: Snapshot | None, table: pa.Table, write_id: str) -> Commit | None:
        """Rows may repeat, so it rests on no snapshot, and only what changes all of the table stands against it."""
        if snapshot is None:
            return self._start(table, write_id, unique=None)
        self._check_columns(snapshot, table)
        write = Write(write_id, self._definition.primary_key, unique=None)
        return attempt(self._log, write, lambda: self._log.append(table.to_reader(), write), snapshot.version)

    def _commit(self, once: Callable[[Snapshot | None], Commit | None]) -> Commit:
        """Try alone among the writers of this process."""
        with self._log.writing:
            return self._tried(once)

    def _tried(self, once: Callable[[Snapshot | None], Commit | None]) -> Commit:
        """Try until nobody else commits in between."""
        for number in range(_ATTEMPTS):
            commit = once(self._log.newest())
            if commit is not None:
                return commit
            time.sleep(min(2.0, 0.01 * 2**number) * random.random())
        raise Conflict(
            f"{self._definition.ref}: other writers were faster {_ATTEMPTS} times; nothing was written",
            hint="try again",
        )

    def _insert_once(
        self, snapshot: Snapshot | None, table: pa.Table, mode: InsertMode, write_id: str
    ) -> Commit | None:
        if snapshot is None:
            return self._start(table, write_id, unique=True)
        self._check_columns(snapshot, table)
        if mode == "upsert":
            return self._upsert_once(snapshot, table, write_id)
        write = Write(write_id, self._definition.primary_key, True, snapshot.version, deleted=snapshot.rows)
        return attempt(self._log, write, lambda: self._log.overwrite(table.to_reader(), write))

    def _overwrite_where(self, table: pa.Table, condition: Condition, write_id: str) -> Commit:
        bound = coerce(condition, lambda ref: table.schema.field(ref.name).type)
        overwriting = Overwriting(self._definition, self._log, bound, table)
        self._check_unique(table)

        def once(snapshot: Snapshot | None) -> Commit | None:
            if snapshot is None:
                return self._start(table, write_id, unique=True) if table.num_rows else nothing(-1)
            self._check_columns(snapshot, table)
            spool = self._storage.spool()
            try:
                with self._engine.session() as session:
                    overwriting.check(session)
                    return overwriting.once(session, spool, snapshot, write_id)
            finally:
                spool.close()

        return self._commit(once)

    def _start(self, table: pa.Table, write_id: str, unique: bool | None) -> Commit | None:
        d, log = self._definition, self._log
        write = Write(write_id, d.primary_key, unique)
        return attempt(log, write, lambda: log.start(table.to_reader(), write, d.partition_by, d.change_feed))

    def _check_columns(self, snapshot: Snapshot, table: pa.Table) -> None:
        if not snapshot.schema.equals(table.schema):
            raise Conflict(
                f"{self._definition.ref}: another writer set its columns meanwhile", hint="try again"
            )

    def _upsert_once(self, snapshot: Snapshot, table: pa.Table, write_id: str) -> Commit | None:
        log, unique = self._log, snapshot.unique
        scope = self._scope(snapshot, table)
        few = self._chosen(table)
        updated, replaced = self._collisions(snapshot, table, scope, counted=few is not None or not unique)
        keys = self._definition.identity or tuple(table.column_names)
        write = Write(write_id, keys, unique, snapshot.version)
        if not updated:
            return attempt(log, write, lambda: log.append(table.to_reader(), write))
        if few is not None:
            size = min(max(snapshot.size_bytes // _FILES, _LEAST_FILE_BYTES), _MOST_FILE_BYTES)
            write.updated, write.deleted = updated, replaced - updated
            return attempt(log, write, lambda: log.exchange(table.to_reader(), write, few, size))
        scope = [*scope, *self._partitions(snapshot, table, scope)]
        text = " AND ".join(
            condition_sql(c, lambda r: f"t.{identifier(r.name)}", "datafusion") for c in scope
        )
        if unique:
            return attempt(log, write, lambda: log.merge(table.to_reader(), write, text or None))
        write.updated = updated
        return attempt(log, write, lambda: log.replace(_twice(table), write, text or None, _MARK))

    def _chosen(self, table: pa.Table) -> str | None:
        """SQL for the identities of few rows; None where they are many, or have no literals."""
        identity = self._definition.identity
        if (
            not identity
            or table.num_rows > _FEW_ROWS
            or any(_has_no_literal(table.schema.field(c)) for c in identity)
        ):
            return None
        rows = [[to_value(row[c]) for c in identity] for row in table.select(list(identity)).to_pylist()]
        if len(identity) == 1:
            chosen: Condition = IsIn(Ref(identity[0]), tuple(value for (value,) in rows))
        else:
            chosen = Or(tuple(And(tuple(map(_equal, identity, row))) for row in rows))
        return condition_sql(chosen, lambda ref: identifier(ref.name), "datafusion")

    def _check_unique(self, table: pa.Table) -> None:
        identity = self._definition.identity
        if not identity:
            return
        names = ", ".join(map(identifier, identity))
        query = (
            f"SELECT {names}, count(*) AS rows FROM {_INCOMING} GROUP BY {names} HAVING count(*) > 1 LIMIT 3"
        )
        with self._engine.session() as session:
            session.register(_INCOMING, table.select(list(identity)))
            examples = session.rows(query)
        if examples:
            raise refuse(self._definition.ref, [duplicate_problem(identity, examples)])

    def _scope(self, snapshot: Snapshot, table: pa.Table) -> list[Condition]:
        """Bounds on the identity columns, within which every row to replace must be.

        Rows of a few partitions have bounds for each: where one follows from the other, as days from times, what lies
        between the partitions is left out.
        """
        identity = [c for c in self._definition.identity if not _has_no_literal(table.schema.field(c))]
        if not identity:
            return []
        partitions = [c for c in snapshot.partition_by if c not in identity]
        with self._engine.session() as session:
            session.register(_INCOMING, table.select([*identity, *partitions]))
            found = session.table(_bounds_sql(identity, partitions))
            if found.num_rows > _FEW_PARTITIONS:
                found = session.table(_bounds_sql(identity, []))
        bounds = [_bounds(identity, found.slice(i, 1)) for i in range(found.num_rows)]
        return list(bounds[0]) if len(bounds) == 1 else [Or(tuple(And(each) for each in bounds))]

    def _collisions(
        self, snapshot: Snapshot, table: pa.Table, scope: list[Condition], *, counted: bool
    ) -> tuple[int, int]:
        """Identities of new rows that stored rows have, and these rows; at most one if they need not be counted.

        A group without any identity only grows.
        """
        identity = self._definition.identity
        files = snapshot.prune(scope)
        if not identity or files.num_rows == 0:
            return 0, 0
        names = ", ".join(map(identifier, identity))
        on = " AND ".join(f"t.{identifier(c)} = s.{identifier(c)}" for c in identity)
        found = f"FROM {snapshot.relation(files)} AS t SEMI JOIN {_INCOMING} AS s ON {on}"
        if counted:
            query = f"SELECT count(*) AS n, sum(n)::BIGINT AS rows FROM (SELECT count(*) AS n {found} GROUP BY {names})"
        else:
            query = f"SELECT count(*) AS n, count(*) AS rows FROM (SELECT 1 {found} LIMIT 1)"
        with self._engine.session() as session:
            session.register(_INCOMING, table.select(list(identity)))
            (row,) = session.rows(query)
            return row["n"], row["rows"] or 0

    def _partitions(self, snapshot: Snapshot, table: pa.Table, scope: list[Condition]) -> list[Condition]:
        """The partitions of the rows to replace, where they are few: a merge looks into no others."""
        columns = [c for c in snapshot.partition_by if not _has_no_literal(snapshot.schema.field(c))]
        identity = self._definition.identity
        if not columns or not identity:
            return []
        names = ", ".join(map(identifier, columns))
        on = " AND ".join(f"t.{identifier(c)} = s.{identifier(c)}" for c in identity)
        with self._engine.session() as session:
            session.register(_INCOMING, table.select(list(identity)))
            found = session.rows(
                f"SELECT DISTINCT {names} FROM {snapshot.relation(snapshot.prune(scope))} AS t "
                f"SEMI JOIN {_INCOMING} AS s ON {on} LIMIT {_FEW_PARTITIONS + 1}"
            )
        if len(found) > _FEW_PARTITIONS:
            return []
        return [_one_of(column, [row[column] for row in found]) for column in columns]

    def _delete_where(self, snapshot: Snapshot | None, condition: Condition, write_id: str) -> Commit | None:
        """The engine that reads chooses the rows, so that a filter deletes exactly what it shows."""
        assert snapshot is not None
        identity = self._definition.identity
        read = [ref.name for ref in columns_of(condition)]
        columns = list(dict.fromkeys((*identity, *read))) if identity else snapshot.schema.names
        names = ", ".join(map(identifier, columns))
        where = condition_sql(condition, lambda ref: identifier(ref.name))
        relation = snapshot.relation(snapshot.prune([condition]))
        spool = self._storage.spool()
        try:
            with self._engine.session() as session, translated():
                found = session.stream(f"SELECT DISTINCT {names} FROM {relation} WHERE {where}", BATCH_ROWS)
                for batch in found:
                    spool.add(batch)
            victims = spool.table(found.schema).cast(pa.schema([snapshot.schema.field(c) for c in columns]))
            if victims.num_rows == 0:
                return nothing(-1 if snapshot is None else snapshot.version)
            exact = [c for c in columns if c not in identity]
            write = Write(write_id, identity, snapshot.unique, snapshot.version)
            return attempt(self._log, write, lambda: self._log.remove(victims.to_reader(), write, exact))
        finally:
            spool.close()

    def _delete_keys(self, snapshot: Snapshot | None, keys: pa.Table, write_id: str) -> Commit | None:
        assert snapshot is not None
        names = ", ".join(map(identifier, keys.column_names))
        on = " AND ".join(f"t.{identifier(c)} = s.{identifier(c)}" for c in keys.column_names)
        with self._engine.session() as session:
            session.register(_INCOMING, keys)
            victims = session.table(
                f"SELECT DISTINCT {names} FROM {_INCOMING} AS s SEMI JOIN {snapshot.relation()} AS t ON {on}"
            ).cast(keys.schema)
        if victims.num_rows == 0:
            return nothing(-1 if snapshot is None else snapshot.version)
        write = Write(write_id, tuple(keys.column_names), snapshot.unique, snapshot.version)
        return attempt(self._log, write, lambda: self._log.remove(victims.to_reader(), write, []))

    def _restore_once(self, newest: Snapshot | None, snapshot: int, write_id: str) -> Commit | None:
        wanted = self._log.whole_at(snapshot)
        assert newest is not None  # or there was no snapshot
        if wanted.version == newest.version:
            return nothing(newest.version)
        write = Write(write_id, self._definition.identity, wanted.unique, newest.version)
        return attempt(self._log, write, lambda: self._log.restore(snapshot, write))

    def _add_once(self, snapshot: Snapshot | None, wanted: pa.Schema, write_id: str) -> Commit | None:
        d, log = self._definition, self._log
        if snapshot is None:
            raise InvalidArgument(
                f"{d.ref} has no columns yet: its first insert sets them",
                hint="or create the group with schema=",
            )
        schema = evolved(d, snapshot.schema, wanted)
        if schema == snapshot.schema:
            return nothing(snapshot.version)
        write = Write(write_id, d.identity, snapshot.unique, snapshot.version)
        if not widened(snapshot.schema, schema):
            added = pa.schema([f for f in schema if f.name not in snapshot.schema.names])
            return attempt(log, write, lambda: log.add_columns(added, write))
        # Formats other than ours read a file in the types that it was written in, so that all are written anew.
        write.widened = True
        relation = dataclasses.replace(snapshot, schema=schema).relation()
        names = ", ".join(map(identifier, schema.names))
        spool = self._storage.spool()
        try:
            with self._engine.session() as session, translated():
                for batch in session.stream(f"SELECT {names} FROM {relation}", BATCH_ROWS):
                    spool.add(batch.cast(schema))
            rows = spool.table(schema)
            return attempt(log, write, lambda: log.rewrite(rows.to_reader(), write, snapshot.partition_by))
        finally:
            spool.close()


def _bounds_sql(identity: list[str], partitions: list[str]) -> str:
    selected = ", ".join(
        f"min({identifier(c)}) AS a{i}, max({identifier(c)}) AS b{i}" for i, c in enumerate(identity)
    )
    groups = f"GROUP BY {', '.join(map(identifier, partitions))}" if partitions else ""
    return f"SELECT {selected} FROM {_INCOMING} {groups} LIMIT {_FEW_PARTITIONS + 1}"


def _bounds(identity: list[str], found: pa.Table) -> tuple[Condition, ...]:
    scope: list[Condition] = []
    for i, name in enumerate(identity):
        scope.append(Compare(">=", Ref(name), _stored_value(found[f"a{i}"])))
        scope.append(Compare("<=", Ref(name), _stored_value(found[f"b{i}"])))
    return tuple(scope)


def _one_of(column: str, values: list[object]) -> Condition:
    ref, given = Ref(column), dict.fromkeys(values)
    among = IsIn(ref, tuple(to_value(value) for value in given if value is not None))
    return Or((among, IsNull(ref))) if None in given else among


def _twice(table: pa.Table) -> pa.RecordBatchReader:
    """Every row marked true, then every row marked false."""
    schema = table.schema.append(pa.field(_MARK, pa.bool_()))

    def batches() -> Iterator[pa.RecordBatch]:
        for mark in (True, False):
            for batch in table.to_batches(BATCH_ROWS):
                marks = pa.repeat(pa.scalar(mark), batch.num_rows)
                yield pa.RecordBatch.from_arrays([*batch.columns, marks], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _has_no_literal(field: pa.Field) -> bool:
    """Binary has none where Delta's writer reads conditions, decimals are floats there, and times have a zone."""
    kind = field.type
    naive = pa.types.is_timestamp(kind) and kind.tz is None
    return bool(naive or pa.types.is_binary(kind) or pa.types.is_decimal(kind))


def _equal(name: str, value: Value) -> Condition:
    return Compare("=", Ref(name), value)


def _stored_value(column: pa.ChunkedArray) -> Value:
    return to_value(column[0].as_py())
