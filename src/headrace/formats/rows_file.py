"""Files of rows, as training datasets are stored in: Parquet, Arrow and CSV.

A file is written whole and never changed. Its columns come back as they were, types and all: what a format does not
keep of them is in the schema that the caller keeps. They have neither dictionaries nor views at their top.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import CorruptTable, Unsupported
from headrace.formats.checksum import crc32
from headrace.model.dataset import DatasetFormat
from headrace.model.stored_file import FILE_MARK, StoredFile
from headrace.storage.failure import stored
from headrace.storage.files import Files

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_ROW_GROUP_ROWS = 131_072
_FIRST_ROWS = 16_384
_BUFFER_BYTES = 1 << 20
# A large batch costs less to read and to send than several small ones.
_BATCH_BYTES = 16 << 20
_CSV_BLOCK_BYTES = 16 << 20
_MOST_CSV_BLOCK_BYTES = 2**31 - 1


def check_storable(form: DatasetFormat, schema: pa.Schema) -> None:
    """Raises Unsupported if the format cannot give back a column of these as it was."""
    for field in schema:
        if not _is_storable(form, field.type):
            raise Unsupported(
                f"column {field.name!r} is {field.type}, which a {form} file does not keep",
                hint="use format='arrow', which keeps all types"
                if form == "parquet"
                else "use format='parquet' or format='arrow'",
            )


def write_file(form: DatasetFormat, path: Path, rows: pa.Table, mark: str) -> StoredFile:
    """Write a file that is not there yet, down to the disk.

    Raises:
        LimitExceeded: the disk is full. Unavailable, PermissionDenied. Unsupported: a value that the format does
            not keep, though it does others of its type.
    """
    if form == "csv":
        _check_in_csv(rows)
    rows = rows.replace_schema_metadata({FILE_MARK: mark})
    with stored(str(path)):
        with pa.OSFile(str(path), "wb") as sink:
            if form == "parquet":
                import pyarrow.parquet as pq

                pq.write_table(rows, sink, row_group_size=_ROW_GROUP_ROWS, write_page_checksum=True)
            elif form == "csv":
                from pyarrow.csv import write_csv

                write_csv(rows, sink)
            else:
                # As one batch: whoever maps the file pays for each.
                with pa.ipc.new_file(sink, rows.schema) as writer:
                    writer.write_table(rows.unify_dictionaries().combine_chunks())
        with path.open("rb") as written:
            os.fsync(written.fileno())
            size = os.fstat(written.fileno()).st_size
        checksum = None
        if form == "csv":
            with pa.OSFile(str(path)) as written:
                checksum = crc32(written)
        return StoredFile(str(path), rows.num_rows, size, mark, checksum)


class RowsFiles:
    """Files of one format that hold rows of one schema, to be read in order.

    What a damaged Arrow file says of lengths and places would end the process that believes it, so all of it is
    checked: for numbers and times that is done without reading them.

    Args:
        lake: where the files lie.
        files: with whole paths, and the sizes and rows that they were written with.
        columns: those wanted, in this order; None is all.

    Raises:
        CorruptTable: a file is not there, or not as it was written.
    """

    def __init__(
        self,
        lake: Files,
        form: DatasetFormat,
        files: Sequence[StoredFile],
        schema: pa.Schema,
        columns: Sequence[str] | None,
    ) -> None:
        self._lake = lake
        self._form = form
        self._files = files
        self._stored = schema
        self._columns = schema.names if columns is None else list(columns)
        self.schema = pa.schema([schema.field(name) for name in self._columns])

    def table(self) -> pa.Table:
        """All rows; Arrow files of this machine are mapped, and of them numbers not read before they are used."""
        self._check_sizes()
        tables = []
        for file in self._files:
            with _reading(file.path):
                rows = self._fitted(self._read(file))
                rows.validate()  # a damaged file may give columns of different lengths
                _check_rows(file, rows.num_rows)
                tables.append(rows)
        return pa.concat_tables(tables) if tables else self.schema.empty_table()

    def batches(self, batch_bytes: int = _BATCH_BYTES) -> Iterator[pa.RecordBatch]:
        """The rows in batches of about so many bytes, with little more than one in memory."""
        self._check_sizes()
        for file in self._files:
            with _reading(file.path):
                rows = 0
                for batch in self._stream(file, batch_bytes):
                    fitted = self._fitted(pa.Table.from_batches([batch]))
                    yield from fitted.to_batches(_rows_in(batch_bytes, fitted))
                    rows += batch.num_rows
                _check_rows(file, rows)

    def _read(self, file: StoredFile) -> pa.Table:
        if self._form == "parquet":
            return self._parquet(file).read(self._columns)
        if self._form == "csv":
            nullable = pa.schema([field.with_nullable(True) for field in self.schema])
            return pa.Table.from_batches(self._csv(file), nullable)
        rows = self._arrow(file).read_all().select(self._columns)
        rows.validate(full=True)
        return rows

    def _stream(self, file: StoredFile, batch_bytes: int) -> Iterator[pa.RecordBatch]:
        if self._form == "parquet":
            reader, rows = self._parquet(file), _FIRST_ROWS
            for group in range(reader.num_row_groups):
                for batch in reader.iter_batches(rows, [group], self._columns):
                    rows = _rows_in(batch_bytes, batch)
                    yield batch
        elif self._form == "csv":
            yield from self._csv(file)
        else:
            mapped = self._arrow(file)
            for number in range(mapped.num_record_batches):
                batch = mapped.get_batch(number).select(self._columns)
                batch.validate(full=True)
                yield batch

    def _csv(self, file: StoredFile) -> Iterator[pa.RecordBatch]:
        """Block by block; where a row is longer than a block, all the rest at once."""
        path, given = file.path, 0
        with self._lake.open(path) as stored_file:
            if crc32(stored_file) != file.crc32:
                raise CorruptTable(f"{path} is not as it was written")
        try:
            for batch in _csv(self._lake.open(path), self._stored, self._columns, _CSV_BLOCK_BYTES):
                yield batch
                given += batch.num_rows
        except pa.ArrowInvalid:
            if file.size_bytes <= _CSV_BLOCK_BYTES:
                raise
            block = min(file.size_bytes, _MOST_CSV_BLOCK_BYTES)
            for batch in _csv(self._lake.open(path), self._stored, self._columns, block):
                yield batch.slice(given)
                given = max(0, given - batch.num_rows)

    def _parquet(self, file: StoredFile) -> pq.ParquetFile:
        import pyarrow.parquet as pq

        # Not mapped: a file that grows shorter meanwhile would end the process. With this buffer it is read as fast;
        # from elsewhere, a row group comes in few large pieces.
        reader = pq.ParquetFile(
            self._lake.open(file.path),
            buffer_size=_BUFFER_BYTES,
            pre_buffer=not self._lake.is_local,
            page_checksum_verification=True,
        )
        _check_mark(file, reader.metadata.metadata)
        return reader

    def _arrow(self, file: StoredFile) -> pa.ipc.RecordBatchFileReader:
        reader = pa.ipc.open_file(self._lake.view(file.path))
        _check_mark(file, reader.schema.metadata)
        return reader

    def _check_sizes(self) -> None:
        for file in self._files:
            with stored(file.path):
                fact = self._lake.fact(file.path)
            if fact is None:
                raise CorruptTable(f"{file.path} is lost: it is not there")
            if fact.size != file.size_bytes:
                raise CorruptTable(
                    f"{file.path} was written with {file.size_bytes} bytes, and now has {fact.size}"
                )

    def _fitted(self, rows: pa.Table) -> pa.Table:
        if rows.schema.equals(self.schema):
            return rows.replace_schema_metadata(self.schema.metadata)
        columns = [
            column if column.type == field.type else column.cast(field.type)
            for column, field in zip(rows.columns, self.schema, strict=True)
        ]
        return pa.table(columns, schema=self.schema)


@contextlib.contextmanager
def _reading(path: str) -> Iterator[None]:
    """Turns what Arrow says of a damaged file into an error of ours."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        raise CorruptTable(f"{path} cannot be read: {error}") from error


