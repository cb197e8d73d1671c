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
        "the row codec needs the package headrace-native", hint="pip install headrace-native"
    ) from error

__all__ = ["Compression", "Tier", "errors", "headrace_native", "raised"]

Compression = Literal["lz4", "zstd"]
Tier = Literal["program", "machine"]

_CLASS = "import its module first; a class of a script's __main__ is there alone: put it into a module"
_TRUST = "allow_pickle=True carries any object: for bytes from people you trust"


@contextlib.contextmanager
def errors() -> Iterator[None]:
    """Within, what the native part raises is one of Headrace's errors."""
    try:
        yield
    except headrace_native.RowError as error:
        raise raised(error) from error


def raised(error: RowError) -> HeadraceError:
    details = {} if error.offset is None else {"offset": error.offset}
    match error.kind:
        case "argument":
            return InvalidArgument(str(error))
        case "class":
            return Unsupported(str(error), hint=_CLASS, details=details)
        case "refused":
            return Unsupported(str(error), hint=_TRUST, details=details)
        case "unsupported":
            return Unsupported(str(error), details=details)
        case "limit":
            return LimitExceeded(str(error), hint="split the value")
        case _:
            return BadData(f"the bytes are damaged: {error}", details=details)
