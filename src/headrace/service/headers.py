"""What the headers of a call say."""

from __future__ import annotations

import uuid
from importlib.metadata import version

import pyarrow.flight as fl

from headrace import protocol
from headrace.errors import Unsupported

HEADERS = "headrace"
"""The name of this middleware."""


class Headers(fl.ServerMiddlewareFactory):  # type: ignore[misc]
    def start_call(self, info: fl.CallInfo, headers: dict[str, list[str]]) -> CallHeaders:
        return CallHeaders({name.lower(): values for name, values in headers.items() if values})


class CallHeaders(fl.ServerMiddleware):  # type: ignore[misc]
    """Of one call, whose `bearer` is kept here once it is known."""

    def __init__(self, headers: dict[str, list[str]]) -> None:
        first = {name: values[0] for name, values in headers.items()}
        self._protocol = first.get(protocol.VERSION_HEADER, "")
        self.request_id = first.get(protocol.REQUEST_HEADER, uuid.uuid4().hex[:16])[:64]
        self.project = first.get(protocol.PROJECT_HEADER, "default")
        self.authorization = headers.get(protocol.AUTHORIZATION_HEADER, [])
        self.bearer: tuple[str | None, str] | None = None

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
