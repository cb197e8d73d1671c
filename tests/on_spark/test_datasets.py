"""Training datasets that Spark's executors write: the files that others read, and all of them or none."""

from __future__ import annotations

import datetime as dt
import pathlib

import pytest

import headrace as hr
from on_spark.test_reads import SPINE


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv"])
def test_the_rows_are_those_of_duckdb_in_their_order(view, form):
    options = {"splits": {"train": 0.7, "test": 0.3}, "seed": 3, "stratify": "origin", "format": form}
    ours = view.create_training_dataset(**options, engine="spark")
    theirs = view.create_training_dataset(**options, engine="duckdb")
    assert ours.rows == theirs.rows
    assert ours.schema == theirs.schema
    assert ours.snapshots == theirs.snapshots
    for split in ("train", "test"):
        stored = ours.read(split).to_arrow()
        assert stored.equals(theirs.read(split).to_arrow())
        assert stored.equals(ours.recompute(split).to_arrow())


def test_of_a_spine(view):
    ours, theirs = (view.create_training_dataset(spine=SPINE, engine=name) for name in ("spark", "duckdb"))
    assert ours.read().to_arrow().equals(theirs.read().to_arrow())
    assert ours.recompute().to_arrow().equals(ours.read().to_arrow())


@pytest.mark.parametrize("name", ["duckdb", "spark"])
def test_of_a_spine_of_spark_with_what_tables_do_not_store(view, engine, name):
    columns = "INTERVAL '1 02:03:04' DAY TO SECOND AS took, CAST(NULL AS VOID) AS nothing"
    rows = f"SELECT 1L AS id, timestamp'2024-03-01 14:00:00' AS dep, 'JFK' AS origin, {columns}"
    spine = engine["spark"].sql(rows)
    made = view.create_training_dataset(spine=spine, engine=name)
    (row,) = made.read().to_arrow().select(["took", "nothing"]).to_pylist()
    assert row == {"took": dt.timedelta(days=1, hours=2, minutes=3, seconds=4), "nothing": None}
    assert made.recompute().to_arrow().equals(made.read().to_arrow())


@pytest.mark.parametrize("name", ["duckdb", "spark"])
@pytest.mark.parametrize(
    ("value", "told"), [("INTERVAL '1-2' YEAR TO MONTH", "column 'took'"), ("make_interval(1)", "interval")]
)
def test_months_as_an_interval_are_refused(view, engine, name, value, told):
    spine = engine["spark"].sql(f"SELECT 1L AS id, timestamp'2024-03-01' AS dep, {value} AS took")
    for act in (view.create_training_dataset, view.batch_data):
        with pytest.raises(hr.SchemaMismatch, match=told) as caught:
            act(spine=spine, engine=name)
        assert "leave it out" in (caught.value.hint or "")


def test_it_is_recomputed_without_spark(lake, view):
    made = view.create_training_dataset(engine="spark")
    with hr.connect(lake._target, project="shared") as store:
        again = store.get_feature_view("delays").get_training_dataset(made.version)
        assert again.recompute().to_arrow().equals(again.read().to_arrow())


def test_a_split_without_rows_has_a_file(view):
    made = view.create_training_dataset(
        splits={"before": (None, "2024-01-01"), "after": ("2024-01-01", None)}, engine="spark"
    )
    assert made.rows["before"] == 0
    assert made.read("before").to_arrow().schema == made.schema


def test_nothing_is_left_of_what_failed(lake, view):
    before = set(pathlib.Path(lake._target).rglob("*"))
    with pytest.raises(hr.Unsupported, match="a csv file"):
        view.create_training_dataset(spine=SPINE, engine="spark", format="csv")
    assert {path for path in set(pathlib.Path(lake._target).rglob("*")) - before if path.is_file()} == set()
