"""CSV files, read in batches."""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from headrace.cli.texts import TIME, is_found_out, is_infinite, parsed, too_large
from headrace.errors import BadData

_BLOCK_BYTES = 8 << 20
_NULL = "an empty field is null, and nothing else is"
_INFINITE = r"(?i)^[+-]?inf(inity)?$"
_QUOTED = re.compile(
    rb"""
    "(?<=[,\r\n]")                             # elsewhere in a field a quote is a character
    (?:
        [^"]*(?:""[^"]*)*"(?=[,\r\n])          # closed, a quote in it doubled
        |[^"\r\n]*(?:""[^"\r\n]*)*"(?=[^"])   # more follows, but no row is swallowed
        |()                                    # not closed
    )
    """,
    re.VERBOSE,
)


def open_csv(
    path: str, stored: pa.Schema | None, times: Sequence[str]
) -> tuple[pa.Schema, Callable[[], Iterator[pa.RecordBatch]]]:
    """The columns of a file, and its rows; see `open_rows`."""
    types = {} if stored is None else {f.name: f.type for f in stored if not is_found_out(f.type)}
    told = [] if stored is None else [f.name for f in stored if pa.types.is_timestamp(f.type)]
    with _naming(path, types):
        found = _csv(path, types).schema
    if stored is None:
        told = [f.name for f in found if f.name in times and _may_be_times(f.type)]
    types |= dict.fromkeys(told, pa.string())  # Arrow reads times of one form a column
    schema = pa.schema([f.with_type(TIME) if f.name in told else f for f in found])
    floats = {f.name: f.type for f in schema if pa.types.is_floating(f.type)}

    def batches() -> Iterator[pa.RecordBatch]:
        row = 0
        sound = meant = False
        with _naming(path, dict(zip(schema.names, schema.types, strict=True))):
            for batch in _csv(path, types):
                if not sound and any(map(_is_broken, batch.columns)):
                    _check_quotes(path)
                    sound = True
                if not meant and any(map(is_infinite, batch.columns)):
                    _check_large(path, floats)
                    meant = True
                columns = [
                    parsed(path, name, column, TIME, row, _NULL) if name in told else column
                    for name, column in zip(schema.names, batch.columns, strict=True)
                ]
                row += batch.num_rows
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return schema, batches


def _csv(path: str, types: Mapping[str, pa.DataType], only: Sequence[str] = ()) -> Any:
    """An empty field is null, and nothing else is: "NA" is also a name, and "" a text of no letters."""
    return pa.csv.open_csv(
        path,
        # One thread: only then does an error of the form of a row name it.
        read_options=pa.csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
        # Without this a block may end in a text.
        parse_options=pa.csv.ParseOptions(newlines_in_values=True),
        convert_options=pa.csv.ConvertOptions(
            column_types=types,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            include_columns=only,
        ),
    )


@contextlib.contextmanager
def _naming(path: str, types: Mapping[str, pa.DataType]) -> Iterator[None]:
    """Arrow's errors tell the number of a column: what is no value of its type is looked for and named."""
    try:
        yield
    except pa.ArrowInvalid:
        _check_quotes(path)
        row = 0
        for batch in _csv(path, dict.fromkeys(_csv(path, {}).schema.names, pa.string())):
            for name in batch.schema.names:
                if name in types:
                    parsed(path, name, batch.column(name), types[name], row, _NULL)
            row += batch.num_rows
        raise


def _is_broken(column: pa.Array) -> bool:
    """True if a text of a column has more than one line."""
    if not (pa.types.is_string(column.type) or pa.types.is_binary(column.type)):
        return False
    buffer = column.buffers()[2]
    texts = b"" if buffer is None else buffer.to_pybytes()
    return b"\n" in texts or b"\r" in texts


def _check_quotes(path: str) -> None:
    """Check that quotes are closed before the next field or row begins.

    Arrow reads on to the next quote, and reads that, wherever it stands, as the end of the text: rows between become
    part of it. This takes another pass, so it is for files with texts of several lines, and for errors.

    Raises:
        BadData: one is not.
    """
    line = 1
    with pa.input_stream(path) as file:
        rest = b"\n" + file.read(len(codecs.BOM_UTF8)).removeprefix(codecs.BOM_UTF8)
        while block := file.read(_BLOCK_BYTES):
            rest += block
            end = _sound(rest)
            line += _lines(rest[1:end])
            rest = rest[end - 1 :]
            if len(rest) > 3 * _BLOCK_BYTES:  # which is more than Arrow reads as a row
                break
        else:
            rest += b"\n"
    end = _sound(rest)
    if end < len(rest):
        line += _lines(rest[1:end])
        raise BadData(
            f"{path}, line {line}: a quote is not closed before the next field or row begins",
            hint="a text that begins with a quote ends with one, and a quote in it is doubled",
            details={"file": path, "line": line},
        )


def _sound(data: bytes) -> int:
    """Where the first quote is that is not closed in data, of which the first byte is the one before."""
    quoted = _QUOTED.finditer(data, 1)
    return next((match.start() for match in quoted if match.lastindex), len(data))


def _lines(data: bytes) -> int:
    """The number of line ends, of whichever kind."""
    return max(data.count(b"\n"), data.count(b"\r"))


def _check_large(path: str, floats: Mapping[str, pa.DataType]) -> None:
    """Check that what came out as infinite was written so; another pass, for files with such numbers."""
    row = 0
    for batch in _csv(path, dict.fromkeys(floats, pa.string()), list(floats)):
        for name, kind in floats.items():
            texts = pc.utf8_trim_whitespace(batch.column(name))
            meant = pc.match_substring_regex(texts, _INFINITE)
            at = pc.index(pc.and_not(pc.is_inf(texts.cast(kind)), meant), True).as_py()
            if at >= 0:
                raise too_large(path, name, str(texts[at]), kind, row + at)
        row += batch.num_rows


def _may_be_times(kind: pa.DataType) -> bool:
    """What Arrow takes times for, by the first that it sees; dates alone are dates."""
    return bool(pa.types.is_timestamp(kind) or pa.types.is_string(kind) or pa.types.is_null(kind))
