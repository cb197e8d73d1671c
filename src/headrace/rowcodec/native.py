"""The native part, and what its errors become."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from headrace.errors import (
    BadData,
    HeadraceError,
    InvalidArgument,
    LimitExceeded,
    MissingDependency,
    Unsupported,
)

if TYPE_CHECKING:
    from headrace_native import RowError

try:
    import headrace_native
except ImportError as error:
    raise MissingDependency(
        "the row codec needs the package headrace-native",
        hint="make native builds it in a clone of Headrace: pip install native/target/wheels/*.whl",
    ) from error

__all__ = ["Compression", "Tier", "errors", "headrace_native", "raised"]

Compression = Literal["lz4", "zstd"]
Tier = Literal["program", "machine"]

_CLASS = "import its module first; a class of a script's __main__ is there alone: put it into a module"
_WRITE = "allow_pickle=True pickles it, for readers who trust the bytes"
_READ = "allow_pickle=True unpickles it, which can run any code: for bytes from people you trust"


@contextlib.contextmanager
def errors() -> Iterator[None]:
    """Within, what the native part raises is one of Headrace's errors."""
    try:
        yield
    except headrace_native.RowError as error:
        raise raised(error) from error


def raised(error: RowError) -> HeadraceError:
    told = {"offset": error.offset, "row": error.row, "column": error.column}
    details = {name: value for name, value in told.items() if value is not None}
    where = "" if error.row is None else f"row {error.row}"
    where += "" if error.column is None else f", column {error.column!r}"
    what = f"{where}: {error}" if where else str(error)
    match error.kind:
        case "argument":
            return InvalidArgument(what)
        case "class":
            return Unsupported(what, hint=_CLASS, details=details)
        case "refused":
            return Unsupported(what, hint=_READ if details else _WRITE, details=details)
        case "unsupported":
            return Unsupported(what, details=details)
        case "limit":
            return LimitExceeded(what, hint="split the value")
        case _:
            place = "" if error.offset is None else f" at byte {error.offset}"
            return BadData(f"the bytes are damaged: {what}{place}", details=details)
