"""One run of one case, as it was measured."""

from __future__ import annotations

import dataclasses
from typing import Literal

from benchmarks.checksum import Checksum

Measure = Literal["wall", "cpu", "peak", "service_peak", "size"]


@dataclasses.dataclass(frozen=True)
class Sample:
    """Args:
    number: of the round; 0 is the round in which answers are compared.
    first: the first run of a fresh process.
    wall: seconds, on the caller's side.
    cpu: processor seconds of caller and service.
    server_cpu: those of the servers that run for all cases.
    written: bytes that they wrote to disk: what did not fit into memory.
    checksum: of large answers, only the first is told.
    client_peak, service_peak: bytes of anonymous memory; None where it was not watched.
    size: bytes of what the job has made, where they are its point.
    """

    case: str
    number: int
    first: bool
    wall: float
    cpu: float
    server_cpu: float
    written: int
    rows: int
    checksum: Checksum | None
    client_peak: int | None
    service_peak: int | None
    size: int | None = None

    @property
    def peak(self) -> int | None:
        """Of both sides."""
        if self.client_peak is None or self.service_peak is None:
            return None
        return self.client_peak + self.service_peak

    def value(self, measure: Measure) -> float | None:
        match measure:
            case "wall":
                return self.wall
            case "cpu":
                return self.cpu
            case "peak":
                return self.peak
            case "service_peak":
                return self.service_peak
            case "size":
                return self.size
