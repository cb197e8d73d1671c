"""For how long what was read of another database may be given again."""

from __future__ import annotations

import functools
import time
import uuid
from pathlib import Path
from typing import NamedTuple

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_MICROSECOND = 1_000
_SECOND = 1_000_000_000


class Period(NamedTuple):
    """A stretch of time: no other machine, and no later start of this one, has the same.

    Args:
        boot: which start of which machine it is counted from; setting the clock makes nothing old look fresh.
        ends: seconds since then.
    """

    boot: str
    ends: float


def period(freshness: int) -> Period:
    """The stretch of `freshness` microseconds that it is: what was read within it is younger until it ends."""
    length = freshness * _MICROSECOND
    return Period(boot(), (_now() // length + 1) * length / _SECOND)


def seconds() -> float:
    """Since the machine was started."""
    return _now() / _SECOND


@functools.cache
def boot() -> str:
    """Names this start of this machine."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:  # not Linux: nobody but this process counts as it does
        return uuid.uuid4().hex


def _now() -> int:
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
