"""Tables made by Spark are read as Spark reads them, or refused by the name of what is not known."""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.errors import Unsupported
from headrace.formats.delta import DeltaLog
from headrace.model.expression import Compare, IsNull, Not, Ref, to_value
from headrace.model.expression_sql import condition_sql, identifier
from headrace.model.feed import CHANGE_TYPE, COMMIT_VERSION
from headrace.storage.folder import Folder

ROOT = Path(__file__).parent.parent.parent / "testdata" / "delta"
TABLES = sorted(path.parent for path in ROOT.glob("*/*/table"))
REFUSED = {"column_mapping_id": "columnMapping by id", "variant": "variantType"}
READ = [path for path in TABLES if path.name not in REFUSED]
FEEDS = [path for path in READ if (path / "expected" / "changes.parquet").exists()]
MARKED = "deletion_vectors_partitioned"


def named(path: Path) -> str:
    return f"{path.parent.name}-{path.name}"


def log_of(path: Path) -> DeltaLog:
    return DeltaLog(Folder.local(str(path / "table")))


def snapshots(path: Path) -> list[int]:
    return sorted(int(file.stem) for file in (path / "expected").glob("*.parquet") if file.stem.isdigit())


def expected(path: Path, what: int | str) -> pa.Table:
    return pq.ParquetFile(path / "expected" / f"{what}.parquet").read()


def asked(query: str) -> pa.Table:
    with duckdb.connect() as engine:
        engine.execute("SET TimeZone = 'UTC'")
        return engine.sql(query).to_arrow_table()


def read(snapshot) -> pa.Table:
    names = ", ".join(map(identifier, snapshot.schema.names))
    return asked(f"SELECT {names} FROM {snapshot.relation()}").cast(snapshot.schema)


def counted(snapshot, files, wheres: list[str]) -> list[int]:
    counts = ", ".join(f"count(*) FILTER (WHERE {where})" for where in wheres)
    return [column[0].as_py() for column in asked(f"SELECT {counts} FROM {snapshot.relation(files)}").columns]


def rows(table: pa.Table) -> Counter[str]:
    return Counter(map(repr, table.to_pylist()))


def as_spark_has_it(snapshot, path: Path, version: int) -> None:
    wanted, found = expected(path, version), read(snapshot)
    assert found.schema.names == wanted.schema.names
    assert [f.type for f in found.schema] == [f.type for f in wanted.schema]
    assert rows(found) == rows(wanted)
    # Statistics that are columns alone are not among what the wheel tells.
    assert snapshot.rows == wanted.num_rows or path.name == "checkpoint_struct_stats"


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.parametrize("path", READ, ids=named)
def test_every_snapshot(path):
    log = log_of(path)
    for version in snapshots(path):
        as_spark_has_it(log.at(version), path, version)
    as_spark_has_it(log_of(path).newest(), path, snapshots(path)[-1])


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.parametrize("path", READ, ids=named)
def test_entry_by_entry(path, tmp_path):
    """Each entry is read on from the one before."""
    copy, log = tmp_path / path.name, path / "table/_delta_log"
    entries = {file.name for file in log.iterdir() if file.is_file()}
    shutil.copytree(path, copy, ignore=lambda _, found: entries.intersection(found))
    versions = [int(file.stem) for file in sorted(log.glob("*.json")) if file.stem.isdigit()]
    followed = log_of(copy)
    for version in versions:
        # A log may begin with a checkpoint.
        for file in log.glob(f"{version:020d}*" if version == versions[0] else f"{version:020d}.json"):
            shutil.copy(file, copy / "table/_delta_log" / file.name)
        assert followed.newest().version == version
        as_spark_has_it(followed.newest(), path, version)


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.parametrize("path", READ, ids=named)
def test_no_file_is_left_out_that_has_rows(path):
    snapshot = log_of(path).newest()
    whole, alike = read(snapshot), defaultdict(list)
    for field in snapshot.schema:
        if pa.types.is_nested(field.type) or field.type == pa.timestamp("us"):
            continue
        ref = Ref(field.name)
        values = [v for v in whole[field.name].unique().to_pylist() if v is not None]
        tests = [Compare(op, ref, to_value(v)) for v in values[:3] for op in ("=", "<", ">=")]
        for test in [*tests, IsNull(ref), Not(IsNull(ref))]:
            files = snapshot.prune([test])
            if files.num_rows < snapshot.files.num_rows:
                where = condition_sql(test, lambda ref: identifier(ref.name))
                alike[tuple(files["path"].to_pylist())].append((files, where))
    for pairs in alike.values():
        wheres = [where for _, where in pairs]
        assert counted(snapshot, pairs[0][0], wheres) == counted(snapshot, None, wheres)


@pytest.mark.parametrize("path", [path for path in FEEDS if path.name == MARKED], ids=named)
def test_changes_that_only_mark_rows_are_refused(path):
    log = log_of(path)
    with pytest.raises(Unsupported, match=r"snapshot 2 of .* marks rows as deleted in their file"):
        log.changes(-1, log.newest(), ("id",))


@pytest.mark.parametrize("path", [path for path in FEEDS if path.name != MARKED], ids=named)
def test_changes(path):
    log = log_of(path)
    newest = log.newest()
    feed = log.changes(-1, newest, ("id",))
    names = [*newest.schema.names, CHANGE_TYPE, COMMIT_VERSION]
    found = asked(f"SELECT {', '.join(map(identifier, names))} FROM {feed.relation()}")
    assert rows(found) == rows(expected(path, "changes").select(names))


@pytest.mark.parametrize("path", [p for p in TABLES if p.name in REFUSED], ids=named)
def test_what_is_not_known_is_named(path):
    with pytest.raises(Unsupported, match=f"uses {REFUSED[path.name]}, which Headrace does not read"):
        log_of(path).newest()
