"""What a storage refuses, as errors of ours."""

from __future__ import annotations

import contextlib
import errno
import html
import re
from collections.abc import Iterator

from headrace.errors import (
    HeadraceError,
    InvalidArgument,
    LimitExceeded,
    PermissionDenied,
    Unavailable,
)

# The Delta library keeps what the system said in its text alone; the number in it is the system's own.
_SYSTEM_ERROR = re.compile(r"\(os error (?P<number>[0-9]+)\)")
# The same of NameNodes: the class of their error, and where in their program it came up.
_HADOOP_ERROR = re.compile(r"RPC error:? (?P<kind>[a-z][\w.]*\.[A-Z]\w*)")
_HADOOP_TRACE = re.compile(r"\n\s*at [^\n]*")
_HADOOP_NUMBERS = {
    "org.apache.hadoop.hdfs.protocol.DSQuotaExceededException": errno.EDQUOT,
    "org.apache.hadoop.hdfs.protocol.NSQuotaExceededException": errno.EDQUOT,
    "org.apache.hadoop.hdfs.protocol.QuotaByStorageTypeExceededException": errno.EDQUOT,
    "org.apache.hadoop.security.AccessControlException": errno.EACCES,
}
# The same of S3 and of Azure, which have an element for each:
# https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
# https://learn.microsoft.com/rest/api/storageservices/blob-service-error-codes
_S3_ERROR = re.compile(r"(?:<\?xml[^>]*\?>\s*)?<Error>.*?</Error>", re.DOTALL)
_S3_CODE = re.compile(r"<Code>(?P<code>[A-Za-z]+)</Code>")
_S3_MESSAGE = re.compile(r"<Message>(?P<message>[^<]*)</Message>")
_MAY_NOT = (PermissionDenied, "its folders and files must be readable and writable, and keys valid")
_WRONG_KEYS = (PermissionDenied, "see that the keys are those of the account, and not expired")
# What is in it may be there: it is not that a table was deleted.
_NO_BUCKET = (Unavailable, "make it, or name another")
_WRONG_REGION = (InvalidArgument, "name the region of the bucket: AWS_REGION")
_OF_CODES: dict[str, tuple[type[HeadraceError], str]] = {
    "AccessDenied": _MAY_NOT,
    "AuthenticationFailed": _WRONG_KEYS,
    "AuthorizationFailure": _MAY_NOT,
    "AuthorizationHeaderMalformed": _WRONG_REGION,
    "AuthorizationPermissionMismatch": _MAY_NOT,
    "ContainerNotFound": _NO_BUCKET,
    "ExpiredToken": _WRONG_KEYS,
    "InvalidAccessKeyId": _WRONG_KEYS,
    "InvalidToken": _WRONG_KEYS,
    "NoSuchBucket": _NO_BUCKET,
    "PermanentRedirect": _WRONG_REGION,
    "SignatureDoesNotMatch": _WRONG_KEYS,
}
# With these S3 and Azure say that they cannot tell.
_UNSURE = frozenset(
    {"InternalError", "OperationTimedOut", "RequestTimeout", "ServerBusy", "ServiceUnavailable"}
)
# Its texts are made for terminals.
_DECORATION = re.compile(r"\x1b\[[0-9;]*m|↳")
_FULL = frozenset({errno.EFBIG, errno.ENOSPC, errno.EDQUOT})
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def refusal(what: str, error: Exception) -> HeadraceError | None:
    """The error for `what`, which a storage did not let the Delta library use; None if no storage said so."""
    code = _S3_CODE.search(str(error))
    if code is not None and code["code"] in _OF_CODES:
        kind, hint = _OF_CODES[code["code"]]
        return kind(f"{what} cannot be used: {plain(error)}", hint=hint)
    number = errno.EACCES if isinstance(error, PermissionError) else _number(error)
    if number is None and not isinstance(error, OSError):
        return None
    return failure(what, plain(error), number)


def told(trouble: HeadraceError | None, refused: HeadraceError | None) -> HeadraceError | None:
    """What to say where a storage may be out of reach, and may have refused something: a refusal that has a name first.

    What kept it from being reached may have been mended since.
    """
    return refused if refused is not None and not isinstance(refused, Unavailable) else trouble or refused


def is_answer(error: Exception) -> bool:
    """Whether the storage itself has said what is wrong: then it did nothing of what it was asked."""
    code = _S3_CODE.search(str(error))
    return _HADOOP_ERROR.search(str(error)) is not None or (code is not None and code["code"] not in _UNSURE)


def failure(what: str, reason: object, number: int | None) -> HeadraceError:
    """The error for `what`, which the system refused to write or read for `reason`, with its error number."""
    if number in _FULL:
        return LimitExceeded(f"no space is left to write {what}", hint="nothing was changed: make room")
    if number is not None and number in _FORBIDDEN:
        kind, hint = _MAY_NOT
        return kind(f"{what} may not be used: {reason}", hint=hint)
    return Unavailable(f"the storage of {what} failed: {reason}")


def plain(error: Exception) -> str:
    """What the Delta library says, in one line."""
    told = _S3_ERROR.sub(_of_s3, _HADOOP_TRACE.sub("", str(error)))
    return " ".join(html.unescape(_DECORATION.sub(" ", told)).split())


def _of_s3(found: re.Match[str]) -> str:
    """What it says, without what it was asked."""
    code, message = _S3_CODE.search(found.group()), _S3_MESSAGE.search(found.group())
    return ": ".join(each.group(1) for each in (code, message) if each is not None)


def _number(error: Exception) -> int | None:
    """The system's number of an error, also of one that the Delta library tells of; None if there is none."""
    told = plain(error)
    system, hadoop = _SYSTEM_ERROR.search(told), _HADOOP_ERROR.search(told)
    if system is not None:
        return int(system["number"])
    if hadoop is not None and hadoop["kind"] in _HADOOP_NUMBERS:
        return _HADOOP_NUMBERS[hadoop["kind"]]
    return error.errno if isinstance(error, OSError) else None


@contextlib.contextmanager
def stored(what: str) -> Iterator[None]:
    """Turns the system's errors into ours."""
    try:
        yield
    except OSError as error:
        raise failure(what, error.strerror or error, error.errno) from error
