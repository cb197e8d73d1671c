"""The rows that an index has found in data files.

To take one row out of a file, the pages that it is in must be decoded. Small files, which commits of a few rows leave
behind in numbers, are decoded whole, and kept; of large ones, rows are read by number. How large a file is once it is
decoded, only decoding it tells: a text that repeats takes hardly any room in a file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from headrace.engine.duck import Engine
from headrace.engine.file_index import Positions
from headrace.engine.file_locks import FileLocks
from headrace.engine.file_scan import LARGE_FILE_BYTES, PORTION_ROWS, by_size, in_order, scan_within, some
from headrace.engine.kept import Kept
from headrace.formats.base import Snapshot
from headrace.model.expression_sql import identifier
from headrace.model.types import is_list

_DECODED_BYTES = 128 << 20
_KEPT_NUMBERED = 4_096
_FEW_ROWS = 4
_FIRST_ROWS = 256
_MOST_DECODED_VALUES = 2_000_000
_MOST_ROWS = 10_000
_MOST_NUMBERED_ROWS = 1_000
_MOST_NUMBERED_FILES = 128


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
        self._by_number: Kept[bool] = Kept(_KEPT_NUMBERED)
        self._locks = FileLocks()

    def read(self, snapshot: Snapshot, found: Found, columns: Sequence[str]) -> pa.Table | None:
        """The rows found, with these columns; None where a scan costs less."""
        if snapshot.partition_by or not columns or sum(map(len, found.positions)) > _MOST_ROWS:
            return None
        names = [*columns] if found.exact is None else [*dict.fromkeys([*columns, found.exact.column])]
        schema = pa.schema([snapshot.schema.field(c) for c in names])
        large, small = by_size(found.files)
        few = some(found.files, small)
        if sum(few["num_records"].to_pylist()) * len(names) > _MOST_DECODED_VALUES:
            return None
        if _are_many(found, large):
            return None
        decoded = dict(zip(small, self._decoded(snapshot, few, schema), strict=True))
        numbered = large + [i for i, table in decoded.items() if table is None]
        if _are_many(found, numbered):
            return None
        rows = [schema.empty_table()]
        if numbered:
            rows.append(self._numbered(snapshot, found, numbered, schema))
        for i, table in decoded.items():
            positions = found.positions[i]
            if table is None:
                continue
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

    def _decoded(self, snapshot: Snapshot, files: pa.Table, schema: pa.Schema) -> list[pa.Table | None]:
        """All rows of each file; None for files that are too large for that, by themselves or together."""
        # By type, too: a later snapshot may read the same file with a wider one.
        wanted = tuple(schema)
        paths = files["path"].to_pylist()
        keys = [(path, wanted) for path in paths]
        sizes = files["size_bytes"].to_pylist()
        with self._locks.of(paths):
            known = [self._files.get(key) for key in keys]
            missing = [
                i
                for i, key in enumerate(keys)
                if known[i] is None and sizes[i] <= LARGE_FILE_BYTES and self._by_number.get(key) is None
            ]
            if not missing:
                return known
            # What one look-up needs has room together: else each file would drive out another.
            room = _DECODED_BYTES - sum(table.nbytes for table in known if table is not None)
            if room <= 0:
                return known
            new = some(files, missing)
            counts = new["num_records"].to_pylist()
            names = ", ".join(map(identifier, schema.names))
            parts = scan_within(self._engine, snapshot, new, names, _moderate(schema, max(counts)), room)
            for i, count, part in zip(missing, counts, parts, strict=True):
                if part.num_rows == count and part.nbytes <= min(room, LARGE_FILE_BYTES):
                    room -= part.nbytes
                    known[i] = table = in_order(part).cast(schema)
                    self._files.put(keys[i], table, table.nbytes)
                elif part.num_rows:
                    self._by_number.put(keys[i], True)
        return known


def _are_many(found: Found, numbered: Sequence[int]) -> bool:
    """True if so much of these files is wanted that a scan costs less than to read rows by number."""
    rows = sum(len(found.positions[i]) for i in numbered)
    return rows > _MOST_NUMBERED_ROWS or len(numbered) > _MOST_NUMBERED_FILES


def _moderate(schema: pa.Schema, count: int) -> str:
    """SQL that leaves out rows with long values, but for the first rows of a file.

    A portion of the rows is in memory before it can be weighed. What has long values in more than a few rows is large.
    """
    sizes = [size for field in schema for size in _sizes(identifier(field.name), field.type)]
    if count <= _FIRST_ROWS or not sizes:
        return "true"
    limit = LARGE_FILE_BYTES // PORTION_ROWS
    return f"file_row_number < {_FIRST_ROWS} OR " + " AND ".join(
        f"({s} > {limit}) IS NOT TRUE" for s in sizes
    )


def _sizes(value: str, kind: pa.DataType, depth: int = 0) -> list[str]:
    """SQL for the bytes of what has no fixed width; of what structs and maps hold, only decoding tells."""
    if pa.types.is_string(kind):
        return [f"strlen({value})"]
    if pa.types.is_binary(kind):
        return [f"octet_length({value})"]
    if not is_list(kind):
        return []
    inner = f"x{depth}"
    items = [
        f"list_sum(list_transform({value}, lambda {inner}: {size}))"
        for size in _sizes(inner, kind.value_type, depth + 1)
    ]
    return [f"len({value}) * 8", *items]
