"""What a result holds, in two numbers: its rows, and a sum over them that does not depend on their order."""

from __future__ import annotations

import dataclasses

import duckdb
import pyarrow as pa


@dataclasses.dataclass(frozen=True)
class Checksum:
    """`value` is the sum of a 64-bit hash of every row, modulo 2**64. `columns` are sorted by name."""

    columns: tuple[str, ...]
    rows: int
    value: int

    def __str__(self) -> str:
        return f"{self.rows:,} rows of {len(self.columns)} columns, checksum {self.value:016x}"


def checksum(result: pa.Table | pa.RecordBatchReader) -> Checksum:
    """Names, values, nulls and repetitions count; widths of numbers, units and zones of times do not."""
    fields = sorted(result.schema, key=lambda field: str(field.name))
    values = ", ".join(_plain(field) for field in fields)
    with duckdb.connect() as connection:
        connection.register("result", result)
        query = f"SELECT count(*), coalesce(sum(hash({values})::HUGEINT), 0) FROM result"
        ((rows, total),) = connection.sql(query).fetchall()
    return Checksum(tuple(field.name for field in fields), rows, total % 2**64)


def _plain(field: pa.Field) -> str:
    name: str = '"' + field.name.replace('"', '""') + '"'
    kind = field.type
    if pa.types.is_integer(kind):
        return f"{name}::HUGEINT"
    if pa.types.is_floating(kind):
        return f"{name}::DOUBLE"
    if pa.types.is_timestamp(kind):
        return f"epoch_us({name}::{'TIMESTAMPTZ' if kind.tz else 'TIMESTAMP'})"
    return name
