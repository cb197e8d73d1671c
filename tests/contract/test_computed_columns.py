"""Columns computed by formulas: their values, their types, and what no formula may say."""

from __future__ import annotations

import datetime as dt
import math
import time

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from conftest import fresh
from contract.helpers import by_key, rows, values

START = dt.datetime(2026, 3, 1, 5, 30, 15, tzinfo=dt.UTC)
TABLE = pa.table(
    {
        "id": [0, 1, 2, 3],
        "dep": [START + dt.timedelta(hours=i) for i in range(4)],
        "carrier": ["AA", "b", None, " c "],
        "delay": [1.5, None, float("nan"), -4.0],
        "n": pa.array([3, -2, 0, 2], pa.int8()),
        "price": pa.array([1, 2, 3, 4], pa.decimal128(10, 2)),
        "day": [dt.date(2026, 1, i + 1) for i in range(4)],
        "ok": [True, False, None, True],
        "two words": [1, 2, 3, 4],
        "list": [[1], [2], [3], [4]],
    }
)


CASES = [
    ("n + 1", pa.int64(), [4, -1, 1, 3]),
    ("power(n, 0.5) is null", pa.bool_(), [False, True, False, False]),
    ("coalesce(power(n, 0.5), -1)", pa.float64(), [3**0.5, -1.0, 0.0, 2**0.5]),
    ("case when power(n, 0.5) > 1 then 'big' else 'small' end", pa.string(), ["big", "small", "small", "big"]),
    ("greatest(power(n, 0.5), 0.5)", pa.float64(), [3**0.5, 0.5, 0.5, 2**0.5]),
    ("cast('nan' as double) is null", pa.bool_(), [True] * 4),
    ("coalesce(try_cast('nan' as double), n)", pa.float64(), [3.0, -2.0, 0.0, 2.0]),
    ("try_cast('0001-01-01 00:00:00+01:00' as timestamp)", pa.timestamp("us", "UTC"), [None] * 4),
    ("try_cast('infinity' as timestamp)", pa.timestamp("us", "UTC"), [None] * 4),
    ("try_cast('10000-01-01' as date)", pa.date32(), [None] * 4),
    ("try_cast('9999-12-31' as date)", pa.date32(), [dt.date(9999, 12, 31)] * 4),
    ("cast('0001-01-01' as date)", pa.date32(), [dt.date(1, 1, 1)] * 4),
    ("n * 100000", pa.int64(), [300000, -200000, 0, 200000]),
    ("n * 1 + 24 * 60 * 60 * 1000000", pa.int64(), [86400000003, 86399999998, 86400000000, 86400000002]),
    ("(case when ok then 100000 else 1 end) * 100000", pa.int64(), [10**10, 10**5, 10**5, 10**10]),
    ("-9223372036854775807 - 1 + n * 0", pa.int64(), [-(1 << 63)] * 4),
    ("n in (3, 0)", pa.bool_(), [True, False, True, False]),
    ("-n", pa.int64(), [-3, 2, 0, -2]),
    ("n / 2", pa.float64(), [1.5, -1.0, 0.0, 1.0]),
    ("6 / n", pa.float64(), [2.0, -3.0, None, 3.0]),
    ("5 % n", pa.int64(), [2, 1, None, 1]),
    ("delay * 2", pa.float64(), [3.0, None, None, -8.0]),
    ("price + n", pa.float64(), [4.0, 0.0, 3.0, 6.0]),
    ("(n + 1) * 2 - 1", pa.int64(), [7, -3, 1, 5]),
    ("delay > 0", pa.bool_(), [True, None, None, False]),
    ("delay > 0 or n > 0", pa.bool_(), [True, None, None, True]),
    ("not ok", pa.bool_(), [False, True, None, False]),
    ("carrier = 'AA' and ok", pa.bool_(), [True, False, None, False]),
    ("n between 0 and 2", pa.bool_(), [False, False, True, True]),
    ("n in (0, 3)", pa.bool_(), [True, False, True, False]),
    ("n not in (0, 3)", pa.bool_(), [False, True, False, True]),
    ("carrier like 'A%'", pa.bool_(), [True, False, None, False]),
    ("carrier not like 'A%'", pa.bool_(), [False, True, None, True]),
    ("carrier is null", pa.bool_(), [False, False, True, False]),
    ("carrier is not null", pa.bool_(), [True, True, False, True]),
    ("case when n > 0 then 'up' when n < 0 then 'down' end", pa.string(), ["up", "down", None, "up"]),
    ("case n when 3 then 1 else 0.5 end", pa.float64(), [1.0, 0.5, 0.5, 0.5]),
    ("if(n > 0, 1, 2)", pa.int64(), [1, 2, 2, 1]),
    ("coalesce(delay, 0)", pa.float64(), [1.5, 0.0, 0.0, -4.0]),
    ("coalesce(carrier, 'none')", pa.string(), ["AA", "b", "none", " c "]),
    ("nullif(n, 0)", pa.int64(), [3, -2, None, 2]),
    ("least(n, delay)", pa.float64(), [1.5, -2.0, 0.0, -4.0]),
    ("greatest(n, 1)", pa.int64(), [3, 1, 1, 2]),
    ("abs(n)", pa.int64(), [3, 2, 0, 2]),
    ("abs(delay)", pa.float64(), [1.5, None, None, 4.0]),
    ("round(delay / 4, 1)", pa.float64(), [0.4, None, None, -1.0]),
    ("floor(delay)", pa.float64(), [1.0, None, None, -4.0]),
    ("ceil(delay)", pa.float64(), [2.0, None, None, -4.0]),
    ("sign(delay)", pa.int64(), [1, None, None, -1]),
    ("sqrt(n)", pa.float64(), [math.sqrt(3), None, 0.0, math.sqrt(2)]),
    ("ln(n)", pa.float64(), [math.log(3), None, None, math.log(2)]),
    ("log10(price * 10)", pa.float64(), [1.0, math.log10(20), math.log10(30), math.log10(40)]),
    ("exp(n)", pa.float64(), [math.exp(i) for i in (3, -2, 0, 2)]),
    ("n ** 2", pa.float64(), [9.0, 4.0, 0.0, 4.0]),
    ("lower(carrier)", pa.string(), ["aa", "b", None, " c "]),
    ("upper(trim(carrier))", pa.string(), ["AA", "B", None, "C"]),
    ("length(carrier)", pa.int64(), [2, 1, None, 3]),
    ("substr(carrier, 1, 1)", pa.string(), ["A", "b", None, " "]),
    ("replace(carrier, 'A', 'x')", pa.string(), ["xx", "b", None, " c "]),
    ("carrier || '!'", pa.string(), ["AA!", "b!", None, " c !"]),
    ("concat(carrier, '-', carrier)", pa.string(), ["AA-AA", "b-b", None, " c - c "]),
    ("starts_with(carrier, 'A')", pa.bool_(), [True, False, None, False]),
    ("contains(carrier, 'c')", pa.bool_(), [False, False, None, True]),
    ("hour(dep)", pa.int64(), [5, 6, 7, 8]),
    ("extract(minute from dep)", pa.int64(), [30] * 4),
    ("year(day) * 100 + month(day)", pa.int64(), [202601] * 4),
    ("second(dep)", pa.int64(), [15] * 4),
    ("isodow(day)", pa.int64(), [4, 5, 6, 7]),
    ("dayofyear(dep)", pa.int64(), [60] * 4),
    ("date_trunc('day', dep)", pa.timestamp("us", "UTC"), [dt.datetime(2026, 3, 1, tzinfo=dt.UTC)] * 4),
    ("epoch(dep) - epoch(timestamp '2026-03-01 05:30:15')", pa.float64(), [0.0, 3600.0, 7200.0, 10800.0]),
    ("dep > timestamp '2026-03-01 06:00:00'", pa.bool_(), [False, True, True, True]),
    ("day = date '2026-01-02'", pa.bool_(), [False, True, False, False]),
    ("cast(n as double)", pa.float64(), [3.0, -2.0, 0.0, 2.0]),
    ("n::varchar", pa.string(), ["3", "-2", "0", "2"]),
    ("try_cast(carrier as bigint)", pa.int64(), [None] * 4),
    ("cast(null as double)", pa.float64(), [None] * 4),
    ('"two words" + 1', pa.int64(), [2, 3, 4, 5]),
    ("DELAY + N", pa.float64(), [4.5, None, None, -2.0]),
    ("'it''s; drop table \"x\"'", pa.string(), ["it's; drop table \"x\""] * 4),
    ("1e400 - 1e400", pa.float64(), [None] * 4),
]  # fmt: skip
VALUES = [sql for sql, _, _ in CASES]


