"""How errors are told to callers."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

import pyarrow.flight as fl

from headrace import protocol
from headrace.errors import (
    AuthError,
    Busy,
    Cancelled,
    HeadraceError,
    InternalError,
    PermissionDenied,
    Timeout,
    Unavailable,
)
from headrace.service.headers import CallHeaders
from headrace.service.named import names_refused

_log = logging.getLogger("headrace.service")

# To clients of others an error is a status and a text. Flight has statuses for these alone: what else Python raises
# would cross with its traceback.
_STATUS: tuple[tuple[type[HeadraceError], type[Exception]], ...] = (
    (PermissionDenied, fl.FlightUnauthorizedError),
    (AuthError, fl.FlightUnauthenticatedError),
    (Timeout, fl.FlightTimedOutError),
    (Unavailable, fl.FlightUnavailableError),
    (Busy, fl.FlightUnavailableError),
    (Cancelled, fl.FlightCancelledError),
    (InternalError, fl.FlightInternalError),
)


@contextlib.contextmanager
def told(headers: CallHeaders) -> Iterator[None]:
    """Turns errors into what crosses the wire."""
    try:
        yield
    except HeadraceError as error:
        headers.record.outcome = error.code
        if not any(headers.record.names):
            headers.record.names = names_refused(error)
        raise _crossing(error, headers) from None
    except fl.FlightError:
        headers.record.outcome = Cancelled.code  # it is the library's, which found nobody to write to
        raise
    except Exception as error:
        headers.record.outcome = InternalError.code
        _log.exception("request %s failed", headers.request_id, extra={"request_id": headers.request_id})
        raise _crossing(InternalError(f"{type(error).__name__}: {error}"), headers) from error


def _crossing(error: HeadraceError, headers: CallHeaders) -> Exception:
    request_id = error.request_id or headers.request_id
    status, text = fl.FlightServerError, error.message
    if not headers.is_ours:
        status = next((status for kind, status in _STATUS if isinstance(error, kind)), status)
        text = f"{error.code}: {error} [request {request_id}]"
    crossing: Exception = status(text, protocol.encode_error(error, request_id))
    return crossing
