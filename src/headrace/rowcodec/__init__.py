"""Rows of Python as streams of Arrow: what pickle does, for rows alike, in less time and fewer bytes.

    rows ── dumps, Encoder ──> bytes ── loads ──> rows
      │                          │
      └── to_batches ──> pyarrow.RecordBatch ── from_batch ──> rows

`docs/row-format.md` says what the bytes mean; any reader of Arrow reads them. It needs the package headrace-native.
"""

from headrace.rowcodec.batches import from_batch, to_batches
from headrace.rowcodec.codec import dumps, loads, stats
from headrace.rowcodec.encoder import Encoder

__all__ = ["Encoder", "dumps", "from_batch", "loads", "stats", "to_batches"]
