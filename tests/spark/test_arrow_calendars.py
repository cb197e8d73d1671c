"""`format("arrow")` over days and times of old, as Spark's own reader has them: it counted them by two calendars."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark.helpers import rows
from spark.spark import Spark, SparkError, files

pytestmark = [pytest.mark.slow, pytest.mark.newest_line]

READ = "spark.sql.parquet.datetimeRebaseModeInRead"
VERSION, LEGACY, LEGACY_INT96, ZONE = (
    f"org.apache.spark.{key}" for key in ("version", "legacyDateTime", "legacyINT96", "timeZone")
)

# From before Caesar's calendar to ours, every 77 days and some hours.
ROWS = """SELECT id, date_add(DATE'0001-02-27', CAST(id * 77 AS INT)) AS day,
  timestamp_micros(-62130000000000000 + id * 7000000123457) AS at,
  array(named_struct('Day', date_add(DATE'1582-10-01', CAST(id % 40 AS INT)), 'n', id)) AS deep,
  map(date_add(DATE'1500-02-20', CAST(id % 30 AS INT)), timestamp_micros(-2208988800000000 + (id - 2000) * 3600000000)) AS pairs
  FROM range(9000)"""


@contextmanager
def session(spark: Spark, **settings: str) -> Iterator[None]:
    names = {name.replace("__", "."): value for name, value in settings.items()}
    spark.run(*(f"SET {name}={value}" for name, value in names.items()))
    try:
        yield
    finally:
        spark.run(*(f"RESET {name}" for name in names))


def same(spark: Spark, path: object, query: str = "SELECT * FROM {}", **options: str) -> pa.Table:
    views = {
        kind: files(path, kind="arrow" if kind == "ours" else "parquet", **options)
        for kind in ("ours", "theirs")
    }
    ours, theirs = (spark.read(query.format(name), views=views) for name in views)
    assert rows(ours) == rows(theirs)
    return ours


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"])
@pytest.mark.parametrize("zone", ["America/Los_Angeles", pytest.param("UTC", marks=pytest.mark.soak)])
def test_files_of_two_calendars(spark: Spark, tmp_path: Path, kind: str, zone: str) -> None:
    folder = tmp_path / "made"
    modes = {f"spark__sql__parquet__{name}RebaseModeInWrite": "LEGACY" for name in ("datetime", "int96")}
    written = {"spark__sql__session__timeZone": zone, "spark__sql__parquet__outputTimestampType": kind}
    with session(spark, **modes, **written):
        spark.run(f"INSERT OVERWRITE DIRECTORY '{folder}' USING parquet {ROWS}")
    assert same(spark, folder).num_rows == 9_000
    assert same(spark, folder, "SELECT count(*) AS n FROM {}").to_pylist() == [{"n": 9_000}]
    # Days of old move; filters must not believe the file's bounds of them.
    for condition in (
        "day = DATE'1500-03-01'",
        "day BETWEEN DATE'1582-09-20' AND DATE'1582-11-01'",
        "at < TIMESTAMP'1850-01-01 00:00:00Z' AND at > TIMESTAMP'1849-12-01 00:00:00Z'",
        "day > DATE'1890-01-01'",
    ):
        same(spark, folder, f"SELECT * FROM {{}} WHERE {condition}")


def old(path: Path, value: int, **told: str) -> Path:
    """A file of one day and one time, that many days after 1970, in which this is told."""
    table = pa.table(
        {
            "day": pa.array([value], pa.int32()).cast(pa.date32()),
            "at": pa.array([value * 86_400_000_000]).cast(pa.timestamp("us", "UTC")),
        }
    )
    path.parent.mkdir(exist_ok=True, parents=True)
    pq.write_table(table.replace_schema_metadata(told), path)
    return path


def test_what_a_file_says_of_who_wrote_it(spark: Spark, tmp_path: Path) -> None:
    day = -300_000
    for number, told in enumerate(
        (
            {VERSION: "2.4.8"},
            {VERSION: "2.4.8", ZONE: "Asia/Kolkata"},
            {VERSION: "3.5.9"},
            {VERSION: "3.5.9", LEGACY: "", ZONE: "Europe/Stockholm"},
            {VERSION: "3.0.1", LEGACY_INT96: ""},
        )
    ):
        same(spark, old(tmp_path / f"{number}.parquet", day, **told))


def test_a_group_is_not_skipped_by_days_that_move(spark: Spark, tmp_path: Path) -> None:
    told = {VERSION: "2.4.8"}
    julian = -170_000  # 24 July 1504 by Caesar's calendar
    path = old(tmp_path / "t.parquet", julian, **told)
    found = same(spark, path).to_pylist()[0]["day"]
    assert found == dt.date(1970, 1, 1) + dt.timedelta(julian - 10)
    condition = f"day = DATE'{found}'"
    assert same(spark, path, f"SELECT day FROM {{}} WHERE {condition}").num_rows == 1
    young = old(tmp_path / "young.parquet", 0, **told)
    view = {"t": files(young)}
    assert spark.scan(f"SELECT * FROM t WHERE {condition}", views=view)["counts"]["rowGroupsSkipped"] == 1


def test_files_that_do_not_say_it(spark: Spark, tmp_path: Path) -> None:
    path = old(tmp_path / "t.parquet", -300_000)
    taken = dt.date(1970, 1, 1) + dt.timedelta(-300_000)
    # Nobody has said otherwise: other writers count by one calendar.
    assert spark.read("SELECT day FROM t", views={"t": files(path)}).to_pylist() == [{"day": taken}]
    moved = same(spark, path, datetimeRebaseMode="LEGACY")
    for mode in ("LEGACY", "EXCEPTION"):
        same(spark, path, "SELECT count(*), max(1) FROM {}", int96RebaseMode=mode)
    assert moved.to_pylist() != same(spark, path, datetimeRebaseMode="CORRECTED").to_pylist()
    told = f"{path} cannot be read: the column 'day': it has days before October 1582"
    with session(spark, **{READ: "LEGACY"}):
        assert same(spark, path) == moved
        with pytest.raises(SparkError, match=told):
            spark.read("SELECT * FROM t", views={"t": files(path, datetimeRebaseMode="exception")})
    with session(spark, **{READ: "EXCEPTION"}):
        with pytest.raises(SparkError, match=told):
            spark.read("SELECT * FROM t", views={"t": files(path)})
        assert same(spark, old(tmp_path / "young.parquet", -20_000)).num_rows == 1
        clocks = "'at': it has times before 1900"
        with pytest.raises(SparkError, match=clocks):
            spark.read("SELECT at FROM t", views={"t": files(old(tmp_path / "1880.parquet", -32_000))})
    with pytest.raises(
        SparkError, match="the option 'int96RebaseMode' is one of CORRECTED, LEGACY, EXCEPTION"
    ):
        spark.read("SELECT * FROM t", views={"t": files(path, int96RebaseMode="gregorian")})
