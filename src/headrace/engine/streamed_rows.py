"""Rows that come as Arrow, as DuckDB scans them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from headrace.engine.passed import passed
from headrace.formats.streamed import Batches, StreamedSnapshot
from headrace.model.expression import Condition


class StreamedRows(ds.Dataset):  # type: ignore[misc]
    """A snapshot's rows for which conditions are true, or may be.

    They are fetched anew for each scan of a statement, with the columns that it reads.
    """

    def __init__(self, snapshot: StreamedSnapshot, conditions: Iterable[Condition], files: pa.Table) -> None:
        self._snapshot = snapshot
        self._conditions = tuple(conditions)
        self._files = files
        self._open: list[Batches] = []

    @property
    def schema(self) -> pa.Schema:
        return self._snapshot.schema

    def scanner(
        self,
        columns: Sequence[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002
        **_: Any,
    ) -> ds.Scanner:
        names = self.schema.names if columns is None else list(columns)
        # What a filter reads is not among the columns, and it tells its names in its text alone.
        told = "" if filter is None else str(filter)
        wanted = [name for name in self.schema.names if name in names or name in told] or self.schema.names[
            :1
        ]
        batches = self._snapshot.batches(wanted, self._conditions, self._files)
        self._open.append(batches)
        rows = pa.RecordBatchReader.from_batches(batches.schema, passed(batches))
        if filter is None and batches.schema.names == names:
            return _Whole(rows)
        return ds.Scanner.from_batches(rows, columns=names, filter=filter, batch_readahead=1)

    def cancel(self) -> None:
        """Stop all scans; from any thread."""
        for batches in self._open:
            batches.cancel()


class _Whole:
    """What of a scanner is asked for, where there is nothing to leave out."""

    def __init__(self, rows: pa.RecordBatchReader) -> None:
        self._rows = rows

    def to_reader(self) -> pa.RecordBatchReader:
        return self._rows
