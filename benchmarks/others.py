"""Who uses the processors besides the benchmark."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence

import psutil

from benchmarks.pinning import processors

_ADOPTS = 1
"""The process to which those fall that have lost the one that started them: also those of the benchmark."""


class Others:
    """Processes that neither this one nor the given servers have started, from now on."""

    def __init__(self, servers: Sequence[int] = ()) -> None:
        self._servers = servers
        self._parents = _parents()
        self._before, self._clock = self._seconds(), time.monotonic()

    def share(self) -> float:
        """What they have used, as a share of the processors that are for us, on whichever they were; less than it was
        where some came and went.
        """
        passed = (time.monotonic() - self._clock) * len(processors())
        found = self._seconds()
        had = {who.pid: self._before.get(who, 0.0) for who in found}
        for who in self._before.keys() - found.keys():  # ended: what it had before is now its parent's
            heir = self._parents.get(who.pid)
            while heir is not None and heir not in had:
                heir = self._parents.get(heir)
            if heir is not None:
                had[heir] += self._before[who]
        used = sum(max(0.0, now - had[who.pid]) for who, now in found.items())
        return used / passed if passed else 0.0

    def _seconds(self) -> dict[psutil.Process, float]:
        """By process: its own seconds, and those of its children that have ended."""
        own = self._own()
        found = {}
        for process in psutil.process_iter():
            if process in own:
                continue
            with contextlib.suppress(psutil.Error):
                times = process.cpu_times()
                found[process] = times.user + times.system
                if process.pid != _ADOPTS:
                    found[process] += getattr(times, "children_user", 0.0)
                    found[process] += getattr(times, "children_system", 0.0)
        return found

    def _own(self) -> set[psutil.Process]:
        found: set[psutil.Process] = set()
        for pid in (os.getpid(), *self._servers):
            with contextlib.suppress(psutil.NoSuchProcess):
                root = psutil.Process(pid)
                found.update((root, *root.children(recursive=True)))
        return found


def _parents() -> dict[int, int]:
    """By pid, of those that were not adopted: what these had used is nobody's when they end."""
    found = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if (parent := process.ppid()) > _ADOPTS:
                found[process.pid] = parent
    return found
