"""The rows of a kept result, on their way out."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import pyarrow as pa

from headrace.calls import Calls
from headrace.errors import Cancelled
from headrace.service.record import FileCount


class KeptRows:
    """The rows of a kept result, or one part of them, as they are in its file; read once."""

    def __init__(
        self,
        kept: pa.ipc.RecordBatchFileReader,
        columns: Sequence[str],
        schema: pa.Schema,
        share: tuple[int, int],
        calls: Calls,
        limit: int | None = None,
    ) -> None:
        self._kept = kept
        self._columns = columns
        self._share = share
        self._calls = calls
        self._left = limit
        self._cancelled = False
        self.schema = schema
        self.files = FileCount(0, 0)

    def cancel(self) -> None:
        """Stop; from any thread. The batches then end in `Cancelled`."""
        self._cancelled = True

    def batches(self) -> Generator[pa.RecordBatch, None, None]:
        return self._calls.steps(self._batches())

    def _batches(self) -> Generator[pa.RecordBatch, None, None]:
        part, parts = self._share
        number = self._kept.num_record_batches
        for i in range(number * part // parts, number * (part + 1) // parts):
            if self._cancelled:
                raise Cancelled("the read was cancelled")
            batch = self._kept.get_batch(i)
            named = pa.RecordBatch.from_arrays([batch[name] for name in self._columns], schema=self.schema)
            if self._left is not None:
                named = named.slice(0, self._left)
                self._left -= named.num_rows
            yield named
            if self._left == 0:
                return

    def table(self) -> pa.Table:
        """All rows at once."""
        return pa.Table.from_batches(self.batches(), self.schema)

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())
