"""Rows from files, and rows to files, in batches that are never together in memory."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet

from headrace.cli.csv_file import open_csv
from headrace.cli.json_file import has_objects, open_json
from headrace.cli.text_file import kind_of
from headrace.errors import (
    BadData,
    InvalidArgument,
    LimitExceeded,
    NameClash,
    NotFound,
    PermissionDenied,
    SchemaMismatch,
    Unsupported,
)

STANDARD = "-"
"""Names stdin or stdout, as an Arrow stream."""

_BATCH_ROWS = 65_536
_ROW_GROUP_ROWS = 131_072
_ROW_GROUP_BYTES = 128 << 20


@dataclasses.dataclass(frozen=True)
class Rows:
    """The rows of one or more files; `total` is None where the files do not tell."""

    schema: pa.Schema
    batches: Callable[[], Iterator[pa.RecordBatch]]
    total: int | None = None


_EMPTY = Rows(pa.schema([]), lambda: iter(()), 0)
"""The rows of a file that has not even columns."""


def open_rows(paths: Sequence[str], stored: pa.Schema | None, times: Sequence[str]) -> Rows:
    """The rows of files with the same columns, one file after the other.

    Args:
        paths: .parquet, .csv, .jsonl (also .ndjson, .json), .arrow (also .feather), or "-".
        stored: the schema that the rows are for; texts are read as its types.
        times: columns that are read as times where a text can be one.

    Raises:
        NotFound: no such file. PermissionDenied: one that may not be read. InvalidArgument: one of another kind.
        BadData: a file that cannot be read, SchemaMismatch if it does not go with the others. NameClash: one with
            two columns of the same name.
    """
    opened = [(path, _open(path, stored, times)) for path in paths]
    parts = [(path, part) for path, part in opened if part != _EMPTY]
    if not parts:
        return _EMPTY if stored is None else dataclasses.replace(_EMPTY, schema=stored)
    schema = parts[0][1].schema
    for path, part in parts:
        with _reading(path):
            _check_names(part.schema, path)
            schema = _united(schema, part.schema, path)
    totals = [part.total for _, part in parts]

    def batches() -> Iterator[pa.RecordBatch]:
        for path, part in parts:
            with _reading(path):
                for batch in part.batches():
                    yield batch if batch.schema == schema else batch.select(schema.names).cast(schema)

    return Rows(schema, batches, sum(t for t in totals if t is not None) if None not in totals else None)


def _check_names(schema: pa.Schema, path: str) -> None:
    """Names are decoded only when they are asked for: that it can be done is seen here, however deep they are."""
    twice = sorted(name for name, times in collections.Counter(schema.names).items() if times > 1)
    if twice:
        raise NameClash(
            f"{path} names a column twice: {', '.join(map(repr, twice))}",
            details={"file": path, "columns": twice},
        )
    nested = [field.type for field in schema]
    while nested:
        kind = nested.pop()
        fields = [(field.name, field.type) for field in map(kind.field, range(kind.num_fields))]
        nested += [inner for _, inner in fields]


def _united(schema: pa.Schema, other: pa.Schema, path: str) -> pa.Schema:
    if sorted(schema.names) != sorted(other.names):
        differing = sorted(set(schema.names) ^ set(other.names))
        raise SchemaMismatch(
            f"{path} has other columns than the files before it: {', '.join(differing)}",
            details={"file": path, "columns": differing},
        )
    try:
        return pa.unify_schemas([schema, other], promote_options="permissive").remove_metadata()
    except (pa.ArrowTypeError, pa.ArrowInvalid) as error:
        raise SchemaMismatch(f"{path} does not go with the files before it: {error}") from None


def _open(path: str, stored: pa.Schema | None, times: Sequence[str]) -> Rows:
    if path == STANDARD:
        with _reading("stdin"):
            schema, batches = _stream(sys.stdin.buffer)
            return Rows(schema, lambda: batches)
    with _reading(path):
        match kind_of(path):
            case ".parquet":
                return _open_parquet(path)
            case ".arrow" | ".feather":
                return _open_arrow(path)
            case ".csv":
                return Rows(*open_csv(path, stored, times))
            case ".jsonl" | ".ndjson" | ".json":
                return Rows(*open_json(path, stored, times)) if has_objects(path) else _EMPTY
    raise InvalidArgument(
        f"{path}: rows are read from .parquet, .csv, .jsonl and .arrow files, and from '-', an Arrow stream"
    )


def _open_parquet(path: str) -> Rows:
    with pa.parquet.ParquetFile(path) as file:
        schema, total = file.schema_arrow, file.metadata.num_rows

    def batches() -> Iterator[pa.RecordBatch]:
        with pa.parquet.ParquetFile(path) as file:
            yield from file.iter_batches(_BATCH_ROWS)

    return Rows(schema, batches, total)


def _open_arrow(path: str) -> Rows:
    """The file format, of which Feather is another name, or the stream format."""
    with open(path, "rb") as start:
        stream = start.read(6) != b"ARROW1"

    def streamed() -> Iterator[pa.RecordBatch]:
        with open(path, "rb") as file:
            yield from _stream(file)[1]

    def mapped() -> Iterator[pa.RecordBatch]:
        reader = pa.ipc.open_file(pa.memory_map(path))
        yield from (reader.get_batch(i) for i in range(reader.num_record_batches))

    if stream:
        with open(path, "rb") as file:
            return Rows(_stream(file)[0], streamed)
    return Rows(pa.ipc.open_file(pa.memory_map(path)).schema, mapped)


class _Watched:
    """A file that Arrow reads, and whether it was asked for more than there is.

    A stream that is complete ends with a mark, after which nothing is read.
    """

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.exhausted = False

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.exhausted |= len(data) < size
        return data


def _stream(file: BinaryIO) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """A stream's columns and rows, and nothing after it.

    To Arrow, one that was cut off between two batches has simply ended, and one after its end mark is not there.
    """
    watched = _Watched(file)
    reader = pa.ipc.open_stream(pa.PythonFile(watched, mode="r"))

    def batches() -> Iterator[pa.RecordBatch]:
        yield from reader
        if watched.exhausted:
            raise pa.ArrowInvalid("the stream was cut off")
        if file.read(1):
            raise pa.ArrowInvalid("more follows the end of the stream; give each stream a file of its own")

    return reader.schema, batches()


@contextlib.contextmanager
def _reading(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise NotFound(f"cannot read {path}: {os.strerror(errno.ENOENT)}") from None
    except PermissionError:
        raise PermissionDenied(f"cannot read {path}: {os.strerror(errno.EACCES)}") from None
    except UnicodeDecodeError:
        raise BadData(
            f"{path} cannot be read: the name of a column, or a text, is not UTF-8", details={"file": path}
        ) from None
    except RecursionError:
        raise BadData(f"{path} cannot be read: it is nested too deep", details={"file": path}) from None
    except (pa.ArrowException, OSError) as error:
        raise BadData(f"{path} cannot be read: {error}", details={"file": path}) from None


def write_rows(reader: pa.RecordBatchReader, path: str, add: Callable[[int], None]) -> None:
    """Write all rows to a .parquet, .csv or .arrow file, or to "-" as an Arrow stream.

    The file appears under its name only when it is whole.

    Args:
        add: told the number of rows of each batch written.

    Raises:
        InvalidArgument: another kind of file, or a place that is none. PermissionDenied: one of others.
        Unsupported: columns that such a file cannot hold. LimitExceeded: the disk is full.
    """
    if path == STANDARD:
        if sys.stdout.isatty():
            raise InvalidArgument(
                "an Arrow stream is not for people to read", hint="name a file, or use a pipe"
            )
        stream = pa.ipc.new_stream(sys.stdout.buffer, reader.schema)
        for batch in reader:
            stream.write_batch(batch)
            add(batch.num_rows)
        stream.close()  # only now: the end mark tells that the rows are complete
        return
    opened = _writer(path, reader.schema)
    target = Path(path)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            _write(opened(file), reader, add)
        part.replace(target)
    except PermissionError as error:
        raise PermissionDenied(f"cannot write {path}: {error.strerror}", details={"file": path}) from None
    except OSError as error:
        full = error.errno == errno.ENOSPC
        kind = LimitExceeded if full else InvalidArgument
        raise kind(f"cannot write {path}: {error.strerror or error}", details={"file": path}) from None
    finally:
        part.unlink(missing_ok=True)


def _writer(path: str, schema: pa.Schema) -> Callable[[Any], Any]:
    """What makes a writer of Arrow batches for a file of this name."""
    match Path(path.lower()).suffix:
        case ".parquet":
            return lambda file: _RowGroups(pa.parquet.ParquetWriter(file, schema))
        case ".arrow":
            return lambda file: pa.ipc.new_file(file, schema)
        case ".csv":
            odd = [f.name for f in schema if pa.types.is_nested(f.type) or pa.types.is_binary(f.type)]
            if odd:
                raise Unsupported(
                    f"{path}: a CSV file cannot hold {', '.join(odd)}: {schema.field(odd[0]).type}",
                    hint="write .parquet or .arrow",
                    details={"columns": odd},
                )
            return lambda file: pa.csv.CSVWriter(file, schema)
    raise InvalidArgument(f"{path}: rows are written to .parquet, .csv and .arrow files, and to '-'")


def _write(writer: Any, reader: pa.RecordBatchReader, add: Callable[[int], None]) -> None:
    with writer:
        for batch in reader:
            writer.write_batch(batch)
            add(batch.num_rows)


class _RowGroups:
    """Gathers batches into row groups of a size that readers like."""

    def __init__(self, writer: pa.parquet.ParquetWriter) -> None:
        self._writer = writer
        self._schema = writer.schema
        self._batches: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0

    def write_batch(self, batch: pa.RecordBatch) -> None:
        self._batches.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._rows >= _ROW_GROUP_ROWS or self._bytes >= _ROW_GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._batches:
            self._writer.write_table(pa.Table.from_batches(self._batches, self._schema))
        self._batches, self._rows, self._bytes = [], 0, 0

    def __enter__(self) -> _RowGroups:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._flush()
        self._writer.close()
