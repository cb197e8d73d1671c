"""Spark reads every table that Headrace writes, as Headrace reads it."""

from __future__ import annotations

import datetime as dt
import decimal

import pyarrow as pa
import pytest

import headrace as hr
from contract.helpers import ODD_NAMES
from spark.helpers import path_of, same, same_changes, same_snapshots
from spark.spark import table

pytestmark = [pytest.mark.slow, pytest.mark.newest_line]

D = decimal.Decimal
UTC = dt.UTC
NOON = dt.datetime(2024, 3, 10, 12, 30, 15, 123456, tzinfo=UTC)
TIME = pa.timestamp("us", "UTC")
STRUCT = pa.struct(
    [("a", pa.int64()), ("b", pa.struct([("c d", pa.string()), ("e", pa.list_(pa.date32()))]))]
)
VALUES = {
    "int8": (pa.int8(), [-128, 127, 0]),
    "int16": (pa.int16(), [-(2**15), 2**15 - 1, 0]),
    "int32": (pa.int32(), [-(2**31), 2**31 - 1, 0]),
    "int64": (pa.int64(), [-(2**63), 2**63 - 1, 0]),
    "uint8": (pa.uint8(), [0, 255, 1]),
    "uint32": (pa.uint32(), [0, 2**32 - 1, 1]),
    "float16": (pa.float16(), [0.5, -1.0, 0.0]),
    "float32": (pa.float32(), [0.1, float("nan"), float("-inf")]),
    "float64": (pa.float64(), [1e300, float("nan"), -0.0]),
    "bool": (pa.bool_(), [True, False, True]),
    "text": (pa.string(), ["", "größe\u0000\n\"'`\\", "🛩" * 50]),
    "large_text": (pa.large_string(), ["x", "y", "z"]),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), ["x", "y", "x"]),
    "binary": (pa.binary(), [b"", b"\x00\xff", b"x" * 100]),
    "date": (pa.date32(), [dt.date(1900, 1, 1), dt.date(9999, 12, 31), dt.date(1969, 12, 31)]),
    "time": (TIME, [NOON, dt.datetime(1900, 1, 1, tzinfo=UTC), dt.datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)]),
    "local": (pa.timestamp("ms"), [dt.datetime(2024, 1, 1), dt.datetime(1970, 1, 1), dt.datetime(1969, 12, 31, 23)]),
    "small": (pa.decimal128(9, 2), [D("-0.01"), D("9999999.99"), D("0.00")]),
    "medium": (pa.decimal128(18, 6), [D("-0.000001"), D("999999999999.999999"), D("1.000000")]),
    "large": (pa.decimal128(38, 10), [D("1E-10"), D("9" * 28 + "." + "9" * 10), D("-1.0000000000")]),
    "list": (pa.list_(pa.int32()), [[1, None], [], [2]]),
    "lists": (pa.list_(pa.list_(pa.string())), [[["a"], None, []], [], [[None]]]),
    "struct": (STRUCT, [{"a": 1, "b": {"c d": "x", "e": [dt.date(2024, 2, 29), None]}}, {"a": None, "b": None}, {"a": 2, "b": {"c d": None, "e": None}}]),
    "structs": (pa.list_(STRUCT), [[{"a": 1, "b": None}, None], [], [{"a": 2, "b": {"c d": "y", "e": []}}]]),
    "map": (pa.map_(pa.string(), pa.int64()), [[("a", 1), ("b", None)], [], [("c", 3)]]),
    "maps": (pa.map_(pa.int32(), pa.map_(pa.date32(), STRUCT)), [[(1, [(dt.date(2024, 1, 1), {"a": 1, "b": None})])], [], [(2, None)]]),
    "vector": (pa.list_(pa.float32(), 3), [[1, 2, 3], [4, 5, 6], [0.5, None, 0]]),
}  # fmt: skip


