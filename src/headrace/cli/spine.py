"""Rows of a file, to be enriched by a feature view."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from headrace.cli.insertion import open_rows_for
from headrace.cli.progress import counting
from headrace.client.feature_view import FeatureView, root_of


def read_spine(view: FeatureView, file: str, json: bool) -> pa.Table:
    """All rows, in memory. Columns of the view's root group have its types, others those that fit."""
    rows = open_rows_for(root_of(view), [file])
    with counting("read", rows.total, json) as counter:

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in rows.batches():
                counter.add(batch.num_rows)
                yield batch

        return pa.Table.from_batches(batches(), rows.schema)
