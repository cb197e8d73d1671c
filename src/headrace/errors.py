"""Every error that Headrace raises.

    HeadraceError                     .code .message .hint .details .retryable .request_id
    ├─ InvalidArgument                the call itself is wrong; no data was looked at
    │   ├─ InvalidName · UnknownColumn · NameClash · KeyMismatch
    │   ├─ Leakage                    the answer would hold what was not known at its time
    │   └─ SqlRejected                SQL that cannot be read, or says what is not allowed
    ├─ BadData                        the data given, or stored, break a rule
    │   ├─ SchemaMismatch · NullKeys · DuplicateKeys
    │   └─ AmbiguousRows
    ├─ NotFound                       absent, or not yours to see
    │   └─ SnapshotNotFound
    ├─ AlreadyExists
    │   └─ DefinitionMismatch
    ├─ Conflict                       somebody else changed the same thing first
    ├─ OutcomeUnknown                 it may have happened: ask again with the same idempotency_key
    ├─ AuthError
    │   └─ Unauthenticated · PermissionDenied
    ├─ Busy                           .retry_after seconds
    ├─ LimitExceeded                  memory, disk, time, rows, columns
    ├─ Cancelled
    ├─ Unavailable                    the other side, or the storage, does not answer
    │   └─ Timeout · TLSError
    ├─ CorruptTable
    ├─ Unsupported
    ├─ MissingDependency
    └─ InternalError

`code` is stable and crosses the wire; `exit_code` is what the command line returns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

__all__ = [
    "AlreadyExists",
    "AmbiguousRows",
    "AuthError",
    "BadData",
    "Busy",
    "Cancelled",
    "Conflict",
    "CorruptTable",
    "DefinitionMismatch",
    "DuplicateKeys",
    "HeadraceError",
    "InternalError",
    "InvalidArgument",
    "InvalidName",
    "KeyMismatch",
    "Leakage",
    "LimitExceeded",
    "MissingDependency",
    "NameClash",
    "NotFound",
    "NullKeys",
    "OutcomeUnknown",
    "PermissionDenied",
    "SchemaMismatch",
    "SnapshotNotFound",
    "SqlRejected",
    "TLSError",
    "Timeout",
    "Unauthenticated",
    "Unavailable",
    "UnknownColumn",
    "Unsupported",
    "error_types",
]


# A message may repeat what it was given, and crosses the wire in a header.
_LONGEST = 2_000


def _text(given: str) -> str:
    """What can be sent and printed: names of files may hold bytes that are no text."""
    return given.encode("utf-8", "backslashreplace").decode()


class HeadraceError(Exception):
    """Root of the tree.

    Args:
        message: what happened, to which feature group, column or row.
        hint: what to do about it.
        details: the same for programs; JSON values only.
        request_id: names the call in the service's log.
    """

    code: ClassVar[str] = "ERROR"
    retryable: ClassVar[bool] = False
    exit_code: ClassVar[int] = 1

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        details: Mapping[str, Any] | None = None,
        request_id: str | None = None,
    ) -> None:
        message = _text(message)
        if len(message) > _LONGEST:
            message = message[: _LONGEST - 1] + "…"
        super().__init__(message)
        self.message = message
        self.hint = None if hint is None else _text(hint)
        self.details = {key: _text(v) if isinstance(v, str) else v for key, v in (details or {}).items()}
        self.request_id = request_id

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class InvalidArgument(HeadraceError):
    code = "INVALID_ARGUMENT"
    exit_code = 2


class InvalidName(InvalidArgument):
    code = "INVALID_NAME"


class UnknownColumn(InvalidArgument):
    code = "UNKNOWN_COLUMN"


class NameClash(InvalidArgument):
    code = "NAME_CLASH"


class KeyMismatch(InvalidArgument):
    code = "KEY_MISMATCH"


class Leakage(InvalidArgument):
    code = "LEAKAGE"


class SqlRejected(InvalidArgument):
    code = "SQL_REJECTED"


class BadData(HeadraceError):
    """`details["problems"]` lists each problem as `{"code", "column", "message", …}`."""

    code = "BAD_DATA"
    exit_code = 5


class SchemaMismatch(BadData):
    code = "SCHEMA_MISMATCH"


class NullKeys(BadData):
    code = "NULL_KEYS"


class DuplicateKeys(BadData):
    code = "DUPLICATE_KEYS"


class AmbiguousRows(BadData):
    code = "AMBIGUOUS_ROWS"


class NotFound(HeadraceError):
    code = "NOT_FOUND"
    exit_code = 3


class SnapshotNotFound(NotFound):
    code = "SNAPSHOT_NOT_FOUND"


class AlreadyExists(HeadraceError):
    code = "ALREADY_EXISTS"
    exit_code = 6


class DefinitionMismatch(AlreadyExists):
    code = "DEFINITION_MISMATCH"


class Conflict(HeadraceError):
    code = "CONFLICT"
    retryable = True
    exit_code = 6


class OutcomeUnknown(HeadraceError):
    code = "OUTCOME_UNKNOWN"
    retryable = True
    exit_code = 8


class AuthError(HeadraceError):
    code = "AUTH_ERROR"
    exit_code = 4


class Unauthenticated(AuthError):
    code = "UNAUTHENTICATED"


class PermissionDenied(AuthError):
    code = "PERMISSION_DENIED"


class Busy(HeadraceError):
    """The service has no room now.

    Args:
        retry_after: seconds after which to try again.
    """

    code = "BUSY"
    retryable = True
    exit_code = 7

    def __init__(self, message: str, *, retry_after: float = 1.0, **rest: Any) -> None:
        super().__init__(message, **rest)
        self.details.setdefault("retry_after", retry_after)

    @property
    def retry_after(self) -> float:
        return float(self.details["retry_after"])


class LimitExceeded(HeadraceError):
    code = "LIMIT_EXCEEDED"
    exit_code = 7


class Cancelled(HeadraceError):
    code = "CANCELLED"
    exit_code = 130


class Unavailable(HeadraceError):
    code = "UNAVAILABLE"
    retryable = True
    exit_code = 8


class Timeout(Unavailable):
    code = "TIMEOUT"


class TLSError(Unavailable):
    code = "TLS_ERROR"
    retryable = False


class CorruptTable(HeadraceError):
    code = "CORRUPT_TABLE"


class Unsupported(HeadraceError):
    code = "UNSUPPORTED"
    exit_code = 2


class MissingDependency(HeadraceError):
    code = "MISSING_DEPENDENCY"


class InternalError(HeadraceError):
    code = "INTERNAL"


def error_types() -> Iterator[type[HeadraceError]]:
    """Every class of the tree, the root first."""
    todo: list[type[HeadraceError]] = [HeadraceError]
    while todo:
        kind = todo.pop()
        yield kind
        todo.extend(kind.__subclasses__())