def _rows_in(size_bytes: int, like: pa.Table | pa.RecordBatch) -> int:
    """How many rows like these take so many bytes."""
    each = int(like.nbytes) / max(1, like.num_rows)
    return max(1, int(size_bytes / max(each, 1 / 8)))


def _check_rows(file: StoredFile, found: int) -> None:
    if found != file.rows:
        raise CorruptTable(f"{file.path} was written with {file.rows} rows, and now has {found}")


def _check_mark(file: StoredFile, metadata: Mapping[bytes, bytes] | None) -> None:
    if (metadata or {}).get(FILE_MARK) != file.mark.encode():
        raise CorruptTable(f"{file.path} is not the file that was written there, but another one")


def _csv(
    source: pa.NativeFile, schema: pa.Schema, columns: Sequence[str], block_bytes: int
) -> Iterator[pa.RecordBatch]:
    import pyarrow.csv as csv

    yield from csv.open_csv(
        source,
        read_options=csv.ReadOptions(block_size=block_bytes),
        parse_options=csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=csv.ConvertOptions(
            column_types=schema,
            include_columns=columns,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            timestamp_parsers=[csv.ISO8601],
        ),
    )


def _check_in_csv(rows: pa.Table) -> None:
    """Raises Unsupported for dates and times that are written as what is not read, such as years after 9999.

    The first and the last of a column tell it of those between.
    """
    from pyarrow.csv import write_csv

    for field, column in zip(rows.schema, rows.columns, strict=True):
        if not pa.types.is_temporal(field.type) or pa.types.is_duration(field.type):
            continue
        ends = pc.min_max(column)
        given = pa.table({"c": pa.array([ends["min"], ends["max"]], field.type)})
        sink = pa.BufferOutputStream()
        write_csv(given, sink)
        try:
            batches = list(_csv(pa.BufferReader(sink.getvalue()), given.schema, ["c"], _CSV_BLOCK_BYTES))
            kept = pa.Table.from_batches(batches, given.schema).equals(given)
        except pa.ArrowInvalid:
            kept = False
        if not kept:
            raise Unsupported(
                f"column {field.name!r} holds a {field.type} of which a csv file gives another back, or none",
                hint="use format='parquet' or format='arrow'",
            )


def _is_storable(form: DatasetFormat, kind: pa.DataType) -> bool:
    if form == "arrow":
        return True
    if form == "csv":
        return _is_in_csv(kind)
    return _is_in_parquet(kind)


_IN_CSV = (
    pa.types.is_null,
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_date,
    pa.types.is_time,
    pa.types.is_duration,
)


def _is_in_csv(kind: pa.DataType) -> bool:
    if pa.types.is_decimal128(kind):
        return bool(kind.scale >= 0)
    if pa.types.is_timestamp(kind):
        try:
            pc.local_timestamp(pa.scalar(0, kind))
        except pa.ArrowInvalid:
            return False  # Arrow does not know its time zone, without which there is nothing to write
        return True
    return any(test(kind) for test in _IN_CSV) or kind in (pa.float32(), pa.float64())


def _is_in_parquet(kind: pa.DataType) -> bool:
    """Tried, because nobody tells."""
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    try:
        pq.write_table(pa.table({"c": pa.nulls(1, kind)}), sink)
        pq.ParquetFile(pa.BufferReader(sink.getvalue())).read().column(0).cast(kind)
    except (pa.ArrowException, NotImplementedError, OSError):
        return False
    return True
