"""Rows by number: which files are decoded whole for them, and that their bytes are bounded."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr
from headrace.engine.duck import Engine
from headrace.engine.found_rows import Found, FoundRows
from headrace.formats.base import Snapshot

TEXT = pa.string()
COUNT = 3_000
BYTES = 20_000
WIDE = {
    "text": (pa.string(), "x" * BYTES),
    "binary": (pa.binary(), b"x" * BYTES),
    "list": (pa.list_(pa.int64()), [7] * (BYTES // 8)),
    "list of texts": (pa.list_(pa.string()), ["x" * (BYTES // 10)] * 10),
    "deep list": (pa.list_(pa.list_(pa.list_(pa.string()))), [[["x" * (BYTES // 10)] * 5] * 2]),
    "struct": (pa.struct({"a": pa.string()}), {"a": "x" * BYTES}),
    "map": (pa.map_(pa.string(), pa.string()), [("a", "x" * BYTES)]),
    "texts that are short for themselves": (pa.string(), "x" * (BYTES * 3 // 4)),
}


class Counting(Engine):
    """Counts the queries: each of a look-up has a session of its own."""

    opened = 0

    def open(self):
        self.opened += 1
        return super().open()


class Files:
    """Files of a table, and a look-up in them."""

    def __init__(self, folder, tables: list[pa.Table]) -> None:
        self.engine = Counting(memory_limit=None, threads=None, spill=folder / "spill")
        self.tables = tables
        paths = [folder / f"{i}.parquet" for i in range(len(tables))]
        for table, path in zip(tables, paths, strict=True):
            pq.write_table(table, path)
        files = {
            "path": [str(path) for path in paths],
            "num_records": [table.num_rows for table in tables],
            "size_bytes": [path.stat().st_size for path in paths],
        }
        self._snapshot = Snapshot(1, tables[0].schema, pa.table(files))
        self._rows = FoundRows(self.engine)

    def queries(self, which: list[int], numbers: list[int]) -> int:
        """How many queries it takes to read these rows of these files, which are as they should be."""
        before = self.engine.opened
        files = self._snapshot.files.take(pa.array(which, pa.int64()))
        found = Found(files, [np.array(numbers, np.uint32) for _ in which], None)
        rows = self._rows.read(self._snapshot, found, self._snapshot.schema.names)
        expected = pa.concat_tables([self.tables[i].take(numbers) for i in which])
        assert sorted(rows.to_pylist(), key=str) == sorted(expected.to_pylist(), key=str)
        return self.engine.opened - before


def rows(start: int, values: list, kind: pa.DataType = TEXT) -> pa.Table:
    return pa.table({"k": range(start, start + len(values)), "v": pa.array(values, kind)})


@pytest.mark.parametrize("kind", WIDE)
def test_a_file_that_is_large_once_it_is_decoded_is_read_by_number_from_then_on(tmp_path, kind):
    kind, value = WIDE[kind]
    wide = rows(0, [None, *[value] * (COUNT - 1)], kind)
    files = Files(tmp_path, [wide, rows(COUNT, [value, None], kind)])
    assert files.queries([0, 1], [0, 1]) == 2
    assert [files.queries([0, 1], [0, 1]) for _ in range(2)] == [1, 1]
    assert files.queries([1], [0, 1]) == 0


def test_a_long_value_among_few_rows_stays_decoded(tmp_path):
    files = Files(tmp_path, [rows(0, ["x" * 1_000_000, None]), rows(2, [None, None])])
    assert [files.queries([0, 1], [0, 1]) for _ in range(2)] == [1, 0]


def test_a_file_of_many_bytes_is_not_decoded(tmp_path):
    files = Files(tmp_path, [rows(0, [os.urandom(9_000_000) for _ in range(4)], pa.binary())])
    assert files.queries([0], [1]) == 1
    assert files.queries([0], [1]) == 1


def test_files_that_are_large_together_do_not_drive_each_other_out(tmp_path):
    """20 files of 12 MB, of which 128 MiB are kept."""
    files = Files(tmp_path, [rows(i * 1_000, ["x" * 12_000] * 1_000) for i in range(20)])
    every = list(range(20))
    assert files.queries(every, [0, 999]) == 2
    for _ in range(20):
        files.queries(every, [0, 999])
    assert files.queries(every, [0, 999]) == 1
    assert [files.queries([i], [5]) for i in every].count(0) in (10, 11)


LOOK_UP = """
import sys, headrace as hr
def peak():
    (line,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    return int(line.split()[1]) >> 10
with hr.connect(sys.argv[1]) as store:
    group = store.get_feature_group("g")
    group.read(["k"], group["k"] == -1).to_arrow()
    before = peak()
    assert group.read(filter=group["k"] == 1234).to_arrow().num_rows == 1
    print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process's memory is told by Linux")
def test_one_row_takes_little_memory_however_much_its_file_holds(tmp_path):
    """5,000 texts of 100 KB, which are alike and so take little room in the file."""
    with hr.connect(tmp_path / "lake") as store:
        group = store.create_feature_group("g", primary_key=["k"])
        for i in range(8):
            group.insert([{"k": -1 - i, "v": "a"}, {"k": 10_000 + i, "v": "b"}], mode="append")
        parts = (rows(i, ["x" * 100_000] * 100).to_batches()[0] for i in range(0, 5_000, 100))
        group.insert(pa.RecordBatchReader.from_batches(group.schema, parts), mode="append")
    told = subprocess.run(
        [sys.executable, "-c", LOOK_UP, str(tmp_path / "lake")], capture_output=True, check=True, text=True
    )
    assert int(told.stdout) < 100