@pytest.fixture
def flights(store):
    made = store.create_feature_group("flights", primary_key=["id"], event_time="dep")
    made.insert(TABLE)
    return made


@pytest.fixture
def weather(store):
    made = store.create_feature_group("weather", primary_key=["carrier"], event_time="seen")
    made.insert([{"carrier": c, "seen": START, "temp": t} for c, t in (("AA", 10), ("b", 0))])
    return made


@pytest.mark.parametrize(("sql", "kind", "expected"), CASES)
def test_values_and_types(flights, sql, kind, expected):
    query = flights.select("id").with_columns(out=sql)
    assert query.schema.field("out").type == kind
    result = query.read()
    assert result.to_arrow().schema.field("out").type == kind
    assert by_key(result, "id", "out") == pytest.approx(expected) if kind == pa.float64() else True
    assert kind == pa.float64() or by_key(result, "id", "out") == expected


def test_texts_that_grow_are_bounded(flights):
    """Doubled thirty times, one letter would take a gigabyte, for each row of a batch."""
    doubled, joined = "'A'", "carrier"
    for _ in range(30):
        doubled = f"replace({doubled}, 'A', 'AA')"
    for _ in range(7):
        joined = f"concat({joined}, {joined})"
    begun = time.monotonic()
    with pytest.raises(hr.InvalidArgument, match="a computed text of 131072 bytes is too long"):
        flights.select("id").with_columns(out=f"length({doubled})").read().to_arrow()
    assert time.monotonic() - begun < 5
    query = flights.select("id").with_columns(out=f"length({joined})")
    assert by_key(query.read(), "id", "out") == [256, 128, None, 384]
    longest = "'A'"
    for _ in range(16):
        longest = f"replace({longest}, 'A', 'AA')"
    whole = flights.select("id").with_columns(out=f"length({longest})")
    assert by_key(whole.read(), "id", "out") == [65_536] * 4
    wide = f"length(concat(carrier, {', '.join([repr('y' * 9_000)] * 1)}, {', '.join(['carrier'] * 60)}))"
    assert by_key(flights.select("id").with_columns(out=wide).read(), "id", "out") == [9122, 9061, None, 9183]
    letters = flights.select("id").with_columns(c=f"'{'y' * 9_000}'")
    with pytest.raises(hr.InvalidArgument, match="is too long"):
        letters.with_columns(out=f"length(concat(carrier, {', '.join(['c'] * 60)}))").read().to_arrow()
    with pytest.raises(hr.InvalidArgument, match="65537 bytes is too long"):
        flights.select("id").with_columns(out=f"length(concat({longest}, 'A'))").read().to_arrow()


