"""JSON files of one object a line, read in batches."""

from __future__ import annotations

import contextlib
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.json

from headrace.cli.text_file import open_text
from headrace.cli.texts import TIME, is_found_out, is_large, lost_number, parsed
from headrace.errors import NameClash

_BLOCK_BYTES = 8 << 20
_NULL = "null, or a field that is missing, is no value, and nothing else is"
_FLOAT32 = 3.4e38


def open_json(
    path: str, stored: pa.Schema | None, times: Sequence[str]
) -> tuple[pa.Schema, Callable[[], Iterator[pa.RecordBatch]]]:
    """The columns of a file, and its rows; see `open_rows`."""
    # Looked at first, because a column that is asked for and missing would come out as nulls.
    with _naming(path, {}):
        found = _json(path, {}).schema
    wanted = {} if stored is None else {f.name: f.type for f in stored if f.name in found.names}
    dates = {name: kind for name, kind in wanted.items() if pa.types.is_date(kind)}
    types = {name: kind for name, kind in wanted.items() if not is_found_out(kind)}
    # A text with digits below a second is not taken for a time unless it is asked for.
    types |= {f.name: TIME for f in found if f.name in times and pa.types.is_string(f.type)}
    types |= dict.fromkeys(dates, pa.string())  # of a time that Arrow finds, a date would be a part
    with _naming(path, types):
        read = _json(path, types).schema
    schema = pa.schema([f.with_type(dates.get(f.name, f.type)) for f in read])

    def batches() -> Iterator[pa.RecordBatch]:
        row = 0
        meant = False
        with _naming(path, types):
            for batch in _json(path, types):
                if not meant and any(map(is_large, batch.columns)):
                    _check_rows(path, types)
                    meant = True
                columns = [
                    parsed(path, name, column, dates[name], row, _NULL) if name in dates else column
                    for name, column in zip(schema.names, batch.columns, strict=True)
                ]
                row += batch.num_rows
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return schema, batches


def _json(path: str, types: Mapping[str, pa.DataType]) -> Any:
    return pa.json.open_json(
        open_text(path),
        read_options=pa.json.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
        parse_options=pa.json.ParseOptions(explicit_schema=pa.schema(types)),
    )


def _objects(path: str) -> Iterator[bytes]:
    """The lines that are not empty."""
    with open_text(path) as file:
        yield from (line for line in io.BufferedReader(file, _BLOCK_BYTES) if not line.isspace())


@contextlib.contextmanager
def _naming(path: str, types: Mapping[str, pa.DataType]) -> Iterator[None]:
    """Arrow's errors tell neither the column of a number nor, of a large file, the row."""
    try:
        yield
    except pa.ArrowInvalid:
        _check_rows(path, types)
        raise


class _Large(str):
    """A number, as it is written, that some type of floats does not hold."""


def _check_rows(path: str, types: Mapping[str, pa.DataType]) -> None:
    """Check what Arrow does not tell of well: another pass, for errors and for files with infinite numbers.

    Raises:
        BadData: a number is too large for its column. NameClash: a row names a column twice.
    """
    for row, line in enumerate(_objects(path)):
        try:
            pairs = json.loads(line, object_pairs_hook=list, parse_float=_number, parse_int=_number)
            fields = dict(pairs)
        except (ValueError, TypeError):
            continue  # not an object: that is for Arrow to say
        for name, value in pairs:
            kind = pa.float32() if types.get(name) == pa.float32() else pa.float64()
            for text in _large(value):
                number = pa.scalar(float(text)).cast(kind)
                if math.isinf(number.as_py()):
                    raise lost_number(path, name, text, number, row) from None
        if len(fields) < len(pairs):
            names = [name for name, _ in pairs]
            twice = sorted(name for name in fields if names.count(name) > 1)
            raise NameClash(
                f"{path}: row {row} names a column twice: {', '.join(map(repr, twice))}",
                details={"file": path, "columns": twice, "row": row},
            ) from None


def _number(text: str) -> _Large | None:
    return _Large(text) if abs(float(text)) > _FLOAT32 else None


def _large(value: object) -> Iterator[str]:
    """The large numbers in a value, in which objects are lists of pairs."""
    if isinstance(value, _Large):
        yield value
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _large(inner)
