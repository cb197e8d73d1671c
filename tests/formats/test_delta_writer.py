"""What writes leave in the folder of a table."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from headrace.formats.attempt import attempt
from headrace.formats.delta import DeltaLog
from headrace.formats.delta_write import Write, WriteId
from headrace.storage.folder import Folder


def test_row_groups_are_small(tmp_path):
    """A reader holds one for each of its threads, whatever wrote it."""
    many = pa.table({"id": range(300_000)})
    log = DeltaLog(Folder.local(str(tmp_path / "t")))
    log.writer.create(many.schema, [], change_feed=False)
    append = Write(WriteId("first", "insert"), ("id",), None)
    attempt(log, append, lambda: log.writer.append(many, append))
    merge = Write(WriteId("second", "insert"), ("id",), True, base=1)
    attempt(log, merge, lambda: log.writer.merge(many.slice(1), merge, None))
    overwrite = Write(WriteId("third", "insert"), ("id",), True, base=2)
    attempt(log, overwrite, lambda: log.writer.overwrite(many, overwrite))
    written = [pq.ParquetFile(path).metadata for path in (tmp_path / "t").glob("*.parquet")]
    groups = [m.row_group(i) for m in written for i in range(m.num_row_groups)]
    assert len(groups) == 9
    assert max(g.num_rows for g in groups) <= 131_072
    assert {g.column(0).compression for g in groups} == {"SNAPPY"}


def test_no_entry_of_a_log_expires(tmp_path):
    """Training datasets are computed again from snapshots however old."""
    log = DeltaLog(Folder.local(str(tmp_path / "t")))
    log.writer.create(pa.schema({"id": pa.int64()}), [], change_feed=False)
    told = DeltaTable(str(tmp_path / "t")).metadata().configuration
    assert told["delta.enableExpiredLogCleanup"] == "false"
