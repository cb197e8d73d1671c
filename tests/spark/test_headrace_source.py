"""`format("headrace")`: feature groups and views of a service, read into Spark by Arrow Flight."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr
from headrace.config import store_config
from headrace.service import tickets
from headrace.wiring import Service
from service.proxy import between
from spark.helpers import rows
from spark.served import number_of, parts_of, plan, source
from spark.spark import Spark, SparkError, files

pytestmark = pytest.mark.slow

NOON = dt.datetime(2013, 1, 1, 12, tzinfo=dt.UTC)
UTC = pa.timestamp("us", "UTC")


def every_type() -> pa.Table:
    """Each type that a feature group stores, with a null in every column but the key."""
    point = pa.struct([("x", pa.int64()), ("name", pa.string())])
    columns = {
        "id": pa.array([1, 2, 3]),
        "flag": pa.array([True, None, False]),
        "i8": pa.array([-128, None, 127], pa.int8()),
        "i16": pa.array([-32768, None, 32767], pa.int16()),
        "i32": pa.array([-(2**31), None, 2**31 - 1], pa.int32()),
        "i64": pa.array([-(2**63), None, 2**63 - 1], pa.int64()),
        "f32": pa.array([-1.5, None, math.inf], pa.float32()),
        "f64": pa.array([math.nan, None, -0.0]),
        "text": pa.array(["", None, "äöü ∑ 🚢"]),
        "bytes": pa.array([b"", None, b"\x00\xff"]),
        "day": pa.array([dt.date(1969, 12, 31), None, dt.date(2013, 1, 1)]),
        "at": pa.array([dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, dt.UTC), None, NOON], UTC),
        "small": pa.array([decimal.Decimal("-1.25"), None, decimal.Decimal("99999.99")], pa.decimal128(7, 2)),
        "large": pa.array(
            [decimal.Decimal(-1), None, decimal.Decimal("9" * 32 + ".999999")], pa.decimal128(38, 6)
        ),
        "list": pa.array([[1, None], None, []], pa.list_(pa.int32())),
        "lists": pa.array([[["a"], []], None, [[None]]], pa.list_(pa.list_(pa.string()))),
        "point": pa.array([{"x": 1, "name": "a"}, None, {"x": None, "name": None}], point),
        "map": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    }
    return pa.table(columns)


def test_all_types_are_read(spark: Spark, owner: hr.FeatureStore, url: str) -> None:
    group = owner.get_or_create_feature_group("types", primary_key=["id"])
    group.insert(every_type())
    ours = group.read().to_arrow()
    found = spark.read("SELECT * FROM t", views={"t": source(url, group="types@v1")})
    assert found.schema.names == ours.schema.names
    assert rows(found) == rows(ours)
    for name in ("flag", "large", "map"):
        alone = spark.read(f"SELECT {name} FROM t", views={"t": source(url, group="types")})
        assert rows(alone) == rows(ours.select([name]))
    assert number_of(spark, source(url, group="types")) == 3
    assert number_of(spark, source(url, group="types"), "sum(point.x)") == 1


@pytest.fixture(scope="module")
def numbers(owner: hr.FeatureStore) -> pa.Table:
    """A group of several files, `numbers`, and a view of it with another, `joined`."""
    at = [NOON + dt.timedelta(hours=i) for i in range(3_000)]
    table = pa.table(
        {"id": range(3_000), "at": pa.array(at, UTC), "half": [i / 2 for i in range(3_000)]}
        | {"word": [None if i % 11 == 0 else f"w{i % 7}" for i in range(3_000)]}
    )
    group = owner.create_feature_group("numbers", primary_key=["id"], event_time="at")
    for start in range(0, 3_000, 1_000):
        group.insert(table.slice(start, 1_000), mode="append")
    words = owner.create_feature_group("words", primary_key=["word"])
    words.insert(pa.table({"word": [f"w{i}" for i in range(7)], "length": pa.array(range(7), pa.int32())}))
    query = group.select("id", "half").join(words, on="word", prefix="word_")
    owner.create_feature_view("joined", query, labels=["half"])
    limited = group.select("id", "word").limit(5)
    owner.create_feature_view("limited", limited, labels=["word"])
    return table


def test_a_plain_scan_comes_in_several_parts(spark: Spark, numbers: pa.Table, url: str) -> None:
    found = source(url, group="numbers")
    assert parts_of(spark, found) > 1
    assert parts_of(spark, found, "half >= 0") > 1
    assert rows(spark.read("SELECT * FROM t", views={"t": found})) == rows(numbers)


def test_columns_rows_and_limits_are_the_services_work(spark: Spark, numbers: pa.Table, url: str) -> None:
    found = source(url, group="numbers")
    told = plan(spark, "SELECT half FROM t WHERE word LIKE 'w3%' AND id IN (3, 10, 11)", found)
    assert "PushedFilters: [" in told
    assert "word" in told.split("PushedFilters")[-1]
    assert "PushedLimit: 7" in plan(spark, "SELECT half FROM t LIMIT 7", found)
    assert spark.read("SELECT half FROM t LIMIT 7", views={"t": found}).num_rows == 7
    three = spark.read("SELECT half FROM t WHERE word LIKE 'w3%' AND id IN (3, 10, 11)", views={"t": found})
    assert sorted(three["half"].to_pylist()) == [1.5, 5.0]
    assert number_of(spark, found) == 3_000


def test_a_view_is_its_training_data(
    spark: Spark, numbers: pa.Table, owner: hr.FeatureStore, url: str
) -> None:
    ours = owner.get_feature_view("joined").training_data().to_arrow()
    found = source(url, view="joined@v1")
    theirs = spark.read("SELECT * FROM t", views={"t": found})
    assert theirs.schema.names == ours.schema.names
    assert rows(theirs) == rows(ours)
    assert number_of(spark, found, "sum(word_length)", "word_length > 4 AND half < 10") == sum(
        row["word_length"] for row in ours.to_pylist() if (row["word_length"] or 0) > 4 and row["half"] < 10
    )
    # The label alone, and nothing at all.
    assert number_of(spark, found, "sum(half)") == sum(ours["half"].to_pylist())
    assert number_of(spark, source(url, view="joined")) == 3_000


def test_a_view_with_a_limit_is_read_as_it_is(spark: Spark, numbers: pa.Table, url: str) -> None:
    found = source(url, view="limited")
    assert number_of(spark, found) == 5
    assert number_of(spark, found, "count(word)", "id >= 0 AND word IS NOT NULL") <= 5
    assert spark.read("SELECT word FROM t LIMIT 2", views={"t": found}).num_rows == 2


NAMES = {
    "i": "int",
    "f": "double",
    "g": "float",
    "s": "string",
    "d": "date",
    "t": "timestamp",
    "b": "boolean",
}
VALUES = {
    "i": ["-1", "0", "3", "9223372036854775807"],
    "f": ["-0.5D", "0.0D", "double('NaN')", "double('Infinity')", "1e300D"],
    "g": ["float('0.1')", "float('NaN')", "float('-0.0')"],
    "s": ["''", "'a'", "'ab'", "'%'", "'äö'", "'O''Hare'"],
    "d": ["date'1969-12-31'", "date'2013-01-01'"],
    "t": ["timestamp'2013-01-01 12:00:00.000001'", "timestamp'1969-12-31 23:59:59'"],
    "b": ["true", "false"],
}


def any_condition(chance: random.Random, depth: int) -> str:
    """What Spark may be asked of the rows of `odd`."""
    if depth and chance.random() < 0.6:
        one, other = (any_condition(chance, depth - 1) for _ in range(2))
        return chance.choice([f"({one} AND {other})", f"({one} OR {other})", f"(NOT {one})"])
    name = chance.choice(list(VALUES))
    value, other = (chance.choice(VALUES[name]) for _ in range(2))
    op = chance.choice(["=", "<>", "<", "<=", ">", ">=", "<=>"])
    forms = [
        f"({name} {op} {value})",
        f"({value} {op} {name})",
        f"({name} IN ({value}, {other}))",
        f"({name} IS NULL)",
        f"({name} IS NOT NULL)",
    ]
    if name == "s":
        forms += [f"(startswith(s, {value}))", "(s LIKE 'a%')"] * 2
    return chance.choice(forms)


def odd_rows() -> pa.Table:
    """Where the orders of values differ from system to system."""
    floats = [math.nan, None, -0.0, 0.0, -0.5, math.inf, -math.inf, 1e300, 0.1]
    words = [None, "", "a", "ab", "aé", "\ufffd", "%", "äöü", "O'Hare", "a\uffff", "\U0001f6a2"]
    days = [None, dt.date(1969, 12, 31), dt.date(2013, 1, 1), dt.date(2013, 1, 2)]
    times = [
        None,
        NOON,
        NOON + dt.timedelta(microseconds=1),
        dt.datetime(1969, 12, 31, 23, 59, 59, tzinfo=dt.UTC),
    ]
    size = range(99)
    return pa.table(
        {
            "id": size,
            "i": pa.array([[None, -1, 0, 3, 4, 2**63 - 1][n % 6] for n in size], pa.int64()),
            "f": pa.array([floats[n % 9] for n in size], pa.float64()),
            "g": pa.array([floats[n // 9 % 9] for n in size], pa.float32()),
            "s": [words[n % 11] for n in size],
            "d": pa.array([days[n % 4] for n in size], pa.date32()),
            "t": pa.array([times[n // 4 % 4] for n in size], UTC),
            "b": pa.array([[None, True, False][n // 6 % 3] for n in size]),
        }
    )


def test_conditions_choose_the_rows_that_spark_would(
    spark: Spark, owner: hr.FeatureStore, url: str, tmp_path: Path
) -> None:
    table = odd_rows()
    group = owner.get_or_create_feature_group("odd", primary_key=["id"])
    group.insert(table)
    pq.write_table(table, tmp_path / "odd.parquet")
    chance = random.Random(7)
    conditions = [any_condition(chance, 3) for _ in range(40)]
    compared = [f"f {op} 0.1D" for op in ("=", "<>", "<", "<=", ">", ">=", "<=>")]
    # Under a `NOT` whose operand Spark does not turn over, for that it has two of them.
    conditions += [f"NOT ({c} AND i >= 0)" for c in [*compared, "f IN (0.1D, -0.5D)", "g = float('0.1')"]]
    conditions += [
        *compared,
        "f NOT IN (0.1D, -0.5D)",
        "s <> CAST(X'ff' AS STRING)",
        "s < CAST(X'ff' AS STRING)",
    ]
    views = {"t": source(url, group="odd"), "u": files(tmp_path / "odd.parquet", kind="parquet")}

    def chosen(rows: str) -> set[tuple[int, int]]:
        """Which rows fulfil which condition."""
        each = (f"SELECT {n} AS n, id FROM {rows} WHERE {c}" for n, c in enumerate(conditions))
        found = spark.read(" UNION ALL ".join(each), views=views)
        return set(zip(found["n"].to_pylist(), found["id"].to_pylist(), strict=True))

    # Beyond a limit Spark tells its reader of Parquet nothing, which finds no NaN where it is told to look for it.
    ours, theirs = chosen("t"), chosen("(SELECT * FROM u LIMIT 1000)")
    wrong = sorted({n for n, _ in ours ^ theirs})
    assert not wrong, [conditions[n] for n in wrong]
    told = plan(spark, f"SELECT id FROM t WHERE {' AND '.join(conditions[:3])}", views["t"])
    assert "PushedFilters: [" in told


def test_what_is_pushed_says_the_same_of_every_row(spark: Spark, owner: hr.FeatureStore, url: str) -> None:
    """Spark checks all rows again: what the service sends too few of, shows above, and here what it sends too many of."""
    group = owner.get_or_create_feature_group("odd", primary_key=["id"])
    group.insert(odd_rows())
    found = source(url, group="odd")
    for condition in (
        "f > 0.0D",
        "f = double('NaN')",
        "NOT f < 0.0D",
        "s LIKE 'a%'",
        "t <=> null",
        "i IN (0, 3)",
    ):
        told = plan(spark, f"SELECT id FROM t WHERE {condition}", found)
        assert "PushedFilters: []" not in told, told


def test_empty_groups_and_results(spark: Spark, owner: hr.FeatureStore, url: str) -> None:
    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
    owner.get_or_create_feature_group("empty", primary_key=["id"], schema=schema)
    found = source(url, group="empty@v1")
    assert spark.read("SELECT * FROM t", views={"t": found}).schema.names == ["id", "text"]
    assert number_of(spark, found) == 0
    assert number_of(spark, found, where="id > 7") == 0


def test_time_travel(spark: Spark, owner: hr.FeatureStore, url: str) -> None:
    group = owner.get_or_create_feature_group("travelled", primary_key=["id"])
    first = group.insert([{"id": 1}])
    group.insert([{"id": 2}])
    assert number_of(spark, source(url, group="travelled")) == 2
    assert number_of(spark, source(url, group="travelled", snapshot=first.snapshot)) == 1
    with pytest.raises(SparkError, match="SNAPSHOT_NOT_FOUND"):
        number_of(spark, source(url, group="travelled", snapshot=99))
    with pytest.raises(SparkError, match="'snapshot' is one of a group's table"):
        number_of(spark, source(url, view="joined", snapshot=1))


class LateClock:
    """That of the service, a thousand seconds late from the given reading on."""

    def __init__(self, right: int) -> None:
        self.readings = 0
        self._right = right

    def time(self) -> float:
        self.readings += 1
        return time.time() + (1_000 if self.readings > self._right else 0)


def test_expired_tickets_are_renewed(
    spark: Spark, numbers: pa.Table, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read of several parts, and one of a single part, whose tickets are of long ago when they are used."""
    for found in (source(url, group="numbers"), source(url, view="joined")):
        parts = parts_of(spark, found)
        # Tickets are issued as it is loaded and as it is planned, and taken after that.
        clock = LateClock(2 * parts)
        monkeypatch.setattr(tickets, "time", clock)
        assert number_of(spark, found, "sum(half)") == int(sum(numbers["half"].to_pylist()))
        assert clock.readings >= 2 * parts + parts * (2 + parts)
        monkeypatch.undo()