def test_many_levels_are_written_in_no_time(flights):
    query = flights.select("id").with_columns(c0="concat(upper(carrier), 'x')")
    for i in range(1, 45):
        query = query.with_columns(**{f"c{i}": f"concat(upper(c{i - 1}), 'x')"})
    begun = time.monotonic()
    result = query.select("id", "c44").read()
    assert by_key(result, "id", "c44") == [
        "AA" + 44 * "X" + "x",
        "B" + 44 * "X" + "x",
        None,
        " C " + 44 * "X" + "x",
    ]
    assert time.monotonic() - begun < 10


class TestOfASpine:
    """What is computed of columns that a spine brings is computed of these, and of their types."""

    @staticmethod
    def view(store, flights, query):
        return store.create_feature_view("computed", query)

    @staticmethod
    def spine(**columns):
        count = len(next(iter(columns.values())))
        return pa.table({"id": range(count), "dep": [START] * count, **columns})

    def test_of_another_kind_of_number(self, store, flights):
        view = self.view(store, flights, flights.select("id", "n").with_columns(big="n > 15", half="n / 2"))
        result = view.batch_data(spine=self.spine(n=[15.6, 15.4, float("nan")])).to_arrow()
        assert result["big"].to_pylist() == [True, True, None]
        assert result["half"].to_pylist() == [7.8, 7.7, None]

    def test_whose_type_is_another(self, store, flights):
        view = self.view(store, flights, flights.select("id", "n").with_columns(twice="n * 2"))
        assert (
            view.batch_data(spine=self.spine(n=[1.25])).to_arrow().schema.field("twice").type == pa.float64()
        )
        assert view.batch_data(spine=self.spine(n=[1])).to_arrow().schema.field("twice").type == pa.int64()

    def test_a_time_for_a_date(self, store, flights):
        view = self.view(store, flights, flights.select("id", "day").with_columns(hour="hour(day)"))
        assert values(view.batch_data(spine=self.spine(day=[START])), "hour") == [5]

    def test_that_nothing_is_computed_of(self, store, flights):
        view = self.view(store, flights, flights.select("id", "n").with_columns(twice="n * 2"))
        with pytest.raises(hr.InvalidArgument, match="'twice', of the spine's columns"):
            view.batch_data(spine=self.spine(n=["3"])).to_arrow()

    def test_of_nulls_alone(self, store, flights):
        view = self.view(store, flights, flights.select("id", "n").with_columns(twice="n * 2"))
        result = view.batch_data(spine=self.spine(n=pa.nulls(2))).to_arrow()
        assert result["twice"].to_pylist() == [None, None]

    def test_filtered_by_what_is_computed(self, store, flights, weather):
        query = flights.select("id", "n", "carrier").join(weather, on="carrier").with_columns(big="n > 15")
        query = query.filter(query["big"] == True)  # noqa: E712
        spine = self.spine(n=[15.6, 15.4], carrier=["AA", "AA"])
        assert values(self.view(store, flights, query).batch_data(spine=spine), "id") == [0, 1]


