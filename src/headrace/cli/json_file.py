"""JSON files of one object a line, read in batches."""

from __future__ import annotations

import codecs
import contextlib
import io
import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa
import pyarrow.json

from headrace.cli.text_file import open_text
from headrace.cli.texts import TIME, bad_value, is_found_out, is_large, is_rounded, lost_number, parsed
from headrace.errors import BadData, NameClash

_BLOCK_BYTES = 8 << 20
_LONGEST = 3 * _BLOCK_BYTES  # more than Arrow reads as a row
_NULL = "null, or a field that is missing, is no value, and nothing else is"
_FORM = "a JSON file has one object a line, with no brackets around them and no commas between"
_HINT = f"a column has the type that is stored, and in a new group that of the file's first values; {_NULL}"
_LARGE = 2.0**53

Others = Literal["infer", "ignore", "error"]
"""What becomes of fields without a type."""


def has_objects(path: str) -> bool:
    """False if a file is empty; then it has no columns either."""
    return _start(path) != b""


def open_json(
    path: str, stored: pa.Schema | None, times: Sequence[str]
) -> tuple[pa.Schema, Callable[[], Iterator[pa.RecordBatch]]]:
    """The columns of a file, and its rows; see `open_rows`."""
    if _start(path) == b"[":  # looked at first, because all of it may be one line
        raise BadData(f"{path} is an array of objects", hint=_FORM, details={"file": path})
    known = {} if stored is None else {f.name: _asked(f.type) for f in stored if _can_be_asked(f.type)}
    # Looked at first, because a column that is asked for and missing would come out as nulls.
    with _naming(path, known, "ignore"):
        found = _json(path, {}).schema
    later = _with_values(path, {name: kind for name, kind in known.items() if name not in found.names})
    types = {name: kind for name, kind in known.items() if name in found.names or name in later}
    # A text with digits below a second is not taken for a time unless it is asked for.
    types |= {f.name: TIME for f in found if f.name in times and f.name not in known and _may_be_time(f.type)}
    with _naming(path, types, "ignore"):
        read = _json(path, types).schema
    dates = {} if stored is None else {f.name: f.type for f in stored if pa.types.is_date(f.type)}
    schema = pa.schema([f.with_type(dates.get(f.name, f.type)) for f in read])

    def batches() -> Iterator[pa.RecordBatch]:
        row = 0
        exact = False
        every = dict(zip(read.names, read.types, strict=True))
        with _naming(path, every, "error"):
            for batch in _json(path, types):
                if not exact and any(map(is_large, batch.columns)):
                    _check_numbers(path, every)
                    exact = True
                columns = [
                    parsed(path, name, column, dates[name], row, _NULL) if name in dates else column
                    for name, column in zip(schema.names, batch.columns, strict=True)
                ]
                row += batch.num_rows
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return schema, batches


def _can_be_asked(kind: pa.DataType) -> bool:
    """Of a nested type only what Arrow reads from JSON; the others are found out."""
    if not pa.types.is_nested(kind):
        return pa.types.is_timestamp(kind) or not is_found_out(kind)
    fields = [kind.field(i).type for i in range(kind.num_fields)]
    return not pa.types.is_map(kind) and all(_can_be_asked(t) and not pa.types.is_date(t) for t in fields)


def _asked(kind: pa.DataType) -> pa.DataType:
    """The type that Arrow is asked for: of a time that it finds, a date would be a part."""
    return pa.string() if pa.types.is_date(kind) else kind


def _may_be_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_timestamp(kind))


def _json(source: Any, types: Mapping[str, pa.DataType], others: Others = "infer") -> Any:
    return pa.json.open_json(
        open_text(source) if isinstance(source, str) else source,
        read_options=pa.json.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
        parse_options=pa.json.ParseOptions(
            explicit_schema=pa.schema(types), unexpected_field_behavior=others
        ),
    )


def _start(path: str) -> bytes:
    """The first byte that is no space."""
    with open_text(path) as file:
        while block := file.read(_BLOCK_BYTES):
            if start := block.removeprefix(codecs.BOM_UTF8).lstrip()[:1]:
                return bytes(start)
    return b""


def _objects(path: str) -> Iterator[bytes]:
    """The lines that are not empty."""
    with open_text(path) as file:
        lines = io.BufferedReader(file, _BLOCK_BYTES)
        while line := lines.readline(_LONGEST):
            if not line.isspace():
                yield line


def _blocks(path: str) -> Iterator[list[bytes]]:
    lines: list[bytes] = []
    size = 0
    for line in _objects(path):
        lines.append(line)
        size += len(line)
        if size >= _BLOCK_BYTES:
            yield lines
            lines, size = [], 0
    if lines:
        yield lines


def _with_values(path: str, types: Mapping[str, pa.DataType]) -> Collection[str]:
    """The columns of these that have a value somewhere in the file."""
    found: set[str] = set()
    if types:
        with _naming(path, types, "ignore"):
            for batch in _json(path, types, "ignore"):
                found |= {name for name in types if batch.column(name).null_count < batch.num_rows}
                if len(found) == len(types):
                    break
    return found


