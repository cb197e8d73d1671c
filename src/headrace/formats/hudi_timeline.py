"""The timeline of a Hudi table: which of its writes are complete.

Source: https://hudi.apache.org/tech-specs-1point0#timeline for layout 2. Layout 1 has no times of completion, so there
the time at which a write began stands for it.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
from collections.abc import Iterable, Mapping

_NAME = re.compile(
    r"(?P<begun>\d{14}|\d{17})(?:_(?P<done>\d{14}|\d{17}))?(?:\.(?P<action>[a-z]+))?(?:\.(?P<state>requested|inflight))?"
)
WRITES = frozenset({"commit", "replacecommit"})
"""The actions that add files to a copy-on-write table."""
_BEGUN = WRITES | {"clustering", "inflight"}
_INSTANT = "%Y%m%d%H%M%S"


@dataclasses.dataclass(frozen=True)
class Instant:
    """One complete action.

    Args:
        begun: when, as a number of 17 digits: year, month, day, hour, minute, second, millisecond.
        done: when it was complete.
        action: commit, replacecommit, clean, rollback, restore, savepoint or another.
        name: of the file that tells what it did.
    """

    begun: int
    done: int
    action: str
    name: str


@dataclasses.dataclass(frozen=True)
class Timeline:
    """
    Args:
        writes: the complete ones that may add files, by when they began.
        pending: when the writes began that are not complete.
        others: other complete actions, by the names of their files.
        first: when the first write began that it tells of; what is older was complete, and has been archived.
    """

    writes: Mapping[int, Instant]
    pending: frozenset[int]
    others: Mapping[str, Instant]
    first: int

    @classmethod
    def of(cls, names: Iterable[str]) -> Timeline:
        """From the names of the files in its folder."""
        writes: dict[int, Instant] = {}
        others: dict[str, Instant] = {}
        begun: set[int] = set()
        for name in names:
            found = _NAME.fullmatch(name)
            if found is None:
                continue
            at = number(found["begun"])
            action = found["action"]
            if action in _BEGUN and (found["state"] or action == "inflight"):
                begun.add(at)
            elif action and not found["state"]:
                instant = Instant(at, number(found["done"] or found["begun"]), action, name)
                if action in WRITES:
                    writes[at] = instant
                else:
                    others[name] = instant
        pending = frozenset(begun - writes.keys())
        # A write that is kept by a savepoint stays when younger ones are archived.
        kept = {instant.begun for instant in others.values() if instant.action == "savepoint"}
        return cls(writes, pending, others, min(writes.keys() - kept or writes or pending, default=0))

    @property
    def newest(self) -> int | None:
        """When the last of the writes was complete."""
        return max((instant.done for instant in self.writes.values()), default=None)

    @property
    def known_from(self) -> int:
        """When the first of the writes was complete after which it tells of all: those before are of savepoints."""
        return min((i.done for i in self.writes.values() if i.begun >= self.first), default=0)

    def is_complete(self, begun: int, until: int | None = None) -> bool:
        """Whether the write that began then was complete `until` then."""
        instant = self.writes.get(begun)
        if instant is None:
            return begun < self.first and begun not in self.pending
        return until is None or instant.done <= until


def number(instant: str) -> int:
    """Those of older tables are of whole seconds, and stand for the end of theirs."""
    return int(instant.ljust(17, "9"))


def instant_at(time: dt.datetime, in_utc: bool) -> int:
    """The instant of a time; Hudi's are of the local time where the table does not say that they are of UTC."""
    local = time.astimezone(dt.UTC if in_utc else None)
    return int(local.strftime(_INSTANT) + f"{local.microsecond // 1000:03d}")


def time_of(instant: int, in_utc: bool) -> dt.datetime:
    text = str(instant)
    naive = dt.datetime.strptime(text[:14], _INSTANT).replace(microsecond=int(text[14:]) * 1000)
    return (naive.replace(tzinfo=dt.UTC) if in_utc else naive.astimezone()).astimezone(dt.UTC)