def test_texts_that_are_long_and_stay_so(store):
    group = store.create_feature_group("documents", primary_key=["id"])
    text = "a&b" * 40_000
    group.insert(pa.table({"id": [1], "text": [text], "empty": [""]}))
    query = group.select("id").with_columns(
        same="replace(text, 'x', 'yy') = text",
        shorter="length(replace(text, '&', ''))",
        joined="concat(text, empty) = text",
    )
    assert rows(query.read()) == [{"id": 1, "same": True, "shorter": 80_000, "joined": True}]
    with pytest.raises(hr.InvalidArgument, match="a computed text of 280000 bytes is too long"):
        group.with_columns(out="length(replace(text, '&', '&amp;'))").read().to_arrow()


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("replace(carrier, '', 'x')", ["AA", "b", None, " c "]),
        ("replace(carrier, 'A', carrier)", ["AAAA", "b", None, " c "]),
        ("replace(carrier, carrier, 'long')", ["long", "long", None, "long"]),
        ("replace(replace(carrier, 'A', 'bb'), 'b', 'ccc')", ["cccccccccccc", "ccc", None, " c "]),
        ("concat(replace(carrier, 'A', 'ää'), carrier)", ["ääääAA", "bb", None, " c  c "]),
    ],
)
def test_texts_that_grow(flights, sql, expected):
    assert by_key(flights.select("id").with_columns(out=sql).read(), "id", "out") == expected


