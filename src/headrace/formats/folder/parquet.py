"""Parquet files, which the engine reads by itself."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.formats.folder.kind import Described, reading
from headrace.formats.normal_schema import normal_schema
from headrace.model.types import is_wider
from headrace.storage.files import Files


class ParquetFiles:
    label: str = "Parquet"
    endings: tuple[str, ...] = (".parquet", ".parq", ".pq")

    def described(self, files: Files, path: str) -> Described:
        with reading(path), files.open(path) as file:
            footer = pq.read_metadata(file)
            return Described(normal_schema(footer.schema.to_arrow_schema()), footer.num_rows)

    def united(self, one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
        return wider(one, other)

    def holds(self, kind: pa.DataType) -> bool:
        return True


def wider(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """That of two types which holds the values of both."""
    if one == other or pa.types.is_null(other) or is_wider(one, other):
        return one
    return other if pa.types.is_null(one) or is_wider(other, one) else None
