"""The files of a training dataset, written by Spark's executors: no row of it comes to this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa

from headrace.errors import HeadraceError, InternalError, Unsupported, error_types
from headrace.model.dataset import DatasetDefinition, DatasetFormat
from headrace.model.definition import write_schema
from headrace.model.stored_file import StoredFile
from headrace.service.spark_running import SparkRunning

_TOLD = "told binary"
"""The column in which executors tell what they have written."""


class Written(msgspec.Struct):
    """What became of rows of one partition: a file; or what keeps the dataset from being made.

    Args:
        order: of the partition, and of the file in it.
        flagged: a side of which a row found several rows at once.
        failure: code, message and hint of an error.
    """

    split: int = 0
    order: tuple[int, int] = (0, 0)
    file: StoredFile | None = None
    flagged: int | None = None
    failure: tuple[str, str, str | None] | None = None


def write_on_spark(
    running: SparkRunning, asked: DatasetDefinition, schema: pa.Schema, folder: Path
) -> list[list[StoredFile]]:
    """The files of each split, in the order of their rows; of a split without rows there are none.

    Raises:
        AmbiguousRows. Unsupported: the executors do not see the folder. What `write_file` raises.
    """
    frame, sides = running.whole()
    splits = [split.name for split in asked.splits]
    work = _writing(asked.format, str(folder), splits, asked.key, write_schema(schema), sides)
    told = [
        msgspec.msgpack.decode(value.as_py(), type=Written)
        for batch in running.run(frame.mapInArrow(work, _TOLD))
        for value in batch.column(0)
    ]
    for one in told:
        if one.failure is not None:
            raise _error(*one.failure)
        if one.flagged is not None:
            raise running.ambiguity(one.flagged)
    files: list[list[StoredFile]] = [[] for _ in splits]
    for one in sorted(told, key=lambda one: one.order):
        if one.file is not None:
            files[one.split].append(one.file)
    _check_there(folder, files)
    return files


def _check_there(folder: Path, files: Sequence[Sequence[StoredFile]]) -> None:
    """The files are here; those of attempts that Spark has given up are not any more."""
    wanted = {file.path: file.size_bytes for found in files for file in found}
    there = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    for name, path in there.items():
        if name not in wanted:
            path.unlink()
    for name, size in wanted.items():
        if name not in there or there[name].stat().st_size != size:
            raise Unsupported(
                f"Spark's executors have written {name}, and it is not found here: {folder} is another folder there",
                hint="have the store in a folder that all machines share, or take engine='duckdb'",
            )


def _error(code: str, message: str, hint: str | None) -> HeadraceError:
    return {kind.code: kind for kind in error_types()}.get(code, InternalError)(message, hint=hint)


def _writing(
    form: DatasetFormat, folder: str, splits: list[str], key: str, schema_ipc: bytes, sides: tuple[int, ...]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The work of an executor. Its batches have the columns of the result, a flag for each of `sides`, and, where there
    are several splits, the number of one.
    """
    several = len(splits) > 1

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        from headrace.service.partition_writing import PartitionWriting

        context = TaskContext.get()
        assert context is not None
        writing = PartitionWriting(form, folder, splits, key, schema_ipc, sides, several)
        told = writing.run(batches, context.partitionId(), context.taskAttemptId())
        yield pa.record_batch([pa.array(told, pa.binary())], ["told"])

    return work
