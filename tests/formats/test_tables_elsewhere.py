"""Hudi tables and folders of files in HDFS, HopsFS, S3 and Azure: read as they are from a folder of this machine."""

from __future__ import annotations

import datetime as dt
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
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


def put(table: Path, to: str, *paths: Path, anew: bool = False) -> None:
    """Copy files of a table to where the environment says how to reach; with `anew` in the place of those there."""
    conf, pems = os.environ.get("HADOOP_CONF_DIR"), os.environ.get("PEMS_DIR")
    tls = hr.TLS.from_dir(pems) if to.startswith("hopsfs") and pems else None
    places = Places({}, tls, Path(conf) if conf else None)
    try:
        folder = places.folder(to)
        for path in paths:
            if anew:
                folder.files.remove_file(f"{folder.uri}/{path.relative_to(table)}")
            folder.files.put(path, f"{folder.uri}/{path.relative_to(table)}")
    finally:
        places.close()


def files_of(table: Path) -> list[Path]:
    return [path for path in table.rglob("*") if path.is_file()]


@pytest.mark.sampled
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


@pytest.mark.sampled
@pytest.mark.parametrize("limit", [None, "1GB"])  # with a limit, the engine keeps bytes of files
@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow"])
def test_folders(lake: str, kind: str, limit: str | None, tmp_path: Path) -> None:
    def write(path: Path, first: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = pa.table(
            {"id": range(first, first + 1000), "s": [f"s{i:04}" for i in range(first, first + 1000)]}
        )
        match kind:
            case "parquet":
                pq.write_table(rows, path, compression="none", use_dictionary=False)
            case "csv":
                pyarrow.csv.write_csv(rows, path)
            case "arrow":
                pyarrow.feather.write_feather(rows, str(path), compression="uncompressed")

    mine, to = tmp_path / "mine", f"{lake}/folder-{kind}-{limit}"
    first, second = mine / "day=2026-01-01" / f"a b.{kind}", mine / "day=2026-01-02" / f"c.{kind}"
    write(first, 1000)
    write(second, 3000)
    (mine / "_SUCCESS").touch()
    put(mine, to, *files_of(mine))
    with hr.connect(str(tmp_path / "store"), memory_limit=limit) as store:
        group = store.register_feature_group("theirs", to, format=kind, primary_key=["id"])
        here = store.register_feature_group("here", str(mine), format=kind, primary_key=["id"])

        def compare() -> None:
            for read in (
                lambda g: g.read(),
                lambda g: g.read(["s", "day"], g["id"] >= 3500),
                lambda g: g.read(["id"], g["day"] == dt.date(2026, 1, 1)),
            ):
                found = [Counter(map(repr, read(g).to_arrow().to_pylist())) for g in (group, here)]
                assert found[0] == found[1]

        compare()
        assert "(1 of 2 files)" in group.read(["id"], group["day"] == dt.date(2026, 1, 1)).explain()
        size = first.stat().st_size
        write(first, 5000)
        assert first.stat().st_size == size
        time.sleep(1.1)  # the clocks of some have whole seconds
        put(mine, to, first, anew=True)
        compare()
        one = store.register_feature_group(
            "one", f"{to}/day=2026-01-02/c.{kind}", format=kind, primary_key=["id"]
        )
        assert one.read().to_arrow().num_rows == 1000
        with pytest.raises(hr.NotFound):
            store.register_feature_group("none", f"{lake}/nowhere", format=kind, primary_key=["id"])
