"""CSV files: a line of names, then one of values for each row. An empty field is null, and nothing else is."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from headrace.errors import BadData
from headrace.formats.folder.csv_failure import Handler, failure
from headrace.formats.folder.kind import Described, reading
from headrace.formats.folder.quotes import check_quotes, is_broken
from headrace.formats.instants import times
from headrace.formats.normal_schema import normal_schema
from headrace.storage.files import Files

_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_KINDS = (".csv", ".tsv")
_BLOCK_BYTES = 8 << 20
_SAMPLE_BYTES = 64 << 10
_SEPARATORS = ",;\t|"
_QUOTED = re.compile('"[^"]*"')
_MOST_DIGITS = 15
"""Of a whole number, which a double has for certain."""
_LONG = rf"^[-+]?0*[1-9][0-9]{{{_MOST_DIGITS},}}$"


class CsvFiles:
    label: str = "CSV"
    endings: tuple[str, ...] = (*_KINDS, *(f"{kind}{packed}" for kind in _KINDS for packed in _COMPRESSIONS))

    def described(self, files: Files, path: str) -> Described:
        """The types are those of the first block of values."""
        with reading(path):
            sample = _sample(files, path)
            if not sample.strip():
                return Described(pa.schema([]))
            separator = _separator(sample)

            def opened() -> pa.NativeFile:
                return pa.BufferReader(sample + b"\n") if _is_names_alone(sample) else _source(files, path)

            try:
                with opened() as source, _reader(source, separator, {}, None) as reader:
                    found = [(field.name, field.type) for field in reader.schema]
                    large = _large(reader.read_next_batch()) if pa.float64() in dict(found).values() else []
            except (pa.ArrowInvalid, UnicodeDecodeError) as error:
                raise _failure(files, path, error, sample, {}) from None
            if large:
                texts = dict.fromkeys(large, pa.string())
                with opened() as source, _reader(source, separator, texts, large) as reader:
                    block = reader.read_next_batch()
                large = [n for n in large if pc.any(_is_inexact(block[n])).as_py()]
            fields = [(name, pa.string() if name in large else _kind(kind)) for name, kind in found]
            return Described(normal_schema(pa.schema(fields)))

    def holds(self, kind: pa.DataType) -> bool:
        return not pa.types.is_nested(kind)

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
        sample, sound = _sample(files, path), False
        if _is_names_alone(sample):
            return
        separator = _separator(sample)
        try:
            # Of the columns that are not asked for nothing is wanted but whether a quote in them is left open.
            told = {
                name: _read_as(kind) if name in schema.names else pa.binary() for name, kind in types.items()
            }
            exact: set[str] = set()
            with _source(files, path) as source, _reader(source, separator, told, [*told]) as reader:
                for batch in reader:
                    texts = (column for column in batch.columns if _is_text(column.type))
                    if not sound and any(map(is_broken, texts)):
                        check_quotes(path, lambda: _source(files, path), separator)
                        sound = True
                    for name in _large(batch.select(schema.names)):
                        if name not in exact:
                            _check_digits(files, path, separator, name)
                            exact.add(name)
                    yield _typed(batch.select(schema.names), schema)
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            asked = {name: types[name] for name in schema.names}
            raise _failure(files, path, error, sample, asked) from None


def _source(files: Files, path: str) -> pa.NativeFile:
    compression = _COMPRESSIONS.get(PurePath(path.lower()).suffix)
    opened = files.open(path)
    return opened if compression is None else pa.CompressedInputStream(opened, compression)


def _sample(files: Files, path: str) -> bytes:
    """The beginning of a file, or all of it if it is shorter."""
    sample = b""
    with _source(files, path) as source:
        while len(sample) < _SAMPLE_BYTES and (more := source.read(_SAMPLE_BYTES - len(sample))):
            sample += more
    return sample


def _is_names_alone(sample: bytes) -> bool:
    """Whether the beginning of a file is all of it, and has no rows: Arrow wants an end of the line of names."""
    return len(sample) < _SAMPLE_BYTES and len(sample.strip(b"\r\n").splitlines()) <= 1


def _large(batch: pa.RecordBatch) -> list[str]:
    """Columns of doubles with values that may be whole numbers of more digits than those have."""
    return [
        field.name
        for field in batch.schema
        if pa.types.is_float64(field.type)
        and batch.schema.names.count(field.name) == 1
        and pc.any(pc.greater_equal(pc.abs(batch[field.name]), 10.0**_MOST_DIGITS)).as_py()
    ]


def _check_digits(files: Files, path: str, separator: str, name: str) -> None:
    """Raises BadData if a number in a column of doubles is too large or too long for one: it takes a pass."""
    texts = {name: pa.string()}
    with _source(files, path) as source, _reader(source, separator, texts, [name]) as reader:
        for batch in reader:
            found = batch.column(0).filter(_is_inexact(batch.column(0)))
            for text in found.drop_null().unique().to_pylist():
                if math.isinf(float(text)) or int(float(text)) != int(text):
                    raise BadData(
                        f"{path}: column {name!r} holds {text}, and other numbers with fractions: as doubles some "
                        "would lose digits",
                        hint="register the files with a type for the column, such as text or a decimal: schema= in "
                        "Python, --type in the command line",
                        details={"file": path, "column": name},
                    )


def _is_inexact(texts: pa.Array) -> pa.Array:
    """Of which numbers a double may not be: whole ones of many digits, and those beyond all doubles."""
    beyond = pc.and_(pc.is_inf(texts.cast(pa.float64())), pc.match_substring_regex(texts, r"[0-9]"))
    return pc.or_(beyond, pc.match_substring_regex(texts, _LONG))


def _read_as(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_timestamp(kind) else kind


def _is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.binary())


def _separator(sample: bytes) -> str:
    """That which stands in the line of names most often, outside of quotes; of one column, there is none."""
    bare = _QUOTED.sub("", _names_line(sample))
    return max(_SEPARATORS, key=bare.count)


def _names_line(sample: bytes) -> str:
    """The first line that is not empty, as Arrow leaves out those that are."""
    lines = sample.decode("utf-8", "replace").lstrip("\ufeff").splitlines()
    return next(filter(None, lines), "")


def _failure(
    files: Files, path: str, error: Exception, sample: bytes, types: Mapping[str, pa.DataType]
) -> BadData:
    separator = _separator(sample)
    check_quotes(path, lambda: _source(files, path), separator)
    names = next(csv.reader([_names_line(sample)], delimiter=separator), [])

    def opened(decoded: bool, misfit: Handler) -> pa.csv.CSVStreamingReader:
        told = {name: _read_as(kind) if decoded else pa.binary() for name, kind in types.items()}
        return _reader(_source(files, path), separator, told, [*told] or None, misfit)

    return failure(path, error, names, _BLOCK_BYTES, opened)


def _reader(
    source: pa.NativeFile,
    separator: str,
    types: Mapping[str, pa.DataType],
    columns: list[str] | None,
    misfit: Handler | None = None,
) -> pa.csv.CSVStreamingReader:
    """
    Args:
        misfit: is told of rows of too many fields, or too few, by their numbers, for which one thread reads.
    """
    return pa.csv.open_csv(
        source,
        read_options=pa.csv.ReadOptions(block_size=_BLOCK_BYTES, use_threads=misfit is None),
        parse_options=pa.csv.ParseOptions(
            delimiter=separator, newlines_in_values=True, invalid_row_handler=misfit
        ),
        convert_options=pa.csv.ConvertOptions(
            column_types=types,
            include_columns=columns,
            include_missing_columns=columns is not None,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _typed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = []
    for field, values in zip(schema, batch.columns, strict=True):
        try:
            is_text = pa.types.is_timestamp(field.type) and pa.types.is_string(values.type)
            columns.append(times(values, field.type) if is_text else values.cast(field.type))
        except pa.ArrowInvalid as error:
            raise pa.ArrowInvalid(f"column {field.name!r}: {error}") from None
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _kind(found: pa.DataType) -> pa.DataType:
    """What there is no type for is text."""
    return pa.string() if pa.types.is_time(found) or pa.types.is_binary(found) else found
