"""Files of rows, as training datasets are stored in: Parquet, Arrow and CSV.

A file is written whole and never changed. Its columns come back as they were, types and all: what a format does not
keep of them is in the schema that the caller keeps. They have neither dictionaries nor views at their top.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from headrace.errors import CorruptTable, Unsupported
from headrace.model.dataset import DatasetFormat
from headrace.storage.failure import stored

_ROW_GROUP_ROWS = 131_072
# A value must fit into a block.
_CSV_BLOCK_BYTES = 16 << 20


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


def write_file(form: DatasetFormat, path: Path, rows: pa.Table) -> int:
    """Write a file that is not there yet, down to the disk; gives its size in bytes.

    Raises:
        LimitExceeded: the disk is full. Unavailable, PermissionDenied.
    """
    with stored(str(path)):
        with pa.OSFile(str(path), "wb") as sink:
            if form == "parquet":
                import pyarrow.parquet as pq

                pq.write_table(rows, sink, row_group_size=_ROW_GROUP_ROWS)
            elif form == "csv":
                import pyarrow.csv as pc

                pc.write_csv(rows, sink)
            else:
                # As one batch: whoever maps the file pays for each.
                with pa.ipc.new_file(sink, rows.schema) as writer:
                    writer.write_table(rows.unify_dictionaries().combine_chunks())
        with path.open("rb") as written:
            os.fsync(written.fileno())
            return os.fstat(written.fileno()).st_size


class RowsFiles:
    """Files of one format that hold rows of one schema, to be read in order.

    Args:
        files: paths, and the sizes in bytes that they were written with.
        columns: those wanted, in this order; None is all.

    Raises:
        CorruptTable: a file is not there, or not as it was written.
    """

    def __init__(
        self,
        form: DatasetFormat,
        files: Sequence[tuple[str, int]],
        schema: pa.Schema,
        columns: Sequence[str] | None,
    ) -> None:
        self._form = form
        self._files = files
        self._stored = schema
        self._columns = schema.names if columns is None else list(columns)
        self.schema = pa.schema([schema.field(name) for name in self._columns])

    def table(self) -> pa.Table:
        """All rows; those of Arrow files are mapped into memory, and not read before they are used."""
        self._check()
        tables = []
        for path, _ in self._files:
            with _reading(path):
                tables.append(self._fitted(self._read(path)))
        return pa.concat_tables(tables) if tables else self.schema.empty_table()

    def batches(self, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """The rows in batches of at most so many, with little more than one in memory."""
        self._check()
        for path, _ in self._files:
            with _reading(path):
                for batch in self._stream(path, batch_rows):
                    fitted = self._fitted(pa.Table.from_batches([batch]))
                    yield from fitted.to_batches(batch_rows)

    def _check(self) -> None:
        for path, size in self._files:
            with stored(path):
                try:
                    found = os.stat(path).st_size
                except FileNotFoundError:
                    raise CorruptTable(f"{path} is lost: it is not there") from None
            if found != size:
                raise CorruptTable(f"{path} was written with {size} bytes, and now has {found}")

    def _read(self, path: str) -> pa.Table:
        if self._form == "parquet":
            import pyarrow.parquet as pq

            return pq.ParquetFile(path, memory_map=True).read(self._columns)
        if self._form == "csv":
            return pa.Table.from_batches(self._csv(path), self.schema)
        return pa.ipc.open_file(pa.memory_map(path)).read_all().select(self._columns)

    def _stream(self, path: str, batch_rows: int) -> Iterator[pa.RecordBatch]:
        if self._form == "parquet":
            import pyarrow.parquet as pq

            yield from pq.ParquetFile(path, memory_map=True).iter_batches(batch_rows, columns=self._columns)
        elif self._form == "csv":
            yield from self._csv(path)
        else:
            reader = pa.ipc.open_file(pa.memory_map(path))
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number).select(self._columns)

    def _csv(self, path: str) -> Iterator[pa.RecordBatch]:
        import pyarrow.csv as pc

        yield from pc.open_csv(
            path,
            read_options=pc.ReadOptions(block_size=_CSV_BLOCK_BYTES),
            parse_options=pc.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            convert_options=pc.ConvertOptions(
                column_types=self._stored,
                include_columns=self._columns,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                timestamp_parsers=[pc.ISO8601],
            ),
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
    except (pa.ArrowException, OSError) as error:
        raise CorruptTable(f"{path} cannot be read: {error}") from error


def _is_storable(form: DatasetFormat, kind: pa.DataType) -> bool:
    if form == "arrow":
        return True
    if form == "csv":
        return any(test(kind) for test in _IN_CSV) or kind in (pa.float32(), pa.float64())
    return _is_in_parquet(kind)


_IN_CSV = (
    pa.types.is_null,
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_date,
    pa.types.is_time,
    pa.types.is_timestamp,
    pa.types.is_duration,
    pa.types.is_decimal128,
)


def _is_in_parquet(kind: pa.DataType) -> bool:
    """Tried, because nobody tells."""
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    try:
        pq.write_table(pa.table({"c": pa.nulls(1, kind)}), sink)
        pq.ParquetFile(pa.BufferReader(sink.getvalue())).read().column(0).cast(kind)
    except (pa.ArrowException, NotImplementedError):
        return False
    return True
