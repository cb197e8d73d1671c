"""What was asked of a service, as it is remembered."""

from __future__ import annotations

import datetime as dt

import msgspec

from headrace.model.request import ReadRequest
from headrace.model.struct import know


class Ask(msgspec.Struct, frozen=True):
    """One ask for a join, which nobody says whose it was.

    Args:
        request: as it came, pinned to nothing.
        versions: of the tables that it read then, the root first.
        at: when.
    """

    request: ReadRequest
    versions: tuple[int, ...]
    at: dt.datetime


know(Ask)
