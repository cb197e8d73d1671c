"""What a storage refuses, as errors of ours."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

from headrace.errors import HeadraceError, LimitExceeded, Unavailable

_FULL = frozenset({errno.EFBIG, errno.ENOSPC, errno.EDQUOT})


def failure(what: str, reason: object, number: int | None) -> HeadraceError:
    """The error for `what`, which the system refused to write or read for `reason`, with its error number."""
    if number in _FULL:
        return LimitExceeded(f"no space is left to write {what}", hint="nothing was changed: make room")
    return Unavailable(f"the storage of {what} failed: {reason}")


@contextlib.contextmanager
def stored(what: str) -> Iterator[None]:
    """Turns the system's errors into ours."""
    try:
        yield
    except OSError as error:
        raise failure(what, error.strerror or error, error.errno) from error
