"""Reads of feature views on Spark: the rows that DuckDB gives, wherever they come out."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import pathlib
import threading

import pyarrow as pa
import pytest

import headrace as hr
from conftest import fresh
from contract.test_computed_columns import TABLE, VALUES
from on_spark.conftest import ROWS, TIME, at, times


def same(one: hr.Result, other: hr.Result) -> None:
    """Of rows in no order, the same, in the same columns and types."""
    ours, theirs = one.to_arrow(), other.to_arrow()
    assert ours.schema == theirs.schema
    assert ours.sort_by("id").equals(theirs.sort_by("id"))


def test_a_view_is_the_same_on_both(view):
    result = view.training_data(engine="spark")
    same(result, view.training_data(engine="duckdb"))
    told = result.explain()
    assert "on Spark: " in told
    assert "in 1 sort by key and time, 3 lookups" in told
    assert "on DuckDB: engine='duckdb'" in view.explain(engine="duckdb")


def test_a_frame_is_lazy_and_has_the_columns_of_the_result(view, engine):
    result = view.training_data(end=at(200), engine="duckdb")
    frame = result.to_spark()
    assert frame.sparkSession is engine["spark"]
    assert frame.columns == result.schema.names
    assert not engine["spark"].catalog.listTables()
    expected = result.to_arrow()
    counted = frame.selectExpr(
        "count(*)", "count(w_temp)", "count(country)", "sum(CAST(warm AS INT))"
    ).collect()[0]
    assert tuple(counted) == (
        expected.num_rows,
        expected.num_rows - expected["w_temp"].null_count,
        expected.num_rows - expected["country"].null_count,
        sum(filter(None, expected["warm"].to_pylist())),
    )


def test_batches_are_bounded(view):
    batches = list(view.batch_data(engine="spark").to_reader(batch_size=50))
    assert sum(batch.num_rows for batch in batches) == ROWS
    assert max(batch.num_rows for batch in batches) <= 50
    assert "delay" not in batches[0].schema.names


SPINE = pa.table(
    {
        "extra": pa.array(["x", "y", "y", None]).dictionary_encode(),
        "id": pa.array([7, 7, None, 3], pa.uint32()),
        "dep": pa.array([at(100), at(100), at(50), None], pa.timestamp("ns", "America/New_York")),
        "origin": pa.array(["JFK", "JFK", "LGA", "EWR"], pa.large_string()),
        "list": [[1], [], None, [2, None]],
    }
)


def test_a_spine_keeps_its_order_and_its_types(view):
    result, other = (view.training_data(spine=SPINE, engine=name) for name in ("spark", "duckdb"))
    assert result.to_arrow().equals(other.to_arrow())
    assert result.to_arrow().schema.field("extra").type == SPINE.schema.field("extra").type
    shown = result.to_spark().orderBy("id", "extra").collect()
    assert [row["extra"] for row in shown] == ["y", None, "x", "y"]
    assert [row["list"] for row in shown] == [None, [2, None], [1], []]


def test_a_frame_of_spark_as_spine_stays_there(lake, view, engine):
    spine = engine["spark"].range(0, 300, 1, 3).selectExpr(
        "id", f"timestamp_micros({int(at(0).timestamp())} * 1000000L + id * 60000000L) AS dep",
        "element_at(array('JFK', 'LGA', NULL), CAST(id % 3 AS INT) + 1) AS origin", "id * 2 AS twice",
    )  # fmt: skip
    found = view.training_data(spine=spine, engine="spark")
    same(found, view.training_data(spine=spine, engine="duckdb"))
    assert found.to_spark().where("twice = 598").count() == 1
    query = (
        lake.get_feature_group("flights").select("delay").join(lake.get_feature_group("weather"), on="origin")
    )
    without = lake.create_feature_view("without", query, labels=["delay"])
    rows = spine.selectExpr("dep", "origin", "rand() AS delay")
    with pytest.raises(hr.Unsupported, match="no numbers to draw them by"):
        without.train_test_split(spine=rows, test_size=0.2, engine="spark")[0].to_arrow()


def test_historical_features(lake):
    asked = {"entity_df": SPINE.select(["origin", "dep"]), "features": ["weather:temp"]}
    one, other = (
        lake.get_historical_features(**asked, engine=name).to_arrow() for name in ("spark", "duckdb")
    )
    assert one.equals(other)


@pytest.mark.parametrize("stratify", [None, "origin", "price", "carrier", "dep", "warm"])
def test_the_same_seed_draws_the_same_rows(view, stratify):
    options = {"validation_size": 0.1, "test_size": 0.25, "seed": 7, "stratify": stratify}
    ours = view.train_validation_test_split(**options, engine="spark")
    theirs = view.train_validation_test_split(**options, engine="duckdb")
    for one, other in zip(ours, theirs, strict=True):
        same(one, other)


D = decimal.Decimal
STRATA = {
    "double": pa.array([1e10, 1e-7, 0.1, -0.0, 0.0, math.nan, math.inf, 2e-3, 5e-324, 1e22, None]),
    "single": pa.array([0.1, 16777216.0, 1e-45, -0.5, 1e10, math.nan], pa.float32()),
    "share": pa.array([D("0.001"), D("-0.5"), D("0"), None], pa.decimal128(3, 3)),
    "small": pa.array([D("0E-10"), D("0.0000000001"), D("-12345678901234567890.5")], pa.decimal128(38, 10)),
    "bytes": pa.array([b"", b"\0", b"\xff", b"a\\", b"\x80a"]),
    "moment": pa.array([at(0), at(1.25), at(1e-6), None], TIME),
    "day": pa.array([dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(9999, 12, 31)]),
}
"""Of values that engines write as different texts; each is a stratum, and what is a key draws."""


@pytest.mark.parametrize("ansi", ["false", "true"])
def test_values_of_all_types_draw_the_same_rows(lake, engine, ansi):
    rows = 53
    taken = {name: column.take([i % len(column) for i in range(rows)]) for name, column in STRATA.items()}
    group = lake.create_feature_group(fresh("strata"), primary_key=["id", "key", "name"], event_time="t")
    keys = {
        "id": range(rows),
        "key": pa.array([D(i - 9) / 1000 for i in range(rows)], pa.decimal128(7, 7)),
        "name": pa.array([bytes([i]) for i in range(rows)]),
    }
    group.insert(pa.table({**keys, "t": times([0] * rows), **taken}))
    view = lake.create_feature_view(fresh("strata"), group.select("id", *STRATA))
    engine["spark"].conf.set("spark.sql.ansi.enabled", ansi)
    try:
        for stratify in [None, *STRATA]:
            one, other = (
                view.train_test_split(test_size=0.25, seed=9, stratify=stratify, engine=name)[1]
                .to_arrow()["id"]
                .to_pylist()
                for name in ("spark", "duckdb")
            )
            assert sorted(one) == sorted(other), stratify
    finally:
        engine["spark"].conf.unset("spark.sql.ansi.enabled")


def test_parts_by_time(view):
    for one, other in zip(
        view.train_test_split(test_start=at(200), engine="spark"),
        view.train_test_split(test_start=at(200), engine="duckdb"),
        strict=True,
    ):
        same(one, other)


def test_formulas_have_one_meaning(lake):
    """Every formula of the contract in one read, and what differs most between engines."""
    group = lake.create_feature_group("formulas", primary_key=["id"], event_time="dep")
    group.insert(TABLE)
    more = [
        "round(2.675, 2)", "round(-1234.5, -2)", "floor(1e300)", "cast(2.5 as bigint) + cast(-1.5 as bigint)",
        "cast('2.5' as bigint)", "try_cast('1e3' as bigint)", "try_cast('2026-01' as date)", "try_cast('1d' as double)",
        "try_cast('2026-1-2 10:00:00+01' as timestamp)", "cast(dep as varchar)", "cast(day as timestamp)",
        "trim('\u00a0 x\t ')", "'a\\b%' like 'a\\b\\%'", "'a\\b' like 'a\\_'", "date_trunc('week', dep)",
        "date_trunc('quarter', day)", "try_cast(carrier as boolean)", "length('\U0001f6e9e\u0301')",
        "substr('h\u00e9llo', 2, 3)", "concat(carrier, 'x')",
        "round(-0.0, 2)", "floor(-0.0)", "ceil(-0.5)", "round(delay * 1e308 * 1e308, -2)", "'\uffff%' like '\uffff\\%'",
        "9007199254740993 = 9007199254740992.0", "-7 % 3", "-7.5 % 2", "power(-8, 1.0 / 3)", "sign(delay)",
    ]  # fmt: skip
    query = group.select("id").with_columns(**{f"f{i}": sql for i, sql in enumerate([*VALUES, *more])})
    ours, theirs = (query.read(engine=name).to_arrow().sort_by("id") for name in ("spark", "duckdb"))
    assert ours.schema == theirs.schema
    differ = {
        ([*VALUES, *more])[i]: (ours[f"f{i}"].to_pylist(), theirs[f"f{i}"].to_pylist())
        for i in range(len([*VALUES, *more]))
        if not _alike(ours[f"f{i}"], theirs[f"f{i}"])
    }
    assert not differ


TEXTS = [
    "1_000", "0x1f", "0b11", "\t12", "12\n", "\u00a012", " 1 ", "1e3", "1.5", "1.", ".5", "1E400", "+-1", "1,000", "inf",
    "NaN", "true ", "TRUE", "Yes", "on", "0", "epoch", "infinity", "2024/02/29", "20240229", "2024-2-9", " 2024-02-29 ",
    "2024-02-29 junk", "2024-02-29 (BC)", "2024-02-30", "2024-02-29 10", "2024-02-29 1:2:3", "2024-02-29T10:00",
    "2024-02-29 10:00:00.1234567", "2024-02-29 24:00:00", "2024-02-29 23:60:00", "2024-02-29 10:00:00Z",
    "2024-02-29 10:00:00+05:30", "2024-02-29 10:00:00+5", "2024-02-29 10:00:00 UTC", "2024-02-29\n", "9999-12-31",
]  # fmt: skip


def test_texts_become_the_same_values(lake):
    group = lake.create_feature_group("texts", primary_key=["s"])
    group.insert([{"s": text} for text in TEXTS])
    targets = ["bigint", "double", "boolean", "date", "timestamp"]
    query = group.select().with_columns(**{f"as_{t}": f"try_cast(s as {t})" for t in targets})
    ours, theirs = (query.read(engine=name).to_arrow().sort_by("s") for name in ("spark", "duckdb"))
    for row, other in zip(ours.to_pylist(), theirs.to_pylist(), strict=True):
        assert row == other
    taken = {t: [row["s"] for row in theirs.to_pylist() if row[f"as_{t}"] is not None] for t in targets}
    assert "1e3" in taken["bigint"]
    assert {"TRUE", "Yes", "0"} == set(taken["boolean"])
    assert {"2024-2-9", " 2024-02-29 ", "9999-12-31"} == set(taken["date"])
    assert "2024-02-29 10:00:00+05:30" in taken["timestamp"]
    assert not {"epoch", "2024/02/29", "1_000", "0x1f"} & {text for found in taken.values() for text in found}
    for target in targets:
        with pytest.raises(hr.InvalidArgument):
            group.select().with_columns(x=f"cast(s as {target})").read(engine="duckdb").to_arrow()


def test_patterns_with_any_letter(lake):
    group = lake.create_feature_group("letters", primary_key=["id"])
    texts = ["a\uffffb", "\uffff", "%", "a\\b", "a_b", "$", "\\"]
    group.insert(pa.table({"id": range(len(texts)), "s": texts}))
    for pattern in ["%\uffff%", "a\uffff_", "a\\_", "\\", "%\\%", "$%"]:
        query = group.select("id", "s").filter(group["s"].like(pattern)).with_columns(x="s like s")
        same(query.read(engine="spark"), query.read(engine="duckdb"))
        assert query.read(engine="spark").to_arrow().num_rows


@pytest.mark.parametrize("name", ["spark", "duckdb"])
def test_numbers_without_a_common_type_are_not_compared(lake, name):
    group = lake.create_feature_group(fresh("digits"), primary_key=["id"])
    fine = pa.array([D("1.5")], pa.decimal128(38, 30))
    group.insert(
        pa.table({"id": [1], "n": [10**12], "fine": fine, "short": fine.cast(pa.decimal128(38, 18))})
    )
    with pytest.raises(hr.InvalidArgument, match=r"'n' .* cannot be compared with 'fine' .* has 50 digits"):
        group.select("id").filter(group["n"] > group["fine"]).read(engine=name)
    assert group.select("id").filter(group["n"] > group["short"]).read(engine=name).to_arrow().num_rows == 1


def _alike(one: pa.ChunkedArray, other: pa.ChunkedArray) -> bool:
    """Doubles of functions such as exp may differ in their last digit."""
    if not pa.types.is_floating(one.type):
        return one.equals(other)
    pairs = zip(one.to_pylist(), other.to_pylist(), strict=True)
    return all(a == b if None in (a, b) else math.isclose(a, b, rel_tol=4e-16) for a, b in pairs)


def test_a_value_out_of_range_is_said(lake):
    flights = lake.get_feature_group("flights")
    query = flights.select("id").with_columns(large="id * 9223372036854775807")
    with pytest.raises(hr.InvalidArgument, match="out of range"):
        query.read(engine="spark").to_arrow()


def test_settings_of_the_session_change_nothing_and_stay(view, engine):
    spark = engine["spark"]
    expected = view.training_data(engine="duckdb")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    seen, done = set(), threading.Event()

    def watch() -> None:
        while not done.is_set():
            seen.add((spark.conf.get("spark.sql.session.timeZone"), spark.conf.get("spark.sql.ansi.enabled")))

    other = threading.Thread(target=watch)
    other.start()
    try:
        same(view.training_data(engine="spark"), expected)
    finally:
        done.set()
        other.join()
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        spark.conf.unset("spark.sql.ansi.enabled")
    assert seen == {("America/New_York", "false")}, "other threads saw other settings"
    assert not spark.catalog.listTables("global_temp")


def test_auto_goes_to_spark_above_the_size_that_is_set(lake, view, engine):
    target = lake._target
    with hr.connect(target, project="shared", spark=engine["spark"], spark_above="1MB") as store:
        assert "on DuckDB: " in store.get_feature_view("delays").training_data().explain()
        assert "spark_above is 1,000,000" in store.get_feature_view("delays").explain()
    with hr.connect(target, project="shared", spark=engine["spark"], spark_above=100) as store:
        small = store.get_feature_view("delays").training_data()
        assert "bytes of files, and spark_above is 100" in small.explain()
        assert "on Spark" in small.explain()
        assert "on DuckDB: it joins nothing" in store.get_feature_group("flights").select().explain()
    with hr.connect(target, project="shared", spark=engine["spark"]) as store:
        assert "on DuckDB: no spark_above is set" in store.get_feature_view("delays").explain()


def test_what_has_no_session_says_so(lake, view, serve, tmp_path):
    with hr.connect(lake._target, project="shared") as store:
        plain = store.get_feature_view("delays")
        with pytest.raises(hr.Unsupported, match="without a session of Spark"):
            plain.training_data(engine="spark")
        with pytest.raises(hr.Unsupported, match="without a session of Spark"):
            plain.training_data().to_spark()
    with pytest.raises(hr.InvalidArgument, match="is no session"):
        hr.connect(tmp_path / "x", spark="yes")
    with pytest.raises(hr.InvalidArgument, match="spark_above"):
        hr.connect(tmp_path / "x", spark_above="1GB")
    with pytest.raises(hr.Unsupported, match="past the rights"):
        hr.connect("grpc://127.0.0.1:1", spark=view)


def test_several_rows_at_once_are_refused(lake):
    group = lake.create_feature_group("twice", primary_key=["origin"], event_time="seen")
    group.insert(pa.table({"origin": ["JFK"] * 2, "seen": times([1, 1]), "temp": [1.0, 2.0]}), mode="append")
    flights = lake.get_feature_group("flights")
    view = lake.create_feature_view(
        "ambiguous", flights.select("id", "delay").join(group, on="origin"), labels=["delay"]
    )
    with pytest.raises(hr.AmbiguousRows, match="such as origin='JFK'"):
        view.training_data(engine="spark").to_arrow()
    with pytest.raises(hr.AmbiguousRows, match="such as origin='JFK'"):
        view.create_training_dataset(engine="spark")
    assert view.list_training_datasets() == []
    with pytest.raises(Exception, match="AMBIGUOUS_ROWS: twice@v1"):
        view.training_data(engine="spark").to_spark().count()
    fine = view.training_data(end=at(1), engine="spark").to_spark()
    assert fine.count() == view.training_data(end=at(1), engine="duckdb").to_arrow().num_rows


def test_a_file_that_is_lost_is_told(lake):
    group = lake.create_feature_group("lost", primary_key=["origin"], event_time="seen")
    group.insert(pa.table({"origin": ["JFK"], "seen": times([1]), "temp": [1.0]}))
    result = lake.get_feature_group("flights").select("id").join(group, on="origin").read(engine="spark")
    for path in pathlib.Path(lake._target, group.location).glob("*.parquet"):
        path.unlink()
    with pytest.raises(hr.CorruptTable, match="cannot be read"):
        result.to_arrow()


def test_maps_are_found_and_compared(lake):
    kind = pa.map_(pa.string(), pa.int64())
    schema = pa.schema({"origin": pa.string(), "seen": TIME, "tags": kind})
    rows = [("JFK", at(1), [("a", 1)]), ("JFK", at(1), [("a", 1)]), ("LGA", at(2), None)]
    group = lake.create_feature_group("tagged", primary_key=["origin"], event_time="seen", schema=schema)
    group.insert(
        pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema),
        mode="append",
    )
    query = lake.get_feature_group("flights").select("id").join(group, on="origin")
    same(query.read(engine="spark"), query.read(engine="duckdb"))


def test_a_negative_zero_stays_one(lake):
    """Where rows may be there twice, and are compared."""
    columns = {
        "k": ["a", "b", "c"],
        "x": [-0.0, 0.0, math.nan],
        "small": pa.array([0.0, -0.0, None], pa.float32()),
        "deep": [[{"y": -0.0}], None, [{"y": 0.0}, None]],
    }
    found = lake.create_feature_group("zeros", primary_key=["k"])
    found.insert(pa.table(columns), mode="append")
    found.insert(pa.table(columns), mode="append")
    rows = lake.create_feature_group("looking", primary_key=["id"])
    rows.insert([{"id": i, "k": k} for i, k in enumerate("abcd")])
    query = rows.select("id").join(found, on="k")
    ours, theirs = (
        query.read(engine=engine).to_arrow().sort_by("id").to_pylist() for engine in ("spark", "duckdb")
    )
    assert repr(ours) == repr(theirs)
    assert repr(ours[0]["x"]) == repr(ours[1]["small"]) == repr(ours[0]["deep"][0]["y"]) == "-0.0"


def test_names_that_mean_something_in_sql(lake):
    names = [
        "order",
        "it's",
        "back\\slash",
        "a.b",
        "{brace}",
        "100%",
        "名前",
        "x; drop table y",
        "$1",
        'say "hi"',
    ]
    group = lake.create_feature_group("odd", primary_key=["a.b"], event_time="the time", version=1)
    columns = {name: [f"{name}1", f"{name}2"] for name in names}
    group.insert(pa.table({**columns, "the time": times([1, 2])}))
    root = lake.create_feature_group(fresh("root"), primary_key=["id"], event_time="t")
    root.insert(pa.table({"id": [1, 2], "t": times([5, 5]), "key it's": ["a.b1", "a.b2"]}))
    query = root.select("id").join(group.select(*names), on={"key it's": "a.b"}, prefix="p ")
    query = query.filter(query["p back\\slash"] == "back\\slash1")
    same(query.read(engine="spark"), query.read(engine="duckdb"))
    assert query.read(engine="spark").to_spark().count() == 1
