"""What the harness and the process of a case tell each other."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from benchmarks.checksum import Checksum

if TYPE_CHECKING:
    from benchmarks.runner import Runner


@dataclasses.dataclass(frozen=True)
class Start:
    """Args:
    runner: what the case does.
    servers: processes that run for all cases.
    """

    runner: Runner
    servers: tuple[int, ...]


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
    """Seconds of one run; processor seconds, and bytes written to disk, of the case and its services.

    Args:
        server_cpu: processor seconds of servers that run for all cases.
    """

    wall: float
    cpu: float
    server_cpu: float
    written: int


@dataclasses.dataclass(frozen=True)
class Found:
    """What the run gave. `size` is bytes, where they are the point of it."""

    rows: int
    checksum: Checksum | None
    size: int | None = None


@dataclasses.dataclass(frozen=True)
class Failure:
    """Why the case cannot go on."""

    text: str
