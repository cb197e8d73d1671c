"""What every table format gives: a snapshot, fixed for ever, that says which files hold which rows."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from headrace.formats.pruning import may_hold
from headrace.model.expression import Condition
from headrace.model.expression_sql import identifier, text
from headrace.model.types import is_list


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """One version of one table.

    Args:
        version: its number in the table's log.
        schema: all columns, partition columns included.
        files: one row a file: `path`, `num_records`, `size_bytes`, `min.X`, `max.X`, `null_count.X`, `partition.X`.
        partition_by: columns whose values stand in the log and not in the files.
        unique: True if the log proves that no two rows have the same identity; None if it does not tell.
    """

    version: int
    schema: pa.Schema
    files: pa.Table
    partition_by: tuple[str, ...] = ()
    unique: bool | None = None

    def prune(self, conditions: Iterable[Condition]) -> pa.Table:
        """The files that may hold a row for which every condition is true."""
        mask = may_hold(self.files, self.schema, tuple(conditions))
        return self.files if mask is None else self.files.filter(mask)

    def relation(self, files: pa.Table | None = None) -> str:
        """SQL for the rows of `files`, by default of all, with every column of the schema."""
        files = self.files if files is None else files
        if files.num_rows == 0:
            columns = ", ".join(
                f"CAST(NULL AS {duckdb_type(f.type)}) AS {identifier(f.name)}" for f in self.schema
            )
            return f"(SELECT {columns} WHERE false)"
        source = self.source(files)
        if not self.partition_by:
            return source
        # The position of a file in the list is a column that DuckDB gives for nothing; its path is not.
        values = ", ".join(
            f"({i}, {', '.join(_value(files[f'partition.{c}'][i].as_py()) for c in self.partition_by)})"
            for i in range(files.num_rows)
        )
        names = ", ".join(f"p{i}" for i in range(len(self.partition_by)))
        columns = ", ".join(
            f"CAST(p.p{self.partition_by.index(f.name)} AS {duckdb_type(f.type)}) AS {identifier(f.name)}"
            if f.name in self.partition_by
            else f"r.{identifier(f.name)}"
            for f in self.schema
        )
        return f"(SELECT {columns} FROM {source} AS r JOIN (VALUES {values}) AS p(i, {names}) ON r.file_index = p.i)"

    def source(self, files: pa.Table) -> str:
        """SQL for what stands in `files`, at least one: all columns but the partitions', and `file_index`.

        Files that were written before a column was added do not have it, and its values in them are null.
        """
        paths = ", ".join(text(_GLOB.sub(r"[\g<0>]", path)) for path in files["path"].to_pylist())
        if self._is_whole(files):
            return f"read_parquet([{paths}], hive_partitioning=false)"
        columns = ", ".join(
            f"CAST(NULL AS {duckdb_type(f.type)}) AS {identifier(f.name)}"
            for f in self.schema
            if f.name not in self.partition_by
        )
        found = f"read_parquet([{paths}], hive_partitioning=false, union_by_name=true)"
        # What no file has is a column of the first side alone.
        return f"(SELECT {columns} WHERE false UNION ALL BY NAME SELECT *, file_index, file_row_number FROM {found})"

    def _is_whole(self, files: pa.Table) -> bool:
        """Whether it is sure that the files have every column: those of which there are statistics they have."""
        for field in self.schema:
            if field.name in self.partition_by:
                continue
            index = files.schema.get_field_index(f"null_count.{field.name}")
            # A name with a dot may be that of a column in another.
            if index < 0 or "." in field.name or pa.types.is_nested(field.type) or files[index].null_count:
                return False
        return True

    @property
    def rows(self) -> int | None:
        """Rows in all files; None if a file does not tell."""
        counts = self.files["num_records"]
        return None if counts.null_count else int(pc.sum(counts).as_py() or 0)

    @property
    def size_bytes(self) -> int:
        return int(pc.sum(self.files["size_bytes"]).as_py() or 0)

    def split(self, files: pa.Table, parts: int) -> list[pa.Table]:
        """`files` in up to `parts` shares of about as many bytes each."""
        shares: list[list[int]] = [[] for _ in range(parts)]
        sizes = [0] * parts
        order = sorted(enumerate(files["size_bytes"].to_pylist()), key=lambda f: -f[1])
        for index, size in order:
            least = sizes.index(min(sizes))
            shares[least].append(index)
            sizes[least] += size
        return [files.take(sorted(share)) for share in shares if share]


# DuckDB takes a path with one of these for a pattern.
_GLOB = re.compile(r"[*?\[]")


def _value(value: object) -> str:
    """A partition value as text, which DuckDB casts to the column's type."""
    return "NULL" if value is None else text(str(value))


_NAMES = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.float32(): "REAL",
    pa.float64(): "DOUBLE",
    pa.string(): "VARCHAR",
    pa.binary(): "BLOB",
    pa.date32(): "DATE",
    pa.timestamp("us"): "TIMESTAMP",
    pa.timestamp("us", "UTC"): "TIMESTAMPTZ",
}


def is_readable(kind: pa.DataType) -> bool:
    """Whether there is a DuckDB type for an Arrow type."""
    try:
        duckdb_type(kind)
    except TypeError:
        return False
    return True


def duckdb_type(kind: pa.DataType) -> str:
    """The DuckDB type that reads a stored Arrow type."""
    if kind in _NAMES:
        return _NAMES[kind]
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if is_list(kind):
        return f"{duckdb_type(kind.value_type)}[]"
    if pa.types.is_map(kind):
        return f"MAP({duckdb_type(kind.key_type)}, {duckdb_type(kind.item_type)})"
    if pa.types.is_struct(kind):
        return f"STRUCT({', '.join(f'{identifier(f.name)} {duckdb_type(f.type)}' for f in kind)})"
    raise TypeError(f"{kind} is not a stored type")
