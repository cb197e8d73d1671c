"""Writes to one feature group: one commit or nothing, safe against other writers and unknown outcomes."""

from __future__ import annotations

import dataclasses
import datetime as dt
import random
import time
from collections.abc import Callable

import pyarrow as pa

from headrace.engine.duck import Engine
from headrace.engine.failure import translated
from headrace.errors import Conflict, InvalidArgument, SnapshotNotFound
from headrace.formats.attempt import attempt
from headrace.formats.base import Snapshot
from headrace.formats.delta import DeltaLog
from headrace.formats.delta_write import Write, WriteId
from headrace.model.coerce import coerce
from headrace.model.definition import Commit, GroupDefinition, nothing
from headrace.model.expression import Condition, columns_of
from headrace.model.expression_sql import condition_sql, identifier
from headrace.model.resolved import unknown_column
from headrace.protocol import BATCH_ROWS, InsertMode
from headrace.service.adoption import check_fits
from headrace.service.evolution import evolved, widened
from headrace.service.ingest import Intake, check_key_frame, duplicate_problem, refuse
from headrace.service.overwriting import Overwriting
from headrace.service.upserting import Upserting
from headrace.storage.workspace import Workspace

_ATTEMPTS = 20
_INCOMING = "__headrace_incoming"


class Writer:
    """Writes to the table of one feature group."""

    def __init__(self, definition: GroupDefinition, log: DeltaLog, engine: Engine, work: Workspace) -> None:
        self._definition = definition
        self._log = log
        self._engine = engine
        self._work = work

    def insert(
        self, rows: pa.RecordBatchReader, mode: InsertMode, condition: Condition | None, write_id: WriteId
    ) -> Commit:
        """`condition` limits what is overwritten."""
        done = self._log.committed(write_id)
        if done is not None:
            return done
        snapshot = self._fitting()
        now = dt.datetime.now(dt.UTC)
        stored = None if snapshot is None else snapshot.schema
        intake = Intake(self._definition, stored, rows.schema, now)
        # All of them, before the wheel is called: it waits for rows in threads that all writes of a process share.
        spool = self._work.spool(of_caller=True)
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

    def delete(self, keys: pa.Table | None, condition: Condition | None, write_id: WriteId) -> Commit:
        done = self._log.committed(write_id)
        if done is not None:
            return done
        snapshot = self._fitting()
        if snapshot is None:
            raise InvalidArgument(f"{self._definition.ref} has no rows to delete: nothing was inserted yet")
        if (keys is None) == (condition is None):
            raise InvalidArgument("delete takes keys or a filter: exactly one of them")
        if condition is not None:
            return self._commit(lambda newest: self._delete_where(newest, condition, write_id))
        assert keys is not None
        table = check_key_frame(self._definition, snapshot.schema, keys)
        return self._commit(lambda newest: self._delete_keys(newest, table, write_id))

    def restore(self, snapshot: int, write_id: WriteId) -> Commit:
        done = self._log.committed(write_id)
        return done or self._commit(lambda newest: self._restore_once(newest, snapshot, write_id))

    def add_features(self, wanted: pa.Schema, write_id: WriteId) -> Commit:
        done = self._log.committed(write_id)
        return done or self._commit(lambda newest: self._add_once(newest, wanted, write_id))

    def _fitting(self) -> Snapshot | None:
        """The newest snapshot. Raises SchemaMismatch if it no longer does for the group; what mends it need not ask."""
        snapshot = self._log.newest()
        if snapshot is not None:
            check_fits(self._definition, snapshot.schema, self._log.table.shown)
        return snapshot

    def _append_once(self, snapshot: Snapshot | None, table: pa.Table, write_id: WriteId) -> Commit | None:
        """Rows may repeat, so it rests on no snapshot, and only what changes all of the table stands against it."""
        if snapshot is None:
            return self._start(table, write_id, unique=False)
        self._check_columns(snapshot, table)
        write = Write(write_id, self._definition.primary_key, unique=None)
        return attempt(
            self._log, write, lambda: self._log.writer.append(table.to_reader(), write), snapshot.version
        )

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
        self, snapshot: Snapshot | None, table: pa.Table, mode: InsertMode, write_id: WriteId
    ) -> Commit | None:
        if snapshot is None:
            return self._start(table, write_id, unique=True)
        self._check_columns(snapshot, table)
        if mode == "upsert":
            upserting = Upserting(self._definition, self._log, self._engine, table)
            return upserting.once(snapshot, write_id)
        identity = self._definition.identity
        write = Write(write_id, identity, identity or None, snapshot.version, deleted=snapshot.rows)
        return attempt(self._log, write, lambda: self._log.writer.overwrite(table.to_reader(), write))

    def _overwrite_where(self, table: pa.Table, condition: Condition, write_id: WriteId) -> Commit:
        bound = coerce(condition, lambda ref: table.schema.field(ref.name).type)
        overwriting = Overwriting(self._definition, self._log, bound, table)
        self._check_unique(table)

        def once(snapshot: Snapshot | None) -> Commit | None:
            if snapshot is None:
                return self._start(table, write_id, unique=True) if table.num_rows else nothing(-1)
            self._check_columns(snapshot, table)
            spool = self._work.spool()
            try:
                with self._engine.session() as session:
                    overwriting.check(session)
                    return overwriting.once(session, spool, snapshot, write_id)
            finally:
                spool.close()

        return self._commit(once)

    def _start(self, table: pa.Table, write_id: WriteId, *, unique: bool) -> Commit | None:
        d, log = self._definition, self._log
        write = Write(write_id, d.primary_key, (d.identity or None) if unique else None)
        return attempt(
            log, write, lambda: log.writer.start(table.to_reader(), write, d.partition_by, d.change_feed)
        )

    def _check_columns(self, snapshot: Snapshot, table: pa.Table) -> None:
        if not snapshot.schema.equals(table.schema):
            raise Conflict(
                f"{self._definition.ref}: another writer set its columns meanwhile", hint="try again"
            )

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

    def _delete_where(self, snapshot: Snapshot | None, given: Condition, write_id: WriteId) -> Commit | None:
        """The engine that reads chooses the rows, so that a filter deletes exactly what it shows."""
        assert snapshot is not None
        identity = self._definition.identity
        schema = snapshot.schema
        read = [ref.name for ref in columns_of(given)]
        missing = [name for name in read if name not in schema.names]
        if missing:
            raise unknown_column(self._definition.ref, missing, schema.names)
        condition = coerce(given, lambda ref: schema.field(ref.name).type)
        columns = list(dict.fromkeys((*identity, *read))) if identity else snapshot.schema.names
        names = ", ".join(map(identifier, columns))
        where = condition_sql(condition, lambda ref: identifier(ref.name))
        relation = snapshot.relation(snapshot.prune([condition]))
        spool = self._work.spool()
        try:
            with self._engine.session() as session, translated():
                found = session.stream(f"SELECT DISTINCT {names} FROM {relation} WHERE {where}", BATCH_ROWS)
                for batch in found:
                    spool.add(batch)
            victims = spool.table(found.schema).cast(pa.schema([snapshot.schema.field(c) for c in columns]))
            if victims.num_rows == 0:
                return nothing(-1 if snapshot is None else snapshot.version)
            exact = [c for c in columns if c not in identity or victims.column(c).null_count]
            write = Write(write_id, identity, snapshot.unique, snapshot.version)
            return attempt(
                self._log, write, lambda: self._log.writer.remove(victims.to_reader(), write, exact)
            )
        finally:
            spool.close()

    def _delete_keys(self, snapshot: Snapshot | None, keys: pa.Table, write_id: WriteId) -> Commit | None:
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
        return attempt(self._log, write, lambda: self._log.writer.remove(victims.to_reader(), write, []))

    def _restore_once(self, newest: Snapshot | None, snapshot: int, write_id: WriteId) -> Commit | None:
        try:
            wanted = self._log.whole_at(snapshot)
        except SnapshotNotFound as error:
            raise SnapshotNotFound(f"{self._definition.ref}: {error.message}", hint=error.hint) from None
        assert newest is not None  # or there was no snapshot
        if wanted.version == newest.version:
            return nothing(newest.version)
        write = Write(write_id, self._definition.identity, wanted.unique, newest.version)
        return attempt(self._log, write, lambda: self._log.writer.restore(snapshot, write))

    def _add_once(self, snapshot: Snapshot | None, wanted: pa.Schema, write_id: WriteId) -> Commit | None:
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
            return attempt(log, write, lambda: log.writer.add_columns(added, write))
        # Formats other than ours read a file in the types that it was written in, so that all are written anew.
        write.widened = True
        relation = dataclasses.replace(snapshot, schema=schema).relation()
        names = ", ".join(map(identifier, schema.names))
        spool = self._work.spool()
        try:
            with self._engine.session() as session, translated():
                for batch in session.stream(f"SELECT {names} FROM {relation}", BATCH_ROWS):
                    spool.add(batch.cast(schema))
            rows = spool.table(schema)
            return attempt(
                log, write, lambda: log.writer.rewrite(rows.to_reader(), write, snapshot.partition_by)
            )
        finally:
            spool.close()
