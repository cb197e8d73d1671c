"""Data that is legal and seldom: far and fine times, groups without keys, views of text, names with dots."""

from __future__ import annotations

import datetime as dt
import decimal

import polars as pl
import pyarrow as pa
import pytest

import headrace as hr
from contract.helpers import rows, values

D = decimal.Decimal
NOON = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)
NOON_NS = int(NOON.timestamp()) * 10**9


class TestNanoseconds:
    """A group whose times are integers of nanoseconds, and a spine whose times are coarser."""

    @pytest.fixture
    def view(self, store):
        schema = pa.schema({"k": pa.int64(), "at": pa.int64(), "v": pa.int64()})
        fine = store.create_feature_group(
            "fine", primary_key=["k"], event_time="at", event_time_unit="ns", schema=schema
        )
        fine.insert([{"k": 1, "at": NOON_NS - 1, "v": 1}, {"k": 1, "at": NOON_NS + 1, "v": 2}])
        root = store.create_feature_group("root", primary_key=["k"], event_time="t")
        root.insert([{"k": 1, "t": NOON, "x": 0}])
        return store.create_feature_view("view", root.select("k", "t", "x").join(fine.select("v"), on="k"))

    def test_rows_of_the_root(self, view):
        assert [row["v"] for row in rows(view.training_data())] == [1]

    @pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
    def test_a_spine(self, view, unit):
        spine = pa.table(
            {"k": [1, 1], "t": pa.array([NOON, dt.datetime(2300, 1, 1)]).cast(pa.timestamp("us", "UTC"))}
        )
        if unit == "ns":
            spine = spine.slice(0, 1)
        spine = spine.set_column(1, "t", spine["t"].cast(pa.timestamp(unit, "UTC"))).append_column(
            "x", spine["k"]
        )
        assert [row["v"] for row in rows(view.training_data(spine=spine))] == [1, 2][: spine.num_rows]
        assert len(rows(view.training_data(spine=spine, start="2020-01-01", end="2100-01-01"))) == 1

    def test_a_spine_without_times(self, view):
        spine = pa.table({"k": [1], "x": [0]})
        assert [row["v"] for row in rows(view.batch_data(spine=spine))] == [2]


@pytest.mark.parametrize(
    ("unit", "kind"), [("s", pa.int32()), ("s", pa.int64()), ("ms", pa.int64())], ids=str
)
def test_integers_as_event_times(store, unit, kind):
    factor = {"s": 1, "ms": 1000}[unit]
    group = store.create_feature_group("g", primary_key=["k"], event_time="at", event_time_unit=unit)
    far = 2**31 - 1 if kind == pa.int32() else 2**62
    at = pa.array([int(NOON.timestamp()) * factor - 1, far], kind)
    group.insert(pa.table({"k": [1, 1], "at": at, "v": [1, 2]}))
    root = store.create_feature_group("root", primary_key=["k"], event_time="t")
    root.insert([{"k": 1, "t": NOON}])
    assert [row["v"] for row in rows(root.select("k", "t").join(group.select("v"), on="k").read())] == [1]


class TestWithoutKeys:
    def test_several_rows_for_one_are_ambiguous(self, store):
        facts = store.create_feature_group("facts", primary_key=[])
        facts.insert([{"v": 1}, {"v": 2}])
        root = store.create_feature_group("root", primary_key=["k"])
        root.insert([{"k": 1}, {"k": 2}])
        with pytest.raises(hr.AmbiguousRows):
            root.select("k").join(facts.select("v"), on=[]).read().to_arrow()

    def test_one_row_for_all(self, store):
        facts = store.create_feature_group("facts", primary_key=[])
        facts.insert([{"v": 1}])
        root = store.create_feature_group("root", primary_key=["k"])
        root.insert([{"k": 1}, {"k": 2}])
        assert [row["v"] for row in rows(root.select("k").join(facts.select("v"), on=[]).read())] == [1, 1]


class TestPolars:
    """Text of polars is a view, and Arrow can take no rows out of one."""

    @pytest.fixture
    def view(self, store):
        seats = store.create_feature_group("seats", primary_key=["tail"])
        seats.insert(pl.DataFrame({"tail": pl.Series(["a", "b"], dtype=pl.Categorical), "n": [1, 2]}))
        root = store.create_feature_group("root", primary_key=["id"])
        root.insert(pl.DataFrame({"id": [1], "tail": ["a"]}))
        query = root.select("id", "tail").join(seats.select("n"), on="tail", how="inner")
        return store.create_feature_view("view", query)

    @pytest.mark.parametrize("kind", [pl.String, pl.Categorical, pl.Enum(["a", "b", "c"])], ids=str)
    def test_a_spine_from_whose_middle_rows_drop(self, view, kind):
        spine = pl.DataFrame(
            {
                "id": [1, 2, 3],
                "tail": pl.Series(["a", "c", "b"], dtype=kind),
                "note": ["x", "y", "z"],
                "many": [["p"], [], ["q", "r"]],
            }
        )
        found = view.batch_data(spine=spine).to_arrow()
        assert found["n"].to_pylist() == [1, 2]
        assert found["note"].to_pylist() == ["x", "z"]
        assert found["many"].to_pylist() == [["p"], ["q", "r"]]


def test_a_column_named_like_a_field_of_a_struct(store):
    group = store.create_feature_group("g", primary_key=["k"])
    for start in range(10):
        group.insert([{"k": start, "a": {"b": start}, "a.b": -start}], mode="append")
    for condition in (group["a.b"] == -3, group["a.b"].isin([-3]), (group["a.b"] < -2) & (group["a.b"] > -4)):
        assert [row["k"] for row in rows(group.read(filter=condition))] == [3]
    assert rows(group.read(filter=group["a.b"].is_null())) == []


