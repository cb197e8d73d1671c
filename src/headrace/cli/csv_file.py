"""CSV files, read in batches."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv

from headrace.cli.text_file import Lines, open_text
from headrace.cli.texts import TIME, is_found_out, parsed
from headrace.formats.folder.quotes import check_quotes, is_broken

_BLOCK_BYTES = 8 << 20
_NULL = "an empty field is null, and nothing else is"


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
                if not sound and any(map(is_broken, batch.columns)):
                    check_quotes(path, lambda: open_text(path))
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
        check_quotes(path, lambda: open_text(path))
        raise
