"""Which files hold a key: an index in memory, for look-ups of a few rows in tables of many files.

Keys that come in no order are in the range of every file, so statistics rule none out, and each file opened costs
more than the row in it. Data files never change, so what is known of one stays true.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.engine.duck import Engine
from headrace.formats.base import Snapshot, duckdb_type
from headrace.model.expression import And, Compare, Condition, IsIn, Value
from headrace.model.expression_sql import identifier, literal

_FEWEST_FILES = 8
_MOST_VALUES = 1_000
_MOST_BYTES = 64 << 20
_BYTES_A_ROW = 8

Hashes = npt.NDArray[np.uint64]


class KeyIndex:
    """Sorted keys, or their hashes, a file each, made when first asked for; the least used are dropped."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept: OrderedDict[tuple[str, str], Hashes] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def narrow(
        self, snapshot: Snapshot, files: pa.Table, keys: Iterable[str], conditions: Iterable[Condition]
    ) -> pa.Table:
        """Those of `files` that may hold a row for the conditions on key columns; all where that costs more."""
        wanted = _wanted([k for k in keys if k not in snapshot.partition_by], conditions)
        rows = files["num_records"]
        if wanted is None or files.num_rows < _FEWEST_FILES or rows.null_count:
            return files
        if sum(rows.to_pylist()) * _BYTES_A_ROW > _MOST_BYTES // 2:
            return files
        column, values = wanted
        paths = files["path"].to_pylist()
        with self._lock:
            known = self._known(snapshot, column, paths, files)
            probes = self._hash_values(snapshot, column, values)
        held = [bool(_holds(hashes, probes)) for hashes in known]
        return files.filter(pa.array(held))

    def _known(self, snapshot: Snapshot, column: str, paths: list[str], files: pa.Table) -> list[Hashes]:
        missing = [i for i, path in enumerate(paths) if (path, column) not in self._kept]
        if missing:
            source = snapshot.source(files.take(missing))
            with self._engine.session() as session:
                mark = _mark(snapshot, column, identifier(column))
                found = session.table(f"SELECT file_index AS i, {mark} AS h FROM {source}")
            order = np.argsort(found["i"].to_numpy(), kind="stable")
            hashes = found["h"].to_numpy()[order]
            ends = np.searchsorted(found["i"].to_numpy()[order], np.arange(1, len(missing) + 1))
            for index, part in zip(missing, np.split(hashes, ends[:-1]), strict=True):
                self._keep((paths[index], column), np.sort(part.view(np.uint64)))
        for path in paths:
            self._kept.move_to_end((path, column))
        return [self._kept[path, column] for path in paths]

    def _keep(self, key: tuple[str, str], hashes: Hashes) -> None:
        self._kept[key] = hashes
        self._bytes += hashes.nbytes
        while self._bytes > _MOST_BYTES:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= dropped.nbytes

    def _hash_values(self, snapshot: Snapshot, column: str, values: tuple[Value, ...]) -> Hashes:
        if _is_integer(snapshot, column) and all(v.type == "int" for v in values):
            whole = np.array([int(v.text) for v in values if abs(int(v.text)) < 1 << 63], np.int64)
            return np.sort(whole.view(np.uint64))
        # A value that the column cannot hold becomes null, which no key is.
        kind = duckdb_type(snapshot.schema.field(column).type)
        rows = ", ".join(f"(TRY_CAST({literal(v)} AS {kind}))" for v in values)
        with self._engine.session() as session:
            found = session.table(f"SELECT {_mark(snapshot, column, 'v')} AS h FROM (VALUES {rows}) AS x(v)")
        return np.sort(found["h"].drop_null().to_numpy().view(np.uint64))


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


def _holds(hashes: Hashes, probes: Hashes) -> bool:
    places = np.searchsorted(hashes, probes)
    inside = places < len(hashes)
    return bool((hashes[places[inside]] == probes[inside]).any())
