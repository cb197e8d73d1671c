"""What DuckDB raises, as errors of ours."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

import duckdb
import msgspec
import pyarrow as pa

from headrace.engine.passed import may_be_interrupted, unpacked
from headrace.errors import (
    Cancelled,
    CorruptTable,
    HeadraceError,
    InternalError,
    InvalidArgument,
    LimitExceeded,
    SqlRejected,
    Unsupported,
)

_TRANSLATED: tuple[tuple[type[duckdb.Error], type[HeadraceError], str], ...] = (
    (
        duckdb.OutOfMemoryException,
        LimitExceeded,
        "the query needs more memory than it may have, or more disk to spill to: {}",
    ),
    (duckdb.InterruptException, Cancelled, "the query was cancelled"),
    (duckdb.IOException, CorruptTable, "a file of the table cannot be read: {}"),
    (duckdb.InvalidInputException, CorruptTable, "a file of the table cannot be read: {}"),
    (duckdb.NotImplementedException, Unsupported, "the engine cannot do this: {}"),
    (duckdb.OutOfRangeException, InvalidArgument, "a value is out of range: {}"),
    (duckdb.ConversionException, InvalidArgument, "a value cannot be converted: {}"),
)

_MORE = (
    "ask for less at once, or allow more: by memory_limit; for a service by --query-memory and --query-disk"
)

_OF_USERS: tuple[tuple[type[duckdb.Error], type[HeadraceError], str], ...] = (
    (duckdb.InvalidInputException, SqlRejected, "the query cannot be run: {}"),
    # It was bound when it was prepared: of a table there are other columns now, or the caller may see fewer.
    (duckdb.BinderException, SqlRejected, "the query cannot be run any more: {}"),
)


class _Told(msgspec.Struct):
    """What DuckDB says of an error as JSON."""

    exception_type: str
    exception_message: str


_TOLD = msgspec.json.Decoder(_Told)

# As in: Referenced column "x" not found; Table "t" does not have a column named "x"; Column "x" does not exist.
_ABSENT_COLUMN = re.compile(r'column (named )?"', re.IGNORECASE)

# What DuckDB's reader of Parquet raises where bytes make no sense is of no kind of its own, or not DuckDB's.
_NO_KIND = ("", "Invalid")


def translate(error: Exception, *, of_users: bool = False) -> HeadraceError | KeyboardInterrupt | None:
    """DuckDB's error as one of ours; what DuckDB said is in the details. None if the error is not DuckDB's.

    After Ctrl-C DuckDB raises a bare RuntimeError, which comes out as KeyboardInterrupt.

    An error in mid-stream has passed through Arrow, which keeps its text alone.

    Args:
        of_users: a user wrote the statement, who may have called a function with what it does not take.
    """
    if type(error) is RuntimeError and may_be_interrupted():
        return KeyboardInterrupt()
    _, brace, rest = str(error).partition("{")
    try:
        told = _TOLD.decode(brace + rest)
    except msgspec.MsgspecError:
        if not isinstance(error, duckdb.Error):
            return None
        told = _Told("", str(error))
    ours = unpacked(told.exception_message)
    if ours is not None:
        return ours
    raised = type(error) if isinstance(error, duckdb.Error) else _exception(told.exception_type)
    for kind, meant, message in (*(_OF_USERS if of_users else ()), *_TRANSLATED):
        if issubclass(raised, kind):
            first, *_ = told.exception_message.splitlines() or [""]
            hint = _MORE if meant is LimitExceeded else None
            return meant(message.format(first), hint=hint, details={"engine": told.exception_message})
    if raised is duckdb.Error and told.exception_type in _NO_KIND:
        return CorruptTable(
            f"a file of the table seems damaged: {told.exception_message}",
            details={"engine": told.exception_message},
        )
    return InternalError(f"the query engine failed: {told.exception_message}")


def said(error: Exception) -> str:
    """The first line of what DuckDB says."""
    _, brace, rest = str(error).partition("{")
    try:
        message = _TOLD.decode(brace + rest).exception_message
    except msgspec.MsgspecError:
        message = str(error)
    return next(iter(message.splitlines()), "")


def is_of_absent_column(error: BaseException | None) -> bool:
    """Whether it is DuckDB's for a query that names a column which there is not."""
    return isinstance(error, duckdb.BinderException) and _ABSENT_COLUMN.search(said(error)) is not None


def _exception(name: str) -> type[Exception]:
    """DuckDB's class for what it calls "Out of Memory"; the root of them if there is none."""
    todo: list[type[Exception]] = [duckdb.Error]
    for kind in todo:
        if kind.__name__.casefold() == f"{name.replace(' ', '')}Exception".casefold():
            return kind
        todo += kind.__subclasses__()
    return todo[0]


@contextlib.contextmanager
def translated(*, of_users: bool = False) -> Iterator[None]:
    """Turns DuckDB's errors into ours; for `of_users` see `translate`."""
    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError, RuntimeError) as error:
        ours = translate(error, of_users=of_users)
        if ours is None:
            raise
        raise ours from error
