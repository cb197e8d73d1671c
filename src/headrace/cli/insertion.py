"""`headrace fg insert`: from files into a feature group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import pyarrow as pa

from headrace.cli.files import Rows, open_rows
from headrace.cli.progress import counting
from headrace.client.feature_group import FeatureGroup
from headrace.model.definition import Commit


def insert_files(
    group: FeatureGroup,
    files: Sequence[str],
    mode: Literal["upsert", "append", "overwrite"],
    idempotency_key: str | None,
    json: bool,
) -> tuple[Commit, str]:
    """The commit, and how many rows were read in what time."""
    rows = open_rows_for(group, files)
    with counting("read", rows.total, json) as counter:

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in rows.batches():
                yield batch
                counter.add(batch.num_rows)
            counter.say("commit")

        reader = pa.RecordBatchReader.from_batches(rows.schema, batches())
        commit = group.insert(reader, mode=mode, idempotency_key=idempotency_key)
    return commit, str(counter)


def open_rows_for(group: FeatureGroup, files: Sequence[str]) -> Rows:
    """The rows of files, whose texts are read as the types of a group's columns."""
    stored = group.schema
    times = [name for name in (group.event_time, group.created_time) if name is not None]
    times += [f.name for f in stored or () if pa.types.is_timestamp(f.type)]
    return open_rows(files, stored, times)
