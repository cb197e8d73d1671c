"""What callers send: believed by nobody before it is read and checked."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.flight as fl

from headrace import protocol
from headrace.errors import Cancelled, InvalidArgument, LimitExceeded
from headrace.service.queries import Query
from headrace.service.record import CallRecord

_FEW_ROWS = 1 << 20
"""For so many, whatever they are, there is memory."""


def received_schema(reader: fl.MetadataRecordBatchReader) -> pa.Schema:
    """The columns of the rows that a caller will send."""
    with arrow("the rows' schema"):
        check_text(reader.schema)
        return reader.schema


def received_rows(
    reader: fl.MetadataRecordBatchReader, query: Query, record: CallRecord
) -> Iterator[pa.RecordBatch]:
    """What a client of Headrace sends, which tells at the end how many rows they were."""
    told = yield from _rows(reader, query, record)
    if told != protocol.complete(query.rows):
        raise Cancelled("the rows broke off before they were complete: nothing was written")


def ingested_rows(
    reader: fl.MetadataRecordBatchReader, query: Query, record: CallRecord, gone: Callable[[], bool]
) -> Iterator[pa.RecordBatch]:
    """What another client sends, which tells no end: that of one that breaks off looks alike, but that it has gone."""
    yield from _rows(reader, query, record)
    if gone():
        raise Cancelled("the rows broke off: nothing was written")


def received_spine(
    reader: fl.MetadataRecordBatchReader, query: Query, record: CallRecord
) -> Iterator[pa.RecordBatch]:
    """The rows for which others are looked up, checked. They are not among those of the answer, which are counted.

    Raises:
        LimitExceeded: there are more than were sent bytes of: the engine has numbers and times for each, which columns
            without values would get for nothing.
    """
    rows = sent = 0
    for batch in _rows(reader, query, record):
        with arrow("the spine"):
            batch.validate(full=True)
        rows, sent = rows + batch.num_rows, sent + batch.nbytes
        if rows > max(sent, _FEW_ROWS):
            raise LimitExceeded(
                f"the spine has {rows:,} rows and {sent:,} bytes of values",
                hint="send columns that have values; its time and its keys are what rows are looked up by",
            )
        query.rows = record.rows = 0
        yield batch


def _rows(
    reader: fl.MetadataRecordBatchReader, query: Query, record: CallRecord
) -> Generator[pa.RecordBatch, None, bytes]:
    """The batches, counted, and the last message beside them."""
    told = b""
    chunks = _chunks(reader)
    while True:
        with query.still():
            chunk = next(chunks, None)
        if chunk is None:
            return told
        if chunk.data is not None and chunk.data.num_rows:
            query.rows += chunk.data.num_rows
            record.rows = query.rows
            # Not `nbytes`, which would follow offsets that nobody has checked yet.
            record.received += chunk.data.get_total_buffer_size()
            yield chunk.data
        if chunk.app_metadata is not None:
            told = chunk.app_metadata.to_pybytes()


def _chunks(reader: fl.MetadataRecordBatchReader) -> Iterator[fl.FlightStreamChunk]:
    """What the caller sends. Its bytes are believed by nobody before the rows are checked."""
    with arrow("the rows"):
        yield from reader


def decode(body: bytes | None, kind: Any) -> Any:
    try:
        return msgspec.json.decode(body or b"", type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidArgument(f"the request cannot be read: {error}") from None


@contextlib.contextmanager
def arrow(what: str) -> Iterator[None]:
    """Around the reading of Arrow data that a caller sent."""
    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        raise InvalidArgument(f"{what} cannot be read: {error}") from None


def check_text(schema: pa.Schema | None) -> None:
    """Raises UnicodeDecodeError if a name in it, however deep, is no text: Arrow reads names when they are used."""
    str(schema)
