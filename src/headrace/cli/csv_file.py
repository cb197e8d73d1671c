"""CSV files, read in batches."""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv

from headrace.cli.text_file import Lines, open_text
from headrace.cli.texts import TIME, is_found_out, parsed
from headrace.errors import BadData

_BLOCK_BYTES = 8 << 20
_NULL = "an empty field is null, and nothing else is"
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
    """The columns of a file, and its rows; see `open_rows`.

    Arrow only finds the columns, and in a new group their types: what it makes of a text, a number rounded or a sign
    wrapped, does not show, so it gives texts, of which each is then looked at as a value of its type.
    """
    known = {} if stored is None else {f.name: f.type for f in stored if not is_found_out(f.type)}
    known |= {} if stored is None else {f.name: TIME for f in stored if pa.types.is_timestamp(f.type)}
    with _reading(path, dict.fromkeys(known, pa.binary())) as reader:
        found = reader.schema
    schema = pa.schema([(f.name, known.get(f.name) or _type(f, times)) for f in found])

    def batches() -> Iterator[pa.RecordBatch]:
        row = 0
        sound = False
        with _reading(path, dict.fromkeys(schema.names, pa.binary())) as reader:
            for batch in reader:
                if not sound and any(map(_is_broken, batch.columns)):
                    _check_quotes(path)
                    sound = True
                columns = [
                    parsed(path, field.name, texts, field.type, row, _NULL)
                    for field, texts in zip(schema, batch.columns, strict=True)
                ]
                row += batch.num_rows
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return schema, batches


def _type(found: pa.Field, times: Sequence[str]) -> pa.DataType:
    """The type of a column that the group does not tell, by what Arrow finds in the first block."""
    kind = found.type
    text = pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_time(kind)
    # Dates alone are dates.
    if found.name in times and (text or pa.types.is_timestamp(kind) or pa.types.is_null(kind)):
        return TIME
    return pa.string() if text else kind


@contextlib.contextmanager
def _reading(path: str, types: Mapping[str, pa.DataType]) -> Iterator[Any]:
    """A reader of batches. An empty field is null, and nothing else is: "NA" is also a name, and "" an empty text."""
    try:
        with Lines(path) as lines:
            yield pa.csv.open_csv(
                pa.PythonFile(lines, mode="r"),
                # One thread: only then does an error of the form of a row name it.
                read_options=pa.csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
                # Without this a block may end in a text.
                parse_options=pa.csv.ParseOptions(newlines_in_values=True),
                convert_options=pa.csv.ConvertOptions(
                    column_types=types,
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
    except pa.ArrowInvalid:
        _check_quotes(path)
        raise


def _is_broken(column: pa.Array) -> bool:
    """True if a text of a column has more than one line."""
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
    with open_text(path) as file:
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
