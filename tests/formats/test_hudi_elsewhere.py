"""Hudi tables in HDFS, HopsFS, S3 and Azure: read from a store in a folder as they are from a folder."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import headrace as hr
from formats.hudi_tables import READ, named, timeline_of, unpacked
from headrace.storage.places import Places
from servers.lake import running_lake

pytestmark = pytest.mark.slow
_AS_TEXT = {"by_day"}  # by Spark


@pytest.fixture(scope="module", params=["s3", "hdfs", "hopsfs", "azure"])
def lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_lake(request.param, tmp_path_factory.mktemp("lake")) as uri:
        yield uri


@pytest.fixture
def store(lake: str, tmp_path: Path) -> Iterator[hr.FeatureStore]:
    with hr.connect(str(tmp_path / "store")) as store:
        yield store


def put(table: Path, to: str, *paths: Path) -> None:
    """Copy files of a table to where the environment says how to reach."""
    conf, pems = os.environ.get("HADOOP_CONF_DIR"), os.environ.get("PEMS_DIR")
    tls = hr.TLS.from_dir(pems) if to.startswith("hopsfs") and pems else None
    places = Places({}, tls, Path(conf) if conf else None)
    try:
        folder = places.folder(to)
        for path in paths:
            folder.files.put(path, f"{folder.uri}/{path.relative_to(table)}")
    finally:
        places.close()


def files_of(table: Path) -> list[Path]:
    return [path for path in table.rglob("*") if path.is_file()]


@pytest.mark.parametrize("archive", READ, ids=named)
def test_reads(store: hr.FeatureStore, lake: str, archive: Path, tmp_path: Path) -> None:
    table, to = unpacked(archive, tmp_path), f"{lake}/{named(archive)}"
    put(table, to, *files_of(table))
    group = store.register_feature_group("theirs", to, format="hudi", primary_key=["id"])
    for path in sorted((table.parent / "expected").glob("*.parquet")):
        if path.stem == "since" or (archive.stem in _AS_TEXT):
            continue
        asked = None if path.stem == "now" else int(path.stem)
        found = group.read(snapshot=asked).to_arrow()
        wanted = pq.read_table(path)
        names = [name for name in found.column_names if name in wanted.column_names]
        assert Counter(map(repr, found.select(names).to_pylist())) == Counter(
            map(repr, wanted.select(names).to_pylist())
        )


@pytest.mark.parametrize(
    "archive", [p for p in READ if named(p) in ("v6-partitioned", "v9-nested")], ids=named
)
def test_a_commit_that_comes_later(store: hr.FeatureStore, lake: str, archive: Path, tmp_path: Path) -> None:
    table, to = unpacked(archive, tmp_path), f"{lake}/later-{named(archive)}"
    last = max(path for path in timeline_of(table).iterdir() if path.suffix == ".commit")
    put(table, to, *(path for path in files_of(table) if path != last))
    group = store.register_feature_group("theirs", to, format="hudi", primary_key=["id"])
    before = group.read().to_arrow()
    put(table, to, last)
    assert group.read().to_arrow().num_rows != before.num_rows
    own = store.register_feature_group("here", str(table), format="hudi", primary_key=["id"])
    for mine, theirs in ((group.read(), own.read()), (group.changes(since=-1), own.changes(since=-1))):
        rows = [Counter(map(repr, result.to_arrow().to_pylist())) for result in (mine, theirs)]
        assert rows[0] == rows[1]
