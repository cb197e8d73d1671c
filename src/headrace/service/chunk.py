"""Rows for one file of a training dataset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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


def chunks(pieces: Iterable[tuple[int, pa.RecordBatch]], schema: pa.Schema) -> Iterator[tuple[int, pa.Table]]:
    """The number of a split, and rows for one of its files; given pieces with the number of theirs."""
    split, chunk = 0, Chunk(schema)
    for part, piece in pieces:
        if chunk.rows and (part != split or chunk.is_full):
            yield split, chunk.table()
            chunk = Chunk(schema)
        split = part
        chunk.add(piece)
    if chunk.rows:
        yield split, chunk.table()
