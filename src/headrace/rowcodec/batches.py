"""Rows and record batches of pyarrow, which share their buffers with the bytes of rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from headrace.errors import BadData, InvalidArgument
from headrace.rowcodec.codec import dumps
from headrace.rowcodec.native import errors, headrace_native

# Imported where it is used: processes that never see a record batch, such as Spark's workers, start without it.
if TYPE_CHECKING:
    import pyarrow as pa


def to_batches(rows: Iterable[Any], *, allow_pickle: bool = True) -> list[pa.RecordBatch]:
    """The rows as record batches, of one schema where `dumps` makes them one stream.

    Raises as `dumps`.
    """
    import pyarrow as pa

    source = pa.BufferReader(dumps(rows, allow_pickle=allow_pickle))
    batches: list[pa.RecordBatch] = []
    while source.tell() < source.size():
        with pa.ipc.open_stream(source) as stream:
            batches.extend(stream)
    return batches


def from_batch(batch: pa.RecordBatch, *, allow_pickle: bool = False) -> list[Any]:
    """The rows of a record batch, read where its buffers are. Those of a schema that tells nothing of rows are dicts.

    Raises:
        InvalidArgument: it is no record batch. BadData: it breaks its own schema. Unsupported: as of `loads`.
    """
    import pyarrow as pa

    if not isinstance(batch, pa.RecordBatch):
        raise InvalidArgument(
            f"{type(batch).__name__} is no record batch of pyarrow",
            hint="take one at a time: table.to_batches()",
        )
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid as error:
        raise BadData(f"the record batch is damaged: {error}") from error
    _, array = batch.__arrow_c_array__()
    with errors():
        return headrace_native.load_batch(batch.schema.serialize(), array, allow_pickle)
