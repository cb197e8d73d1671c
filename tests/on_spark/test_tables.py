"""Tables of every format, as Spark is given them."""

from __future__ import annotations

import pathlib
import shutil
import zipfile
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr
from conftest import fresh
from on_spark.conftest import TIME, at, times
from on_spark.test_reads import same

ROOT = pathlib.Path(__file__).parent.parent.parent / "testdata"
HUDI = [
    path
    for path in sorted((ROOT / "hudi").glob("v*/*.zip"))
    if path.stem in ("partitioned", "plain", "by_day")
]


def unpacked(path: pathlib.Path, to: pathlib.Path) -> pathlib.Path:
    with zipfile.ZipFile(path) as packed:
        packed.extractall(to)
    return to


def rows_of(store: hr.FeatureStore, ids: list[object], kind: pa.DataType) -> hr.FeatureGroup:
    made = store.create_feature_group(fresh("asked"), primary_key=["row"], event_time="t")
    made.insert(pa.table({"row": range(len(ids)), "t": times(range(len(ids))), "id": pa.array(ids, kind)}))
    return made


@pytest.mark.parametrize("path", HUDI, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_hudi_at_every_commit(lake, path, tmp_path):
    table = unpacked(path, tmp_path / "hudi")
    group = lake.register_feature_group(
        fresh("theirs"), str(table / "table"), format="hudi", primary_key=["id"]
    )
    ids = group.read(["id"]).to_arrow()["id"]
    root = rows_of(lake, [*ids.unique().to_pylist(), None], ids.type)
    for commit in group.history():
        query = root.select("row").join(group.as_of(snapshot=commit.snapshot), on="id", prefix="x_")
        ours, theirs = (query.read(engine=name).to_arrow().sort_by("row") for name in ("spark", "duckdb"))
        assert ours.equals(theirs)


def test_columns_that_came_later_and_old_snapshots(lake):
    group = lake.create_feature_group(fresh("grown"), primary_key=["origin"], event_time="seen")
    first = group.insert(pa.table({"origin": ["JFK"], "seen": times([1]), "n": pa.array([1], pa.int32())}))
    group.add_features({"later": pa.string(), "n": pa.int64()})
    group.insert(pa.table({"origin": ["JFK"], "seen": times([2]), "n": [2], "later": ["x"]}))
    flights = lake.get_feature_group("flights").select("id")
    for side in (group, group.as_of(snapshot=first.snapshot)):
        query = flights.join(side, on="origin")
        same(query.read(engine="spark"), query.read(engine="duckdb"))


def test_a_folder_of_parquet_files(lake, tmp_path):
    """Partitioned by hive's names, with times of no zone, and names that Hadoop takes for patterns."""
    folder = tmp_path / "raw {a}"
    for day in (1, 2):
        (folder / f"day={day}").mkdir(parents=True)
        rows = {
            "origin": ["JFK", "LGA"],
            "seen": pa.array([at(day).replace(tzinfo=None), None], pa.timestamp("us")),
            "temp": [float(day), 0.0],
        }
        pq.write_table(pa.table(rows), folder / f"day={day}" / "a b%20[1].parquet")
    group = lake.register_feature_group(
        fresh("raw"), str(folder), format="parquet", primary_key=["origin"], event_time="seen"
    )
    query = lake.get_feature_group("flights").select("id", "dep").join(group, on="origin")
    same(query.read(engine="spark"), query.read(engine="duckdb"))


def test_times_that_are_numbers(lake, tmp_path):
    pq.write_table(
        pa.table({"origin": ["JFK"], "seen": [int(at(1).timestamp() * 1000)], "temp": [1.0]}),
        tmp_path / "a.parquet",
    )
    group = lake.register_feature_group(
        fresh("raw"),
        str(tmp_path),
        format="parquet",
        primary_key=["origin"],
        event_time="seen",
        event_time_unit="ms",
    )
    query = (
        lake.get_feature_group("flights").select("id").join(group, on="origin", max_age="1h", min_age="5m")
    )
    same(query.read(engine="spark"), query.read(engine="duckdb"))


def test_what_spark_is_not_given(lake, tmp_path):
    (tmp_path / "a.csv").write_text("origin,temp\nJFK,1.5\n")
    group = lake.register_feature_group(fresh("raw"), str(tmp_path), format="csv", primary_key=["origin"])
    query = lake.get_feature_group("flights").select("id").join(group, on="origin")
    with pytest.raises(hr.Unsupported, match="is no table that Spark reads"):
        query.read(engine="spark")
    assert "on DuckDB" in query.read().explain()
    with pytest.raises(hr.Unsupported, match="newest rows"):
        lake.get_feature_group("flights").read(latest=True).to_spark()
    assert lake.get_feature_group("flights").schema.field("dep").type == TIME


@pytest.mark.parametrize(
    "name",
    ["deletion_vectors", "column_mapping_name", "late_columns", "timestamp_ntz", "partitioned", "odd_names"],
)
def test_delta_tables_of_others(lake, name, tmp_path):
    shutil.copytree(ROOT / "delta" / "spark-3.5" / name / "table", tmp_path / "table")
    (wanted, *_) = (ROOT / "delta" / "spark-3.5" / name / "expected").glob("[0-9]*.parquet")
    key = pq.read_schema(wanted).names[0]
    group = lake.register_feature_group(
        fresh("theirs"), str(tmp_path / "table"), format="delta", primary_key=[key]
    )
    ours, theirs = (
        group.select(*group.schema.names).read(engine=engine).to_arrow() for engine in ("spark", "duckdb")
    )
    assert ours.schema == theirs.schema
    assert Counter(map(repr, ours.to_pylist())) == Counter(map(repr, theirs.to_pylist()))
