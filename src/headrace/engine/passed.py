"""Errors of ours, and Ctrl-C, on their way through DuckDB, which keeps the text of an error alone."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator

import msgspec
import pyarrow as pa

from headrace.errors import HeadraceError, error_types

_PASSED = re.compile(r"<<headrace ([0-9a-f]+)>>")
# As Python prints it. Ctrl-C comes before the first line of whatever DuckDB calls, so that none can pack it.
_INTERRUPTED = re.compile(r"(?:^|: )KeyboardInterrupt:? *$", re.MULTILINE)
_PARTS = msgspec.json.Decoder(tuple[str, str, str | None])


def may_be_interrupted() -> bool:
    """Whether Ctrl-C comes up in this thread: Python tells its main thread alone."""
    return threading.current_thread() is threading.main_thread()


def packed(error: HeadraceError) -> str:
    """A text that says all of the error."""
    told = msgspec.json.encode((error.code, error.message, error.hint))
    return f"<<headrace {told.hex()}>>"


def passed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows for DuckDB to scan, which keeps of an error what it says, alone: so it says all of it."""
    try:
        yield from batches
    except HeadraceError as error:
        raise OSError(packed(error)) from None


def unpacked(text: str) -> HeadraceError | KeyboardInterrupt | None:
    """The error that was packed into what DuckDB says; None if there is none."""
    if may_be_interrupted() and _INTERRUPTED.search(text):
        return KeyboardInterrupt()
    found = _PASSED.search(text)
    if found is None:
        return None
    code, message, hint = _PARTS.decode(bytes.fromhex(found[1]))
    return next(kind for kind in error_types() if kind.code == code)(message, hint=hint)
