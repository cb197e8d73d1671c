"""Which rows of one data file may have a key."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Marks = npt.NDArray[np.uint64]
Positions = npt.NDArray[np.uint32]

_HALF = np.uint64(32)
_ROW = np.uint64((1 << 32) - 1)
_NONE = np.empty(0, np.uint32)
# The golden ratio's digits, odd: small whole numbers differ in their upper halves then.
SPREAD = np.uint64(0x9E3779B97F4A7C15)


class FileIndex:
    """Half a hash of each key, with the row's number as the lower half, sorted: eight bytes a row.

    Sorting numbers is several times as fast as finding the order that sorts them. Half a hash is alike for a few
    other keys, too.

    Args:
        marks: what stands for the key in each row, equal for equal keys.
        rows: the rows' numbers in the file.
    """

    def __init__(self, marks: Marks, rows: Positions) -> None:
        self._sorted = np.sort(_upper(marks) | rows)

    @property
    def nbytes(self) -> int:
        return int(self._sorted.nbytes)

    def find(self, probes: Marks) -> Positions:
        """The rows that may have one of the keys of `probes`, in the file's order."""
        first = self._sorted.searchsorted(probes)
        inside = first < len(self._sorted)
        there = inside.nonzero()[0][self._sorted[first[inside]] >> _HALF == probes[inside] >> _HALF]
        if not len(there):
            return _NONE
        last = self._sorted.searchsorted(probes[there] | _ROW, "right")
        found = [self._sorted[a:b] for a, b in zip(first[there].tolist(), last.tolist(), strict=True)]
        rows: Positions = np.sort((np.concatenate(found) & _ROW).astype(np.uint32))
        return rows


def probes(marks: Marks) -> Marks:
    """What is looked for in indexes, for keys with these marks."""
    return np.unique(_upper(marks))


def _upper(marks: Marks) -> Marks:
    return (marks * SPREAD) >> _HALF << _HALF
