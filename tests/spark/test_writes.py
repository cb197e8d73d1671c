"""Spark writes into tables of Headrace, beside it."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from headrace.errors import BadData, SchemaMismatch, Unsupported
from spark.helpers import path_of, same, same_changes, same_snapshots
from spark.spark import table

pytestmark = pytest.mark.slow

NOON = dt.datetime(2024, 3, 10, 12, 30, 15, 123456, tzinfo=dt.UTC)
SCHEMA = pa.schema(
    {"id": pa.int64(), "part": pa.string(), "at": pa.timestamp("us", "UTC"), "value": pa.float64()}
)
PARTS = pytest.mark.parametrize(
    "parts",
    [
        pytest.param((), id="whole"),
        pytest.param(("part",), id="partitioned", marks=pytest.mark.soak),
    ],
)


def frame(ids, value) -> pa.Table:
    rows = [
        {"id": i, "part": f"p {i % 3}", "at": NOON + dt.timedelta(hours=i), "value": float(value)}
        for i in ids
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


def made(store, **definition):
    group = store.create_feature_group("g", primary_key=["id"], **definition)
    group.insert(frame(range(20), 0))
    return group


def held(group) -> dict[int, float]:
    found = group.read(["id", "value"]).to_arrow()
    return dict(zip(found["id"].to_pylist(), found["value"].to_pylist(), strict=True))


INSERT = "INSERT INTO {t} VALUES (100, 'p 0', TIMESTAMP '2024-01-01 00:00:00.5Z', 5), (101, NULL, NULL, NULL)"
WRITES = [
    INSERT,
    "UPDATE {t} SET value = 6 WHERE id IN (1, 100)",
    "DELETE FROM {t} WHERE id IN (2, 3)",
    (
        "MERGE INTO {t} AS t USING (SELECT id, 7D AS v FROM range(18, 23)) AS s ON t.id = s.id WHEN MATCHED AND s.id = 18 "
        "THEN DELETE WHEN MATCHED THEN UPDATE SET value = s.v WHEN NOT MATCHED THEN INSERT (id, value) VALUES (s.id, s.v)"
    ),
    "OPTIMIZE {t}",
]


def writes_of_both(spark, group, path, follow) -> None:
    """Each write of Spark is read at once, and then one of ours is read by Spark."""
    expected = held(group)
    for number, statement in enumerate(WRITES):
        spark.run(statement.format(t=table(path)))
        same(spark, group, path)
        last = group.history(1)[0].snapshot
        if follow:
            same_changes(spark, group, path, last - 1, last)
        group.insert(frame([5, 200 + number], number))
        same(spark, group, path)
        if follow:
            same_changes(spark, group, path, last, last + 1)
    expected |= {1: 6.0, 100: 6.0, 101: None, 19: 7.0, 20: 7.0, 21: 7.0, 22: 7.0, 5: 4.0}
    expected |= {200 + number: float(number) for number in range(len(WRITES))}
    assert held(group) == {i: v for i, v in expected.items() if i not in (2, 3, 18)}
    group.delete(filter=group["value"] == 7.0)
    group.delete(keys=[{"id": 100}])
    group.insert(frame(range(40), 8))
    group.insert(frame([1, 1000], 9), mode="append")
    same(spark, group, path)
    same_snapshots(spark, group, path)
    group.insert(frame([1], 0), mode="overwrite")
    same(spark, group, path)


@pytest.mark.newest_line
@PARTS
def test_both_write(spark, store, root, parts):
    group = made(store, partition_by=parts)
    writes_of_both(spark, group, path_of(root, group), follow=True)


@pytest.mark.newest_line
def test_both_write_with_deletion_vectors(spark, store, root):
    group = made(store, partition_by=["part"])
    path = path_of(root, group)
    spark.run(f"ALTER TABLE {table(path)} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    writes_of_both(spark, group, path, follow=False)
    assert list(path.rglob("deletion_vector_*.bin"))
    with pytest.raises(Unsupported, match="marks rows as deleted in their file"):
        group.changes(0).to_arrow()
    with pytest.raises(Unsupported, match="uses deletionVectors, of which Headrace removes no files"):
        group.vacuum(retention_hours=0, dry_run=False)


@pytest.mark.newest_line
def test_both_write_with_column_mapping(spark, store, root):
    group = made(store, partition_by=["part"])
    path = path_of(root, group)
    mapping = (
        "'delta.columnMapping.mode' = 'name', 'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5'"
    )
    spark.run(f"ALTER TABLE {table(path)} SET TBLPROPERTIES ({mapping})")
    writes_of_both(spark, group, path, follow=True)
    spark.run(
        f"ALTER TABLE {table(path)} RENAME COLUMN at TO `at (UTC)`",
        f"ALTER TABLE {table(path)} RENAME COLUMN part TO `a part`",
        f"ALTER TABLE {table(path)} ADD COLUMN at STRING",
    )
    assert same(spark, group, path).schema.names == ["id", "a part", "at (UTC)", "value", "at"]
    rows = frame([1, 7], 3).rename_columns(["id", "a part", "at (UTC)", "value"])
    group.insert(rows.append_column("at", pa.array(["x", "y"])))
    assert same(spark, group, path)["at"].to_pylist().count("x") == 1
    spark.run(f"DELETE FROM {table(path)} WHERE id = 7")
    same(spark, group, path)
    with pytest.raises(Unsupported, match="uses columnMapping, with which Headrace neither changes columns"):
        group.compact()
    with pytest.raises(Unsupported, match="uses columnMapping"):
        group.add_features({"new": pa.int64()})


def test_spark_adds_a_column(spark, store, root):
    group = made(store)
    path = path_of(root, group)
    spark.run(
        f"ALTER TABLE {table(path)} ADD COLUMNS (late STRUCT<a: INT>)",
        f"INSERT INTO {table(path)} SELECT 50, 'p', NULL, 1, named_struct('a', 1)",
        f"ALTER TABLE {table(path)} ADD COLUMNS (late.b STRING)",
    )
    found = same(spark, group, path)
    assert found.schema.field("late").type == pa.struct([("a", pa.int32()), ("b", pa.string())])
    with pytest.raises(SchemaMismatch, match="late"):
        group.insert(frame([1], 1))
    late = pa.array([{"a": 2, "b": "x"}], found.schema.field("late").type)
    group.insert(frame([1], 1).append_column("late", late))
    same(spark, group, path)


@pytest.mark.newest_line
def test_spark_restores_and_removes(spark, store, root):
    group = made(store)
    group.insert(frame(range(10, 30), 1))
    path = path_of(root, group)
    spark.run(f"RESTORE TABLE {table(path)} TO VERSION AS OF 0")
    assert held(group) == dict.fromkeys(range(20), 0.0)
    group.insert(frame([3], 4))
    spark.run(
        "SET spark.databricks.delta.retentionDurationCheck.enabled = false",
        f"VACUUM {table(path)} RETAIN 0 HOURS",
    )
    same(spark, group, path)


@pytest.mark.newest_line
def test_many_commits_of_spark(spark, store, root):
    """After ten, Spark makes a checkpoint."""
    group = made(store)
    path = path_of(root, group)
    for number in range(12):
        spark.run(f"INSERT INTO {table(path)} VALUES ({number + 50}, NULL, NULL, {number})")
    assert list((path / "_delta_log").glob("*.checkpoint*"))
    same(spark, group, path)
    group.insert(frame(range(50, 60), 1))
    same(spark, group, path)


def test_conditions_of_spark_hold(spark, store, root):
    group = made(store)
    path = path_of(root, group)
    spark.run(f"ALTER TABLE {table(path)} ADD CONSTRAINT few CHECK (value < 10)")
    for mode in ("upsert", "append", "overwrite"):
        with pytest.raises(BadData, match="do not fulfil a condition"):
            group.insert(frame([1], 11), mode=mode)
    group.insert(frame([1], 9))
    same(spark, group, path)


READ_ALONE = {
    "clustering": ["ALTER TABLE {t} CLUSTER BY (id)", "OPTIMIZE {t}"],
    "inCommitTimestamp": ["ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')"],
    "rowTracking": [
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')",
        "UPDATE {t} SET value = 3 WHERE id = 3",
    ],
    "typeWidening": [
        "ALTER TABLE {t} ADD COLUMN n SHORT",
        "INSERT INTO {t} VALUES (60, NULL, NULL, NULL, 7)",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
        "ALTER TABLE {t} ALTER COLUMN n TYPE INT",
        "INSERT INTO {t} VALUES (61, NULL, NULL, NULL, 70000)",
    ],
}


@pytest.mark.newest_line
@pytest.mark.parametrize("feature", READ_ALONE)
def test_what_is_read_and_not_written(spark, store, root, feature):
    group = made(store)
    path = path_of(root, group)
    spark.run(*(statement.format(t=table(path)) for statement in READ_ALONE[feature]))
    rows = same(spark, group, path).slice(0, 1)
    for act in (
        lambda: group.insert(rows),
        lambda: group.insert(rows, mode="append"),
        lambda: group.delete(keys=[{"id": 1}]),
        lambda: group.add_features({"new": pa.string()}),
        group.compact,
        lambda: group.vacuum(dry_run=False),
    ):
        with pytest.raises(Unsupported, match=rf"uses .*{feature}.*, which Headrace does not write"):
            act()
    same(spark, group, path)


def test_append_only(spark, store, root):
    group = made(store)
    path = path_of(root, group)
    spark.run(f"ALTER TABLE {table(path)} SET TBLPROPERTIES ('delta.appendOnly' = 'true')")
    group.insert(frame([50], 1), mode="append")
    group.insert(frame([51], 1))
    same(spark, group, path)
    for act in (
        lambda: group.insert(frame([50], 2)),
        lambda: group.insert(frame([50], 2), mode="overwrite"),
        lambda: group.delete(keys=[{"id": 1}]),
        lambda: group.restore(0),
    ):
        with pytest.raises(Unsupported, match="is append-only"):
            act()


@pytest.mark.parametrize("spark", ["4.1"], indirect=True)
def test_what_is_not_read(spark, store, root):
    group = made(store)
    path = path_of(root, group)
    spark.run(f"ALTER TABLE {table(path)} ADD COLUMN v VARIANT")
    for act in (
        lambda: group.read().to_arrow(),
        lambda: group.changes(0).to_arrow(),
        lambda: group.insert(frame([1], 1)),
        lambda: group.delete(keys=[{"id": 1}]),
        group.compact,
    ):
        with pytest.raises(Unsupported, match="uses variantType, which Headrace does not read"):
            act()
