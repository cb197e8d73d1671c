"""Training data in parts: by time, or drawn at random."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Sequence

import msgspec
import pyarrow as pa

from headrace.client.result import Result, prepare
from headrace.errors import InvalidArgument
from headrace.model.duration import Time, parse_time
from headrace.model.request import ReadRequest, Share
from headrace.model.text import check_text
from headrace.protocol import Backend

Part = Share | tuple[dt.datetime | None, dt.datetime | None]
"""Drawn at random, or the rows of a time."""


def parts(
    request: ReadRequest,
    sizes: dict[str, float | None],
    starts: dict[str, Time | None],
    seed: int,
    stratify: str | None,
) -> list[Part]:
    """The parts of training data, the rows to train with first.

    Args:
        sizes, starts: by name of the argument, of all parts but the first, in order: either all sizes, or all starts.
    """
    given = [name for name, value in (*sizes.items(), *starts.items()) if value is not None]
    if given == list(sizes):
        return _drawn({name: size for name, size in sizes.items() if size is not None}, seed, stratify)
    if given == list(starts):
        if stratify is not None or seed != 0:
            raise InvalidArgument("a split by time draws nothing: leave out seed and stratify")
        options = request.point_in_time
        return _by_time(
            options.start, options.end, {n: parse_time(n, t) for n, t in starts.items() if t is not None}
        )
    raise InvalidArgument(
        f"a split takes {' and '.join(sizes)}, or {' and '.join(starts)}; it was given {' and '.join(given) or 'none'}"
    )


def split(
    backend: Backend, request: ReadRequest, spine: pa.Table | None, wanted: Sequence[Part]
) -> tuple[Result, ...]:
    """A result for each part, all of the same snapshots."""
    results: list[Result] = []
    for part in wanted:
        if isinstance(part, Share):
            asked = msgspec.structs.replace(request, share=part)
        else:
            start, end = part
            options = msgspec.structs.replace(request.point_in_time, start=start, end=end)
            asked = msgspec.structs.replace(request, point_in_time=options)
        results.append(prepare(backend, asked, spine))
        request = results[0]._prepared.request  # the snapshots of the first are those of all
    return tuple(results)


def _drawn(sizes: dict[str, float], seed: int, stratify: str | None) -> list[Part]:
    if not isinstance(seed, int) or isinstance(seed, bool) or not -(1 << 63) <= seed < 1 << 63:
        raise InvalidArgument(f"seed={seed!r} is no whole number of 64 bits")
    if stratify is not None:
        check_text("stratify", stratify)
    for name, size in sizes.items():
        if not isinstance(size, int | float) or isinstance(size, bool) or not 0 < size < 1:
            raise InvalidArgument(f"{name}={size!r} is refused", hint="it is a part of 1, such as 0.2")
    if sum(sizes.values()) >= 1:
        raise InvalidArgument(f"{' and '.join(sizes)} leave nothing to train with")
    ends = [1.0]
    for size in reversed(sizes.values()):
        ends.insert(0, ends[0] - size)
    return [Share(low, high, seed, stratify) for low, high in itertools.pairwise([0.0, *ends])]


def _by_time(start: dt.datetime | None, end: dt.datetime | None, cuts: dict[str, dt.datetime]) -> list[Part]:
    bounds = {"start": start, **cuts, "end": end}
    told = [(name, time) for name, time in bounds.items() if time is not None]
    for (first, earlier), (second, later) in itertools.pairwise(told):
        if earlier >= later:
            raise InvalidArgument(f"{first}={earlier.isoformat()} is not before {second}={later.isoformat()}")
    times = list(bounds.values())
    return list(itertools.pairwise(times))
