"""What became of one call: the one source of logs, metrics and traces."""

from __future__ import annotations

import dataclasses
import itertools
import logging
import time
from collections.abc import Callable
from typing import Literal, NamedTuple

Phase = Literal["queue", "prepare", "run", "stream"]

OK = "OK"
"""The outcome of a call that did what it was asked for; that of any other is the code of its error."""

_log = logging.getLogger("headrace.service")
_LONGEST_ID = 64
_LONGEST_NAME = 255


class FileCount(NamedTuple):
    """Files of tables: those that were read, and those that were not, as no row in them could matter."""

    scanned: int
    pruned: int


class Names(NamedTuple):
    """What a call is about, by name."""

    groups: tuple[str, ...] = ()
    views: tuple[str, ...] = ()
    users: tuple[str, ...] = ()


@dataclasses.dataclass(slots=True)
class CallRecord:
    """One call of a service, from its headers to its last row. It holds no values, no filters and no SQL.

    Args:
        request_id: the client's, which its exceptions carry, or one of our own.
        project: that was named, whether or not there is one.
        trace: the headers that say of which trace the call is a part.
        kind: the action, or "prepare", "read", "insert", "create_dataset".
        peer: the address that the call came from.
        user: None where nobody is asked, or nobody was named.
        names: that were asked for, whether or not they are there.
        rows: that were sent, or received.
        sent, received: bytes of rows in memory, and of answers.
        files: None where nothing was read, or nobody knows.
        outcome: `OK`, or the code of an error.
        seconds: that the call took, once it has ended.
    """

    request_id: str
    project: str
    trace: dict[str, str] = dataclasses.field(default_factory=dict)
    kind: str = "unknown"
    peer: str = ""
    user: str | None = None
    names: Names = dataclasses.field(default_factory=Names)
    rows: int = 0
    sent: int = 0
    received: int = 0
    files: FileCount | None = None
    outcome: str = OK
    started_ns: int = dataclasses.field(default_factory=time.time_ns)
    seconds: float = 0.0
    _begun: int = dataclasses.field(default_factory=time.perf_counter_ns)
    _phases: list[tuple[Phase, int]] = dataclasses.field(default_factory=list)

    def begins(self, phase: Phase) -> None:
        """Ends the phase before."""
        self._phases.append((phase, time.perf_counter_ns() - self._begun))

    def ends(self) -> None:
        self.seconds = (time.perf_counter_ns() - self._begun) / 1e9

    def phases(self) -> list[tuple[Phase, float, float]]:
        """Each with the seconds since the call came at which it began and ended."""
        ends = [*(at / 1e9 for _, at in self._phases[1:]), self.seconds]
        return [(phase, at / 1e9, end) for (phase, at), end in zip(self._phases, ends, strict=False)]

    @property
    def waited(self) -> float:
        """Seconds for which it waited for its turn."""
        return sum(end - start for phase, start, end in self.phases() if phase == "queue")


class Records:
    """Hands out the record of each call that has ended.

    Args:
        readers: are given every record. What one of them raises is logged, and keeps it from no other.
        check: raises Unavailable while no call may be answered, since nobody could keep its record.
    """

    def __init__(
        self, readers: tuple[Callable[[CallRecord], None], ...] = (), check: Callable[[], None] = lambda: None
    ) -> None:
        self._readers = readers
        self.check = check

    def end(self, record: CallRecord) -> None:
        record.ends()
        for read in self._readers:
            try:
                read(record)
            except Exception:
                _log.exception(
                    "the record of request %s was not kept",
                    record.request_id,
                    extra={"request_id": record.request_id},
                )


def shown_id(given: str) -> str:
    """A request id that was sent, as it may be printed."""
    return shown(given, _LONGEST_ID)


def shown(given: str, most: int = _LONGEST_NAME) -> str:
    """Text that was sent, on one line and of so many characters at most."""
    return "".join(c if c.isprintable() else "\ufffd" for c in itertools.islice(given, most))
