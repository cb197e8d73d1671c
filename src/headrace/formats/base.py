"""What every table format gives: a snapshot, fixed for ever, that says which files hold which rows."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Container, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headrace.formats.duckdb_type import duckdb_type
from headrace.formats.pruning import may_hold
from headrace.formats.stored_name import StoredName, renamed, stored_kind
from headrace.model.expression import Condition
from headrace.model.expression_sql import identifier, text

Numbers = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """One version of one table.

    Args:
        version: its number in the table's log.
        schema: all columns, partition columns included.
        files: one row a file: `path`, `num_records`, `size_bytes`, `min.X`, `max.X`, `null_count.X`, `partition.X`;
            where files may be replaced, also `address`, by which the engine never takes one for another.
        partition_by: columns whose values stand in the log and not in the files.
        unique: columns in which the log proves that no two rows are alike; None if it does not tell.
        exact: files have no columns but those of the table, under their names and in their types.
        names: those of the columns in files, where they are others; what is not in it, no file has.
        deleted: the numbers of the rows of files that are there no more, by path.
        keeps_changes: the table keeps a change feed.
        lasting: nobody replaces a file by another of its name.
    """

    version: int
    schema: pa.Schema
    files: pa.Table
    partition_by: tuple[str, ...] = ()
    unique: tuple[str, ...] | None = None
    exact: bool = True
    names: Mapping[str, StoredName] | None = None
    deleted: Mapping[str, Numbers] = dataclasses.field(default_factory=dict)
    keeps_changes: bool = False
    lasting: bool = True

    def unique_by(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        """The columns, if it is proven that no two rows are alike in them; None also if there are none."""
        proven = self.unique is not None and set(self.unique) <= set(columns)
        return columns if columns and proven else None

    @property
    def is_plain(self) -> bool:
        """What is once known of the rows of a file is true in all plain snapshots of its table."""
        return self.exact and self.names is None and not self.deleted

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

    def source(self, files: pa.Table, also: Sequence[pa.Field] = ()) -> str:
        """SQL for what stands in `files`, at least one: all columns but the partitions', and `file_index`.

        Files that were written before a column was added do not have it, and its values in them are null.

        Args:
            also: columns that the files have beside those of the schema.
        """
        columns = [*(f for f in self.schema if f.name not in self.partition_by), *also]
        paths = ", ".join(text(PATTERN.sub(r"[\g<0>]", path)) for path in addresses(files))
        found = f"read_parquet([{paths}], hive_partitioning=false"
        whole = not also and self._is_whole(files)
        found = f"{found})" if whole else self._typed(found, columns, {f.name for f in also})
        return self._without_deleted(found, files, columns)

    def _typed(self, found: str, columns: Sequence[pa.Field], own: Container[str]) -> str:
        """The columns by the names that files have them under, or their `own`, and in the types of the schema."""
        entries, shown = [], []
        for field in columns:
            name = identifier(field.name)
            stored: StoredName | None = StoredName(field.name)
            if self.names is not None and field.name not in own:
                stored = self.names.get(field.name)
            if stored is None:
                shown.append(f"CAST(NULL AS {duckdb_type(field.type)}) AS {name}")
                continue
            kind = field.type if self.names is None else stored_kind(field.type, stored)
            value = name if kind == field.type else renamed(name, field.type, stored)
            told = f"name: {text(field.name)}, type: {text(duckdb_type(kind))}, default_value: NULL"
            entries.append(f"{text(stored.name)}: {{{told}}}")
            shown.append(f"{value} AS {name}")
        schema = f", schema=MAP {{{', '.join(entries)}}}" if entries else ""
        return f"(SELECT {', '.join([*shown, *_NUMBERS])} FROM {found}{schema}))"

    def _without_deleted(self, found: str, files: pa.Table, columns: Sequence[pa.Field]) -> str:
        gone = [(i, self.deleted[p]) for i, p in enumerate(files["path"].to_pylist()) if p in self.deleted]
        if not gone:
            return found
        # As texts, which are cast in a fraction of the time that as many literals are parsed in.
        rows = ", ".join(f"({i}, '[{','.join(map(str, numbers.tolist()))}]')" for i, numbers in gone)
        numbers = f"SELECT i, unnest(n::BIGINT[]) AS n FROM (VALUES {rows}) AS v(i, n)"
        names = ", ".join([*(f"r.{identifier(f.name)}" for f in columns), *(f"r.{n}" for n in _NUMBERS)])
        return (
            f"(SELECT {names} FROM {found} AS r ANTI JOIN ({numbers}) AS d "
            f"ON r.file_index = d.i AND r.file_row_number = d.n)"
        )

    def _is_whole(self, files: pa.Table) -> bool:
        """Whether it is sure that the files have every column: those of which there are statistics they have."""
        if not self.exact:
            return False
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
        if counts.null_count:
            return None
        return int(pc.sum(counts).as_py() or 0) - sum(
            len(self.deleted[path]) for path in self.files["path"].to_pylist() if path in self.deleted
        )

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


def addresses(files: pa.Table) -> list[str]:
    """By which the engine reads files of a snapshot."""
    found: list[str] = files["address" if "address" in files.column_names else "path"].to_pylist()
    return found


# Of a file among those that are read, and of a row in its file.
_NUMBERS = ("file_index", "file_row_number")
# DuckDB takes a path with one of these for a pattern.
PATTERN = re.compile(r"[*?\[]")


def _value(value: object) -> str:
    """A partition value as text, which DuckDB casts to the column's type."""
    if isinstance(value, bytes):
        return text("".join(f"\\x{byte:02X}" for byte in value))
    return "NULL" if value is None else text(str(value))
