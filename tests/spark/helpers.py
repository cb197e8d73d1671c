"""What Headrace reads of a group beside what Spark reads of its table."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

from headrace.model.feed import CHANGE_TYPE, COMMIT_VERSION
from spark.spark import Spark, table

# A row that is replaced is for Delta one that goes and one that comes, if it was not merged.
_SIDES = {"update_preimage": "delete", "update_postimage": "insert"}


def path_of(root: Path, group: Any) -> Path:
    """Where the table of a group lies, of a store at `root`."""
    return root / group.location


def rows(found: pa.Table) -> Counter[str]:
    """Rows in a form that compares, NaN with NaN as well."""
    return Counter(map(repr, found.to_pylist()))


def same(spark: Spark, group: Any, path: Path) -> pa.Table:
    """The newest rows, which are for both the same, in the same columns and types."""
    ours, theirs = group.read().to_arrow(), spark.read(f"SELECT * FROM {table(path)}")
    assert theirs.schema.names == ours.schema.names
    assert [f.type for f in theirs.schema] == [f.type for f in ours.schema]
    assert rows(theirs) == rows(ours)
    return ours


def same_snapshots(spark: Spark, group: Any, path: Path) -> list[int]:
    """All snapshots, oldest first, which are for both the same; ours have the columns of today."""
    snapshots = sorted(commit.snapshot for commit in group.history())
    for snapshot in snapshots:
        theirs = spark.read(f"SELECT * FROM {table(path)} VERSION AS OF {snapshot}")
        ours = group.read(snapshot=snapshot).to_arrow()
        late = [name for name in ours.schema.names if name not in theirs.schema.names]
        assert all(ours[name].null_count == ours.num_rows for name in late)
        kinds = pa.schema([ours.schema.field(name) for name in theirs.schema.names])
        assert rows(theirs.cast(kinds)) == rows(ours.select(theirs.schema.names)), f"snapshot {snapshot}"
    return snapshots


def changes(found: pa.Table) -> Counter[tuple[Any, ...]]:
    """What came and what went with each commit."""
    names = sorted(name for name in found.schema.names if not name.startswith("_c"))
    return Counter(
        (row[COMMIT_VERSION], _SIDES.get(row[CHANGE_TYPE], row[CHANGE_TYPE]), *(repr(row[n]) for n in names))
        for row in found.to_pylist()
    )


def same_changes(spark: Spark, group: Any, path: Path, since: int, until: int) -> None:
    """The changes after one snapshot, up to another."""
    theirs = spark.read(f"SELECT * FROM table_changes_by_path('{path}', {since + 1}, {until})")
    assert changes(theirs) == changes(group.changes(since, until).to_arrow())
