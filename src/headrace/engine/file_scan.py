"""What stands in data files, file by file."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from headrace.engine.duck import Engine
from headrace.engine.failure import translated
from headrace.engine.file_index import Positions
from headrace.formats.base import Snapshot

LARGE_FILE_ROWS = 65_536
LARGE_FILE_BYTES = 32 << 20
# The engine's own: it decodes so many rows at once, and a stream holds them, however few are asked for.
PORTION_ROWS = 2_048
# Fewer would take less memory and more time.
_BATCH_ROWS = 4 * PORTION_ROWS
ROW = "__headrace_row"
_FILE = "__headrace_file"


def scan(engine: Engine, snapshot: Snapshot, files: pa.Table, columns: str, condition: str) -> list[pa.Table]:
    """`columns`, as SQL, of the rows of each file for which the condition is true, and the row's number in `ROW`."""
    if not files.num_rows:
        return []
    with engine.session() as session:
        found = session.table(_query(snapshot, files, columns, condition))
    of = found[_FILE].to_numpy()
    rows = found.drop_columns([_FILE])
    if (of[1:] < of[:-1]).any():
        order = of.astype(np.uint16 if files.num_rows < 1 << 16 else np.uint32).argsort(kind="stable")
        of, rows = of[order], rows.take(order)
    ends = np.searchsorted(of, np.arange(files.num_rows + 1)).tolist()
    return [rows.slice(a, b - a) for a, b in itertools.pairwise(ends)]


def scan_within(
    engine: Engine, snapshot: Snapshot, files: pa.Table, columns: str, condition: str, room: int
) -> list[pa.Table]:
    """What `scan` gives, or, once that is more than `room` bytes, what there is of it by then."""
    parts: list[list[pa.RecordBatch]] = [[] for _ in range(files.num_rows)]
    with engine.session() as session, translated():
        batches = session.stream(_query(snapshot, files, columns, condition), _BATCH_ROWS)
        for batch in batches:
            of = batch[_FILE].to_numpy()
            cuts = {0, *((of[1:] != of[:-1]).nonzero()[0] + 1).tolist(), len(of)}
            for a, b in itertools.pairwise(sorted(cuts)):
                parts[of[a]].append(batch.slice(a, b - a))
            room -= batch.nbytes
            if room < 0:
                break
        schema = batches.schema
    return [pa.Table.from_batches(part, schema).drop_columns([_FILE]) for part in parts]


def _query(snapshot: Snapshot, files: pa.Table, columns: str, condition: str) -> str:
    return (
        f"SELECT {columns}, file_row_number::UINTEGER AS {ROW}, file_index::UINTEGER AS {_FILE} "
        f"FROM {snapshot.source(files)} WHERE {condition}"
    )


def numbers(rows: pa.Table) -> Positions:
    """The numbers of rows that were scanned, in no order."""
    found: Positions = rows[ROW].to_numpy()
    return found


def in_order(rows: pa.Table) -> pa.Table:
    """All rows of a file as they follow each other in it, without their numbers."""
    found = numbers(rows)
    # Rows of several files come in one piece, all of which a part of it would keep in memory.
    if (found[1:] < found[:-1]).any() or rows.get_total_buffer_size() > 2 * rows.nbytes:
        rows = rows.take(found.argsort())
    return rows.drop_columns([ROW]).combine_chunks()


def by_size(files: pa.Table) -> tuple[list[int], list[int]]:
    """Which of the files are large, and which are not."""
    rows = files["num_records"].to_pylist()
    large = [i for i, count in enumerate(rows) if count >= LARGE_FILE_ROWS]
    return large, [i for i, count in enumerate(rows) if count < LARGE_FILE_ROWS]


def some(files: pa.Table, which: Sequence[int]) -> pa.Table:
    """The files of these numbers, which rise."""
    if len(which) in (0, files.num_rows):  # by far the most often; to take costs more than all else
        return files.slice(0, len(which))
    return files.take(pa.array(which, pa.int64()))