def every_type(ids: range, names=tuple(VALUES)) -> pa.Table:
    """A row for each id, with the values of a column in turn, every fourth of them null."""
    columns = {n: pa.array([(*VALUES[n][1], None)[i % 4] for i in ids], VALUES[n][0]) for n in names}
    return pa.table({"id": pa.array(ids, pa.int64()), **columns})


def test_every_type(spark, store, root):
    group = store.create_feature_group("types", primary_key=["id"])
    group.insert(every_type(range(8)))
    group.insert(every_type(range(6, 12)))
    path = path_of(root, group)
    assert same(spark, group, path).num_rows == 12
    same_snapshots(spark, group, path)
    same_changes(spark, group, path, -1, 1)


def test_times_before_the_gregorian_calendar(spark, store, root):
    """Spark reads them as what they are if it is told that nobody counted otherwise; from 4.0 on it is."""
    group = store.create_feature_group("old", primary_key=["id"])
    days, times = [dt.date(1, 1, 1), dt.date(1582, 10, 10)], [dt.datetime(1, 1, 1, tzinfo=UTC), NOON]
    group.insert(pa.table({"id": [1, 2], "day": days, "time": pa.array(times, TIME)}))
    spark.run("SET spark.sql.parquet.datetimeRebaseModeInRead = CORRECTED")
    try:
        same(spark, group, path_of(root, group))
    finally:
        spark.run("RESET spark.sql.parquet.datetimeRebaseModeInRead")


def test_odd_column_names(spark, store, root):
    names = [*ODD_NAMES, "comma,", "semi;colon", "(x)", "=", "é" * 100, "Ünï", "CASE"]
    group = store.create_feature_group("names", primary_key=["id"])
    rows = pa.table({"id": [1, 2], **{name: [i, None] for i, name in enumerate(names)}})
    group.insert(rows)
    group.insert(rows.slice(1).set_column(1, names[0], pa.array([77])))
    same(spark, group, path_of(root, group))
    same_changes(spark, group, path_of(root, group), -1, 1)


PARTS = {
    "text": (pa.string(), ["two words", "a/b=c%20d", "größe: *?[x]#+", 'it\'s "q" & {z}', " edge "]),
    "int": (pa.int32(), [0, -1, 2**31 - 1, 7, 8]),
    "bool": (pa.bool_(), [True, False]),
    "date": (pa.date32(), [dt.date(2024, 2, 29), dt.date(1900, 1, 1), dt.date(9999, 12, 31)]),
    "time": (TIME, [NOON, NOON.replace(microsecond=0), dt.datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=UTC)]),
}


@pytest.mark.parametrize("kind", PARTS)
def test_partitions(spark, store, root, kind):
    type_, values = PARTS[kind]
    values = [*values, None]
    group = store.create_feature_group("parts", primary_key=["id"], partition_by=["part x"])

    def frame(ids, value):
        parts = pa.array([values[i % len(values)] for i in ids], type_)
        return pa.table({"id": ids, "part x": parts, "value": [value] * len(ids)})

    group.insert(frame(range(12), 0))
    group.insert(frame(range(10, 14), 1))
    group.delete(filter=group["id"] == 3)
    path = path_of(root, group)
    same_snapshots(spark, group, path)
    same(spark, group, path)
    same_changes(spark, group, path, -1, 2)
    for value in values[:-1]:
        ours = group.read(filter=group["part x"] == value).to_arrow()
        theirs = spark.read(f"SELECT * FROM {table(path)} WHERE `part x` = {literal(value)}")
        assert sorted(theirs["id"].to_pylist()) == sorted(ours["id"].to_pylist()) != []


def literal(value) -> str:
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP '{value.isoformat()}'"
    if isinstance(value, dt.date):
        return f"DATE '{value}'"
    return str(value)


def frame(ids, value) -> pa.Table:
    ids = list(ids)
    return pa.table({"id": ids, "part": [f"p {i % 3}" for i in ids], "value": [float(value)] * len(ids)})


