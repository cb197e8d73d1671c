"""Files of Arrow's IPC format, also called Feather, as files and as streams.

What a damaged one says of lengths and places would end the process that believes it, so all of it is checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from headrace.formats.folder.kind import Described, reading
from headrace.formats.folder.parquet import wider
from headrace.formats.instants import in_microseconds
from headrace.formats.normal_schema import normal_schema
from headrace.model.types import decoded
from headrace.storage.files import Files

_MAGIC = b"ARROW1"


class ArrowFiles:
    label: str = "Arrow"
    endings: tuple[str, ...] = (".arrow", ".feather", ".ipc", ".arrows")

    def described(self, files: Files, path: str) -> Described:
        with reading(path), files.open(path) as file:
            return Described(normal_schema(_opened(file).schema))

    def united(self, one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
        return wider(one, other)

    def holds(self, kind: pa.DataType) -> bool:
        return True

    def batches(
        self, files: Files, path: str, schema: pa.Schema, types: Mapping[str, pa.DataType]
    ) -> Iterator[pa.RecordBatch]:
        # Not mapped: a file that grows shorter meanwhile would end the process.
        with reading(path), files.open(path) as file:
            for batch in _batches(_opened(file)):
                names = batch.schema.names
                chosen = batch.select([name for name in schema.names if name in names])
                chosen.validate(full=True)
                yield _fitted(chosen, schema)


def _opened(file: pa.NativeFile) -> pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader:
    is_file = file.read(len(_MAGIC)) == _MAGIC
    file.seek(0)
    return pa.ipc.open_file(file) if is_file else pa.ipc.open_stream(file)


def _batches(
    reader: pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader,
) -> Iterator[pa.RecordBatch]:
    if isinstance(reader, pa.ipc.RecordBatchFileReader):
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)
    else:
        yield from reader


def _fitted(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [
        in_microseconds(decoded(batch.column(field.name))).cast(field.type)
        if field.name in batch.schema.names
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