def test_a_killed_task_ends_the_query_at_the_service(spark: Spark, owner: hr.FeatureStore, url: str) -> None:
    group = owner.get_or_create_feature_group("wide", primary_key=["id"])
    group.insert(pa.table({"id": range(200_000), "text": ["x" * 100] * 200_000}), mode="overwrite")
    with between(url) as network, hr.connect(url) as store:
        # From when it reads, the service is silent: it waits where Spark cannot wake it up.
        silent = threading.Event()
        silence = threading.Thread(target=lambda: (until(store.queries.list), network.deaf(), silent.set()))
        silence.start()
        begun = time.monotonic()
        sleep = "reflect('java.lang.Thread', 'sleep', if(id % 8192 = 0, 500L, 0L))"
        slow = f"SELECT max(text), count(slept) FROM (SELECT text, {sleep} AS slept FROM t)"
        with pytest.raises(SparkError, match=r"(?i)cancel"):
            spark.read(slow, views={"t": source(network.url, group="wide")}, cancel_after=8)
        assert time.monotonic() - begun < 30
        silence.join()
        assert silent.is_set()
        until(lambda: not store.queries.list())


def until(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_connection_that_breaks_is_an_error(spark: Spark, owner: hr.FeatureStore, url: str) -> None:
    group = owner.get_or_create_feature_group("wide", primary_key=["id"])
    group.insert(pa.table({"id": range(200_000), "text": ["x" * 100] * 200_000}), mode="overwrite")
    with between(url) as network:
        network.cut_after(mended=False, answered=3_000_000)
        with pytest.raises(SparkError, match=f"UNAVAILABLE: the service at {network.url} does not answer"):
            number_of(spark, source(network.url, group="wide"), "sum(length(text))")


def test_a_service_that_was_started_again_is_found(
    spark: Spark, owner: hr.FeatureStore, lake: Path, tmp_path: Path
) -> None:
    """At a socket of this machine: connections to it are kept, and have broken meanwhile."""
    owner.get_or_create_feature_group("one", primary_key=["id"]).insert([{"id": 1}])
    for _ in range(2):
        service = Service(store_config(str(lake)), [f"grpc+unix://{tmp_path}/socket"])
        try:
            assert number_of(spark, source(service.listening[0], group="one")) == 1
        finally:
            service.stop()


def test_a_service_that_says_nothing_is_left_in_time(spark: Spark, url: str) -> None:
    with between(url) as network:
        network.deaf()
        with pytest.raises(
            SparkError, match=f"TIMEOUT: the service at {network.url} did not answer within 2 s"
        ):
            number_of(spark, source(network.url, group="one", timeout=2))
