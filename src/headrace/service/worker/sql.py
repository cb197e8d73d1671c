"""SQL for one caller, read by workers."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Generator

import msgspec
import pyarrow as pa

from headrace.calls import Calls
from headrace.engine.kept import Kept
from headrace.errors import Cancelled, InternalError
from headrace.model.definition import read_schema
from headrace.model.request import Prepared, ReadRequest
from headrace.protocol import BATCH_ROWS
from headrace.service.record import FileCount
from headrace.service.worker.channel import Ask, Told
from headrace.service.worker.pool import WorkerProcess, Workers

_KEPT_QUERIES = 256
_LONGEST_KEPT = 10_000


class WorkerSql:
    """As `headrace.service.sql_reading.SqlReader`, in other processes.

    Args:
        user: None may do everything.
        is_newest: whether what a query was prepared for is what it would be prepared for now.
    """

    def __init__(
        self,
        workers: Workers,
        calls: Calls,
        project: str,
        user: str | None,
        is_newest: Callable[[ReadRequest], bool],
    ) -> None:
        self._is_newest = is_newest
        # Drivers prepare a statement and then what it runs, and dashboards ask the same again and again.
        self._kept: Kept[Prepared] = Kept(_KEPT_QUERIES)
        self._workers = workers
        self._calls = calls
        self._project = project
        self._user = user

    def prepare(self, request: ReadRequest, gone: Callable[[], bool] = lambda: False) -> Prepared:
        key = msgspec.msgpack.encode(request)
        kept = self._kept.get(key)
        if kept is not None and self._is_newest(kept.request):
            now = dt.datetime.now(dt.UTC)
            return msgspec.structs.replace(kept, request=msgspec.structs.replace(kept.request, now=now))
        prepared = self._told(Ask("prepare", self._project, self._user, request=request), gone).prepared
        if prepared is None:
            raise InternalError("a worker gave no answer")
        if request.now is None and len(key) <= _LONGEST_KEPT:
            self._kept.put(key, prepared)
        return prepared

    def parameters(self, sql: str) -> list[str]:
        return list(self._told(Ask("parameters", self._project, self._user, sql=sql)).parameters)

    def parts(self, prepared: Prepared) -> int:
        return 1

    def run(self, prepared: Prepared, spine: pa.Table | None, part: int, parts: int) -> WorkerRows:
        asked = Ask("run", self._project, self._user, prepared=prepared)
        return WorkerRows(self._workers, self._calls, asked, read_schema(prepared.schema_ipc))

    def explain(self, request: ReadRequest) -> str:
        return self._told(Ask("explain", self._project, self._user, request=request)).text

    def _told(self, asked: Ask, gone: Callable[[], bool] = lambda: False) -> Told:
        def check() -> None:
            self._calls.check()
            if gone():
                raise Cancelled("the caller has gone")

        with self._workers.one(check) as worker:
            return worker.ask(asked, gone)


class WorkerRows:
    """The rows of a query, as `Running` gives those of a plan. No worker is taken before the first is asked for."""

    def __init__(self, workers: Workers, calls: Calls, asked: Ask, schema: pa.Schema) -> None:
        self._workers = workers
        self._calls = calls
        self._asked = asked
        self._worker: WorkerProcess | None = None
        self._cancelled = False
        self._lock = threading.Lock()
        self.files: FileCount | None = None
        self.schema = schema

    def cancel(self) -> None:
        """Stop; from any thread. The batches then end in `Cancelled`."""
        with self._lock:
            self._cancelled = True
            if self._worker is not None:
                self._worker.stop()

    def batches(self, batch_rows: int = BATCH_ROWS) -> Generator[pa.RecordBatch, None, None]:
        """The rows as they are made. Once only; closing the iterator stops the work."""
        return self._calls.steps(self._batches())

    def table(self) -> pa.Table:
        """All rows at once."""
        return pa.Table.from_batches(self._batches(), self.schema)

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    def _batches(self) -> Generator[pa.RecordBatch, None, None]:
        with self._workers.one(self._check) as worker:
            with self._lock:
                self._check()
                self._worker = worker
            try:
                told = yield from worker.run(self._asked)
                self.files = FileCount(told.files, 0)
            finally:
                with self._lock:
                    self._worker = None

    def _check(self) -> None:
        self._calls.check()
        if self._cancelled:
            raise Cancelled("the query was cancelled")
