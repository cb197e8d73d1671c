"""Settings of the user's session, of which none changes a row: those that change what SQL, types or files mean."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr
from conftest import fresh
from on_spark.conftest import times
from on_spark.test_reads import same

# What Spark 3.5 or 4.1 knows of it; the other leaves what it does not know.
COMMON = {
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.caseSensitive": "true",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.parser.quotedRegexColumnNames": "true",
    "spark.sql.parquet.binaryAsString": "true",
    "spark.sql.parquet.int96AsTimestamp": "false",
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
    "spark.sql.legacy.consecutiveStringLiterals.enabled": "true",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "true",
    "spark.sql.legacy.literal.pickMinimumPrecision": "false",
    "spark.sql.legacy.setopsPrecedence.enabled": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.orderByOrdinal": "false",
}
SETTINGS = {
    # Alone, for others may hide what it does.
    "zone": {"spark.sql.session.timeZone": "America/New_York"},
    "west": COMMON
    | {
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.parquet.inferTimestampNTZ.enabled": "false",
    },
    "east": COMMON
    | {
        "spark.sql.session.timeZone": "Pacific/Kiritimati",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.ansi.enforceReservedKeywords": "true",
        "spark.sql.ansi.doubleQuotedIdentifiers": "true",
        "spark.sql.variable.substitute": "false",
    },
}


@contextlib.contextmanager
def having(spark: Any, settings: dict[str, str]) -> Iterator[None]:
    before = {name: spark.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


@pytest.fixture(params=SETTINGS)
def odd(request: pytest.FixtureRequest, engine: dict[str, Any]) -> Iterator[Any]:
    with having(engine["spark"], SETTINGS[request.param]):
        yield engine["spark"]


def test_a_view_with_formulas_and_splits(view, odd):
    same(view.training_data(engine="spark"), view.training_data(engine="duckdb"))
    options = {"test_size": 0.25, "seed": 7, "stratify": "dep"}
    for one, other in zip(
        view.train_test_split(**options, engine="spark"),
        view.train_test_split(**options, engine="duckdb"),
        strict=True,
    ):
        same(one, other)


ODD = [
    "${env:HOME}",
    "${system:user.home}",
    "${spark.master}",
    "$1",
    "a\\nb",
    "\\u0041",
    "it's",
    'say "x"',
    "",
    " x ",
]


def test_texts_and_names_arrive_as_they_are(lake, odd):
    """In values, filters, formulas, names and rows of a spine."""
    name = "${env:HOME} .`a`\\n"
    columns = {"id": range(len(ODD)), "dep": times(range(len(ODD))), "Id.x": ODD, name.replace("`", "'"): ODD}
    group = lake.create_feature_group(fresh("odd"), primary_key=["Id.x"], event_time="dep")
    group.insert(pa.table({**columns, "s": pa.array([{"${env:HOME}": text, "B": text} for text in ODD])}))
    root = lake.create_feature_group(fresh("rows"), primary_key=["id"], event_time="dep")
    root.insert(pa.table({"id": range(len(ODD)), "dep": times([60] * len(ODD)), "k": ODD}))
    joined = root.select("id", "k").join(
        group.select(*list(columns)[2:], "s"), on={"k": "Id.x"}, prefix="${x} "
    )
    for text in ODD:
        quoted = text.replace("'", "''")
        query = joined.filter(joined["${x} Id.x"] == text).with_columns(
            same=f"k = '{quoted}'", made=f"concat(k, '{quoted}')", like=f"k like '%{quoted}'"
        )
        same(query.read(engine="spark"), query.read(engine="duckdb"))
    many = joined.filter(joined["k"].isin([*ODD, *map(str, range(2000))]))
    assert many.read(engine="spark").to_arrow().num_rows == len(ODD)
    view = lake.create_feature_view(fresh("view"), joined)
    spine = pa.table({"id": [0, 1], "dep": times([70, 70]), "k": ODD[:2], "${env:HOME}": ODD[:2]})
    ours = view.training_data(spine=spine, engine="spark")
    assert ours.to_arrow().equals(view.training_data(spine=spine, engine="duckdb").to_arrow())
    assert ours.to_spark().columns == ours.schema.names
    assert sorted(row["${env:HOME}"] for row in ours.to_spark().collect()) == sorted(ODD[:2])


LATE = dt.datetime(2024, 3, 1, 18)
NESTED = pa.schema(
    {
        "origin": pa.string(),
        "seen": pa.timestamp("us"),
        "list": pa.list_(pa.timestamp("us")),
        "Struct": pa.struct({"At": pa.timestamp("us"), "n": pa.struct({"at": pa.timestamp("us")})}),
        "map": pa.map_(pa.string(), pa.timestamp("us")),
        "raw": pa.binary(),
        "raws": pa.list_(pa.binary()),
        "day": pa.date32(),
    }
)


def nested(minute: int) -> pa.Table:
    late = LATE.replace(minute=minute)
    one = {"At": late, "n": {"at": late}}
    day = late.date()
    return pa.Table.from_pylist(
        [
            {
                "origin": "JFK", "seen": late, "list": [late, None], "Struct": one, "map": [("a", late)],
                "raw": b"\xff", "raws": [b"\xfe"], "day": day,
            },
            {"origin": "LGA", "seen": late, "list": None, "Struct": None, "map": None},
            {"origin": "EWR", "seen": late, "list": [], "Struct": {"At": None, "n": None}, "map": []},
        ],
        NESTED,
    )  # fmt: skip


def test_times_in_folders_are_in_utc(lake, odd, tmp_path):
    """Those in files, in lists, structs and maps, and those in the names of partitions."""
    for i, hour in enumerate(
        ["2024-03-01 18%3A00%3A00", "2024-03-01 23%3A59%3A59.5", "__HIVE_DEFAULT_PARTITION__"]
    ):
        (tmp_path / f"At={hour}").mkdir()
        pq.write_table(
            nested(i), tmp_path / f"At={hour}" / "a.parquet", use_deprecated_int96_timestamps=i == 1
        )
    group = lake.register_feature_group(
        fresh("raw"), str(tmp_path), format="parquet", primary_key=["origin"], event_time="At",
        schema=pa.schema({"At": pa.timestamp("us")}),
    )  # fmt: skip
    rows = lake.create_feature_group(fresh("rows"), primary_key=["id"], event_time="dep")
    deps = [LATE + dt.timedelta(minutes=i * 30 - 60) for i in range(20)]
    rows.insert(pa.table({"id": range(20), "dep": pa.array(deps), "origin": ["JFK", "LGA"] * 10}))
    query = rows.select("id", "dep").join(group, on="origin", prefix="x_")
    same(query.read(engine="spark"), query.read(engine="duckdb"))
    assert query.read(engine="spark").to_arrow()["x_seen"].null_count not in (0, 20)
    late = query.filter(query["x_seen"] >= LATE)
    same(late.read(engine="spark"), late.read(engine="duckdb"))
    for end, count in ((LATE, 6), (LATE + dt.timedelta(microseconds=1), 3)):
        assert group.select().filter(group["At"] >= end).read(engine="spark").to_arrow().num_rows == count
    view = lake.create_feature_view(fresh("view"), query)
    made = view.create_training_dataset(engine="spark")
    assert made.read().to_arrow().equals(made.recompute().to_arrow())
    assert made.read().to_arrow().equals(view.create_training_dataset(engine="duckdb").read().to_arrow())


def test_times_of_no_zone_in_delta(lake, odd, tmp_path):
    """Which Spark itself has written, and would read in the zone of the session."""
    odd.createDataFrame([(1,)], "id int").selectExpr(
        "id", "TIMESTAMP_NTZ '2024-03-01 18:00:00' AS at", "array(TIMESTAMP_NTZ '2024-03-01 18:00:00.5') AS list",
        "map('a', TIMESTAMP_NTZ '1969-12-31 23:59:59.999999') AS map",
        "named_struct('At', TIMESTAMP_NTZ '2024-03-01 18:00:00', 'n', 1) AS s",
    ).write.format("delta").save(str(tmp_path / "table"))  # fmt: skip
    group = lake.register_feature_group(
        fresh("theirs"), str(tmp_path / "table"), format="delta", primary_key=["id"], event_time="at"
    )
    query = group.select(*group.schema.names)
    same(query.read(engine="spark"), query.read(engine="duckdb"))


def test_a_frame_means_what_it_meant_when_it_was_made(view, engine):
    spark = engine["spark"]
    frame = view.training_data(engine="duckdb").to_spark()
    expected = [tuple(row) for row in frame.orderBy("id").collect()]
    for settings in SETTINGS.values():
        with having(spark, settings):
            assert [tuple(row) for row in frame.orderBy("id").collect()] == expected
            theirs = view.training_data(engine="duckdb").to_arrow().sort_by("id")
            assert [
                row["hour"]
                for row in frame.selectExpr("id", "unix_micros(dep) AS hour").orderBy("id").collect()
            ] == [value.value for value in theirs["dep"]]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("spark.sql.files.ignoreCorruptFiles", "true"),
        ("spark.sql.files.ignoreMissingFiles", "true"),
        ("spark.sql.parquet.int96TimestampConversion", "true"),
        ("spark.sql.parquet.datetimeRebaseModeInRead", "legacy"),
        ("spark.sql.parquet.int96RebaseModeInRead", "LEGACY"),
    ],
)
def test_settings_by_which_rows_would_be_others_are_refused(view, engine, setting, value):
    result = view.training_data(engine="spark")
    with having(engine["spark"], {setting: value}):
        with pytest.raises(hr.Unsupported, match=f"{setting} is {value}"):
            result.to_arrow()
        with pytest.raises(hr.Unsupported, match=f"set {setting} to"):
            result.to_spark()
        with pytest.raises(hr.Unsupported, match=setting):
            view.create_training_dataset(engine="spark")
