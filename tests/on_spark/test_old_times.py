"""Days before the calendar of today, and times before the zones of today: the same from tables of every format."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr
from conftest import fresh
from on_spark.conftest import TIME
from on_spark.test_reads import same
from on_spark.test_settings import having

CORRECTED = {
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
}
DAYS = [
    dt.date(1, 1, 1),
    dt.date(1500, 2, 28),
    dt.date(1582, 10, 14),
    dt.date(1899, 12, 31),
    dt.date(9999, 12, 31),
]
OLD = pa.table(
    {
        "id": range(5),
        "at": pa.array([dt.datetime(d.year, d.month, d.day, 3, tzinfo=dt.UTC) for d in DAYS], TIME),
        "day": pa.array(DAYS),
        "days": pa.array([[d] for d in DAYS]),
        "day2": pa.array([{"d": d} for d in DAYS]),
    }
)


@pytest.fixture(scope="module")
def rows(lake):
    made = lake.create_feature_group(fresh("rows"), primary_key=["id"])
    made.insert(pa.table({"id": range(5)}))
    return made


@pytest.mark.parametrize("int96", [False, True])
def test_in_folders(lake, rows, tmp_path, int96):
    pq.write_table(OLD, tmp_path / "a.parquet", use_deprecated_int96_timestamps=int96)
    group = lake.register_feature_group(fresh("raw"), str(tmp_path), format="parquet", primary_key=["id"])
    query = rows.select().join(group, on="id")
    same(query.read(engine="spark"), query.read(engine="duckdb"))


def test_in_delta(lake, rows, engine):
    """Delta's reader takes no options: what it does not read is told."""
    group = lake.create_feature_group(fresh("old"), primary_key=["id"], event_time="at")
    group.insert(OLD)
    query = rows.select().join(group, on="id")
    view = lake.create_feature_view(fresh("view"), group.select())
    with having(engine["spark"], CORRECTED):
        same(query.read(engine="spark"), query.read(engine="duckdb"))
        made = view.create_training_dataset(engine="spark")
        ours, theirs = made.read().to_arrow(), view.create_training_dataset(engine="duckdb").read().to_arrow()
        assert ours.equals(theirs)
        assert ours["day"].to_pylist() == DAYS
        early = view.training_data(end=dt.datetime(1600, 1, 1), engine="spark")
        same(early, view.training_data(end=dt.datetime(1600, 1, 1), engine="duckdb"))
        for name, end in (("day", dt.date(1582, 10, 14)), ("at", dt.datetime(1500, 3, 1))):
            old = group.select().filter(group[name] < end)
            same(old.read(engine="spark"), old.read(engine="duckdb"))
            assert old.read(engine="spark").to_spark().count() == 2
    with (
        having(engine["spark"], dict.fromkeys(CORRECTED, "EXCEPTION")),
        pytest.raises(hr.Unsupported, match="datetimeRebaseModeInRead"),
    ):
        query.read(engine="spark").to_arrow()


def test_of_a_spine(lake, rows):
    """In the spine and in what filters and formulas say of it."""
    query = rows.select().with_columns(
        old="cast('0001-01-01' as date)", then="cast('1500-02-28 03:00:00' as timestamp)"
    )
    view = lake.create_feature_view(fresh("view"), query)
    spine = OLD.rename_columns(["id", "event_timestamp", *OLD.column_names[2:]])
    for asked in (view.batch_data, view.training_data):
        ours, theirs = (asked(spine=spine, engine=engine).to_arrow() for engine in ("spark", "duckdb"))
        assert ours.equals(theirs)
    shown = view.training_data(spine=spine, engine="spark").to_spark().selectExpr("id", "unix_date(day) AS d")
    assert [row.d for row in shown.orderBy("id").collect()] == [(d - dt.date(1970, 1, 1)).days for d in DAYS]
