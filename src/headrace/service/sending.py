"""The rows of a query on their way to who asked for them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator, Iterator

import pyarrow as pa

from headrace.service.project import Rows
from headrace.service.queries import Query
from headrace.service.record import CallRecord
from headrace.service.watch import Watch

_LET_GO_S = 1.0


def started(running: Rows, query: Query, record: CallRecord, watch: Watch) -> Iterator[pa.RecordBatch]:
    """The batches, the first one made: an error before it is the answer to the call. The query ends with them."""
    batches = _watched(running, query, record, watch)
    first = next(batches, None)
    record.begins("stream")
    return batches if first is None else _chain(first, batches)


def _watched(
    running: Rows, query: Query, record: CallRecord, watch: Watch
) -> Generator[pa.RecordBatch, None, None]:
    """The batches. While one is made nothing is sent, and while none is taken nothing is made: only the watch notices
    then that the caller has gone, that the query has had its time, or that it was stopped before the engine had begun.
    """
    batches, making, ending = running.batches(), threading.Lock(), threading.Event()

    def stop() -> None:
        running.cancel()
        # While its rows are taken by nobody, nothing else would let go of what it holds.
        if making.acquire(timeout=_LET_GO_S):
            try:
                batches.close()
            finally:
                making.release()
                query.close()

    def end() -> None:
        """Again and again, and in no time: what takes some has a thread of its own."""
        running.cancel()
        if not making.locked() and not ending.is_set():
            threading.Thread(target=stop, name="headrace-stop", daemon=True).start()
            ending.set()

    with contextlib.closing(query), query.told_why():
        try:
            query.stops(stop)
            with watch.over(query.is_unwanted, end):
                while True:
                    with making, query.computing():
                        batch = next(batches, None)
                    if batch is None:
                        query.check_cancelled()  # then what has come is not all
                        return
                    query.count(batch.num_rows)
                    record.rows += batch.num_rows
                    record.sent += batch.nbytes
                    with query.still():
                        yield batch
        finally:
            with making:  # who stops it may be at that just now
                batches.close()
            record.files = running.files


def _chain(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest
