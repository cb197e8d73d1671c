"""Statistics of Parquet files from their own footers, for tables whose logs tell none."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Container, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.errors import HeadraceError
from headrace.formats.base import Snapshot
from headrace.formats.duckdb_type import duckdb_type
from headrace.formats.folder.kind import reading
from headrace.formats.pruning import may_hold
from headrace.model.expression import Condition, columns_of
from headrace.storage.files import Files

_AT_ONCE = 16
_MOST_KEPT = 1 << 20
_MOST_SCHEMAS = 1 << 14


_RANGED = frozenset(
    {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "REAL", "DOUBLE", "VARCHAR", "DATE", "TIMESTAMPTZ"}
)
"""The types of columns by whose ranges files are left out."""


class _Range(NamedTuple):
    least: Any = None
    most: Any = None
    nulls: int | None = None


_UNKNOWN = _Range()


class Footers:
    """What the footers of one table's files tell of columns. A file never changes, so each is read once a column."""

    def __init__(
        self,
        files: Files,
        known: Mapping[tuple[str, str], _Range] | None = None,
        schemas: Mapping[str, pa.Schema] | None = None,
    ) -> None:
        self._files = files
        self._known = dict(known or {})
        self._schemas = dict(schemas or {})
        self._lock = threading.Lock()

    def without(self, paths: Container[str]) -> Footers:
        """What is known of the other files. A read that has begun may still learn of these, and keeps it to itself."""
        with self._lock:
            return Footers(
                self._files,
                {key: told for key, told in self._known.items() if key[0] not in paths},
                {path: schema for path, schema in self._schemas.items() if path not in paths},
            )

    def schemas(self, paths: Sequence[str]) -> list[pa.Schema]:
        """The columns of files, in the types that Arrow has for theirs.

        Raises:
            CorruptTable: one is no Parquet file. FileNotFoundError; OSError: one cannot be read.
        """
        with self._lock:
            known = {path: self._schemas[path] for path in paths if path in self._schemas}
        missing = [path for path in paths if path not in known]
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            known |= dict(zip(missing, threads.map(self._schema, missing), strict=True))
        with self._lock:
            if len(self._schemas) + len(missing) > _MOST_SCHEMAS:
                self._schemas.clear()
            self._schemas |= known
        return [known[path] for path in paths]

    def _schema(self, path: str) -> pa.Schema:
        with reading(path), self._files.open(path) as file:
            found: pa.Schema = pq.read_schema(file).remove_metadata()
            return found

    def told(self, files: pa.Table, fields: Sequence[pa.Field]) -> pa.Table:
        """`files` with `min.X`, `max.X` and `null_count.X` of these columns; null where a footer does not tell."""
        paths = files["path"].to_pylist()
        with self._lock:
            known = {
                key: self._known[key] for p in paths for f in fields if (key := (p, f.name)) in self._known
            }
        missing = [path for path in paths if any((path, field.name) not in known for field in fields)]
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            for path, found in zip(
                missing, threads.map(lambda p: self._read(p, fields), missing), strict=True
            ):
                known |= {(path, field.name): one for field, one in zip(fields, found, strict=True)}
        with self._lock:
            if len(self._known) + len(known) > _MOST_KEPT:
                self._known.clear()
            self._known |= known
        for field in fields:
            ranges = [known[path, field.name] for path in paths]
            told = {
                "min": pa.array([r.least for r in ranges], field.type),
                "max": pa.array([r.most for r in ranges], field.type),
                "null_count": pa.array([r.nulls for r in ranges], pa.int64()),
            }
            for kind, values in told.items():
                files = files.append_column(f"{kind}.{field.name}", values)
        return files

    def _read(self, path: str, fields: Sequence[pa.Field]) -> list[_Range]:
        """A file that cannot be read tells nothing: its rows, once they are asked for, say why."""
        try:
            with self._files.open(path) as file:
                footer = pq.read_metadata(file)
        except (OSError, pa.ArrowException, HeadraceError):
            return [_UNKNOWN] * len(fields)
        numbers = {footer.schema.column(i).path: i for i in range(footer.num_columns)}
        return [_range(footer, numbers.get(field.name), field.type) for field in fields]


@dataclasses.dataclass(frozen=True)
class FooterSnapshot(Snapshot):
    """One whose log, if there is any, tells no statistics, but for what folders tell."""

    footers: Footers | None = None

    def prune(self, conditions: Iterable[Condition]) -> pa.Table:
        conditions = tuple(conditions)
        files = super().prune(conditions)
        names = {ref.name for condition in conditions for ref in columns_of(condition)}
        asked = [
            field
            for field in self.schema
            if field.name in names - {*self.partition_by}
            and f"min.{field.name}" not in files.column_names
            and duckdb_type(field.type) in _RANGED
        ]
        if self.footers is None or not asked or files.num_rows < 2:
            return files
        mask = may_hold(self.footers.told(files, asked), self.schema, conditions)
        return files if mask is None else files.filter(mask)


def _range(footer: pq.FileMetaData, number: int | None, kind: pa.DataType) -> _Range:
    """Of a column in all row groups; unknown as a whole where one does not tell."""
    if number is None:  # older than the column, which is null in it
        return _Range(None, None, footer.num_rows)
    try:
        return _united(
            [footer.row_group(group).column(number) for group in range(footer.num_row_groups)], kind
        )
    # Bytes that are no text, nanoseconds for which Python has no type, or what has no place in the column's.
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return _UNKNOWN


def _united(columns: Sequence[pq.ColumnChunkMetaData], kind: pa.DataType) -> _Range:
    least, most, nulls = [], [], 0
    for column in columns:
        told = column.statistics
        if told is None or not told.has_null_count:
            return _UNKNOWN
        nulls += told.null_count
        if told.null_count == column.num_values:
            continue
        if not told.has_min_max:
            return _UNKNOWN
        least.append(told.min)
        most.append(told.max)
    # In the type of the column, which may be wider than that of the file.
    ends = [pa.scalar(value, kind).as_py() for value in (min(least), max(most))] if least else [None, None]
    return _Range(ends[0], ends[1], nulls)
