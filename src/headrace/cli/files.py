"""Rows from files, and rows to files, in batches that are never together in memory."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from headrace.errors import (
    BadData,
    InvalidArgument,
    LimitExceeded,
    NotFound,
    PermissionDenied,
    SchemaMismatch,
    Unsupported,
)

STANDARD = "-"
"""Names stdin or stdout, as an Arrow stream."""

_BATCH_ROWS = 65_536
_BLOCK_BYTES = 8 << 20
_ROW_GROUP_ROWS = 131_072
_ROW_GROUP_BYTES = 128 << 20
_TIME = pa.timestamp("us", "UTC")
_ZONE = r"[T ].*(Z|[+-][0-9]{2}(:?[0-9]{2})?)$"
_COMPRESSIONS = (".gz", ".bz2", ".zst")


@dataclasses.dataclass(frozen=True)
class Rows:
    """The rows of one or more files; `total` is None where the files do not tell."""

    schema: pa.Schema
    total: int | None
    batches: Callable[[], Iterator[pa.RecordBatch]]


def open_rows(paths: Sequence[str], stored: pa.Schema | None, times: Sequence[str]) -> Rows:
    """The rows of files with the same columns, one file after the other.

    Args:
        paths: .parquet, .csv, .jsonl (also .ndjson, .json), .arrow (also .feather), or "-".
        stored: the schema that the rows are for; texts are read as its types.
        times: columns that are read as times where a text can be one.

    Raises:
        NotFound: no such file. PermissionDenied: one that may not be read. InvalidArgument: one of another kind.
        BadData: a file that cannot be read, SchemaMismatch if it does not go with the others.
    """
    parts = [_open(path, stored, times) for path in paths]
    schema = parts[0].schema
    for path, part in zip(paths, parts, strict=True):
        schema = _united(schema, part.schema, path)
    totals = [part.total for part in parts]

    def batches() -> Iterator[pa.RecordBatch]:
        for path, part in zip(paths, parts, strict=True):
            with _reading(path):
                for batch in part.batches():
                    yield batch if batch.schema == schema else batch.select(schema.names).cast(schema)

    return Rows(schema, sum(t for t in totals if t is not None) if None not in totals else None, batches)


def _united(schema: pa.Schema, other: pa.Schema, path: str) -> pa.Schema:
    if sorted(schema.names) != sorted(other.names):
        differing = sorted(set(schema.names) ^ set(other.names))
        raise SchemaMismatch(
            f"{path} has other columns than the files before it: {', '.join(differing)}",
            details={"file": path, "columns": differing},
        )
    try:
        return pa.unify_schemas([schema, other], promote_options="permissive").remove_metadata()
    except pa.ArrowTypeError as error:
        raise SchemaMismatch(f"{path} does not go with the files before it: {error}") from None


def _open(path: str, stored: pa.Schema | None, times: Sequence[str]) -> Rows:
    if path == STANDARD:
        with _reading("stdin"):
            schema, batches = _stream(sys.stdin.buffer)
            return Rows(schema, None, lambda: batches)
    name = path.lower()
    for compression in _COMPRESSIONS:
        name = name.removesuffix(compression)
    with _reading(path):
        match Path(name).suffix:
            case ".parquet":
                return _open_parquet(path)
            case ".arrow" | ".feather":
                return _open_arrow(path)
            case ".csv":
                return _open_csv(path, stored, times)
            case ".jsonl" | ".ndjson" | ".json":
                return _open_json(path, stored, times)
    raise InvalidArgument(
        f"{path}: rows are read from .parquet, .csv, .jsonl and .arrow files, and from '-', an Arrow stream"
    )


def _open_parquet(path: str) -> Rows:
    with pa.parquet.ParquetFile(path) as file:
        schema, total = file.schema_arrow, file.metadata.num_rows

    def batches() -> Iterator[pa.RecordBatch]:
        with pa.parquet.ParquetFile(path) as file:
            yield from file.iter_batches(_BATCH_ROWS)

    return Rows(schema, total, batches)


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
            return Rows(_stream(file)[0], None, streamed)
    return Rows(pa.ipc.open_file(pa.memory_map(path)).schema, None, mapped)


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
    """A stream's columns and rows. To Arrow, one that was cut off between two batches has simply ended."""
    watched = _Watched(file)
    reader = pa.ipc.open_stream(pa.PythonFile(watched, mode="r"))

    def batches() -> Iterator[pa.RecordBatch]:
        yield from reader
        if watched.exhausted:
            raise pa.ArrowInvalid("the stream was cut off")

    return reader.schema, batches()


def _open_csv(path: str, stored: pa.Schema | None, times: Sequence[str]) -> Rows:
    types = {} if stored is None else {f.name: f.type for f in stored if not _is_complex(f.type)}
    told = [] if stored is None else [f.name for f in stored if pa.types.is_timestamp(f.type)]
    with _naming(path, types):
        found = _csv(path, types).schema
    if stored is None:
        told = [f.name for f in found if f.name in times and _may_be_times(f.type)]
    types |= dict.fromkeys(told, pa.string())  # Arrow reads times of one form a column
    schema = pa.schema([f.with_type(_TIME) if f.name in told else f for f in found])

    def batches() -> Iterator[pa.RecordBatch]:
        row = 0
        with _naming(path, dict(zip(schema.names, schema.types, strict=True))):
            for batch in _csv(path, types):
                columns = [
                    _parsed(path, name, column, _TIME, row) if name in told else column
                    for name, column in zip(schema.names, batch.columns, strict=True)
                ]
                row += batch.num_rows
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return Rows(schema, None, batches)


