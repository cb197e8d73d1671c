"""Parquet files, which the engine reads by itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.formats.folder.kind import Described, reading
from headrace.formats.footers import FooterSnapshot
from headrace.formats.normal_schema import normal_schema
from headrace.formats.stored_name import finer_names, is_finer
from headrace.model.expression_sql import identifier
from headrace.model.types import is_list, is_wider
from headrace.storage.files import Files

_TIME_OF_96_BITS = "INT96"


class ParquetFiles:
    label: str = "Parquet"
    endings: tuple[str, ...] = (".parquet", ".parq", ".pq")

    def described(self, files: Files, path: str) -> Described:
        with reading(path), files.open(path) as file:
            footer = pq.read_metadata(file)
            schema = footer.schema.to_arrow_schema()
            leaves = (footer.schema.column(i) for i in range(footer.num_columns))
            stored = [pa.field(field.name, _stored(field.type, leaves)) for field in schema]
            return Described(normal_schema(schema), footer.num_rows, pa.schema(filter(_has_finer, stored)))

    def united(self, one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
        return wider(one, other)

    def holds(self, kind: pa.DataType) -> bool:
        return True


@dataclasses.dataclass(frozen=True)
class ParquetSnapshot(FooterSnapshot):
    """
    Args:
        finer: of the files that have times of nanoseconds, which columns those are; by path.
    """

    finer: Mapping[str, pa.Schema] = dataclasses.field(default_factory=dict)

    def source(self, files: pa.Table, also: Sequence[pa.Field] = ()) -> str:
        """As of each snapshot; files that are read in different types are put together."""
        alike: dict[pa.Schema | None, list[int]] = {}
        for i, path in enumerate(files["path"].to_pylist()):
            alike.setdefault(self.finer.get(path), []).append(i)
        if len(alike) == 1:
            return self._read(next(iter(alike)), files, also)
        columns = [*(f.name for f in self.schema if f.name not in self.partition_by), *(f.name for f in also)]
        parts = [
            f"SELECT {', '.join(map(identifier, columns))}, ({which}::BIGINT[])[file_index::BIGINT + 1] AS file_index, "
            f"file_row_number FROM {self._read(finer, files.take(which), also)}"
            for finer, which in alike.items()
        ]
        return f"({' UNION ALL '.join(parts)})"

    def _read(self, finer: pa.Schema | None, files: pa.Table, also: Sequence[pa.Field]) -> str:
        names = None if finer is None else finer_names(self.schema, finer)
        return FooterSnapshot.source(dataclasses.replace(self, names=names), files, also)


def _stored(kind: pa.DataType, leaves: Iterator[pq.ColumnSchema]) -> pa.DataType:
    """A type as the engine reads it: times of 96 bits have no nanoseconds for it.

    Args:
        leaves: the file's own columns, of which a nested one has several, from the first of this one on.
    """
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, _stored(f.type, leaves)) for f in kind])
    if is_list(kind):
        return pa.list_(_stored(kind.value_type, leaves))
    if pa.types.is_map(kind):
        return pa.map_(_stored(kind.key_type, leaves), _stored(kind.item_type, leaves))
    is_coarse = next(leaves).physical_type == _TIME_OF_96_BITS
    return pa.timestamp("us", kind.tz) if is_coarse and is_finer(kind) else kind


def _has_finer(field: pa.Field) -> bool:
    kind = field.type
    return is_finer(kind) or any(_has_finer(kind.field(i)) for i in range(kind.num_fields))


def wider(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """That of two types which holds the values of both."""
    if one == other or pa.types.is_null(other) or is_wider(one, other):
        return one
    return other if pa.types.is_null(one) or is_wider(other, one) else None
