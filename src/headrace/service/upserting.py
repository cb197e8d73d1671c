"""Upserting: rows take the place of those of the same identity, or are added."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from headrace.engine.duck import Engine
from headrace.formats.attempt import attempt
from headrace.formats.base import Snapshot
from headrace.formats.delta import DeltaLog
from headrace.formats.delta_write import Write, WriteId
from headrace.model.definition import Commit, GroupDefinition
from headrace.model.expression import And, Compare, Condition, IsIn, IsNull, Or, Ref, Value, to_value
from headrace.model.expression_sql import condition_sql, identifier
from headrace.protocol import BATCH_ROWS

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


class Upserting:
    """The upserting of rows whose identities are unique among them."""

    def __init__(self, definition: GroupDefinition, log: DeltaLog, engine: Engine, rows: pa.Table) -> None:
        self._definition = definition
        self._log = log
        self._engine = engine
        self._rows = rows

    def once(self, snapshot: Snapshot, write_id: WriteId) -> Commit | None:
        """Try once; None if others were faster."""
        log, rows, unique = self._log, self._rows, snapshot.unique_by(self._definition.identity)
        scope = self._scope(snapshot)
        few = self._chosen()
        updated, replaced, partitions = 0, 0, None
        if few is None and self._definition.identity:
            partitions = self._partitions(snapshot, scope)
        if partitions is None or (partitions and not unique):
            updated, replaced = self._collisions(snapshot, scope, counted=few is not None or not unique)
        keys = self._definition.identity or tuple(rows.column_names)
        write = Write(write_id, keys, unique, snapshot.version)
        if not updated and not partitions:
            return attempt(log, write, lambda: log.writer.append(rows.to_reader(), write))
        if few is not None:
            size = min(max(snapshot.size_bytes // _FILES, _LEAST_FILE_BYTES), _MOST_FILE_BYTES)
            write.updated, write.deleted = updated, replaced - updated
            return attempt(log, write, lambda: log.writer.exchange(rows.to_reader(), write, few, size))
        scope = [*scope, *(partitions or [])]
        text = " AND ".join(
            condition_sql(c, lambda r: f"t.{identifier(r.name)}", "datafusion") for c in scope
        )
        if unique:
            return attempt(log, write, lambda: log.writer.merge(rows.to_reader(), write, text or None))
        write.updated = updated
        return attempt(log, write, lambda: log.writer.replace(_twice(rows), write, text or None, _MARK))

    def _chosen(self) -> str | None:
        """SQL for the identities of few rows; None where they are many, or have no literals."""
        identity = self._definition.identity
        if (
            not identity
            or self._rows.num_rows > _FEW_ROWS
            or any(_has_no_literal(self._rows.schema.field(c)) for c in identity)
        ):
            return None
        rows = self._rows.select(list(identity)).to_pylist()
        values = [tuple(to_value(row[c]) for c in identity) for row in rows]
        if len(identity) == 1:
            chosen: Condition = IsIn(Ref(identity[0]), tuple(value for (value,) in values))
        else:
            chosen = Or(tuple(And(tuple(map(_equal, identity, row))) for row in values))
        return condition_sql(chosen, lambda ref: identifier(ref.name), "datafusion")

    def _scope(self, snapshot: Snapshot) -> list[Condition]:
        """Bounds on the identity columns, within which every row to replace must be.

        Rows of a few partitions have bounds for each: where one follows from the other, as days from times, what lies
        between the partitions is left out.
        """
        identity = [c for c in self._definition.identity if not _has_no_literal(self._rows.schema.field(c))]
        if not identity:
            return []
        partitions = [c for c in snapshot.partition_by if c not in identity]
        with self._engine.session() as session:
            session.register(_INCOMING, self._rows.select([*identity, *partitions]))
            found = session.table(_bounds_sql(identity, partitions))
            if found.num_rows > _FEW_PARTITIONS:
                found = session.table(_bounds_sql(identity, []))
        bounds = [_bounds(identity, found.slice(i, 1)) for i in range(found.num_rows)]
        return list(bounds[0]) if len(bounds) == 1 else [Or(tuple(And(each) for each in bounds))]

    def _collisions(self, snapshot: Snapshot, scope: list[Condition], *, counted: bool) -> tuple[int, int]:
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
            session.register(_INCOMING, self._rows.select(list(identity)))
            (row,) = session.rows(query)
            return row["n"], row["rows"] or 0

    def _partitions(self, snapshot: Snapshot, scope: list[Condition]) -> list[Condition] | None:
        """The partitions of the rows to replace, into which alone a merge then looks; none if there are no such rows.

        None if they do not tell: there are too many, or none at all.
        """
        columns = [c for c in snapshot.partition_by if not _has_no_literal(snapshot.schema.field(c))]
        identity = self._definition.identity
        files = snapshot.prune(scope)
        if not columns:
            return None
        if files.num_rows == 0:
            return []
        names = ", ".join(map(identifier, columns))
        on = " AND ".join(f"t.{identifier(c)} = s.{identifier(c)}" for c in identity)
        with self._engine.session() as session:
            session.register(_INCOMING, self._rows.select(list(identity)))
            found = session.rows(
                f"SELECT DISTINCT {names} FROM {snapshot.relation(files)} AS t "
                f"SEMI JOIN {_INCOMING} AS s ON {on} LIMIT {_FEW_PARTITIONS + 1}"
            )
        if len(found) > _FEW_PARTITIONS:
            return None
        return [] if not found else [_one_of(column, [row[column] for row in found]) for column in columns]


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


def _twice(rows: pa.Table) -> pa.RecordBatchReader:
    """Every row marked true, then every row marked false."""
    schema = rows.schema.append(pa.field(_MARK, pa.bool_()))

    def batches() -> Iterator[pa.RecordBatch]:
        for mark in (True, False):
            for batch in rows.to_batches(BATCH_ROWS):
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
