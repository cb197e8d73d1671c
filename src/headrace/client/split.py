"""Training data in parts: by time, or drawn at random."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import numbers
import operator
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from headrace.backend import Backend, Spine
from headrace.client.result import Result, prepare
from headrace.errors import InvalidArgument
from headrace.model.dataset import WHOLE, Split
from headrace.model.duration import Time, parse_time
from headrace.model.name import check_name
from headrace.model.request import Part, ReadRequest, Share, Span, in_parts
from headrace.model.text import check_text

_TOLERANCE = 1e-6
"""By how much fractions may miss 1, for those that were rounded."""


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
    backend: Backend, request: ReadRequest, spine: Spine | None, wanted: Sequence[Part]
) -> tuple[Result, ...]:
    """A result for each part, all of the same snapshots."""
    results: list[Result] = []
    for part in wanted:
        results.append(prepare(backend, in_parts(request, (part,)), spine))
        request = results[0]._prepared.request  # the snapshots of the first are those of all
    return tuple(results)


def splits_of(
    splits: Mapping[str, float] | Mapping[str, tuple[Time | None, Time | None]] | None,
    seed: int,
    stratify: str | None,
) -> tuple[Split, ...]:
    """The splits of a training dataset, all by fractions or all by times."""
    if splits is None:
        if stratify is not None or seed != 0:
            raise InvalidArgument("without splits nothing is drawn: leave out seed and stratify")
        return (Split(WHOLE),)
    if not isinstance(splits, Mapping) or not splits:
        raise InvalidArgument(
            f"splits={splits!r} is refused", hint='name them, such as {"train": 0.8, "test": 0.2}'
        )
    names = [check_name("split", name) for name in splits]
    if not any(_is_pair(split) for split in splits.values()):
        given = {name: size for name, size in splits.items() if not isinstance(size, tuple)}
        fractions, seed = _checked_drawing(given, seed, stratify, most=1.0)
        ends = list(itertools.accumulate(fractions.values(), initial=0.0))
        if abs(ends[-1] - 1) <= _TOLERANCE:
            ends = [end / ends[-1] for end in ends]  # so that the last is 1, and no row is in no split
        shares = [Share(low, high, seed, stratify) for low, high in itertools.pairwise(ends)]
        return tuple(map(Split, names, shares))
    if stratify is not None or seed != 0:
        raise InvalidArgument("a split by time draws nothing: leave out seed and stratify")
    return tuple(Split(name, _span(name, split)) for name, split in zip(names, splits.values(), strict=True))


def _is_pair(split: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(split, Sequence) and not isinstance(split, str | bytes | bytearray)


def _span(name: str, times: object) -> Span:
    if not _is_pair(times) or len(times) != 2:
        raise InvalidArgument(
            f"splits: {name} is {times!r}", hint="splits are all fractions, or all (start, end)"
        )
    start, end = (None if time is None else parse_time(f"splits: {name}", time) for time in times)
    return Span(start, end)


def _checked_drawing(
    sizes: Mapping[str, float], seed: int, stratify: str | None, most: float
) -> tuple[dict[str, float], int]:
    """The sizes and the seed, of whatever library their numbers are."""
    if not isinstance(seed, numbers.Integral) or isinstance(seed, bool) or not -(1 << 63) <= seed < 1 << 63:
        raise InvalidArgument(f"seed={seed!r} is no whole number of 64 bits")
    if stratify is not None:
        check_text("stratify", stratify)
    for name, size in sizes.items():
        if not isinstance(size, numbers.Real) or isinstance(size, bool) or not 0 < size <= most:
            raise InvalidArgument(f"{name}={size!r} is refused", hint="it is a part of 1, such as 0.2")
    return {name: float(size) for name, size in sizes.items()}, operator.index(seed)


def _drawn(sizes: dict[str, float], seed: int, stratify: str | None) -> list[Part]:
    sizes, seed = _checked_drawing(sizes, seed, stratify, most=math.nextafter(1, 0))
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
    return [Span(earlier, later) for earlier, later in itertools.pairwise(times)]
