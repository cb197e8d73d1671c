"""Medians, and how sure they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

_RESAMPLES = 1_000
_SEED = 20130101


@dataclasses.dataclass(frozen=True)
class Median:
    """The median of `n` values, and the 95 % interval of medians of resamples of them (bootstrap)."""

    value: float
    low: float
    high: float
    n: int


def median(values: Sequence[float]) -> Median:
    found = np.asarray(values, dtype=float)
    picks = np.random.default_rng(_SEED).integers(0, len(found), size=(_RESAMPLES, len(found)))
    low, high = np.percentile(np.median(found[picks], axis=1), [2.5, 97.5])
    return Median(float(np.median(found)), float(low), float(high), len(found))
