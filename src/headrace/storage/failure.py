"""What a storage refuses, as errors of ours."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator

from headrace.errors import HeadraceError, LimitExceeded, PermissionDenied, Unavailable

# The texts of the Delta library are made for terminals.
_DECORATION = re.compile(r"\x1b\[[0-9;]*m|↳")
_FULL = frozenset({errno.EFBIG, errno.ENOSPC, errno.EDQUOT})
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def failure(what: str, reason: object, number: int | None) -> HeadraceError:
    """The error for `what`, which the system refused to write or read for `reason`, with its error number."""
    if number in _FULL:
        return LimitExceeded(f"no space is left to write {what}", hint="nothing was changed: make room")
    if number is not None and number in _FORBIDDEN:
        return PermissionDenied(
            f"{what} may not be used: {os.strerror(number)}",
            hint="its folders and files must be readable and writable",
        )
    return Unavailable(f"the storage of {what} failed: {reason}")


def plain(error: Exception) -> str:
    """What the Delta library says, in one line."""
    return " ".join(_DECORATION.sub(" ", str(error)).split())


@contextlib.contextmanager
def stored(what: str) -> Iterator[None]:
    """Turns the system's errors into ours."""
    try:
        yield
    except OSError as error:
        raise failure(what, error.strerror or error, error.errno) from error
