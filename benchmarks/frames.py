"""Frames of pandas, of whatever types, held to be the same where their values are."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.checksum import Checksum, checksum
from benchmarks.runner import Stage, Staged

if TYPE_CHECKING:
    import pandas as pd

_ROWS = 1_000_000


def to_frame(read: Callable[[], pd.DataFrame], schema: pa.Schema) -> Staged:
    """All rows to a frame, once before anything is timed: all is loaded and compiled then, and memory is there.

    Args:
        read: rows whose values are of a schema, in whichever types and order of columns.
    """
    read()
    return Staged(lambda _: nullcontext(Stage(read, lambda frame: _told(frame, schema))))


def _told(frame: pd.DataFrame, schema: pa.Schema) -> Checksum:
    """Of some rows at a time: a large frame is not there twice."""
    batches = (
        batch
        for start in range(0, len(frame), _ROWS)
        for batch in pa.Table.from_pandas(frame.iloc[start : start + _ROWS], schema, False).to_batches()
    )
    return checksum(pa.RecordBatchReader.from_batches(schema, batches))
