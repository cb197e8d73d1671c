"""Processes, and what they have started."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import psutil


def cpu_seconds(roots: Iterable[psutil.Process]) -> float:
    """Of processes and all that they have started, also of those that have ended since and were waited for."""
    alive: set[psutil.Process] = set()
    for root in roots:
        with contextlib.suppress(psutil.NoSuchProcess):
            alive.update((root, *root.children(recursive=True)))
    found = 0.0
    for process in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            found += times.user + times.system
            # Not every system tells it.
            found += getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
    return found
