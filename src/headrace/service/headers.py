"""What the headers of a call say."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from importlib.metadata import version

import pyarrow.flight as fl

from headrace import protocol
from headrace.errors import Unsupported
from headrace.service.record import CallRecord, Records, shown, shown_id

HEADERS = "headrace"
"""The name of this middleware."""


class Headers(fl.ServerMiddlewareFactory):  # type: ignore[misc]
    """Meets every call before the rows that it carries are read.

    Args:
        admit: raises for calls that are not to be answered, by what their headers say.
    """

    def __init__(self, records: Records, admit: Callable[[CallHeaders, fl.FlightMethod], None]) -> None:
        super().__init__()
        self._records = records
        self._admit = admit

    def start_call(self, info: fl.CallInfo, headers: dict[str, list[str]]) -> CallHeaders:
        given = {name.lower(): values for name, values in headers.items() if values}
        call = CallHeaders(given, self._records)
        try:
            self._admit(call, info.method)
        except BaseException:
            self._records.end(call.record)
            raise
        return call


class CallHeaders(fl.ServerMiddleware):  # type: ignore[misc]
    """Of one call, with its record; its `bearer` is kept here once it is known."""

    def __init__(self, headers: dict[str, list[str]], records: Records) -> None:
        super().__init__()
        first = {name: values[0] for name, values in headers.items()}
        self._protocol = first.get(protocol.VERSION_HEADER, "")
        self.request_id = shown_id(first.get(protocol.REQUEST_HEADER) or uuid.uuid4().hex[:16])
        self.project = first.get(protocol.PROJECT_HEADER, "default")
        self.authorization = headers.get(protocol.AUTHORIZATION_HEADER, [])
        self.bearer: tuple[str | None, str] | None = None
        trace = {name: first[name] for name in protocol.TRACE_HEADERS if name in first}
        # Of calls that the library answers by itself, nobody tells another outcome.
        self.record = CallRecord(self.request_id, shown(self.project), trace, outcome=Unsupported.code)
        self._records = records

    def call_completed(self, exception: BaseException | None) -> None:
        """After the last row was sent, or nobody takes it any more; before the caller is told the end."""
        self._records.end(self.record)

    @property
    def is_ours(self) -> bool:
        """Whether a client of Headrace calls; others speak Flight SQL."""
        return bool(self._protocol)

    def check_protocol(self) -> None:
        """Raises Unsupported: what the client means may not be what is understood here."""
        if self._protocol != str(protocol.PROTOCOL_VERSION):
            raise Unsupported(
                f"the client speaks protocol {self._protocol or 'unknown'}, and this service {version('headrace')} "
                f"speaks {protocol.PROTOCOL_VERSION}",
                hint="install the same headrace version on both sides",
            )


def record_of(context: fl.ServerCallContext) -> CallRecord:
    """That of the call that is answered."""
    record: CallRecord = context.get_middleware(HEADERS).record
    return record
