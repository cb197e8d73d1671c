"""Reads of training datasets: of the files, and of the pinned snapshots once more."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager

import pyarrow as pa

from headrace.calls import Calls
from headrace.errors import Cancelled
from headrace.formats.rows_file import RowsFiles
from headrace.model.types import plain_batch
from headrace.service.record import FileCount
from headrace.service.running import Running
from headrace.service.spark_running import SparkRunning


class StoredRows:
    """The rows of files of a dataset, as `Running` gives those of a query.

    Args:
        files: in which they are.
        told: within, a file that is not there may be one of a dataset that was deleted.
    """

    def __init__(
        self,
        calls: Calls,
        rows: RowsFiles,
        files: int,
        limit: int | None,
        told: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._calls = calls
        self._rows = rows
        self._limit = limit
        self._told = told
        self._cancelled = False
        self.schema = rows.schema
        self.files = FileCount(files, 0)

    def cancel(self) -> None:
        """Stop; from any thread. The batches then end in `Cancelled`."""
        self._cancelled = True

    def batches(self) -> Generator[pa.RecordBatch, None, None]:
        """The rows, in the order in which they were written."""
        return self._calls.steps(self._batches())

    def _batches(self) -> Generator[pa.RecordBatch, None, None]:
        left = self._limit
        with self._told():
            for batch in self._rows.batches():
                if self._cancelled:
                    raise Cancelled("the read was cancelled")
                if left is None:
                    yield batch
                    continue
                if left <= 0:
                    return
                yield batch.slice(0, left)
                left -= batch.num_rows

    def table(self) -> pa.Table:
        """All rows at once."""
        if self._limit is None:
            with self._told():
                return self._rows.table()
        return pa.Table.from_batches(self._batches(), self.schema)

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())


class RecomputedRows:
    """The rows that a read gives, in the types in which a dataset keeps them."""

    def __init__(self, running: Running | SparkRunning, schema: pa.Schema) -> None:
        self._running = running
        self.schema = schema

    @property
    def files(self) -> FileCount:
        """Once the rows have begun."""
        return self._running.files

    def cancel(self) -> None:
        self._running.cancel()

    def batches(self) -> Generator[pa.RecordBatch, None, None]:
        for batch in self._running.batches():
            yield plain_batch(batch, self.schema)

    def table(self) -> pa.Table:
        """All rows at once."""
        return pa.Table.from_batches(self.batches(), self.schema)

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())
