"""Rows by key: an index in memory over the data files of a table, and the rows of those that were looked into.

Keys that come in no order are in the range of every file, so statistics rule none out; and to take one row out of
a file, its pages must be decoded whole. Data files never change, so what is known of one stays true.

Small files, which commits of a few rows leave behind, are indexed and decoded at once, for good. Large ones are
replaced by each merge: their keys are scanned the first time, indexed the second, and rows are read by their number.
"""

from __future__ import annotations

import dataclasses
import itertools
import threading
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.engine.duck import Engine
from headrace.engine.file_index import FileIndex, Marks, Positions, probes
from headrace.engine.kept import Kept
from headrace.formats.base import Snapshot, duckdb_type
from headrace.model.expression import And, Compare, Condition, IsIn, Value
from headrace.model.expression_sql import identifier, literal

_FEWEST_FILES = 8
_LARGE_FILE_ROWS = 65_536
_MOST_VALUES = 1_000
_INDEX_BYTES = 64 << 20
_BYTES_A_ROW = 8
_DECODED_BYTES = 128 << 20
_FEW_ROWS = 4
_MOST_DECODED_VALUES = 2_000_000
_MOST_FOUND_ROWS = 10_000
_MOST_NUMBERED_ROWS = 1_000
_KEPT_SCANS = 4_096
_PORTION_ROWS = 1_000_000