def test_commits_of_every_kind(spark, store, root):
    group = store.create_feature_group("acts", primary_key=["id"], partition_by=["part"])
    group.insert(frame(range(500), 0))
    group.insert(frame([10, 11, 2000], 1))  # few rows
    group.insert(frame(range(450, 550), 2))  # many rows
    group.insert(frame([5, 6], 3), mode="append")  # identities that are there twice
    group.insert(frame([5, 6, 7], 4))
    group.insert(frame([8, 9], 3), mode="append")
    group.insert(frame(range(8, 108), 5))
    group.delete(keys=[{"id": 3}])
    group.delete(filter=group["value"] == 2.0)
    group.compact()
    group.insert(frame(range(5), 9), mode="overwrite")
    group.restore(4)
    group.insert(frame(range(3000, 3100), 6))
    group.compact(zorder=["id"])
    path = path_of(root, group)
    snapshots = same_snapshots(spark, group, path)
    same_changes(spark, group, path, -1, snapshots[-1])
    kinds = [row["operation"] for row in spark.read(f"DESCRIBE HISTORY {table(path)}").to_pylist()]
    assert {"WRITE", "MERGE", "RESTORE", "OPTIMIZE"} <= set(kinds)
    group.vacuum(retention_hours=0, dry_run=False)
    same(spark, group, path)


def test_event_times(spark, store, root):
    """The event time is part of what identifies a row."""
    group = store.create_feature_group("seen", primary_key=["id"], event_time="at")
    times = [NOON + dt.timedelta(hours=i) for i in range(4)]
    group.insert(pa.table({"id": [1, 1, 2, 2], "at": pa.array(times, TIME), "x": [0, 1, 2, 3]}))
    group.insert(pa.table({"id": [1, 2], "at": pa.array(times[:2], TIME), "x": [7, 8]}))
    assert same(spark, group, path_of(root, group)).num_rows == 5


@pytest.mark.parametrize("parts", [(), ("part",)], ids=["whole", "partitioned"])
def test_new_and_wider_columns(spark, store, root, parts):
    group = store.create_feature_group("wide", primary_key=["id"], partition_by=parts)
    group.insert(frame(range(5), 0).append_column("n", pa.array(range(5), pa.int32())))
    group.add_features({"new": pa.string(), "list": pa.list_(STRUCT)})
    late = frame(range(3, 8), 1).append_column("n", pa.array([7] * 5, pa.int32()))
    lists = pa.array([[{"a": 1, "b": None}]] * 5, pa.list_(STRUCT))
    group.insert(late.append_column("new", pa.array(["x"] * 5)).append_column("list", lists))
    path = path_of(root, group)
    same(spark, group, path)
    same_changes(spark, group, path, -1, 2)
    group.add_features({"n": pa.int64(), "newer": pa.bool_()})
    assert same(spark, group, path).schema.field("n").type == pa.int64()
    same_snapshots(spark, group, path)
    last = group.delete(filter=group["n"] == 7).snapshot
    same(spark, group, path)
    same_changes(spark, group, path, last - 1, last)


def test_a_table_without_rows(spark, store, root):
    schema = pa.schema({"id": pa.int64(), "list": pa.list_(pa.string())})
    group = store.create_feature_group("empty", primary_key=["id"], schema=schema)
    assert same(spark, group, path_of(root, group)).num_rows == 0


@pytest.mark.parametrize("spark", ["4.1"], indirect=True)
def test_a_checkpoint(spark, store, root):
    """Of nested columns, partitions and statistics; the entries that it stands for are gone."""
    group = store.create_feature_group("long", primary_key=["id"], partition_by=["bool"])
    names = ("bool", "struct", "maps", "text", "time", "large")
    for number in range(101):
        group.insert(every_type(range(number, number + 1), names), mode="append")
    path = path_of(root, group)
    log = path / "_delta_log"
    (checkpoint,) = log.glob("*.checkpoint.parquet")
    for entry in log.glob("*.json"):
        if entry.name < checkpoint.name[:20]:
            entry.unlink()
    with hr.connect(root) as opened:
        group = opened.get_feature_group("long")
        assert same(spark, group, path).num_rows == 101
        assert same_snapshots(spark, group, path) == [99, 100]
