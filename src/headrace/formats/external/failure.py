"""Errors of ADBC's drivers, as ours: told by their codes, never by their text."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from adbc_driver_manager import AdbcStatusCode, Error

from headrace.errors import (
    BadData,
    Busy,
    Cancelled,
    Conflict,
    HeadraceError,
    InternalError,
    InvalidArgument,
    LimitExceeded,
    NotFound,
    PermissionDenied,
    Timeout,
    Unauthenticated,
    Unavailable,
    Unsupported,
)

_STATES: dict[str, type[HeadraceError]] = {
    "08": Unavailable,
    "08004": Unauthenticated,
    "0A": Unsupported,
    "22": BadData,
    "28": Unauthenticated,
    "3D": NotFound,
    "3F": NotFound,
    "40": Conflict,
    "42": InvalidArgument,
    "42501": PermissionDenied,
    "42P01": NotFound,
    "42703": NotFound,
    "53": LimitExceeded,
    "53300": Busy,
    "54": LimitExceeded,
    "55": Conflict,
    "57014": Cancelled,
    "57": Unavailable,
    "58": Unavailable,
}
"""By SQLSTATE, or its class. https://www.postgresql.org/docs/current/errcodes-appendix.html"""

_STATUSES: dict[AdbcStatusCode, type[HeadraceError]] = {
    AdbcStatusCode.UNAUTHENTICATED: Unauthenticated,
    AdbcStatusCode.UNAUTHORIZED: PermissionDenied,
    AdbcStatusCode.NOT_FOUND: NotFound,
    AdbcStatusCode.NOT_IMPLEMENTED: Unsupported,
    AdbcStatusCode.INVALID_ARGUMENT: InvalidArgument,
    AdbcStatusCode.INVALID_DATA: BadData,
    AdbcStatusCode.INVALID_STATE: InvalidArgument,
    AdbcStatusCode.INTEGRITY: BadData,
    AdbcStatusCode.IO: Unavailable,
    AdbcStatusCode.TIMEOUT: Timeout,
    AdbcStatusCode.CANCELLED: Cancelled,
}

_WORDS = re.compile(r"[^\s:/@?&=;,'\"]+")
_HIDDEN = "***"


@contextlib.contextmanager
def translated(where: str, uri: str, broken: HeadraceError) -> Iterator[None]:
    """Whatever a driver raises inside comes out as an error of ours, without what is secret of the URI.

    Args:
        where: what is read, for people.
        broken: what it means that rows no longer come, for which drivers have no code.
    """
    try:
        yield
    except Error as error:
        kind = _kind(error)
        raise kind(f"{where}: {told(error, uri)}", details=_details(error)) from None
    except (OSError, pa.ArrowException) as error:  # in mid-stream
        raise type(broken)(f"{where} {broken.message}: {told(error, uri)}", hint=broken.hint) from None


def _kind(error: Error) -> type[HeadraceError]:
    state = error.sqlstate or ""
    return _STATES.get(state) or _STATES.get(state[:2]) or _STATUSES.get(error.status_code) or InternalError


def _details(error: Error) -> dict[str, str]:
    return {"sqlstate": error.sqlstate} if error.sqlstate else {}


def told(error: Exception, uri: str) -> str:
    """What the driver says, on one line, without its status and the statement that it repeats."""
    said = str(error)
    if isinstance(error, Error):
        said = said.removeprefix(f"{error.status_code.name}: ")
    for repeats in ("\n\nQuery was:", "\nquery:"):
        said = said.partition(repeats)[0]
    return hidden(" ".join(said.split()), uri)


def hidden(message: str, uri: str) -> str:
    """A message without the words of a URI, but for those that say which database it is."""
    try:
        parts = urlsplit(uri)
        open_ = {parts.scheme, parts.hostname, str(parts.port), parts.username, *parts.path.split("/")}
    except ValueError:
        open_ = set()
    words = {*_WORDS.findall(uri), *_WORDS.findall(unquote(uri)), uri}
    for word in sorted(words - {o for o in open_ if o}, key=len, reverse=True):
        message = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", _HIDDEN, message)
    return message