class KeyIndex:
    """Indexes of files, made when their keys are first asked for; and decoded files, likewise."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._indexes: Kept[FileIndex] = Kept(_INDEX_BYTES)
        self._scanned: Kept[bool] = Kept(_KEPT_SCANS)
        self._decoded_files: Kept[pa.Table] = Kept(_DECODED_BYTES)
        self._lock = threading.Lock()

    def find(
        self, snapshot: Snapshot, files: pa.Table, keys: Iterable[str], conditions: Sequence[Condition]
    ) -> Found | None:
        """Where in `files` rows may be for the conditions on key columns; None where a scan costs less."""
        wanted = _wanted([k for k in keys if k not in snapshot.partition_by], conditions)
        if wanted is None or files["num_records"].null_count:
            return None
        rows: list[int] = files["num_records"].to_pylist()
        if files.num_rows < _FEWEST_FILES and max(rows, default=0) < _LARGE_FILE_ROWS:
            return None
        if sum(rows) * _BYTES_A_ROW > _INDEX_BYTES:
            return None
        column, values = wanted
        exact = _is_integer(snapshot, column)
        if exact:
            if not all(v.type == "int" for v in values):
                return None
            values = tuple(v for v in values if -(1 << 63) <= int(v.text) < 1 << 63)
        found = self._positions(snapshot, files, column, values)
        held = [i for i, positions in enumerate(found) if len(positions)]
        return Found(
            _some(files, held),
            [found[i] for i in held],
            Equals(column, _integers(values)) if exact and _is_all(column, conditions) else None,
        )

    def rows(self, snapshot: Snapshot, found: Found, columns: Sequence[str]) -> pa.Table | None:
        """The rows found, with these columns; None where a scan costs less."""
        if snapshot.partition_by or not columns or sum(map(len, found.positions)) > _MOST_FOUND_ROWS:
            return None
        names = [*columns] if found.exact is None else [*dict.fromkeys([*columns, found.exact.column])]
        large, small = _by_size(found.files)
        # Values, not bytes: how far a file was compressed, its size does not tell.
        decoded = sum(_some(found.files, small)["num_records"].to_pylist()) * len(names)
        numbered = sum(len(found.positions[i]) for i in large)
        if decoded > _MOST_DECODED_VALUES or numbered > _MOST_NUMBERED_ROWS:
            return None
        schema = pa.schema([snapshot.schema.field(c) for c in names])
        rows = [schema.empty_table()]
        if large:
            rows.append(self._numbered(snapshot, found, large, schema))
        for i, table in zip(small, self._decoded(snapshot, _some(found.files, small), schema), strict=True):
            positions = found.positions[i]
            if len(positions) <= _FEW_ROWS:
                rows += [table.slice(position, 1) for position in positions.tolist()]
            else:
                rows.append(table.take(positions))
        held = pa.concat_tables(rows)
        return held if found.exact is None else found.exact.only(held).select(columns)

    def _positions(
        self, snapshot: Snapshot, files: pa.Table, column: str, values: Sequence[Value]
    ) -> list[Positions]:
        """In each file, the rows that may have one of the values."""
        paths = files["path"].to_pylist()
        large, _ = _by_size(files)
        with self._lock:
            indexes = {path: self._indexes.get((path, column)) for path in paths}
            missing = {i for i, path in enumerate(paths) if indexes[path] is None}
            new = [i for i in large if i in missing and self._scanned.get((paths[i], column)) is None]
            for portion in _portions(sorted(missing.difference(new)), files):
                made = self._indexed(snapshot, _some(files, portion), column)
                for path, index in zip([paths[i] for i in portion], made, strict=True):
                    indexes[path] = index
                    self._indexes.put((path, column), index, index.nbytes)
        scanned = dict(zip(new, self._scanned_for(snapshot, _some(files, new), column, values), strict=True))
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
        parts = self._by_file(snapshot, files, f"{mark} AS m", f"{identifier(column)} IS NOT NULL")
        return [FileIndex(part["m"].to_numpy().view(np.uint64), _numbers(part)) for part in parts]

    def _scanned_for(
        self, snapshot: Snapshot, files: pa.Table, column: str, values: Sequence[Value]
    ) -> list[Positions]:
        if not files.num_rows or not values:
            return [np.empty(0, np.uint32)] * files.num_rows
        wanted = ", ".join(_cast(snapshot, column, v) for v in values)
        parts = self._by_file(snapshot, files, "0 AS m", f"{identifier(column)} IN ({wanted})")
        return [np.sort(_numbers(part)) for part in parts]

    def _by_file(self, snapshot: Snapshot, files: pa.Table, columns: str, condition: str) -> list[pa.Table]:
        """`columns` of the rows of each file for which the condition is true, with the row's number in `r`."""
        with self._engine.session() as session:
            found = session.table(
                f"SELECT {columns}, file_row_number::UINTEGER AS r, file_index::UINTEGER AS f "
                f"FROM {snapshot.source(files)} WHERE {condition}"
            )
        of = found["f"].to_numpy()
        order = of.astype(np.uint16 if files.num_rows < 1 << 16 else np.uint32).argsort(kind="stable")
        ends = np.searchsorted(of[order], np.arange(files.num_rows + 1)).tolist()
        rows = found.drop_columns(["f"])
        if files.num_rows > 1:
            rows = rows.take(order)
        return [rows.slice(a, b - a) for a, b in itertools.pairwise(ends)]

    def _numbered(
        self, snapshot: Snapshot, found: Found, which: Sequence[int], schema: pa.Schema
    ) -> pa.Table:
        """Rows by their numbers: of the pages of a file, those that hold none of them are passed over."""
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
            known = {path: self._decoded_files.get((path, wanted)) for path in paths}
            missing = [i for i, path in enumerate(paths) if known[path] is None]
            if missing:
                for i, table in zip(
                    missing, self._scan(snapshot, _some(files, missing), schema), strict=True
                ):
                    known[paths[i]] = table
                    self._decoded_files.put((paths[i], wanted), table, table.nbytes)
        return [table for table in known.values() if table is not None]

    def _scan(self, snapshot: Snapshot, files: pa.Table, schema: pa.Schema) -> list[pa.Table]:
        """The rows of each of `files`, in their order."""
        names = ", ".join(map(identifier, schema.names))
        with self._engine.session() as session:
            found = session.table(
                f"SELECT {names}, file_index AS __headrace_file FROM {snapshot.source(files)} "
                "ORDER BY file_index, file_row_number"
            )
        numbers = found["__headrace_file"].to_numpy()
        ends = np.searchsorted(numbers, np.arange(files.num_rows + 1)).tolist()
        rows = found.drop_columns(["__headrace_file"]).cast(schema)
        return [rows.slice(a, b - a).combine_chunks() for a, b in itertools.pairwise(ends)]

    def _marks(self, snapshot: Snapshot, column: str, values: Sequence[Value]) -> Marks:
        if _is_integer(snapshot, column):
            return np.array([int(v.text) for v in values], np.int64).view(np.uint64)
        rows = ", ".join(f"({_cast(snapshot, column, v)})" for v in values)
        with self._engine.session() as session:
            found = session.table(f"SELECT {_mark(snapshot, column, 'v')} AS m FROM (VALUES {rows}) AS x(v)")
        marks: Marks = found["m"].to_numpy()
        return marks


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


def _by_size(files: pa.Table) -> tuple[list[int], list[int]]:
    """The numbers of the large files, and of the others."""
    rows = files["num_records"].to_pylist()
    large = [i for i, count in enumerate(rows) if count >= _LARGE_FILE_ROWS]
    return large, [i for i, count in enumerate(rows) if count < _LARGE_FILE_ROWS]


def _some(files: pa.Table, which: Sequence[int]) -> pa.Table:
    if len(which) in (0, files.num_rows):  # by far the most often; to take costs more than all else
        return files.slice(0, len(which))
    return files.take(pa.array(which, pa.int64()))


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


def _numbers(rows: pa.Table) -> Positions:
    numbers: Positions = rows["r"].to_numpy()
    return numbers


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
