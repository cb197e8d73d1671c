"""Overwriting a part of a group: the rows for which a filter is true give way to others for which it is."""

from __future__ import annotations

import pyarrow as pa

from headrace.engine.failure import translated
from headrace.engine.session import Session
from headrace.errors import BadData
from headrace.formats.attempt import attempt
from headrace.formats.base import Snapshot
from headrace.formats.delta import DeltaLog
from headrace.formats.delta_write import Write, WriteId
from headrace.model.definition import Commit, GroupDefinition, nothing
from headrace.model.expression import Condition, columns_of
from headrace.model.expression_sql import condition_sql, identifier
from headrace.protocol import BATCH_ROWS
from headrace.service.ingest import Problem, duplicate_problem, refuse
from headrace.storage.spool import Spool

_INCOMING = "__headrace_incoming"
_MARK = "__headrace_old"
_SHOWN = 3
_STAYING = "take a filter that is true for those rows, too, or delete them first"


class Overwriting:
    """The overwriting of the rows for which a filter is true.

    Args:
        condition: the filter, with its literals of the columns' types.
        rows: what is put in their place.
    """

    def __init__(
        self, definition: GroupDefinition, log: DeltaLog, condition: Condition, rows: pa.Table
    ) -> None:
        self._definition = definition
        self._log = log
        self._condition = condition
        self._rows = rows
        self._where = condition_sql(condition, lambda ref: identifier(ref.name))

    def check(self, session: Session) -> None:
        """Raises BadData for rows that the filter does not keep: the next overwriting would not replace them."""
        session.register(_INCOMING, self._rows)
        columns = self._definition.identity or tuple(ref.name for ref in columns_of(self._condition))
        names = ", ".join(map(identifier, columns))
        outside = f"FROM {_INCOMING} WHERE ({self._where}) IS NOT TRUE"
        (count,) = session.rows(f"SELECT count(*) AS n {outside}")
        if count["n"]:
            examples = session.rows(f"SELECT {names} {outside} LIMIT {_SHOWN}")
            shown = "; ".join(", ".join(f"{k} = {v}" for k, v in row.items()) for row in examples)
            message = f"the filter is not true for {count['n']} row(s): {shown}"
            raise refuse(self._definition.ref, [Problem(BadData, columns[0], message, count["n"])])

    def once(self, session: Session, spool: Spool, snapshot: Snapshot, write_id: WriteId) -> Commit | None:
        """Try once; None if others were faster.

        Raises:
            DuplicateKeys: a row that stays has the identity of one that comes.
        """
        self._check_staying(session, snapshot)
        gone, updated = self._counts(session, snapshot)
        if gone == 0 and self._rows.num_rows == 0:
            return nothing(snapshot.version)
        identity = self._definition.identity
        write = Write(write_id, identity, snapshot.unique_by(identity), snapshot.version)
        write.updated, write.deleted = updated, gone - updated
        read = {ref.name for ref in columns_of(self._condition)}
        if read <= set(snapshot.partition_by) and not any(
            _is_naive(snapshot.schema.field(name).type) for name in read
        ):
            # Whole files: nobody has to look for rows in them.
            out = condition_sql(self._condition, lambda ref: identifier(ref.name), "datafusion")
            return attempt(
                self._log, write, lambda: self._log.writer.exchange(self._rows.to_reader(), write, out)
            )
        victims = self._victims(session, spool, snapshot)
        exact = [c for c in victims.column_names if c not in identity or victims.column(c).null_count]
        parts = [_marked(victims, True), _marked(self._rows, False)]
        marked = pa.concat_tables(parts, promote_options="default").select([*self._rows.column_names, _MARK])
        return attempt(
            self._log, write, lambda: self._log.writer.replace(marked.to_reader(), write, None, _MARK, exact)
        )

    def _counts(self, session: Session, snapshot: Snapshot) -> tuple[int, int]:
        """How many rows go, and how many come in the place of one of the same identity."""
        gone = f"FROM {snapshot.relation(snapshot.prune([self._condition]))} WHERE {self._where}"
        (row,) = session.rows(f"SELECT count(*) AS n {gone}")
        identity = self._definition.identity
        if not identity:
            return row["n"], 0
        names = ", ".join(map(identifier, identity))
        on = " AND ".join(f"t.{identifier(c)} = s.{identifier(c)}" for c in identity)
        (back,) = session.rows(
            f"SELECT count(*) AS n FROM {_INCOMING} AS s SEMI JOIN (SELECT {names} {gone}) AS t ON {on}"
        )
        return row["n"], back["n"]

    def _check_staying(self, session: Session, snapshot: Snapshot) -> None:
        identity = self._definition.identity
        if not identity or {ref.name for ref in columns_of(self._condition)} <= set(identity):
            return  # a row of the same identity is in the filter, too
        names = ", ".join(map(identifier, identity))
        on = " AND ".join(f"t.{identifier(c)} = s.{identifier(c)}" for c in identity)
        where = condition_sql(self._condition, lambda ref: f"t.{identifier(ref.name)}")
        found = session.rows(
            f"SELECT {names}, 2 AS rows FROM {snapshot.relation()} AS t SEMI JOIN {_INCOMING} AS s ON {on} "
            f"WHERE ({where}) IS NOT TRUE LIMIT {_SHOWN}"
        )
        if found:
            what = "rows that stay, since the filter is not true for them, have"
            raise refuse(self._definition.ref, [duplicate_problem(identity, found, what, _STAYING)])

    def _victims(self, session: Session, spool: Spool, snapshot: Snapshot) -> pa.Table:
        """What tells the rows that go."""
        identity = self._definition.identity
        read = [ref.name for ref in columns_of(self._condition)]
        columns = list(dict.fromkeys((*identity, *read))) if identity else snapshot.schema.names
        names = ", ".join(map(identifier, columns))
        relation = snapshot.relation(snapshot.prune([self._condition]))
        with translated():
            found = session.stream(f"SELECT DISTINCT {names} FROM {relation} WHERE {self._where}", BATCH_ROWS)
            for batch in found:
                spool.add(batch)
        return spool.table(found.schema).cast(pa.schema([snapshot.schema.field(c) for c in columns]))


def _marked(rows: pa.Table, gone: bool) -> pa.Table:
    return rows.append_column(_MARK, pa.repeat(pa.scalar(gone), rows.num_rows))


def _is_naive(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) and kind.tz is None)
