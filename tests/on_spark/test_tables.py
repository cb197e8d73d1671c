"""Tables of every format, as Spark is given them."""

from __future__ import annotations

import math
import pathlib
import shutil
import zipfile
from collections import Counter
from decimal import Decimal

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


def test_decimals_of_which_the_log_of_delta_tells_floats(lake):
    """By these its reader would pass over the files of the greatest and the least."""
    kinds = {"wide": pa.decimal128(38), "fine": pa.decimal128(19, 2), "short": pa.decimal128(15, 14)}
    values = {
        "wide": [-(Decimal(10) ** 37), Decimal(10) ** 37],
        "fine": [Decimal("-12345678901234567.89"), Decimal("99999999999999999.99")],
        "short": [Decimal("-9.99999999999999"), Decimal("0.10000000000001")],
    }
    group = lake.create_feature_group(fresh("decimals"), primary_key=["id"])
    group.insert(pa.table({"id": [1, 2], **{n: pa.array(values[n], kind) for n, kind in kinds.items()}}))
    for name, (least, most) in values.items():
        for test in (group[name] <= least, group[name] >= most, group[name].isin([least, most])):
            found = group.select("id").filter(test)
            same(found.read(engine="spark"), found.read(engine="duckdb"))
            assert found.read(engine="spark").to_arrow().num_rows >= 1


def test_floats_of_32_bits_and_numbers_that_these_are_not(lake):
    group = lake.create_feature_group(fresh("floats"), primary_key=["id"])
    values = pa.array([0.1, -0.0, math.nan, 16777216.0, math.inf, None], pa.float32())
    group.insert(pa.table({"id": range(6), "f": values}))
    for given in (Decimal("0.1"), 0.1, 0, 16777217, 16777217.0, 10**30, 10**60, Decimal("1e-60")):
        for test in (
            group["f"] == given,
            group["f"] < given,
            ~(group["f"] >= given),
            group["f"].isin([given, 7]),
        ):
            found = group.select("id").filter(test)
            same(found.read(engine="spark"), found.read(engine="duckdb"))


def test_folders_whose_files_are_of_several_types(lake, tmp_path):
    ones = {
        "n": (pa.array([1], pa.int32()), pa.array([1 << 40])),
        "f": (pa.array([0.1], pa.float32()), pa.array([0.1])),
        "d": (
            pa.array([Decimal("0.1")], pa.decimal128(4, 1)),
            pa.array([Decimal("0.12")], pa.decimal128(12, 2)),
        ),
        "none": (pa.nulls(1), pa.array(["x"])),
        "s": (pa.array([{"a": 1, "b": "x"}]), pa.array([{"a": 1, "b": "x"}])),
    }
    for i in range(2):
        columns = {name: values[i] for name, values in ones.items()} | ({"own": ["y"]} if i else {})
        pq.write_table(pa.table({"id": [i], **columns}), tmp_path / f"{i}.parquet")
    group = lake.register_feature_group(fresh("raw"), str(tmp_path), format="parquet", primary_key=["id"])
    query = rows_of(lake, [0, 1, 2], pa.int64()).select("row").join(group, on="id", prefix="x_")
    ours, theirs = (query.read(engine=name).to_arrow().sort_by("row") for name in ("spark", "duckdb"))
    assert ours.equals(theirs)


@pytest.mark.parametrize(
    ("values", "given", "said"),
    [
        (pa.array([1], pa.timestamp("ns")), None, "nanoseconds"),
        (pa.array([1.5], pa.float16()), None, "16 bits"),
        (pa.array(["2024-01-01 10:00:00"]), pa.timestamp("us"), "in files string"),
        (pa.array([300]), pa.int8(), "in files bigint"),
    ],
)
def test_types_of_files_that_spark_reads_otherwise(lake, tmp_path, values, given, said):
    pq.write_table(pa.table({"id": [1], "v": values}), tmp_path / "a.parquet")
    group = lake.register_feature_group(
        fresh("raw"), str(tmp_path), format="parquet", primary_key=["id"],
        schema=None if given is None else pa.schema({"v": given}),
    )  # fmt: skip
    query = rows_of(lake, [1], pa.int64()).select("row").join(group, on="id", prefix="x_")
    with pytest.raises(hr.Unsupported, match=said):
        query.read(engine="spark").to_arrow()
