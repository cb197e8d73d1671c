"""What users are told of results that a service keeps."""

from __future__ import annotations

import datetime as dt

import msgspec

from headrace.model.struct import know


class KeptResult(msgspec.Struct, frozen=True):
    """A result that a service keeps, to give it again instead of computing it.

    Args:
        groups: references of the feature groups that it was made of, the root first.
        rows, size_bytes: of its file.
        seconds: that it took to compute.
        ahead: it was computed before anybody asked for it.
        made: when.
        hits: how often it was given.
    """

    id: str
    groups: tuple[str, ...]
    rows: int
    size_bytes: int
    seconds: float
    ahead: bool
    made: dt.datetime
    hits: int


class CacheStatistics(msgspec.Struct, frozen=True):
    """What became of the results that are kept, of all projects and over all the time that there is a cache.

    Args:
        results, size_bytes: that are kept now.
        budget_bytes: that may be kept.
        hits: reads that were given what was kept; `hits_ahead` are those of results that were computed ahead.
        misses: reads that were computed.
        seconds_computed: that the results of misses took.
        results_ahead, seconds_ahead: that were computed ahead, and what they took; `results_proven` and
            `seconds_proven` are those that somebody then asked for.
        seconds_saved: that hits would have taken to compute.
        evicted: results that made room for others.
        wasted_bytes, wasted_seconds: of what was computed ahead and let go of without a hit.
        damaged: files that were not as they had been written, and were computed anew.
    """

    results: int
    size_bytes: int
    budget_bytes: int
    hits: int = 0
    hits_ahead: int = 0
    misses: int = 0
    seconds_computed: float = 0.0
    results_ahead: int = 0
    results_proven: int = 0
    seconds_ahead: float = 0.0
    seconds_proven: float = 0.0
    seconds_saved: float = 0.0
    evicted: int = 0
    wasted_bytes: int = 0
    wasted_seconds: float = 0.0
    damaged: int = 0


know(KeptResult, CacheStatistics)
