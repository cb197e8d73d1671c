"""Batches whose rows come part by part, cut where a part ends."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pyarrow as pa


def by_part(batch: pa.RecordBatch, parts: pa.Array) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Each piece of a batch with its part, given the part of each row."""
    numbers = parts.to_numpy()
    cuts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
    for start, end in itertools.pairwise(cuts):
        if end > start:
            yield int(numbers[start]), batch.slice(start, end - start)
