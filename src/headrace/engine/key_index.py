"""Rows by key: an index in memory over the data files of a table.

Keys that come in no order are in the range of every file, so statistics rule none out. Data files never change, so
what is known of one stays true. Large files are replaced by each merge: the first time their keys are only scanned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from headrace.engine.duck import Engine
from headrace.engine.file_index import FileIndex, Marks, Positions, probes
from headrace.engine.file_locks import FileLocks
from headrace.engine.file_scan import LARGE_FILE_ROWS, by_size, numbers, scan, some
from headrace.engine.found_rows import Equals, Found, FoundRows
from headrace.engine.kept import Kept
from headrace.formats.base import Snapshot
from headrace.formats.duckdb_type import duckdb_type
from headrace.model.expression import And, Compare, Condition, IsIn, Value
from headrace.model.expression_sql import identifier, literal

_FEWEST_FILES = 8
_MOST_VALUES = 1_000
_INDEX_BYTES = 64 << 20
_BYTES_A_ROW = 8
_KEPT_SCANS = 4_096
_PORTION_ROWS = 1_000_000


class KeyIndex:
    """Indexes of files, made when their keys are asked for."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._indexes: Kept[FileIndex] = Kept(_INDEX_BYTES)
        self._scanned: Kept[bool] = Kept(_KEPT_SCANS)
        self._rows = FoundRows(engine)
        self._locks = FileLocks()

    def find(
        self, snapshot: Snapshot, files: pa.Table, keys: Iterable[str], conditions: Sequence[Condition]
    ) -> Found | None:
        """Where in `files` rows may be for the conditions on key columns; None where a scan costs less."""
        wanted = _wanted([k for k in keys if k not in snapshot.partition_by], conditions)
        if wanted is None or files["num_records"].null_count or not snapshot.is_plain:
            return None
        rows: list[int] = files["num_records"].to_pylist()
        if files.num_rows < _FEWEST_FILES and max(rows, default=0) < LARGE_FILE_ROWS:
            return None
        if sum(rows) * _BYTES_A_ROW > _INDEX_BYTES:
            return None
        column, values = wanted
        exact = _is_integer(snapshot, column)  # whose conditions hold integers in its range alone
        found = self._positions(snapshot, files, column, values)
        held = [i for i, positions in enumerate(found) if len(positions)]
        return Found(
            some(files, held),
            [found[i] for i in held],
            Equals(column, _integers(values)) if exact and _is_all(column, conditions) else None,
        )

    def rows(self, snapshot: Snapshot, found: Found, columns: Sequence[str]) -> pa.Table | None:
        """The rows found, with these columns; None where a scan costs less."""
        return self._rows.read(snapshot, found, columns)

    def _positions(
        self, snapshot: Snapshot, files: pa.Table, column: str, values: Sequence[Value]
    ) -> list[Positions]:
        """In each file, the rows that may have one of the values."""
        paths = files["path"].to_pylist()
        large, _ = by_size(files)
        with self._locks.of(paths):
            indexes = {path: self._indexes.get((path, column)) for path in paths}
            missing = {i for i, path in enumerate(paths) if indexes[path] is None}
            new = [i for i in large if i in missing and self._scanned.get((paths[i], column)) is None]
            for portion in _portions(sorted(missing.difference(new)), files):
                made = self._indexed(snapshot, some(files, portion), column)
                for path, index in zip([paths[i] for i in portion], made, strict=True):
                    indexes[path] = index
                    self._indexes.put((path, column), index, index.nbytes)
        scanned = dict(zip(new, self._scanned_for(snapshot, some(files, new), column, values), strict=True))
        for i in new:
            self._scanned.put((paths[i], column), True)
        if len(new) == len(paths):
            return list(scanned.values())
        wanted = probes(self._marks(snapshot, column, values))
        return [
            scanned[i] if (known := indexes[path]) is None else known.find(wanted)
            for i, path in enumerate(paths)
        ]

    def _indexed(self, snapshot: Snapshot, files: pa.Table, column: str) -> list[FileIndex]:
        mark = _mark(snapshot, column, identifier(column))
        # A null equals no key.
        parts = scan(self._engine, snapshot, files, f"{mark} AS m", f"{identifier(column)} IS NOT NULL")
        return [FileIndex(part["m"].to_numpy().view(np.uint64), numbers(part)) for part in parts]

    def _scanned_for(
        self, snapshot: Snapshot, files: pa.Table, column: str, values: Sequence[Value]
    ) -> list[Positions]:
        wanted = ", ".join(_cast(snapshot, column, v) for v in values)
        parts = scan(self._engine, snapshot, files, "0 AS m", f"{identifier(column)} IN ({wanted})")
        return [np.sort(numbers(part)) for part in parts]

    def _marks(self, snapshot: Snapshot, column: str, values: Sequence[Value]) -> Marks:
        if _is_integer(snapshot, column):
            return np.array([int(v.text) for v in values], np.int64).view(np.uint64)
        rows = ", ".join(f"({_cast(snapshot, column, v)})" for v in values)
        with self._engine.session() as session:
            found = session.table(f"SELECT {_mark(snapshot, column, 'v')} AS m FROM (VALUES {rows}) AS x(v)")
        marks: Marks = found["m"].to_numpy()
        return marks


def _is_all(column: str, conditions: Sequence[Condition]) -> bool:
    """True if nothing is asked but which values a column has."""
    match conditions:
        case [Compare(op="=", left=ref, right=Value())] | [IsIn(column=ref)]:
            return ref.name == column
    return False


def _is_integer(snapshot: Snapshot, column: str) -> bool:
    return bool(pa.types.is_integer(snapshot.schema.field(column).type))


def _mark(snapshot: Snapshot, column: str, value: str) -> str:
    """SQL for what stands for a key in the index: an integer itself, else its hash."""
    return f"{value}::BIGINT" if _is_integer(snapshot, column) else f"hash({value})"


def _cast(snapshot: Snapshot, column: str, value: Value) -> str:
    """SQL for the value as one of the column; null, which no key is, for what the column cannot hold."""
    return f"TRY_CAST({literal(value)} AS {duckdb_type(snapshot.schema.field(column).type)})"


def _portions(which: Iterable[int], files: pa.Table) -> Iterator[list[int]]:
    """The files of these numbers in portions, so that few keys are in memory beside the indexes made of them."""
    rows = files["num_records"].to_pylist()
    portion: list[int] = []
    count = 0
    for i in which:
        if portion and count + rows[i] > _PORTION_ROWS:
            yield portion
            portion, count = [], 0
        portion.append(i)
        count += rows[i]
    if portion:
        yield portion


def _integers(values: Iterable[Value]) -> pa.Array:
    return pa.array([int(v.text) for v in values], pa.int64())


def _wanted(keys: list[str], conditions: Iterable[Condition]) -> tuple[str, tuple[Value, ...]] | None:
    """A key column that must equal one of a few values; the one with the fewest values."""
    found: list[tuple[str, tuple[Value, ...]]] = []
    for condition in conditions:
        match condition:
            case And(operands=operands):
                inner = _wanted(keys, operands)
                found += [inner] if inner else []
            case Compare(op="=", left=left, right=Value() as value) if left.name in keys:
                found.append((left.name, (value,)))
            case IsIn(column=column, values=values) if (
                column.name in keys and 0 < len(values) <= _MOST_VALUES
            ):
                found.append((column.name, values))
    return min(found, key=lambda f: len(f[1]), default=None)
