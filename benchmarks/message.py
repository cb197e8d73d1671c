"""What the harness and the process of a case tell each other."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Ready:
    """Args:
    services: processes that the case has started; they are measured with it.
    """

    services: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Request:
    """Args:
    check: tell what the answer holds. Of a small answer it is always told.
    """

    number: int
    check: bool


@dataclasses.dataclass(frozen=True)
class Timing:
    """Seconds of one run; processor seconds, and bytes written to disk, of the case and its services."""

    wall: float
    cpu: float
    written: int
    rows: int


@dataclasses.dataclass(frozen=True)
class Failure:
    """Why the case cannot go on."""

    text: str