@pytest.mark.parametrize("name", ["file_index", "File_Row_Number"])
def test_names_that_the_reader_of_files_has_for_itself(store, name):
    group = store.create_feature_group("g", primary_key=["k"])
    with pytest.raises(hr.InvalidName, match="reserved"):
        group.insert([{"k": 1, name: 2}])


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("kind", "number"),
    [
        (pa.date32(), 2**31 - 1),
        (pa.date32(), 4_000_000),
        (pa.date64(), 86_400_000 * 10**9),
        *((pa.timestamp(unit), 2**62) for unit in ("s", "ms", "us")),
        (pa.timestamp("s"), 2**40),
    ],
    ids=str,
)
def test_a_spine_of_times_outside_the_calendar(store, kind, number, sign):
    group = store.create_feature_group("g", primary_key=["k"], event_time="t")
    group.insert([{"k": 1, "t": NOON, "v": 1}])
    view = store.create_feature_view("view", group.select("k", "t", "v"))
    times = pa.array([sign * number], pa.int32() if kind == pa.date32() else pa.int64())
    far = view.training_data(spine=pa.table({"k": [1], "t": times.view(kind)}))
    with pytest.raises(hr.InvalidArgument, match=r"'t'.*9999"):
        far.to_arrow()


@pytest.mark.parametrize("kind", [pa.date32(), *map(pa.timestamp, ("s", "ms", "us"))], ids=str)
def test_a_spine_of_the_first_and_the_last_day(store, kind):
    group = store.create_feature_group("g", primary_key=["k"], event_time="t")
    group.insert([{"k": 1, "t": NOON, "v": 1}])
    view = store.create_feature_view("view", group.select("k", "t", "v"))
    spine = pa.table({"k": [1, 1], "t": pa.array([dt.date.min, dt.date.max], pa.date32()).cast(kind)})
    assert values(view.training_data(spine=spine), "v") == [None, 1]


def test_a_spine_key_of_many_digits(store):
    kind, wide = pa.decimal128(10, 2), pa.decimal256(50, 2)
    group = store.create_feature_group("g", primary_key=["k"])
    group.insert(pa.table({"k": pa.array([D("1.10")], kind), "v": [1]}))
    view = store.create_feature_view("view", group.select("k", "v"))
    given = pa.array([D("1.10"), D("2"), None], wide)
    assert values(view.batch_data(spine=pa.table({"k": given})), "v") == [1, None, None]
    with pytest.raises(hr.KeyMismatch, match="'k'"):
        view.batch_data(spine=pa.table({"k": pa.array([D(10**45)], wide)})).to_arrow()


def test_limits_have_a_limit(store):
    group = store.create_feature_group("g", primary_key=["k"])
    group.insert([{"k": 1}])
    for limit in (2**63, 2**64, -1):
        with pytest.raises(hr.InvalidArgument):
            group.select("k").limit(limit)
        with pytest.raises(hr.InvalidArgument):
            group.read().head(limit)


@pytest.mark.parametrize(("column", "given"), [("n", "text"), ("t", 5)])
def test_a_filter_that_a_spine_column_cannot_be_compared_in(store, column, given):
    root = store.create_feature_group("root", primary_key=["k"], event_time="t")
    root.insert([{"k": 1, "t": NOON, "n": 1}])
    other = store.create_feature_group("other", primary_key=["k"])
    other.insert([{"k": 1, "v": 1}])
    query = root.select("k", "t", "n").join(other.select("v"), on="k")
    view = store.create_feature_view("view", query.filter((query["n"] > 0) & (query["t"] > NOON)))
    spine = [{"k": 1, "t": NOON, "n": 1} | {column: given}]
    with pytest.raises((hr.InvalidArgument, hr.SchemaMismatch)):
        view.training_data(spine=pl.DataFrame(spine), event_time=None).to_arrow()


def test_a_column_with_the_path_of_a_structs_field(store):
    group = store.create_feature_group("g", primary_key=["a.b.c"])
    inner = pa.array([{"c": 5}, {"c": 7}], pa.struct([("c", pa.int64())]))
    group.insert(pa.table({"a.b": inner, "a.b.c": [1, 2]}))
    assert [row["a.b.c"] for row in rows(group.read(filter=group["a.b.c"] > 1))] == [2]
    group.insert(pa.table({"a.b": inner.slice(0, 1), "a.b.c": [2]}))
    assert [row["a.b"] for row in rows(group.read(filter=group["a.b.c"] == 2))] == [{"c": 5}]


def test_structs_in_structs_in_slices_of_a_frame(store):
    """What the slice leaves out stays out: the writer of Delta tables ends the process over such slices."""
    group = store.create_feature_group("deep", primary_key=["id"])
    table = pa.table(
        {"id": range(40_000), "s": [{"a": {"b": [k]}, "c": [{"d": {"e": k}}]} for k in range(40_000)]}
    )
    group.insert(table.slice(1, 9))
    group.insert(table.slice(5), mode="append")
    group.insert(table.slice(3, 20_000))  # replaces rows that are there twice
    group.insert(table.slice(7, 2))
    group.delete(keys=table.select(["id"]).slice(30))
    found = group.read().to_arrow().sort_by("id")
    assert found.to_pylist() == table.slice(1, 29).to_pylist()
    group.insert(table.slice(2), mode="overwrite")
    assert group.read().to_arrow().num_rows == table.num_rows - 2