@contextlib.contextmanager
def _naming(path: str, types: Mapping[str, pa.DataType], others: Others) -> Iterator[None]:
    """Arrow's errors tell neither the column of a value nor, of a large file, the row: these are looked for."""
    try:
        yield
    except pa.ArrowInvalid:
        row = 0
        for lines in _blocks(path):
            if _error(lines, types, others) is not None:
                first = _first_bad(lines, types, others)
                _check_object(path, lines[first], types, row + first)
                break
            row += len(lines)
        raise


def _error(lines: Sequence[bytes], types: Mapping[str, pa.DataType], others: Others) -> str | None:
    """What Arrow says of lines that it does not read."""
    try:
        for _ in _json(io.BytesIO(b"".join(lines)), types, others):
            pass
    except pa.ArrowInvalid as error:
        return str(error).removesuffix(" in row 0")
    return None


def _first_bad(lines: Sequence[bytes], types: Mapping[str, pa.DataType], others: Others) -> int:
    first, count = 0, len(lines)
    while count > 1:
        half = count // 2
        if _error(lines[first : first + half], types, others) is None:
            first, count = first + half, count - half
        else:
            count = half
    return first


class _Number(str):
    """A number as it is written."""

    __repr__ = str.__str__


def _check_object(path: str, line: bytes, types: Mapping[str, pa.DataType], row: int) -> None:
    """Check a line that Arrow does not read.

    Raises:
        BadData: it is no object, or a value of it is not of its column's type. NameClash: it names a column twice.
    """
    details = {"file": path, "row": row}
    try:
        fields = json.loads(line.decode("utf-8-sig"), parse_float=_Number, parse_int=_Number)
    except UnicodeDecodeError:
        raise BadData(
            f"{path}: row {row} is not UTF-8", hint="save the file as UTF-8", details=details
        ) from None
    except ValueError as error:
        what = f"{path}: row {row} is no JSON object: {error}"
        raise BadData(what, hint=_FORM, details=details) from None
    if not isinstance(fields, dict):
        what = "an array" if isinstance(fields, list) else repr(fields)
        raise BadData(f"{path}: row {row} is {what}, not an object", hint=_FORM, details=details) from None
    names = [name for name, _ in json.loads(line.decode("utf-8-sig"), object_pairs_hook=list)]
    twice = sorted(name for name in fields if names.count(name) > 1)
    if twice:
        raise NameClash(
            f"{path}: row {row} names a column twice: {', '.join(map(repr, twice))}",
            details={**details, "columns": twice},
        ) from None
    for name, value in fields.items():
        number = next(filter(_is_infinite, _numbers(value)), None)
        kind = types.get(name, pa.float64())
        if number is not None and (pa.types.is_floating(kind) or pa.types.is_nested(kind)):
            raise lost_number(path, name, number, pa.scalar(math.inf, pa.float64()), row) from None
        if number is not None:
            raise bad_value(path, name, row, f"{value!r} is no {kind}", _HINT) from None
    reason = _error([line], {}, "ignore")
    if reason is not None:
        raise BadData(f"{path}: row {row} cannot be read: {reason}", hint=_FORM, details=details) from None
    for name, value in fields.items():
        if name not in types:
            what = "the first value of a column that no row of the first 8 MB has"
            hint = "begin with a row that has it, or create the group from Python with schema="
            raise bad_value(path, name, row, f"{value!r} is {what}", hint) from None
        if _error([line], {name: types[name]}, "ignore") is not None:
            raise bad_value(path, name, row, f"{value!r} is no {types[name]}", _HINT) from None


def _check_numbers(path: str, types: Mapping[str, pa.DataType]) -> None:
    """Check that floats hold the numbers that are written: another pass, for files with large ones.

    Raises:
        BadData: one became infinite, or a whole one was rounded.
    """
    for row, line in enumerate(_objects(path)):
        try:
            fields = json.loads(line, parse_float=_large, parse_int=_large)
        except ValueError:
            continue  # not an object: that is for Arrow to say
        for name, kind in types.items():
            for text, inner in _floats(fields.get(name) if isinstance(fields, dict) else None, kind):
                number = pa.scalar(float(text)).cast(inner)
                if math.isinf(number.as_py()) or (text.lstrip("-").isdigit() and is_rounded(text)):
                    raise lost_number(path, name, text, number, row)


def _large(text: str) -> _Number | None:
    return _Number(text) if abs(float(text)) >= _LARGE else None


def _is_infinite(number: str) -> bool:
    return math.isinf(float(number))


def _numbers(value: object) -> Iterator[_Number]:
    """The numbers in a value."""
    if isinstance(value, _Number):
        yield value
    elif isinstance(value, (list, dict)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _numbers(inner)


def _floats(value: object, kind: pa.DataType) -> Iterator[tuple[_Number, pa.DataType]]:
    """The large numbers in a value that are read as floats, and as which."""
    if isinstance(value, _Number) and pa.types.is_floating(kind):
        yield value, kind
    elif isinstance(value, list) and pa.types.is_list(kind):
        for item in value:
            yield from _floats(item, kind.value_type)
    elif isinstance(value, dict) and pa.types.is_struct(kind):
        for field in kind:
            yield from _floats(value.get(field.name), field.type)
