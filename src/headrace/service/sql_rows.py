"""The rows of a query in SQL."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager

import pyarrow as pa

from headrace.calls import Calls
from headrace.engine.failure import translated
from headrace.engine.session import Session
from headrace.errors import Cancelled, InvalidArgument
from headrace.model.definition import read_schema
from headrace.model.request import Prepared, ReadRequest
from headrace.protocol import BATCH_ROWS
from headrace.service.record import FileCount


@dataclasses.dataclass(frozen=True)
class Started:
    """Args:
    shown: gives the session the tables of the query, and then the query to be run.
    reading: what is around that: it raises Conflict, NotFound where tables were changed meanwhile.
    files: how many these tables have.
    """

    session: Session
    shown: Callable[[], str]
    reading: AbstractContextManager[None]
    files: int


class SqlRows:
    """The rows of a query, as `Running` gives those of a plan. Nothing happens before the first is asked for."""

    def __init__(self, start: Callable[[ReadRequest], Started], calls: Calls, prepared: Prepared) -> None:
        self._start = start
        self._calls = calls
        self._request = prepared.request
        self._session: Session | None = None
        self._cancelled = False
        self.files: FileCount | None = None
        self.schema = read_schema(prepared.schema_ipc)

    def cancel(self) -> None:
        """Stop; from any thread. The batches then end in `Cancelled`."""
        self._cancelled = True
        if self._session is not None:
            self._session.interrupt()

    def batches(self, batch_rows: int = BATCH_ROWS) -> Generator[pa.RecordBatch, None, None]:
        """The rows as they are made. Once only; closing the iterator stops the work."""
        return self._calls.steps(self._batches(batch_rows))

    def _batches(self, batch_rows: int) -> Generator[pa.RecordBatch, None, None]:
        left = self._request.limit
        started = self._start(self._request)
        self._session = session = started.session
        # Which of them the engine leaves out by itself, it does not tell.
        self.files = FileCount(started.files, 0)
        try:
            if self._cancelled:
                raise Cancelled("the query was cancelled")
            with started.reading, translated(of_users=True):
                for batch in session.stream(started.shown(), batch_rows, of_users=True):
                    if left is not None and left <= 0:
                        return
                    if batch.schema.names != self.schema.names:
                        raise InvalidArgument("the read was prepared for other columns than the query has")
                    yield batch.slice(0, left).cast(self.schema)
                    left = None if left is None else left - batch.num_rows
        finally:
            session.close()

    def table(self) -> pa.Table:
        """All rows at once."""
        return pa.Table.from_batches(self._batches(BATCH_ROWS), self.schema)

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())
