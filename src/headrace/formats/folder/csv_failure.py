"""What is wrong with a CSV file that was not read: where in it, and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.csv

from headrace.errors import BadData

_COLUMN = re.compile(r"In CSV column #(\d+): ")

Handler = Callable[[pyarrow.csv.InvalidRow], str]


def failure(
    path: str,
    error: Exception,
    names: Sequence[str],
    row_bytes: int,
    opened: Callable[[bool, Handler], pa.csv.CSVStreamingReader],
) -> BadData:
    """Look for it, which takes a pass.

    Args:
        error: what was said of it.
        names: of the file's columns.
        row_bytes: how long a row may be.
        opened: opens the file anew, to be read by one thread, which counts rows: decoded, or as bytes.
    """
    if isinstance(error, UnicodeDecodeError):
        return _no_utf8(path, None, 1)
    misfits: list[pyarrow.csv.InvalidRow] = []

    def stop(row: pyarrow.csv.InvalidRow) -> str:
        misfits.append(row)
        return "error"

    row = 1
    try:
        with opened(False, stop) as reader:
            for batch in reader:
                for name, column in zip(batch.schema.names, batch.columns, strict=True):
                    wrong = _first_no_text(column)
                    if wrong is not None:
                        return _no_utf8(path, name, row + 1 + wrong)
                row += batch.num_rows
    except pa.ArrowInvalid:
        if not misfits:
            return BadData(
                f"{path}: a row after row {row} takes more than {row_bytes >> 20} MB, which is as long as one may be",
                hint="look whether a quote in it is closed; texts so long are better kept in Parquet",
                details={"file": path, "row": row},
            )
        found = misfits[0]
        return BadData(
            f"{path}, row {found.number}, counting that of the names: it has {found.actual_columns} fields, and "
            f"there are {found.expected_columns} names",
            hint="a text with a separator in it takes quotes around it; a field that is empty takes its separator",
            details={"file": path, "row": found.number},
        )
    try:
        with opened(True, stop) as reader:
            for _ in reader:
                pass
    except pa.ArrowInvalid as with_rows:
        error = with_rows
    return BadData(
        f"{path}: {_COLUMN.sub(lambda told: _named(told, names), str(error))}",
        hint="mend the value; or give the column a type that has it, such as text: schema= in Python, --type in the "
        "command line",
        details={"file": path},
    )


def _first_no_text(column: pa.Array) -> int | None:
    if not pa.types.is_binary(column.type):
        return None
    try:
        column.cast(pa.string())
    except pa.ArrowInvalid:
        return next(i for i, value in enumerate(column) if not _is_text(value.as_py()))
    return None


def _is_text(value: bytes | None) -> bool:
    try:
        return value is None or value.decode() is not None
    except UnicodeDecodeError:
        return False


def _no_utf8(path: str, column: str | None, row: int) -> BadData:
    where = (
        "a name in its first line"
        if column is None
        else f"column {column!r}, row {row}, counting that of the names,"
    )
    return BadData(
        f"{path}: {where} is not in UTF-8",
        hint="write the file anew in UTF-8; of one in Latin-1: iconv -f LATIN1 -t UTF-8",
        details={"file": path, "row": row} | ({} if column is None else {"column": column}),
    )


def _named(told: re.Match[str], names: Sequence[str]) -> str:
    index = int(told[1])
    return f"column {names[index]!r}: " if index < len(names) else told[0]