class TestQueries:
    def test_one_from_another(self, flights):
        query = (
            flights.select("id", "n")
            .with_columns(twice="n * 2", more="twice + 1")
            .with_columns(most="more * n")
        )
        assert query.schema.names == ["id", "n", "twice", "more", "most"]
        assert by_key(query.read(), "id", "most") == [21, 6, 0, 10]

    def test_it_is_filtered_and_selected(self, flights):
        query = flights.with_columns(twice="n * 2")
        kept = query.filter((query["twice"] > 0) & (query["n"] < 3)).select("id", "twice")
        assert rows(kept.read()) == [{"id": 3, "twice": 4}]
        assert values(query.filter(query["twice"] == -4).select("id").read(), "id") == [1]

    def test_with_joins(self, flights, weather):
        query = flights.select("id", "carrier").with_columns(key="lower(carrier)").join(
            weather.select("temp"), on="carrier", prefix="wx_"
        ).with_columns(fahrenheit="wx_temp * 9 / 5 + 32")  # fmt: skip
        assert by_key(query.read(), "id", "fahrenheit") == [50.0, 32.0, None, None]
        assert by_key(query.filter(query["fahrenheit"] > 40).read(), "id", "key") == ["aa"]

    def test_in_stages(self, flights, weather):
        query = flights.select("id")
        for number in range(6):
            query = query.join(weather.select("temp"), on="carrier", prefix=f"w{number}_")
        query = query.with_columns(total=" + ".join(f"w{number}_temp" for number in range(6)))
        assert by_key(query.read(), "id", "total") == [60, 0, None, None]

    def test_as_it_was(self, flights):
        flights.insert([{**TABLE.to_pylist()[0], "n": 50}])
        query = flights.as_of(snapshot=0).with_columns(twice="n * 2")
        assert by_key(query.read(), "id", "twice") == [6, -4, 0, 4]

    def test_columns_of_the_root_that_are_not_selected(self, flights):
        assert by_key(flights.select("id").with_columns(twice="n * 2").read(), "id", "twice") == [6, -4, 0, 4]


class TestViews:
    @pytest.fixture
    def view(self, store, flights, weather):
        query = flights.select("id", "n").join(weather.select("temp"), on="carrier").with_columns(
            late="coalesce(delay, 0) > 1", warm="temp > 5", hour="hour(dep)"
        )  # fmt: skip
        return store.create_feature_view("view", query, labels=["late"])

    def test_features_and_labels(self, view):
        assert view.features == ("id", "n", "temp", "warm", "hour")
        x, y = view.training_data().xy(to="arrow")
        assert sorted(zip(x["id"].to_pylist(), y.to_pylist(), strict=True)) == [
            (0, True),
            (1, False),
            (2, False),
            (3, False),
        ]
        assert "late" not in view.batch_data().to_arrow().schema.names

    def test_the_view_comes_back(self, store, view):
        found = store.get_feature_view("view")
        assert by_key(found.training_data(), "id", "warm") == [True, False, None, None]

    def test_a_spine(self, view):
        spine = pa.table(
            {"id": [7, 8], "n": [1, 2], "carrier": ["b", "AA"], "dep": [START] * 2, "delay": [9, None]}
        )
        rows_ = rows(view.training_data(spine=spine))
        assert [(r["late"], r["warm"], r["hour"]) for r in rows_] == [(True, False, 5), (False, True, 5)]

    def test_a_spine_of_which_the_columns_are_looked_up(self, view):
        spine = pa.table({"id": [0, 1], "dep": [START + dt.timedelta(days=1)] * 2})
        assert values(view.training_data(spine=spine), "late") == [True, False]

    def test_a_spine_that_brings_it(self, view):
        spine = pa.table({"id": [0], "dep": [START], "warm": [True]})
        with pytest.raises(hr.NameClash, match="'warm'"):
            view.training_data(spine=spine)

    def test_splits_and_datasets(self, view):
        train, test = view.train_test_split(test_size=0.5, stratify="late")
        assert sorted(values(train, "id") + values(test, "id")) == [0, 1, 2, 3]
        dataset = view.create_training_dataset(splits={"a": 0.5, "b": 0.5})
        assert dataset.read().to_arrow().equals(dataset.recompute().to_arrow())
        assert dataset.schema.field("late").type == pa.bool_()


