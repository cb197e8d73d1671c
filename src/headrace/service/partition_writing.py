"""What an executor of Spark's does with its rows of a training dataset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import HeadraceError
from headrace.formats.rows_file import write_file
from headrace.model.dataset import DatasetFormat
from headrace.model.definition import read_schema
from headrace.service.by_part import by_part
from headrace.service.chunk import chunks
from headrace.service.spark_writing import Written
from headrace.storage.failure import stored


class _Flagged(Exception):
    """A row found several rows of a side."""

    def __init__(self, side: int) -> None:
        super().__init__(side)
        self.side = side


class PartitionWriting:
    """Writes files that no other attempt writes, and tells of them as `Written`."""

    def __init__(
        self,
        form: DatasetFormat,
        folder: str,
        splits: list[str],
        key: str,
        schema_ipc: bytes,
        sides: tuple[int, ...],
        several: bool,
    ) -> None:
        self._form = form
        self._folder = Path(folder)
        self._splits = splits
        self._key = key
        self._schema = read_schema(schema_ipc)
        self._sides = sides
        self._several = several

    def run(self, batches: Iterable[pa.RecordBatch], partition: int, attempt: int) -> list[bytes]:
        """What is told of the files. An error of ours is told, too, for Spark would make a text of it."""
        told: list[Written] = []
        try:
            for split, rows in chunks(self._pieces(batches), self._schema):
                number = len(told)
                name = f"{self._splits[split]}/{partition:05}-{number:05}-{attempt}.{self._form}"
                path = self._folder / name
                with stored(name):
                    path.parent.mkdir(exist_ok=True)
                file = write_file(self._form, path, rows, mark=f"{self._key}/{name}")
                told.append(Written(split, (partition, number), msgspec.structs.replace(file, path=name)))
        except _Flagged as flagged:
            told = [Written(flagged=flagged.side)]
        except HeadraceError as error:
            told = [Written(failure=(error.code, error.message, error.hint))]
        return [msgspec.msgpack.encode(one) for one in told]

    def _pieces(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
        for batch in batches:
            for i, side in enumerate(self._sides):
                if pc.any(batch.column(len(self._schema) + i)).as_py():
                    raise _Flagged(side)
            rows = self._rows(batch)
            if self._several:
                yield from by_part(rows, batch.column(batch.num_columns - 1))
            else:
                yield 0, rows

    def _rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = [
            _as(field.type, column) for column, field in zip(batch.columns, self._schema, strict=False)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)


def _as(kind: pa.DataType, column: pa.Array) -> pa.Array:
    if pa.types.is_null(kind):  # which Spark was given as another type, and Arrow casts none to
        return pa.nulls(len(column))
    return column if column.type == kind else column.cast(kind)
