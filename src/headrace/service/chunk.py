"""Rows for one file of a training dataset."""

from __future__ import annotations

import pyarrow as pa

from headrace.model.types import plain_batch

_FILE_BYTES = 64 << 20
_FILE_ROWS = 1 << 20


class Chunk:
    """Rows that come in batches, until there are enough for a file."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._batches: list[pa.RecordBatch] = []
        self._bytes = 0
        self.rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        plain = plain_batch(batch, self._schema)
        self._batches.append(plain)
        self._bytes += plain.nbytes
        self.rows += plain.num_rows

    @property
    def is_full(self) -> bool:
        return self._bytes >= _FILE_BYTES or self.rows >= _FILE_ROWS

    def table(self) -> pa.Table:
        return pa.Table.from_batches(self._batches, self._schema)
