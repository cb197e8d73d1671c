"""A snapshot followed entry by entry is the one that the wheel reads."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import headrace as hr
from headrace.errors import Unsupported
from headrace.formats.delta import DeltaLog
from headrace.formats.delta_entry import data_path, follow
from headrace.storage.folder import Folder

NOON = dt.datetime(2024, 3, 10, 12, 30, 15, 123456, tzinfo=dt.UTC)
VALUES = {
    "int8": (pa.int8(), [-128, None, 127]),
    "int64": (pa.int64(), [-(2**63), 0, 2**63 - 1]),
    "float32": (pa.float32(), [0.1, -3.5, None]),
    "float64": (pa.float64(), [1e300, -0.0, 5.0]),
    "nan": (pa.float64(), [float("nan"), float("inf"), 1.0]),
    "bool": (pa.bool_(), [True, False, None]),
    "text": (pa.string(), ["", "é" * 40, 'a"b\\c\n']),
    "binary": (pa.binary(), [b"\x00\xff", b"", None]),
    "date": (pa.date32(), [dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
    "zoned": (pa.timestamp("us", "UTC"), [NOON, NOON - dt.timedelta(days=30_000), None]),
    "naive": (pa.timestamp("us"), [NOON.replace(tzinfo=None), None, dt.datetime(1900, 1, 1)]),
    "decimal": (pa.decimal128(20, 3), [Decimal("12345678901234567.891"), Decimal("-0.001"), None]),
    "list": (pa.list_(pa.int64()), [[1, None], [], None]),
    "struct": (pa.struct([("x", pa.int64()), ("y", pa.string())]), [{"x": 1, "y": "a"}, {"x": None, "y": "b"}, None]),
    "a.b": (pa.int64(), [1, 2, 3]),
    "a column, %41 'odd'": (pa.string(), ["x", "y", None]),
    "nothing": (pa.int64(), [None, None, None]),
}  # fmt: skip


def rows(*keys: int, names=tuple(VALUES)) -> pa.Table:
    """A row for each key, the values of a column in turn."""
    columns = {n: pa.array([VALUES[n][1][k % 3] for k in keys], VALUES[n][0]) for n in names}
    return pa.table({"k": pa.array(keys, pa.int64()), **columns})


def parts(table: pa.Table) -> pa.Table:
    columns = {n: table[n] for n in ("int8", "bool", "text", "date", "zoned", "naive", "float64")}
    texts = pa.array([t or "empty" for t in table["text"].to_pylist()])
    return pa.table({"k": table["k"], **columns, "text": texts, "v": table["int64"]})


def facts(snapshot) -> list[dict]:
    """What is known of each file, but of decimals."""
    decimals = {f.name for f in snapshot.files.schema if pa.types.is_decimal(f.type)}
    return sorted(
        (
            {n: repr(v) for n, v in row.items() if n not in decimals and n.partition(".")[2] != "decimal"}
            for row in snapshot.files.to_pylist()
        ),
        key=lambda row: row["path"],
    )


def same(followed, log) -> None:
    wheels = DeltaLog(Folder.local(log.table.uri)).newest()
    assert followed.version == wheels.version
    assert followed.schema == wheels.schema
    assert followed.partition_by == wheels.partition_by
    assert followed.unique == wheels.unique
    assert facts(followed) == facts(wheels)
    assert followed.files.schema == wheels.files.schema


@pytest.fixture
def store(tmp_path):
    with hr.connect(tmp_path / "lake") as store:
        yield store


def log_of(group, tmp_path) -> DeltaLog:
    return DeltaLog(Folder.local(str(tmp_path / "lake" / group.location)))


def test_every_write_of_every_type(store, tmp_path):
    group = store.create_feature_group("g", primary_key=["k"])
    group.insert(rows(0, 1, 2))
    log = log_of(group, tmp_path)
    first = log.newest()
    steps = [
        lambda: group.insert(rows(3)),
        lambda: group.insert(rows(4, 5), mode="append"),
        lambda: group.insert(rows(0, 4, 6, 7)),
        lambda: group.delete(filter=group["k"] == 5),
        lambda: group.insert(rows(0, 0, 1), mode="append"),
        lambda: group.insert(rows(0, 8)),
        lambda: group.insert(rows(1, 2, 3, 4), mode="overwrite"),
        lambda: group.delete(filter=group["k"] >= 0),
        lambda: group.insert(rows(1)),
    ]
    for step in steps:
        step()
        followed = follow(first, log.folder)
        assert followed is not None
        same(followed, log)


def test_partitions(store, tmp_path):
    names = ["int8", "bool", "text", "date", "naive", "zoned"]
    group = store.create_feature_group("g", primary_key=["k"], partition_by=names)
    group.insert(parts(rows(0)))
    log = log_of(group, tmp_path)
    first = log.newest()
    for step in (rows(1, 2), rows(0, 3), rows(4, 5)):
        group.insert(parts(step))
        same(follow(first, log.folder), log)
    assert {f"partition.{n}" for n in names} <= set(first.files.column_names)


@pytest.fixture
def table(tmp_path):
    """A table with one entry read, and its log."""
    write_deltalake(tmp_path / "t", pa.table({"k": [1, 2]}))
    log = DeltaLog(Folder.local(str(tmp_path / "t")))
    return log, log.newest()


def append(log, rows, **options) -> None:
    write_deltalake(log.table.uri, rows, mode="append", **options)


def test_nothing_new(table):
    log, first = table
    assert follow(first, log.folder) is first


def test_a_new_column_is_left_to_the_wheel(table):
    log, first = table
    append(log, pa.table({"k": [3], "new": ["x"]}), schema_mode="merge")
    assert follow(first, log.folder) is None
    assert log.newest().schema.names == ["k", "new"]
    append(log, pa.table({"k": [4], "new": ["y"]}))
    same(log.newest(), log)


def test_a_new_protocol_is_checked(table):
    log, first = table
    features = {"readerFeatures": ["variantType"], "writerFeatures": ["variantType"]}
    action = {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}}
    write_entry(log, first.version + 1, action)
    assert follow(first, log.folder) is None
    with pytest.raises(Unsupported, match="variantType"):
        log.newest()


def test_deletion_vectors_are_left_to_the_wheel(table):
    log, first = table
    path = first.files["path"][0].as_py().rpartition("/")[2]
    vector = {"storageType": "u", "pathOrInlineDv": "x", "offset": 1, "sizeInBytes": 1, "cardinality": 1}
    add = {"path": path, "size": 1, "modificationTime": 1, "partitionValues": {}, "dataChange": True}
    write_entry(log, first.version + 1, {"add": {**add, "deletionVector": vector}})
    assert follow(first, log.folder) is None


def test_a_file_without_statistics(table):
    log, first = table
    append(log, pa.table({"k": [3]}))
    entry = entry_file(log, first.version + 1)
    lines = [json.loads(line) for line in entry.read_text().splitlines()]
    for line in lines:
        line.get("add", {}).pop("stats", None)
    entry.write_text("\n".join(map(json.dumps, lines)))
    followed = follow(first, log.folder)
    assert followed is not None
    same(followed, log)
    assert None in followed.files["num_records"].to_pylist()


def test_a_file_that_is_added_again_counts_once(table):
    log, first = table
    append(log, pa.table({"k": [3]}))
    add = next(json.loads(a) for a in entry_file(log, 1).read_text().splitlines() if '"add"' in a)
    write_entry(log, 2, add)
    same(follow(first, log.folder), log)


def test_an_entry_that_cannot_be_read_is_left_to_the_wheel(table):
    log, first = table
    entry_file(log, first.version + 1).write_text('{"add": {"pa')
    assert follow(first, log.folder) is None


def test_entries_that_were_cleaned_away(table, tmp_path):
    """The next entry is not there, and yet there are newer ones."""
    log, first = table
    for k in range(3):
        append(log, pa.table({"k": [k]}))
    DeltaTable(log.table.uri).create_checkpoint()
    for version in range(3):
        entry_file(log, version).unlink()
    assert follow(first, log.folder) is None
    assert log.newest().version == 3


def test_a_log_that_was_set_back(table):
    """As by restoring a copy: what is committed afterwards has the numbers of what is gone."""
    log, _ = table
    append(log, pa.table({"k": [3]}))
    append(log, pa.table({"k": [4]}))
    assert log.newest().rows == 4
    for version in (1, 2):
        entry_file(log, version).unlink()
    for k in (50, 60, 70):
        append(log, pa.table({"k": [k] * 10}))
    same(log.newest(), log)
    assert log.newest().rows == 32
    assert log.at(2).rows == 22


def test_a_table_that_is_gone(table):
    log, first = table
    shutil.rmtree(log.table.uri)
    assert follow(first, log.folder) is first  # the registry tells that a group was deleted


def entry_file(log, version) -> Path:
    return Path(log.table.uri) / "_delta_log" / f"{version:020d}.json"


def write_entry(log, version, *actions) -> None:
    entry_file(log, version).write_text("\n".join(map(json.dumps, actions)))


@pytest.mark.parametrize(
    ("uri", "path", "found"),
    [
        ("s3://b/t", "x%20y.parquet", "s3://b/t/x y.parquet"),
        ("s3://b/t", "p=a:b/x.parquet", "s3://b/t/p=a:b/x.parquet"),
        ("s3://b/t", "s3://b/u/x.parquet", "s3://b/u/x.parquet"),
        ("/l/t", "/l/u/x.parquet", "/l/u/x.parquet"),
        ("/l/t", "file:///l/u/x.parquet", "/l/u/x.parquet"),
        ("/l/t", "file:/l/u/x.parquet", "/l/u/x.parquet"),
    ],
)
def test_where_a_file_lies(uri: str, path: str, found: str) -> None:
    assert data_path(uri, path) == found


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("s3://b/t", "/etc/passwd"),
        ("s3://b/t", "%2Fetc%2Fpasswd"),
        ("s3://b/t", "file:///etc/passwd"),
        ("s3://b/t", "s3://bb/x.parquet"),
        ("hdfs://nn/t", "s3://b/x.parquet"),
        ("/l/t", "s3://b/x.parquet"),
        ("/l/t", "http://127.0.0.1/x.parquet"),
        ("/l/t", "FILE:///x.parquet"),
    ],
)
def test_a_log_names_no_file_of_another_storage(uri: str, path: str) -> None:
    with pytest.raises(Unsupported, match="another storage"):
        data_path(uri, path)
