"""Statistics of the features of a group, computed when they are asked for, and kept for their snapshot."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import msgspec
import pyarrow as pa

from headrace.calls import Calls
from headrace.engine.session import Session
from headrace.errors import InvalidArgument
from headrace.formats.base import Snapshot
from headrace.formats.streamed import StreamedSnapshot
from headrace.model.definition import write_schema
from headrace.model.query import ENTITIES, Select
from headrace.model.request import Prepared, ReadRequest
from headrace.planning.statistics_sql import STATISTICS, ColumnStatistics
from headrace.protocol import BATCH_ROWS
from headrace.service.reading import Reader
from headrace.service.record import FileCount
from headrace.storage.kept_tables import KeptTables

_COLUMNS_AT_ONCE = 64
_EDITION = 2
"""Of how they are computed: what another one kept is computed anew."""


class StatisticsReader:
    """Reads of statistics of one project's groups."""

    def __init__(self, reader: Reader, kept: KeptTables) -> None:
        self._reader = reader
        self._kept = kept

    def prepare(self, request: ReadRequest) -> Prepared:
        """Check the request, whose query chooses the group and its columns, and fix the snapshot."""
        _check(request)
        prepared = self._reader.prepare(msgspec.structs.replace(request, limit=None))
        return msgspec.structs.replace(
            prepared,
            request=msgspec.structs.replace(prepared.request, limit=request.limit),
            schema_ipc=write_schema(STATISTICS),
            features=(),
        )

    def parts(self, prepared: Prepared) -> int:
        return 1

    def run(self, prepared: Prepared, spine: pa.Table | None, part: int, parts: int) -> StatisticsRows:
        request = prepared.request
        _check(request)
        whole = msgspec.structs.replace(request, limit=None)
        plan, snapshot = self._reader.plan_of(whole)
        names = plan.schema.names[: request.limit]
        calls, engine = self._reader.calls, self._reader.engine
        return StatisticsRows(
            calls, engine.open(), self._kept, snapshot, names, lambda: self._reader.reading(whole)
        )

    def explain(self, request: ReadRequest) -> str:
        """Which columns of which snapshot."""
        prepared = self.prepare(request)
        plan, snapshot = self._reader.plan_of(msgspec.structs.replace(prepared.request, limit=None))
        group = plan.resolved.root.definition.ref
        return (
            f"statistics of {group} at snapshot {snapshot.version} ({snapshot.files.num_rows} files), in two passes\n"
            f"columns {', '.join(plan.schema.names)}"
        )


def _check(request: ReadRequest) -> None:
    query = request.query
    if query is None or any(not isinstance(step, Select) for step in query.steps):
        raise InvalidArgument("statistics are of the columns of one feature group")
    if request.spine_schema is not None or query.source.since is not None or query.source.group == ENTITIES:
        raise InvalidArgument("statistics are of the rows of a feature group")


class StatisticsRows:
    """The rows of `STATISTICS`, as `Running` gives those of a query.

    Args:
        columns: those to tell of, in order.
        told: within, a table that is not as it should be may be one that was deleted, or changed meanwhile.
    """

    def __init__(
        self,
        calls: Calls,
        session: Session,
        kept: KeptTables,
        snapshot: Snapshot,
        columns: Sequence[str],
        told: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._told = told
        self._calls = calls
        self._session = session
        self._kept = kept
        self._snapshot = snapshot
        self._columns = list(columns)
        self.schema = STATISTICS
        self.files = FileCount(0, 0)

    def cancel(self) -> None:
        """Stop; from any thread. The batches then end in `Cancelled`."""
        self._session.interrupt()

    def batches(self, batch_rows: int = BATCH_ROWS) -> Generator[pa.RecordBatch, None, None]:
        """All rows, in batches."""
        return self._calls.steps(self._batches(batch_rows))

    def _batches(self, batch_rows: int) -> Generator[pa.RecordBatch, None, None]:
        yield from self.table().to_batches(batch_rows)

    def table(self) -> pa.Table:
        """All rows at once."""
        try:
            # Of what is no longer the same when it is read again, nothing is kept.
            lasting = self._snapshot.lasting and not isinstance(self._snapshot, StreamedSnapshot)
            name = self._name() if lasting else None
            kept = None if name is None else self._kept.get(name)
            known = {} if kept is None else {row["feature"]: row for row in kept.to_pylist()}
            missing = [column for column in self._columns if column not in known]
            with self._told():
                for start in range(0, len(missing), _COLUMNS_AT_ONCE):
                    known |= self._computed(missing[start : start + _COLUMNS_AT_ONCE])
            if missing and name is not None:
                self._kept.put(name, pa.Table.from_pylist(list(known.values()), STATISTICS))
            return pa.Table.from_pylist([known[column] for column in self._columns], STATISTICS)
        finally:
            self._session.close()

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    def _computed(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        relation = self._session.relation(self._snapshot)
        self.files = FileCount(self._snapshot.files.num_rows, 0)
        columns = {
            name: ColumnStatistics(i, self._snapshot.schema.field(name)) for i, name in enumerate(names)
        }
        selected = ["count(*) AS n", *(sql for column in columns.values() for sql in column.first())]
        (first,) = self._session.rows(f"SELECT {', '.join(selected)} FROM {relation}")
        selected = [sql for column in columns.values() for sql in column.second(first)]
        second: dict[str, Any] = {}
        if selected:
            (second,) = self._session.rows(f"SELECT {', '.join(selected)} FROM {relation}")
        return {name: column.row(first["n"], first, second) for name, column in columns.items()}

    def _name(self) -> str:
        """What names the rows: whoever set a table back to an old number has written other files."""
        snapshot = self._snapshot
        digest = hashlib.sha256(repr((_EDITION, snapshot.schema, snapshot.names)).encode())
        for path in sorted(snapshot.files["path"].to_pylist()):
            digest.update(path.encode() + b"\0")
            if path in snapshot.deleted:
                digest.update(snapshot.deleted[path].tobytes())
        return digest.hexdigest()
