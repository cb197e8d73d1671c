"""Snapshots of folders whose files the engine does not read by itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from headrace.errors import Cancelled, CorruptTable
from headrace.formats.folder.kind import StreamedKind, reading
from headrace.formats.streamed import StreamedSnapshot
from headrace.model.expression import Condition
from headrace.storage.failure import failure
from headrace.storage.files import Files


@dataclasses.dataclass(frozen=True)
class FolderSnapshot(StreamedSnapshot):
    kind: StreamedKind | None = None
    lake: Files | None = None

    def batches(self, columns: Sequence[str], conditions: Iterable[Condition], files: pa.Table) -> FolderRows:
        assert self.kind is not None
        assert self.lake is not None
        return FolderRows(self.kind, self.lake, self, columns, files)

    def shown(self, columns: Sequence[str], conditions: Sequence[Condition]) -> str:
        kept = self.prune(conditions).num_rows
        return f"at snapshot {self.version} ({kept} of {self.files.num_rows} files)"


class FolderRows:
    """The rows of files, one file after the other."""

    def __init__(
        self,
        kind: StreamedKind,
        lake: Files,
        snapshot: FolderSnapshot,
        columns: Sequence[str],
        files: pa.Table,
    ) -> None:
        self._kind = kind
        self._lake = lake
        self._snapshot = snapshot
        self._files = files
        self._cancelled = False
        self.schema = pa.schema([snapshot.schema.field(name) for name in columns])

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        partition_by = self._snapshot.partition_by
        types = {f.name: f.type for f in self._snapshot.schema if f.name not in partition_by}
        wanted = [field for field in self.schema if field.name not in partition_by]
        # Rows are counted by a column.
        stored = pa.schema(wanted or [(name, types[name]) for name in [*types][:1]])
        for number, path in enumerate(self._files["path"].to_pylist()):
            values = {name: self._files[f"partition.{name}"][number] for name in partition_by}
            try:
                with reading(path):
                    for batch in self._kind.batches(self._lake, path, stored, types):
                        if self._cancelled:
                            raise Cancelled("the read was cancelled")
                        yield self._whole(batch, values)
            except FileNotFoundError:
                raise CorruptTable(f"{path} is lost: it is not there") from None
            except OSError as error:
                raise failure(path, error.strerror or error, error.errno) from error

    def cancel(self) -> None:
        self._cancelled = True

    def _whole(self, batch: pa.RecordBatch, values: dict[str, pa.Scalar]) -> pa.RecordBatch:
        columns = [
            pa.repeat(values[field.name], batch.num_rows)
            if field.name in values
            else batch.column(field.name)
            for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)
