"""Rows by key: an index in memory over the data files of a table, and the rows of those that were looked into.

Keys that come in no order are in the range of every file, so statistics rule none out; and to take one row out of
a file, its pages must be decoded whole. Data files never change, so what is known of one stays true.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.engine.duck import Engine
from headrace.engine.kept import Kept
from headrace.formats.base import Snapshot, duckdb_type
from headrace.model.expression import And, Compare, Condition, IsIn, Value
from headrace.model.expression_sql import identifier, literal

_FEWEST_FILES = 8
_MOST_VALUES = 1_000
_INDEX_BYTES = 64 << 20
_BYTES_A_ROW = 12
_DECODED_BYTES = 128 << 20
_FEW_ROWS = 4
_MOST_DECODED_VALUES = 2_000_000
_MOST_FOUND_ROWS = 10_000

Hashes = npt.NDArray[np.uint64]
Positions = npt.NDArray[np.uint32]


class KeyIndex:
    """Sorted keys, or their hashes, a file each, made when first asked for; and decoded files, likewise."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._indexes: Kept[_FileIndex] = Kept(_INDEX_BYTES)
        self._decoded_files: Kept[pa.Table] = Kept(_DECODED_BYTES)
        self._lock = threading.Lock()

    def find(
        self, snapshot: Snapshot, files: pa.Table, keys: Iterable[str], conditions: Sequence[Condition]
    ) -> Found | None:
        """Where in `files` rows may be for the conditions on key columns; None where a scan costs less."""
        wanted = _wanted([k for k in keys if k not in snapshot.partition_by], conditions)
        rows = files["num_records"]
        if wanted is None or files.num_rows < _FEWEST_FILES or rows.null_count:
            return None
        if sum(rows.to_pylist()) * _BYTES_A_ROW > _INDEX_BYTES:
            return None
        column, values = wanted
        exact = _is_integer(snapshot, column)
        if exact and not all(v.type == "int" for v in values):
            return None  # several large integers equal one float
        probes = self._probes(snapshot, column, values, exact)
        found = [index.find(probes) for index in self._file_indexes(snapshot, column, files)]
        held = [i for i, positions in enumerate(found) if len(positions)]
        return Found(
            files.take(pa.array(held, pa.int64())),
            [found[i] for i in held],
            exact and _is_all(column, conditions),
        )

    def rows(self, snapshot: Snapshot, found: Found, columns: Sequence[str]) -> pa.Table | None:
        """The rows found, with these columns; None where a scan costs less."""
        files = found.files
        if snapshot.partition_by or not columns or sum(map(len, found.positions)) > _MOST_FOUND_ROWS:
            return None
        # Values, not bytes: how far a file was compressed, its size does not tell.
        if sum(files["num_records"].to_pylist()) * len(columns) > _MOST_DECODED_VALUES:
            return None
        schema = pa.schema([snapshot.schema.field(c) for c in columns])
        rows = [schema.empty_table()]
        for table, positions in zip(self._decoded(snapshot, files, schema), found.positions, strict=True):
            if len(positions) <= _FEW_ROWS:
                rows += [table.slice(position, 1) for position in positions.tolist()]
            else:
                rows.append(table.take(positions))
        return pa.concat_tables(rows)

    def _file_indexes(self, snapshot: Snapshot, column: str, files: pa.Table) -> list[_FileIndex]:
        paths = files["path"].to_pylist()
        with self._lock:
            known = {path: self._indexes.get((path, column)) for path in paths}
            missing = [i for i, path in enumerate(paths) if known[path] is None]
            if missing:
                marks = f"{_mark(snapshot, column, identifier(column))} AS h"
                for i, table in zip(missing, self._scan(snapshot, files.take(missing), marks), strict=True):
                    index = _FileIndex(table["h"])
                    known[paths[i]] = index
                    self._indexes.put((paths[i], column), index, index.nbytes)
        return [index for index in known.values() if index is not None]

    def _decoded(self, snapshot: Snapshot, files: pa.Table, schema: pa.Schema) -> list[pa.Table]:
        paths = files["path"].to_pylist()
        # By type, too: a later snapshot may read the same file with a wider one.
        wanted = tuple(schema)
        with self._lock:
            known = {path: self._decoded_files.get((path, wanted)) for path in paths}
            missing = [i for i, path in enumerate(paths) if known[path] is None]
            if missing:
                names = ", ".join(map(identifier, schema.names))
                for i, table in zip(missing, self._scan(snapshot, files.take(missing), names), strict=True):
                    rows = table.cast(schema).combine_chunks()
                    known[paths[i]] = rows
                    self._decoded_files.put((paths[i], wanted), rows, rows.nbytes)
        return [table for table in known.values() if table is not None]

    def _scan(self, snapshot: Snapshot, files: pa.Table, columns: str) -> list[pa.Table]:
        """`columns` of each of `files`, in the order of its rows."""
        source = snapshot.source(files)
        with self._engine.session() as session:
            found = session.table(
                f"SELECT {columns}, file_index AS __headrace_file FROM {source} ORDER BY file_index, file_row_number"
            )
        numbers = found["__headrace_file"].to_numpy()
        ends = np.searchsorted(numbers, np.arange(files.num_rows + 1)).tolist()
        rows = found.drop_columns(["__headrace_file"])
        return [rows.slice(a, b - a) for a, b in itertools.pairwise(ends)]

    def _probes(self, snapshot: Snapshot, column: str, values: tuple[Value, ...], exact: bool) -> Hashes:
        if exact:
            whole = [int(v.text) for v in values if -(1 << 63) <= int(v.text) < 1 << 63]
            return np.unique(np.array(whole, np.int64).view(np.uint64))
        # A value that the column cannot hold becomes null, which no key is.
        kind = duckdb_type(snapshot.schema.field(column).type)
        rows = ", ".join(f"(TRY_CAST({literal(v)} AS {kind}))" for v in values)
        with self._engine.session() as session:
            found = session.table(f"SELECT {_mark(snapshot, column, 'v')} AS h FROM (VALUES {rows}) AS x(v)")
        return np.unique(found["h"].drop_null().to_numpy().view(np.uint64))


class Found:
    """Files, and in each the numbers of the rows that may be wanted; with `exact`, that are."""

    def __init__(self, files: pa.Table, positions: list[Positions], exact: bool) -> None:
        self.files = files
        self.positions = positions
        self.exact = exact


class _FileIndex:
    """The keys of one file, sorted, and the row of each."""

    def __init__(self, marks: pa.ChunkedArray) -> None:
        there = marks.is_valid().to_numpy().nonzero()[0]  # a null equals no key
        hashes = marks.drop_null().to_numpy().view(np.uint64)
        order = np.argsort(hashes, kind="stable")
        self._rows: Positions = there[order].astype(np.uint32)
        self._hashes = hashes[order]

    @property
    def nbytes(self) -> int:
        return int(self._hashes.nbytes + self._rows.nbytes)

    def find(self, probes: Hashes) -> Positions:
        """The rows of these keys, in the file's order."""
        first = self._hashes.searchsorted(probes)
        inside = first < len(self._hashes)
        there = inside.nonzero()[0][self._hashes[first[inside]] == probes[inside]]
        if not len(there):
            return self._rows[:0]
        last = self._hashes.searchsorted(probes[there], "right")
        found = [self._rows[a:b] for a, b in zip(first[there].tolist(), last.tolist(), strict=True)]
        return np.sort(np.concatenate(found))


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
