"""The rows that an index has found in data files.

To take one row out of a file, the pages that it is in must be decoded. Small files, which commits of a few rows leave
behind in numbers, are decoded whole, and kept; of large ones, rows are read by number.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from headrace.engine.duck import Engine
from headrace.engine.file_index import Positions
from headrace.engine.file_scan import by_size, in_order, scan, some
from headrace.engine.kept import Kept
from headrace.formats.base import Snapshot
from headrace.model.expression_sql import identifier

_DECODED_BYTES = 128 << 20
_FEW_ROWS = 4
_MOST_DECODED_VALUES = 2_000_000
_MOST_ROWS = 10_000
_MOST_NUMBERED_ROWS = 1_000


@dataclasses.dataclass(frozen=True)
class Equals:
    """What is asked of the rows, where it is nothing but that an integer column has one of a few values."""

    column: str
    values: pa.Array

    def only(self, rows: pa.Table) -> pa.Table:
        return rows.filter(pc.is_in(rows[self.column].cast(pa.int64()), self.values))


@dataclasses.dataclass(frozen=True)
class Found:
    """Files, and in each the numbers of the rows that may be wanted; those that are, `exact` tells, if it can."""

    files: pa.Table
    positions: list[Positions]
    exact: Equals | None


class FoundRows:
    """Rows read by their numbers, and files that were decoded for them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._files: Kept[pa.Table] = Kept(_DECODED_BYTES)
        self._lock = threading.Lock()

    def read(self, snapshot: Snapshot, found: Found, columns: Sequence[str]) -> pa.Table | None:
        """The rows found, with these columns; None where a scan costs less."""
        if snapshot.partition_by or not columns or sum(map(len, found.positions)) > _MOST_ROWS:
            return None
        names = [*columns] if found.exact is None else [*dict.fromkeys([*columns, found.exact.column])]
        schema = pa.schema([snapshot.schema.field(c) for c in names])
        large, small = by_size(found.files)
        few = some(found.files, small)
        # Values, not bytes: how far a file was compressed, its size does not tell.
        values = sum(few["num_records"].to_pylist()) * len(names)
        if values > _MOST_DECODED_VALUES or sum(len(found.positions[i]) for i in large) > _MOST_NUMBERED_ROWS:
            return None
        rows = [schema.empty_table()]
        if large:
            rows.append(self._numbered(snapshot, found, large, schema))
        for i, table in zip(small, self._decoded(snapshot, few, schema), strict=True):
            positions = found.positions[i]
            if len(positions) <= _FEW_ROWS:
                rows += [table.slice(position, 1) for position in positions.tolist()]
            else:
                rows.append(table.take(positions))
        held = pa.concat_tables(rows)
        return held if found.exact is None else found.exact.only(held).select(columns)

    def _numbered(
        self, snapshot: Snapshot, found: Found, which: Sequence[int], schema: pa.Schema
    ) -> pa.Table:
        names = ", ".join(map(identifier, schema.names))
        queries = [
            f"SELECT {names} FROM {snapshot.source(found.files.slice(i, 1))} "
            f"WHERE file_row_number IN ({', '.join(map(str, found.positions[i].tolist()))})"
            for i in which
        ]
        with self._engine.session() as session:
            return session.table(" UNION ALL ".join(queries)).cast(schema)

    def _decoded(self, snapshot: Snapshot, files: pa.Table, schema: pa.Schema) -> list[pa.Table]:
        paths = files["path"].to_pylist()
        # By type, too: a later snapshot may read the same file with a wider one.
        wanted = tuple(schema)
        with self._lock:
            known = {path: self._files.get((path, wanted)) for path in paths}
            missing = [i for i, path in enumerate(paths) if known[path] is None]
            names = ", ".join(map(identifier, schema.names))
            read = scan(self._engine, snapshot, some(files, missing), names, "true")
            for i, part in zip(missing, read, strict=True):
                known[paths[i]] = table = in_order(part).cast(schema)
                self._files.put((paths[i], wanted), table, table.nbytes)
        return [table for table in known.values() if table is not None]
