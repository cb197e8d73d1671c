"""Tables that Spark made, as feature groups: read as Spark reads them, and written, or refused by what is not known."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr
from contract.helpers import Unchanged

ROOT = Path(__file__).parent.parent.parent / "testdata" / "delta"
TABLES = sorted(path.parent for path in ROOT.glob("*/*/table"))
UNREAD = {"column_mapping_id": "columnMapping by id", "variant": "variantType"}
READ = [path for path in TABLES if path.name not in UNREAD]
# Of the tables that are read, what of their features keeps them from being written.
UNWRITTEN = {
    "default_values": "allowColumnDefaults",
    "deletion_vectors_dropped": "checkpointProtection",
    "iceberg_compatible": "icebergCompatV2",
    "identity_column": "identityColumns",
    "in_commit_timestamps": "inCommitTimestamp",
    "liquid_clustering": "clustering, domainMetadata",
    "materialized_partitions": "materializePartitionColumns",
    "row_tracking": "domainMetadata, rowTracking",
    "type_widening": "typeWidening(-preview)?",
    "type_widening_kinds": "typeWidening",
    "vacuum_protocol_check": "vacuumProtocolCheck",
}


# deltalake would write other values of such partitions than it is given, or leave rows in that it takes out.
DAMAGED = {"partitioned_by_time": "is partitioned by 'double', which is double"}
NOT_REMOVED = {"append_only": "is append-only", "partitioned": "has a file named 'name=größe,"}


def named(path: Path) -> str:
    return f"{path.parent.name}-{path.name}"


@pytest.fixture
def table(request, tmp_path) -> Path:
    """A copy, outside the store."""
    return Path(shutil.copytree(request.param, tmp_path / request.param.name))


def expected(table: Path) -> pa.Table:
    newest = max((table / "expected").glob("[0-9]*.parquet"), key=lambda path: int(path.stem))
    return pq.ParquetFile(newest).read()


def register(store, table: Path):
    (key, *_) = expected(table).schema.names
    return store.register_feature_group("theirs", str(table / "table"), format="delta", primary_key=[key])


def rows(found: pa.Table, schema: pa.Schema) -> Counter[str]:
    return Counter(map(repr, found.cast(schema).to_pylist()))


@pytest.mark.parametrize("table", READ, ids=named, indirect=True)
def test_reads(store, table):
    wanted, group = expected(table), register(store, table)
    found = group.read().to_arrow()
    assert found.schema.names == wanted.schema.names
    assert rows(found, found.schema) == rows(wanted, found.schema)
    (key, *_) = found.schema.names
    keys = wanted[key].to_pylist()
    for value in dict.fromkeys([*keys[:3], *keys[-3:], max(keys, default=0) + 1]):
        assert group.read([key], filter=group[key] == value).to_arrow().num_rows == keys.count(value)


SAME_FILES = ("deletion_vectors", "column_mapping_upgraded")


@pytest.mark.parametrize("table", [p for p in READ if p.name in SAME_FILES], ids=named, indirect=True)
def test_statistics_are_of_the_rows(store, table):
    """Of snapshots that have the same files, and of these other rows, or other columns."""
    group = register(store, table)
    for snapshot in sorted(commit.snapshot for commit in group.history()):
        rows = group.read(snapshot=snapshot).to_arrow()
        found = group.statistics(snapshot=snapshot).to_arrow().to_pylist()
        assert {row["feature"]: (row["count"], row["nulls"]) for row in found} == {
            name: (len(rows) - rows[name].null_count, rows[name].null_count) for name in rows.schema.names
        }


@pytest.mark.sampled
@pytest.mark.parametrize(
    "table", [p for p in READ if p.name not in {*UNWRITTEN, *DAMAGED}], ids=named, indirect=True
)
def test_writes(store, table):
    """A row is put beside theirs, whose newest is as it was, and goes again."""
    group = register(store, table)
    before = group.read().to_arrow()
    (key, *_) = before.schema.names
    keys = before[key].to_pylist()
    late = max(keys, default=0) + 1
    given = before.slice(before.num_rows - 1) if before.num_rows else before.schema.empty_table()
    given = pa.Table.from_pylist([{**row, key: late} for row in given.to_pylist() or [{}]], before.schema)
    assert group.insert(given).rows_inserted == 1
    assert rows(group.read().to_arrow(), before.schema) == rows(before, before.schema) + rows(
        given, before.schema
    )
    if table.name in NOT_REMOVED:
        for remove in (
            lambda: group.insert(given),
            lambda: group.insert(given, mode="overwrite"),
            lambda: group.delete(keys=[{key: late}]),
            lambda: group.restore(0),
        ):
            with Unchanged(group, hr.Unsupported) as refused:
                remove()
            refused.match(NOT_REMOVED[table.name])
        return
    if len(set(keys)) == len(keys) > 0:
        assert group.insert(before).rows_updated == len(keys)
    assert group.insert(given).rows_updated == 1
    group.delete(keys=[{key: late}])
    assert rows(group.read().to_arrow(), before.schema) == rows(before, before.schema)
    # In a store that has not written it, and of the log knows what stands there.
    with hr.connect(table.parent / "another") as another:
        found = register(another, table).read().to_arrow()
    assert rows(found, before.schema) == rows(before, before.schema)


@pytest.mark.parametrize(
    "table", [p for p in READ if p.name in {*UNWRITTEN, *DAMAGED}], ids=named, indirect=True
)
def test_writes_that_are_refused(store, table):
    group = register(store, table)
    given = group.read().to_arrow().slice(0, 1)
    feature = UNWRITTEN.get(table.name)
    for mode in ("upsert", "append", "overwrite"):
        with Unchanged(group, hr.Unsupported) as refused:
            group.insert(given, mode=mode)
        refused.match(DAMAGED.get(table.name) or f"uses {feature}, which Headrace does not write")


@pytest.mark.parametrize("table", [p for p in READ if p.name == "partitioned"], ids=named, indirect=True)
def test_a_compaction_that_would_double_rows(store, table):
    group = register(store, table)
    for columns in ((), ("id",)):
        with Unchanged(group, hr.Unsupported) as refused:
            group.compact(zorder=columns)
        refused.match("has a file named 'name=größe,")


@pytest.mark.parametrize("table", [p for p in TABLES if p.name in UNREAD], ids=named, indirect=True)
def test_what_is_not_known_is_refused(store, table):
    with pytest.raises(hr.Unsupported, match=f"uses {UNREAD[table.name]}, which Headrace does not read"):
        register(store, table)
    assert store.list_feature_groups() == []