class TestLeakage:
    def test_a_label_of_a_feature(self, store, flights):
        query = flights.select("id", "delay").with_columns(late="delay > 1")
        for labels in (["late"], ["delay"]):
            with pytest.raises(hr.Leakage, match="same column 'delay'"):
                store.create_feature_view("leak", query, labels=labels)
        store.create_feature_view("fine", query, labels=["late", "delay"])

    def test_two_columns_of_one(self, store, flights):
        query = flights.select("id").with_columns(late="delay > 1", early="delay < 0")
        with pytest.raises(hr.Leakage, match="same column 'delay'"):
            store.create_feature_view("leak", query, labels=["late"])

    def test_of_a_join_that_ignores_time(self, store, flights, weather):
        query = flights.select("id").join(weather.select("temp"), on="carrier", point_in_time=False)
        query = query.with_columns(warm="temp > 5").select("id", "warm", "n")
        with pytest.raises(hr.Leakage, match="point_in_time=False"):
            store.create_feature_view("leak", query, labels=["n"])
        view = store.create_feature_view("fine", query, labels=["warm"])
        assert by_key(view.training_data(), "id", "warm") == [True, False, None, None]


class TestRefused:
    @pytest.mark.parametrize(
        "sql",
        [
            "read_csv('/etc/passwd')", "(select 1)", "1; drop table x", "foo(n)", "sum(n)", "now()", "random()", "*",
            "row_number() over ()", "count(*)", "interval 1 day", "$1", "?", "n::blob", "cast(n as decimal(3, 1))",
            "[1, 2]", "{'a': 1}", "getenv('HOME')", "exists (select 1)", "n in (select 1)", "flights.n", "n +", "(n",
            "", " ", "n ilike 'a'", "99999999999999999999", "log(2, n)", "n // 2", "n & 1", "~n", "n is true",
            "extract(epoch_ns from dep)", "log(n)", "log2(n)", "current_setting('x')", "n collate nocase", "'a' similar to 'b'",
            "(" * 5000 + "n" + ")" * 5000, "n + " * 3000 + "n",
        ],
    )  # fmt: skip
    def test_what_is_no_formula(self, flights, sql):
        with pytest.raises((hr.SqlRejected, hr.UnknownColumn)):
            flights.with_columns(out=sql)

    @pytest.mark.parametrize(
        "sql",
        [
            "n + carrier", "carrier + 1", "ok + 1", "dep + 1", "dep - dep", "list", "length(list)", "null", "not n",
            "n and ok", "case when n then 1 end", "case when ok then 1 else 'a' end", "coalesce(n, 'a')", "n = 'a'",
            "n in ('a')", "lower(n)", "hour(n)", "round(n, 1.5)", "abs(n, n)", "power(n)", "date_trunc('eon', dep)",
            "carrier like n", "dep > '2026-01-01'", "sqrt('a')", "least(n)", "-carrier",
            "cast(n as timestamp)", "cast(ok as date)", "cast(dep as bigint)", "cast(dep as boolean)",
        ],
    )  # fmt: skip
    def test_what_does_not_go_together(self, flights, sql):
        with pytest.raises(hr.InvalidArgument):
            flights.with_columns(out=sql)

    @pytest.mark.parametrize(
        ("sql", "told"),
        [
            ("n +", r"'n \+' cannot be read: stopped at '\+', after 'n'"),
            ("'a", "a quote or a comment is not closed"),
            (" ", "is empty"),
            ("dep > '2026-01-01'", "write a constant as timestamp '"),
            ("hour(carrier)", "write a constant as timestamp '"),
            ("dep - dep", r"epoch\(…\) gives the seconds"),
            ("n + carrier", r"cast\(… as …\) converts"),
            ("dayofweek(dep)", "isodow"),
            ("date_diff('day', dep, dep)", "difference in days"),
        ],
    )
    def test_the_column_is_named_and_a_way_out(self, flights, sql, told):
        with pytest.raises(hr.InvalidArgument, match=f"^column 'out': .*{told}"):
            flights.with_columns(out=sql)

    def test_names(self, flights):
        for name in ("id", "ID", "n", ""):
            with pytest.raises((hr.NameClash, hr.InvalidName)):
                flights.with_columns(**{name: "n + 1"})
        with pytest.raises(hr.UnknownColumn, match="no column 'none'"):
            flights.with_columns(out="none + 1")
        with pytest.raises(hr.InvalidArgument):
            flights.with_columns(out=3)

    def test_places(self, flights, weather):
        with pytest.raises(hr.InvalidArgument, match="computed column of its own inside"):
            flights.join(weather.with_columns(warm="temp > 5"), on="carrier")
        with pytest.raises(hr.KeyMismatch, match="is computed"):
            flights.with_columns(key="lower(carrier)").join(weather, on={"key": "carrier"})
        with pytest.raises(hr.InvalidArgument):
            flights.select("id").limit(1).with_columns(out="n")

    def test_a_formula_that_grows(self, flights):
        def grow(query, number):
            for i in range(number):
                before = f"c{i - 1}" if i else "n"
                query = query.with_columns(**{f"c{i}": f"{before} + {before}"})
            return query

        assert by_key(grow(flights.select("id", "n"), 7).read(), "id", "c6") == [384, -256, 0, 256]
        with pytest.raises(hr.InvalidArgument, match="more than"):
            grow(flights.select("id", "n"), 20)

    @pytest.mark.parametrize(
        "part", ["sqrt(", "ln(", "power(", "1 / (", "5 % (", "nullif(0, n) + nullif((", "try_cast(cast("]
    )
    def test_a_formula_that_an_engine_makes_grow(self, flights, part):
        ends = {"nullif": "), 1)", "try_ca": " as varchar) as timestamp)", "power(": ", 0.5)"}
        end = ends.get(part[:6], ")")
        start = "carrier" if part.startswith("try") else "n"
        some, many = (part.split(" + ")[-1] * times + start + end * times for times in (4, 20))
        assert flights.with_columns(out=some).read().to_arrow().num_rows == 4
        with pytest.raises(hr.InvalidArgument, match=r"more than|nested"):
            flights.with_columns(out=many)

    def test_what_does_not_fit(self, flights):
        query = flights.select("id").with_columns(out="9223372036854775807 + n")
        with pytest.raises(hr.InvalidArgument, match="out of range"):
            query.read().to_arrow()
        for moment in (
            "timestamp 'infinity'",
            "timestamp '10000-01-01'",
            "date '-infinity'",
            "date '0002-01-01 (BC)'",
        ):
            with pytest.raises(hr.InvalidArgument, match="not in the years 1 to 9999"):
                flights.select("id").with_columns(out=moment).read().to_arrow()
        query = flights.select("id").with_columns(out="cast(carrier as bigint)")
        with pytest.raises(hr.InvalidArgument, match="cannot be converted"):
            query.read().to_arrow()


NUMBER = st.one_of(st.none(), st.integers(-1000, 1000))


@given(pairs=st.lists(st.tuples(NUMBER, NUMBER), min_size=1, max_size=5))
def test_as_python_does(embedded_store, pairs):
    group = embedded_store.create_feature_group(fresh("numbers"), primary_key=["id"])
    group.insert(
        pa.table(
            {
                "id": range(len(pairs)),
                "a": pa.array([a for a, _ in pairs], pa.int64()),
                "b": pa.array([b for _, b in pairs], pa.int64()),
            }
        )
    )
    query = group.with_columns(
        total="a + b * 2",
        ratio="a / b",
        rest="a % b",
        least_="least(a, b)",
        same="a = b",
        chosen="case when a > b then a else b end",
    )
    for row in rows(query.read()):
        a, b = row["a"], row["b"]
        both = a is not None and b is not None
        assert row["total"] == (a + b * 2 if both else None)
        assert row["ratio"] == (a / b if both and b else None)
        assert row["rest"] == (int(math.fmod(a, b)) if both and b else None)
        assert row["least_"] == min((x for x in (a, b) if x is not None), default=None)
        assert row["same"] == (a == b if both else None)
        assert row["chosen"] == (a if both and a > b else b)