def _csv(path: str, types: Mapping[str, pa.DataType]) -> Any:
    """An empty field is null, and nothing else is: "NA" is also a name, and "" a text of no letters."""
    return pa.csv.open_csv(
        path,
        # One thread: only then does an error of the form of a row name it.
        read_options=pa.csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
        convert_options=pa.csv.ConvertOptions(
            column_types=types,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


@contextlib.contextmanager
def _naming(path: str, types: Mapping[str, pa.DataType]) -> Iterator[None]:
    """Arrow's errors tell the number of a column: what is no value of its type is looked for and named."""
    try:
        yield
    except pa.ArrowInvalid:
        row = 0
        for batch in _csv(path, dict.fromkeys(_csv(path, {}).schema.names, pa.string())):
            for name in batch.schema.names:
                if name in types:
                    _parsed(path, name, batch.column(name), types[name], row)
            row += batch.num_rows
        raise


def _parsed(path: str, name: str, texts: pa.Array, kind: pa.DataType, row: int) -> pa.Array:
    """Texts as values of a type. `row` is the number of the first, from 0."""
    try:
        return _times(texts) if kind == _TIME else pc.utf8_trim_whitespace(texts).cast(kind)
    except pa.ArrowInvalid:
        if len(texts) == 1:
            what = f"no {kind}"
            hint = "a column has the type that is stored, and in a new group that of the file's first values"
            if pa.types.is_timestamp(kind):
                what = "no time of at most microseconds"
                hint = "write times as 2024-01-31 or 2024-01-31T08:00:00, with +02:00 or Z if not in UTC"
            raise BadData(
                f"{path}: column {name!r}, row {row}: {texts[0].as_py()!r} is {what}",
                hint=hint,
                details={"file": path, "column": name, "row": row},
            ) from None
        half = len(texts) // 2
        first = _parsed(path, name, texts[:half], kind, row)
        return pa.concat_arrays([first, _parsed(path, name, texts[half:], kind, row + half)])


def _times(texts: pa.Array) -> pa.Array:
    """Times or dates, with a zone or in UTC."""
    zoned = pc.match_substring_regex(texts, _ZONE)
    none = pa.scalar(None, pa.string())
    local = pc.if_else(zoned, none, texts).cast(pa.timestamp("us"))
    return pc.coalesce(pc.if_else(zoned, texts, none).cast(_TIME), pc.assume_timezone(local, "UTC"))


def _open_json(path: str, stored: pa.Schema | None, times: Sequence[str]) -> Rows:
    def opened(types: dict[str, pa.DataType]) -> Any:
        return pa.json.open_json(
            path,
            read_options=pa.json.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
            parse_options=pa.json.ParseOptions(explicit_schema=pa.schema(types)),
        )

    # Looked at first, because a column that is asked for and missing would come out as nulls.
    found = opened({}).schema
    wanted = {} if stored is None else {f.name: f.type for f in stored if f.name in found.names}
    dates = {name: kind for name, kind in wanted.items() if pa.types.is_date(kind)}
    types = {name: kind for name, kind in wanted.items() if name not in dates and not _is_complex(kind)}
    # A text with digits below a second is not taken for a time unless it is asked for.
    types |= {f.name: _TIME for f in found if f.name in times and pa.types.is_string(f.type)}
    parsed = opened(types).schema
    schema = pa.schema([f.with_type(dates.get(f.name, f.type)) for f in parsed])

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in opened(types):
            yield batch.cast(schema) if dates else batch

    return Rows(schema, None, batches)


def _may_be_times(kind: pa.DataType) -> bool:
    """What Arrow takes times for, by the first that it sees; dates alone are dates."""
    return bool(pa.types.is_timestamp(kind) or pa.types.is_string(kind) or pa.types.is_null(kind))


def _is_complex(kind: pa.DataType) -> bool:
    """Types that the readers of texts find out by themselves, or not at all."""
    return bool(pa.types.is_nested(kind) or pa.types.is_timestamp(kind) or pa.types.is_binary(kind))


@contextlib.contextmanager
def _reading(path: str) -> Iterator[None]:
    hint = "a JSON file has one object a line" if ".json" in path.lower() else None
    try:
        yield
    except FileNotFoundError:
        raise NotFound(f"cannot read {path}: {os.strerror(errno.ENOENT)}") from None
    except PermissionError:
        raise PermissionDenied(f"cannot read {path}: {os.strerror(errno.EACCES)}") from None
    except (pa.ArrowException, OSError) as error:
        raise BadData(f"{path} cannot be read: {error}", hint=hint, details={"file": path}) from None


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
