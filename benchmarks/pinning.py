"""Fewer processors than the machine has."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from benchmarks.process import CaseFailed


@contextlib.contextmanager
def pinned(cpus: int | None) -> Iterator[None]:
    """This process, and all that it starts meanwhile, on so many of its processors; None changes nothing.

    Raises:
        CaseFailed: there are fewer, or the system cannot pin processes.
    """
    if cpus is None:
        yield
        return
    if not hasattr(os, "sched_setaffinity"):
        raise CaseFailed("this system cannot pin a process to processors")
    before = os.sched_getaffinity(0)
    if len(before) < cpus:
        raise CaseFailed(f"{cpus} processors are asked for, and there are {len(before)}")
    os.sched_setaffinity(0, sorted(before)[:cpus])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def processors() -> tuple[int, ...]:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))
