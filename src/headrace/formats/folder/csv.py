"""CSV files: a line of names, then one of values for each row. An empty field is null, and nothing else is."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import PurePath

import pyarrow as pa
import pyarrow.csv

from headrace.errors import BadData
from headrace.formats.folder.kind import Described, reading
from headrace.formats.folder.quotes import check_quotes, is_broken
from headrace.formats.normal_schema import normal_schema
from headrace.storage.files import Files

_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_KINDS = (".csv", ".tsv")
_BLOCK_BYTES = 8 << 20
_SAMPLE_BYTES = 64 << 10
_SEPARATORS = ",;\t|"


class CsvFiles:
    label: str = "CSV"
    endings: tuple[str, ...] = (*_KINDS, *(f"{kind}{packed}" for kind in _KINDS for packed in _COMPRESSIONS))

    def described(self, files: Files, path: str) -> Described:
        """The types are those of the first block of values."""
        with reading(path):
            with _source(files, path) as source:
                sample = source.read(_SAMPLE_BYTES)
            if not sample.strip():
                return Described(pa.schema([]))
            with _source(files, path) as source, _reader(source, _separator(sample), {}, None) as reader:
                found = reader.schema
        return Described(normal_schema(pa.schema([(f.name, _kind(f.type)) for f in found])))

    def united(self, one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
        """Whatever is written in a CSV file can be read as text."""
        if one == other or pa.types.is_null(other):
            return one
        if pa.types.is_null(one):
            return other
        kinds = {one, other}
        if kinds == {pa.int64(), pa.float64()}:
            return pa.float64()
        return pa.string()

    def batches(
        self, files: Files, path: str, schema: pa.Schema, types: Mapping[str, pa.DataType]
    ) -> Iterator[pa.RecordBatch]:
        separator, sound = ",", False
        try:
            with _source(files, path) as source:
                sample = source.read(_SAMPLE_BYTES)
            if not sample.strip():
                return
            separator, names = _separator(sample), schema.names or [*types][:1]
            with _source(files, path) as source, _reader(source, separator, types, names) as reader:
                for batch in reader:
                    texts = (column for column in batch.columns if pa.types.is_string(column.type))
                    if not sound and any(map(is_broken, texts)):
                        check_quotes(path, lambda: _source(files, path), separator)
                        sound = True
                    yield batch.select(schema.names).cast(schema)
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            check_quotes(path, lambda: _source(files, path), separator)
            raise BadData(
                f"{path}: {error}",
                hint="a column whose values are not all of the type of the first ones takes schema= at registering",
            ) from None


def _source(files: Files, path: str) -> pa.NativeFile:
    compression = _COMPRESSIONS.get(PurePath(path.lower()).suffix)
    opened = files.open(path)
    return opened if compression is None else pa.CompressedInputStream(opened, compression)


def _separator(sample: bytes) -> str:
    line = sample.decode("utf-8", "replace").lstrip("\ufeff").splitlines()[0]
    try:
        return csv.Sniffer().sniff(line, _SEPARATORS).delimiter
    except csv.Error:  # of one column, there is none
        return ","


def _reader(
    source: pa.NativeFile,
    separator: str,
    types: Mapping[str, pa.DataType],
    columns: list[str] | None,
) -> pa.csv.CSVStreamingReader:
    return pa.csv.open_csv(
        source,
        read_options=pa.csv.ReadOptions(block_size=_BLOCK_BYTES),
        parse_options=pa.csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        convert_options=pa.csv.ConvertOptions(
            column_types=types,
            include_columns=columns,
            include_missing_columns=columns is not None,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _kind(found: pa.DataType) -> pa.DataType:
    """What there is no type for is text."""
    return pa.string() if pa.types.is_time(found) or pa.types.is_binary(found) else found
