"""Training datasets: what is stored reads back, and is recomputed, whatever the tables do afterwards."""

from __future__ import annotations

import datetime as dt
import fractions
import itertools
import os
import pathlib

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import headrace as hr
from contract.helpers import Unchanged, values

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
ROWS = 400
FORMATS = ["parquet", "arrow", "csv"]


def hour(number: int) -> dt.datetime:
    return START + dt.timedelta(hours=number)


def flown(numbers) -> pa.Table:
    numbers = list(numbers)
    return pa.table(
        {
            "id": numbers,
            "dep": [hour(i * 7 % ROWS) for i in numbers],
            "carrier": ["rare" if i % 10 == 0 else "usual" for i in numbers],
            "delay": [float(i) for i in numbers],
        }
    )


@pytest.fixture
def flights(store):
    made = store.create_feature_group("flights", primary_key=["id"], event_time="dep")
    made.insert(flown(range(ROWS)))
    return made


@pytest.fixture
def weather(store):
    made = store.create_feature_group("weather", primary_key=["carrier"], event_time="seen")
    made.insert([{"carrier": c, "seen": START, "temp": t} for c, t in (("rare", 1.0), ("usual", 2.0))])
    return made


@pytest.fixture
def view(store, flights, weather):
    query = flights.select("id", "dep", "carrier", "delay").join(weather.select("temp"), on="carrier")
    return store.create_feature_view("delays", query, labels=["delay"])


def same(dataset, *names) -> pa.Table:
    """The rows of each split and of all, which are the same stored, streamed and recomputed."""
    for split in (*names, *dataset.splits, None):
        stored = dataset.read(split).to_arrow()
        assert stored.schema == dataset.schema
        assert alike(stored, dataset.recompute(split).to_arrow())
        assert alike(stored, dataset.recompute(split).to_reader().read_all())
        assert alike(stored, dataset.read(split).to_reader(batch_size=7).read_all())
    return stored


def alike(one: pa.Table, other: pa.Table) -> bool:
    """Whether they are equal, where NaN equals itself."""
    return one.schema == other.schema and (
        one.equals(other) or str(one.to_pylist()) == str(other.to_pylist())
    )


def exchange(one: pathlib.Path, other: pathlib.Path) -> None:
    held = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(held)


def spine(**more) -> pa.Table:
    return pa.table(
        {
            "id": [5, 3, 3, 999],
            "carrier": ["usual", "rare", "rare", "none"],
            "dep": [hour(5), hour(2), hour(2), hour(3)],
            "delay": [1.0, 2.0, 3.0, 4.0],
        }
        | more
    )


class TestStored:
    @pytest.mark.parametrize("form", FORMATS)
    @pytest.mark.parametrize(
        "splits",
        [
            None,
            {"train": 0.7, "validation": 0.15, "test": 0.15},
            {"train": (None, hour(100)), "test": (hour(150), None)},
        ],
        ids=["whole", "fractions", "times"],
    )
    def test_it_reads_back_and_is_recomputed(self, view, form, splits):
        made = view.create_training_dataset(splits=splits, format=form)
        rows = same(made)
        assert made.format == form
        assert rows.num_rows == sum(made.rows.values())
        assert [made.read(split).to_arrow().num_rows for split in made.splits] == list(made.rows.values())

    def test_without_splits(self, view):
        made = view.create_training_dataset()
        assert (made.version, made.splits, made.rows) == (1, {"all": 1.0}, {"all": ROWS})
        assert made.snapshots == {"flights@v1": 0, "weather@v1": 0}
        assert made.features == ("id", "dep", "carrier", "temp")
        assert made.labels == ("delay",)
        assert dt.timedelta() <= dt.datetime.now(dt.UTC) - made.created < dt.timedelta(minutes=1)
        assert made.read("all").to_arrow().equals(made.read().to_arrow())

    def test_it_holds_what_training_data_gives(self, view):
        made = view.create_training_dataset(hour(20), hour(60))
        given = view.training_data(hour(20), hour(60)).to_arrow()
        order = [("dep", "ascending"), ("id", "ascending")]
        assert made.read().to_arrow().equals(given.sort_by(order))

    def test_rows_come_by_event_time_and_key(self, view):
        made = view.create_training_dataset(splits={"train": 0.5, "test": 0.5})
        for split in made.splits:
            rows = made.read(split).to_arrow()
            keys = list(zip(rows["dep"].to_pylist(), rows["id"].to_pylist(), strict=True))
            assert keys == sorted(keys)

    def test_rows_alike_in_time_and_key_come_by_the_other_columns(self, store):
        group = store.create_feature_group("twice", primary_key=["id"], event_time="at")
        rows = [{"id": 1, "at": START, "x": x, "y": y} for x, y in itertools.product("cab", (3, 1, None))]
        for row in rows:
            group.insert([row], mode="append")
        view = store.create_feature_view("twice", group.select("id", "at", "x", "y"))
        made = same(view.create_training_dataset())
        assert made["x"].to_pylist() == list("aaabbbccc")
        assert made["y"].to_pylist() == [1, 3, None] * 3

    def test_versions_count_and_are_not_given_again(self, view):
        made = [view.create_training_dataset().version for _ in range(2)]
        view.delete_training_dataset(2)
        made.append(view.create_training_dataset().version)
        assert made == [1, 2, 3]
        assert [d.version for d in view.list_training_datasets()] == [1, 3]
        assert view.get_training_dataset().version == 3
        assert view.get_training_dataset(1).version == 1

    def test_what_it_is_told_comes_back(self, store, view):
        made = view.create_training_dataset(description="for the paper", tags={"by": "me"})
        found = store.get_feature_view("delays").get_training_dataset(1)
        for one in (made, found):
            assert (one.description, one.tags) == ("for the paper", {"by": "me"})
            assert (one.created, one.location, one.rows) == (made.created, made.location, made.rows)
        assert "1 of delays@v1" in repr(found)

    def test_of_another_version_of_the_view(self, store, view, flights):
        other = store.create_feature_view("delays", flights.select("id"), version=2)
        view.create_training_dataset()
        assert other.list_training_datasets() == []
        assert other.create_training_dataset().version == 1
        assert other.get_training_dataset().schema.names == ["id"]

    def test_features_and_labels(self, view):
        made = view.create_training_dataset(splits={"train": 0.5, "test": 0.5})
        x, y = made.read("train").xy(to="arrow")
        assert x.schema.names == ["id", "dep", "carrier", "temp"]
        assert x["id"].cast(pa.float64()).equals(y)
        again, labels = made.recompute("train").xy(to="arrow")
        assert x.equals(again)
        assert y.equals(labels)

    def test_columns(self, view):
        made = view.create_training_dataset()
        rows = made.read(columns=["delay", "id"]).to_arrow()
        assert rows.schema.names == ["delay", "id"]
        assert rows.equals(made.read().to_arrow().select(["delay", "id"]))
        x, y = made.read(columns=["delay", "id"]).xy(to="arrow")
        assert (x.schema.names, len(y)) == (["id"], ROWS)
        with pytest.raises(hr.InvalidArgument, match="columns= names none") as caught:
            made.read(columns=["id"]).xy()
        assert "leave it out" in caught.value.hint

    @pytest.mark.parametrize("form", FORMATS)
    def test_head(self, view, form):
        made = view.create_training_dataset(splits={"train": 0.5, "test": 0.5}, format=form)
        whole = made.read().to_arrow()
        for rows in (0, 3, ROWS // 2 + 1, ROWS + 1):
            assert made.read().head(rows).to_arrow().equals(whole.slice(0, rows))
            assert made.recompute().head(rows).to_arrow().equals(whole.slice(0, rows))

    @pytest.mark.parametrize("form", FORMATS)
    def test_no_rows(self, view, form):
        made = view.create_training_dataset(hour(5000), splits={"train": 0.5, "test": 0.5}, format=form)
        assert made.rows == {"train": 0, "test": 0}
        assert same(made).num_rows == 0

    def test_frames(self, view):
        result = view.create_training_dataset().read()
        assert result.to_polars().height == len(result.to_pandas()) == ROWS
        assert "1 parquet file" in result.explain()
        assert result.snapshots == {"flights@v1": 0, "weather@v1": 0}


class TestSplits:
    def test_are_those_of_a_split_of_training_data(self, view):
        made = view.create_training_dataset(splits={"train": 0.7, "validation": 0.1, "test": 0.2}, seed=3)
        parts = view.train_validation_test_split(validation_size=0.1, test_size=0.2, seed=3)
        for split, part in zip(made.splits, parts, strict=True):
            assert values(made.read(split).head(ROWS), "id")
            assert sorted(values(made.read(split), "id")) == sorted(values(part, "id"))

    def test_fractions(self, view):
        made = view.create_training_dataset(splits={"a": 0.1, "b": 0.2, "c": 0.7}, seed=5)
        assert made.splits == {"a": 0.1, "b": 0.2, "c": 0.7}
        assert made.rows == {"a": 40, "b": 80, "c": 280}
        assert sorted(values(made.read(), "id")) == list(range(ROWS))

    @pytest.mark.parametrize(
        "splits",
        [{"a": 0.9999995}, {"a": 0.9999999, "b": 9e-07}, {"a": 0.333333, "b": 0.333333, "c": 0.333334}],
    )
    def test_fractions_that_miss_one_by_little(self, view, splits):
        """Every row is in a split: the shares go from 0 to 1, without a gap."""
        made = view.create_training_dataset(splits=splits)
        assert sum(made.rows.values()) == ROWS
        shares = [split.part for split in made._definition.splits]
        assert (shares[0].low, shares[-1].high) == (0, 1)
        assert all(one.high == other.low for one, other in itertools.pairwise(shares))

    def test_numbers_of_other_libraries(self, view):
        splits = {"train": np.float32(0.5), "test": fractions.Fraction(1, 2)}
        made = view.create_training_dataset(splits=splits, seed=np.int64(4))
        same_rows = view.create_training_dataset(splits={"train": 0.5, "test": 0.5}, seed=4)
        assert made.read("test").to_arrow().equals(same_rows.read("test").to_arrow())

    def test_stratified(self, view):
        made = view.create_training_dataset(splits={"train": 0.75, "test": 0.25}, stratify="carrier")
        for split, rare in (("train", 30), ("test", 10)):
            assert values(made.read(split), "carrier").count("rare") == rare

    @pytest.mark.parametrize("column", ["id", "dep", "delay"])
    def test_stratified_by_values_of_one_row_each(self, view, column):
        made = view.create_training_dataset(splits={"a": 0.5, "b": 0.5}, stratify=column)
        same(made)
        assert made.rows["a"] + made.rows["b"] == ROWS
        assert all(150 < rows < 250 for rows in made.rows.values())

    def test_times(self, view):
        made = view.create_training_dataset(
            splits={"test": ("2026-01-09", None), "train": (None, "2026-01-05T12:00Z")}
        )
        assert made.splits == {"test": (hour(192), None), "train": (None, hour(108))}
        assert max(values(made.read("train"), "dep")) == hour(107)
        assert min(values(made.read("test"), "dep")) == hour(192)
        assert made.rows == {"test": ROWS - 192, "train": 108}

    @pytest.mark.parametrize(
        ("options", "told"),
        [
            ({"splits": {}}, "name them"),
            ({"splits": {"train": 0.5, "test": 0.4}}, "add up to 0.9"),
            ({"splits": {"train": 0.9, "test": 0.4}}, "add up to 1.3"),
            ({"splits": {"train": 1.5}}, "train=1.5"),
            ({"splits": {"train": 0.0, "test": 1.0}}, "train=0.0"),
            ({"splits": {"train": float("nan")}}, "train=nan"),
            ({"splits": {"train": "0.5"}}, "train='0.5'"),
            ({"splits": {"train": 0.5, "test": (None, None)}}, "all fractions, or all"),
            ({"splits": {"train": 0.999998}}, "add up to 0.999998, not to 1"),
            ({"splits": {"train": b"ab"}}, "train=b'ab'"),
            ({"splits": {"train": b"ab", "test": (None, None)}}, "all fractions, or all"),
            ({"splits": {"train": True}}, "train=True"),
            ({"event_time": "nope"}, "event_time='nope' names the time of a spine, and none is given"),
            ({"splits": {"train": (None,)}}, "all fractions, or all"),
            ({"splits": ["train"]}, "name them"),
            ({"splits": {"Train": 1.0}}, "cannot name a split"),
            ({"splits": {"../up": 1.0}}, "cannot name a split"),
            ({"splits": {"a": (None, hour(5)), "b": (hour(4), None)}}, "share the rows"),
            ({"splits": {"a": (None, None), "b": (hour(4), None)}}, "share the rows"),
            ({"splits": {"a": (None, hour(1)), "b": (None, hour(4))}}, "share the rows"),
            ({"splits": {"a": (hour(4), hour(4))}}, "is not before its end"),
            ({"splits": {"a": (hour(1), hour(4))}, "start": hour(0)}, "splits that have their own"),
            ({"splits": {"a": (hour(1), hour(4))}, "seed": 3}, "draws nothing"),
            ({"splits": {"a": ("soon", None)}}, "splits: a"),
            ({"seed": 3}, "nothing is drawn"),
            ({"splits": {"train": 0.5, "test": 0.5}, "seed": 0.5}, "seed=0.5"),
            ({"splits": {"train": 0.5, "test": 0.5}, "stratify": "none"}, "no column 'none'"),
            ({"format": "orc"}, "format='orc'"),
            ({"format": None}, "format=None"),
            ({"description": 3}, "description=3"),
            ({"description": "a\0b"}, "NUL"),
        ],
    )
    def test_refused(self, view, options, told):
        with pytest.raises(hr.InvalidArgument, match=told):
            view.create_training_dataset(**options)
        assert view.list_training_datasets() == []

    def test_a_view_with_a_limit_is_stored_but_not_split(self, store, flights):
        view = store.create_feature_view("some", flights.select("id", "dep").limit(10))
        made = view.create_training_dataset()
        assert values(made.read(), "dep") == [hour(i) for i in range(10)]
        same(made)
        for splits in ({"train": 0.5, "test": 0.5}, {"a": (None, hour(3)), "b": (hour(3), None)}):
            with pytest.raises(hr.InvalidArgument, match="limit cannot be split"):
                view.create_training_dataset(splits=splits)


class TestSpine:
    @pytest.mark.parametrize("form", FORMATS)
    def test_it_is_stored(self, view, form):
        made = view.create_training_dataset(spine=spine(note=["a", "", None, "d"]), format=form)
        rows = same(made)
        assert rows["id"].to_pylist() == [3, 3, 999, 5]
        assert rows["note"].to_pylist() == ["", None, "d", "a"]
        assert rows["temp"].to_pylist() == [1.0, 1.0, None, 2.0]

    def test_split(self, view):
        many = pa.concat_tables([spine()] * 25)
        made = view.create_training_dataset(spine=many, splits={"train": 0.5, "test": 0.5}, seed=1)
        assert made.rows == {"train": 50, "test": 50}
        same(made)

    def test_in_many_batches_of_other_dictionaries(self, view):
        one, two = (
            pa.table({"kind": pa.array(kinds).dictionary_encode()}) for kinds in (["x", "y"], ["z", "x"])
        )
        kinds = pa.chunked_array([*one["kind"].chunks, *two["kind"].chunks])
        made = view.create_training_dataset(spine=spine(kind=kinds))
        rows = same(made)
        assert rows.schema.field("kind").type == pa.string()
        assert rows["kind"].to_pylist() == ["y", "z", "x", "x"]

    def test_without_a_row(self, view):
        assert same(view.create_training_dataset(spine=spine().slice(0, 0))).num_rows == 0

    def test_pandas(self, view):
        frame = spine(note=["a", "b", "a", "c"]).to_pandas()
        frame["note"] = frame["note"].astype("category")
        made = view.create_training_dataset(spine=frame)
        assert same(made)["note"].to_pylist() == ["b", "a", "c", "a"]

    @pytest.mark.parametrize("form", FORMATS)
    def test_values_that_their_type_does_not_have(self, view, form):
        with pytest.raises(hr.InvalidArgument, match="the spine cannot be read"):
            view.create_training_dataset(
                spine=spine(clock=pa.array([1, 2, 3, 90_000], pa.time32("s"))), format=form
            )
        assert view.list_training_datasets() == []

    @pytest.mark.parametrize("form", FORMATS)
    def test_columns_without_nulls(self, view, form):
        given = spine()
        given = given.cast(pa.schema([field.with_nullable(False) for field in given.schema]))
        assert same(view.create_training_dataset(spine=given, format=form)).num_rows == 4

    def test_years_that_csv_does_not_keep(self, view):
        given = spine(far=pa.array([0, 1, 2, 10**12], pa.timestamp("s")))
        with pytest.raises(hr.Unsupported, match="column 'far'"):
            view.create_training_dataset(spine=given, format="csv")
        assert view.list_training_datasets() == []
        made = view.create_training_dataset(spine=given)
        assert made.read(columns=["far"]).to_arrow()["far"].cast(pa.int64()).to_pylist() == [1, 2, 10**12, 0]

    def test_it_must_fit_the_view(self, view):
        with pytest.raises(hr.InvalidArgument):
            view.create_training_dataset(spine=spine().drop_columns("dep"))
        assert view.list_training_datasets() == []


ODD = {
    "bool": pa.array([True, None]),
    "tiny": pa.array([-128, None], pa.int8()),
    "large": pa.array([2**64 - 1, None], pa.uint64()),
    "float": pa.array([1.1, float("nan")], pa.float32()),
    "double": pa.array([5e-324, float("-inf")]),
    "text": pa.array(['a "b",\r\nc\n', ""]),
    "spaces": pa.array([" NULL ", "nan"]),
    "none": pa.array([None, "x"]),
    "long": pa.array(["x" * 100_000, None], pa.large_string()),
    "view": pa.array(["a", None], pa.string_view()),
    "day": pa.array([dt.date(1, 1, 1), None]),
    "millis": pa.array([0, None], pa.date64()),
    "clock": pa.array([86_399, None], pa.time32("s")),
    "nanos": pa.array([-1, None], pa.timestamp("ns")),
    "seconds": pa.array([-1, None], pa.timestamp("s")),
    "berlin": pa.array([-1, None], pa.timestamp("us", "Europe/Berlin")),
    "decimal": pa.array([None, None], pa.decimal128(38, 2)),
    "duration": pa.array([1, None], pa.duration("us")),
    "nothing": pa.nulls(2),
    "coded": pa.array(["a", None]).dictionary_encode(),
    "numbered": pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int8()), pa.array([5, 6])),
}
NESTED = {
    "bytes": pa.array([b"\xff\x00", None]),
    "half": pa.array([1.5, None], pa.float16()),
    "list": pa.array([[1, None], None]),
    "struct": pa.array([{"a": {"b": 1}}, None]),
    "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
    "wide": pa.array([None, None], pa.decimal256(60, 2)),
    "uuid": pa.array([b"0" * 16, None], pa.uuid()),
    "texts": pa.array([["a"], None], pa.list_(pa.string_view())),
}
STRANGE = {
    "interval": pa.array([None, (1, 2, 3)], pa.month_day_nano_interval()),
}


class TestTypes:
    """Columns of a spine have any type, and come back with it."""

    @pytest.fixture
    def view(self, store, flights):
        return store.create_feature_view("ids", flights.select("id"))

    def check(self, view, form, name, column):
        times = pa.array([hour(1), hour(0)])
        given = pa.table({"id": [1, 2], "dep": times, name: column})
        made = view.create_training_dataset(spine=given, format=form)
        stored = same(made)[name]
        expected = pa.chunked_array([column.slice(1), column.slice(0, 1)])
        assert str(stored.to_pylist()) == str(expected.to_pylist())
        assert stored.type == (column.type.value_type if name in ("coded", "numbered") else stored.type)
        return stored.type

    @pytest.mark.parametrize("form", FORMATS)
    @pytest.mark.parametrize("name", ODD)
    def test_everywhere(self, view, form, name):
        kind = self.check(view, form, name, ODD[name])
        assert kind == ODD[name].type or name in ("view", "coded", "numbered")

    @pytest.mark.parametrize("form", ["parquet", "arrow"])
    @pytest.mark.parametrize("name", NESTED)
    def test_not_in_csv(self, view, form, name):
        kind = self.check(view, form, name, NESTED[name])
        assert kind == NESTED[name].type or name == "texts"
        with pytest.raises(hr.Unsupported, match=f"column '{name}' is .* which a csv file does not keep"):
            self.check(view, "csv", name, NESTED[name])

    @pytest.mark.parametrize(
        "kind", [pa.timestamp("us", "Nope/Zone"), pa.timestamp("us", "+99:00"), pa.decimal128(9, -2)], ids=str
    )
    def test_not_in_csv_of_a_kind_that_is(self, view, kind):
        given = pa.table({"id": [1], "dep": pa.array([hour(1)]), "odd": pa.nulls(1, kind)})
        with pytest.raises(hr.Unsupported, match=r"column 'odd' is .* which a csv file does not keep"):
            view.create_training_dataset(spine=given, format="csv")
        assert view.list_training_datasets() == []

    @pytest.mark.parametrize("name", STRANGE)
    def test_in_arrow_alone(self, view, name):
        self.check(view, "arrow", name, STRANGE[name])
        for form in ("parquet", "csv"):
            with pytest.raises(hr.Unsupported, match=f"column '{name}' is .* which a {form} file"):
                self.check(view, form, name, STRANGE[name])

    @pytest.mark.parametrize("form", FORMATS)
    @pytest.mark.parametrize(
        "name", ["a.b", "two words", 'dou"ble', "comma,", "new\nline", "名前", " lead", "*", "[0]"]
    )
    def test_names(self, view, form, name):
        self.check(view, form, name, pa.array([1, None]))
        made = view.get_training_dataset()
        assert values(made.read(columns=[name]), name) == [None, 1]


class TestTablesMoveOn:
    """The rows stay what they were."""

    @pytest.fixture
    def dataset(self, view):
        return view.create_training_dataset(splits={"train": 0.8, "test": 0.2}, seed=2)

    @pytest.fixture(autouse=True)
    def before(self, dataset):
        rows = dataset.read().to_arrow()
        yield
        assert dataset.read().to_arrow().equals(rows)
        same(dataset)

    def test_inserts(self, flights, weather, view):
        flights.insert(flown(range(ROWS, 2 * ROWS)))
        weather.insert([{"carrier": "rare", "seen": START, "temp": 99.0}])
        assert view.create_training_dataset().rows == {"all": 2 * ROWS}

    def test_deletes(self, flights, weather):
        flights.delete(filter=flights["id"] >= 0)
        weather.delete(filter=weather["temp"] > 0)
        assert flights.read().to_arrow().num_rows == 0

    def test_overwrite_compaction_and_vacuum(self, flights, weather):
        for group in (flights, weather):
            for _ in range(3):
                group.insert(group.read().to_arrow(), mode="overwrite")
        flights.insert(flown(range(ROWS, ROWS + 5)), mode="append")
        flights.compact()
        gone = flights.vacuum(retention_hours=0, dry_run=False)
        assert gone
        assert weather.vacuum(retention_hours=0, dry_run=False)
        with pytest.raises(hr.SnapshotNotFound):
            flights.read(snapshot=1)

    def test_restore(self, flights):
        flights.insert(flown(range(3)), mode="overwrite")
        flights.restore(0)
        flights.vacuum(retention_hours=0, dry_run=False)

    def test_vacuum_twice(self, flights):
        flights.insert(flown(range(3)), mode="overwrite")
        assert flights.vacuum(retention_hours=0) == []
        assert flights.vacuum(retention_hours=0, dry_run=False) == []
        assert flights.vacuum(retention_hours=0, dry_run=False) == []

    def test_late_data(self, weather, view):
        weather.insert([{"carrier": "rare", "seen": hour(-5), "temp": 5.0}])
        weather.insert([{"carrier": "usual", "seen": hour(1), "temp": 6.0}])
        assert view.training_data().snapshots["weather@v1"] == 2


def test_what_is_no_longer_needed_is_vacuumed(view, flights):
    view.create_training_dataset()
    flights.insert(flown(range(3)), mode="overwrite")
    assert flights.vacuum(retention_hours=0) == []
    view.delete_training_dataset(1)
    assert len(flights.vacuum(retention_hours=0)) == 1


def test_an_old_snapshot_is_pinned_too(view, flights, weather):
    for temp in (5.0, 6.0, 7.0):
        weather.insert(
            [{"carrier": c, "seen": START, "temp": temp} for c in ("rare", "usual")], mode="overwrite"
        )
    then = weather.history()[1].timestamp
    made = view.create_training_dataset(as_of=then)
    assert made.snapshots == {"flights@v1": 0, "weather@v1": 2}
    weather.insert([{"carrier": "rare", "seen": START, "temp": 8.0}], mode="overwrite")
    assert len(weather.vacuum(retention_hours=0, dry_run=False)) == 3
    assert set(values(made.read(), "temp")) == {6.0}
    same(made)


def test_a_group_read_at_two_snapshots(store, flights, weather):
    weather.insert([{"carrier": "rare", "seen": START, "temp": 8.0}])
    query = flights.select("id").join(weather.as_of(snapshot=0).select("temp"), on="carrier", prefix="old_")
    view = store.create_feature_view("both", query.join(weather.select("temp"), on="carrier", prefix="new_"))
    made = view.create_training_dataset()
    weather.insert([{"carrier": "rare", "seen": START, "temp": 9.0}], mode="overwrite")
    weather.vacuum(retention_hours=0, dry_run=False)
    rows = same(made)
    assert set(rows["old_temp"].to_pylist()) == {1.0, 2.0}
    assert set(rows["new_temp"].to_pylist()) == {8.0, 2.0}


@pytest.mark.local_files
class TestFiles:
    def test_they_are_what_others_read(self, view):
        made = {form: view.create_training_dataset(format=form) for form in FORMATS}
        expected = made["parquet"].read().to_arrow()
        (path,) = pathlib.Path(made["parquet"].location, "all").iterdir()
        assert pq.read_table(path).equals(expected)
        (path,) = pathlib.Path(made["arrow"].location, "all").iterdir()
        assert pa.ipc.open_file(path).read_all().equals(expected)
        (path,) = pathlib.Path(made["csv"].location, "all").iterdir()
        assert pc.read_csv(path).num_rows == ROWS
        assert path.read_text().startswith('"id","dep","carrier","delay","temp"\n')

    @pytest.mark.parametrize("form", FORMATS)
    def test_a_lost_one_is_told(self, view, form):
        made = view.create_training_dataset(format=form)
        (path,) = pathlib.Path(made.location, "all").iterdir()
        path.unlink()
        with pytest.raises(hr.CorruptTable, match="is lost"):
            made.read().to_arrow()
        with pytest.raises(hr.CorruptTable, match="is lost"):
            made.read().to_reader().read_all()
        assert made.recompute().to_arrow().num_rows == ROWS

    @pytest.mark.parametrize("form", FORMATS)
    def test_a_shorter_one_is_told(self, view, form):
        made = view.create_training_dataset(format=form)
        (path,) = pathlib.Path(made.location, "all").iterdir()
        os.truncate(path, path.stat().st_size - 10)
        with pytest.raises(hr.CorruptTable, match=r"was written with|cannot be read"):
            made.read().to_arrow()

    @pytest.mark.parametrize("form", FORMATS)
    def test_a_damaged_one_is_told(self, view, form):
        made = view.create_training_dataset(format=form)
        (path,) = pathlib.Path(made.location, "all").iterdir()
        data = path.read_bytes()
        path.write_bytes(data[:-400] + bytes(300) + data[-100:])
        for read in (made.read().to_arrow, made.read().to_reader().read_all):
            with pytest.raises(hr.CorruptTable, match=r"cannot be read|is not as it was written"):
                read()

    @pytest.mark.parametrize("damage", ["lost", "shorter", "another byte"])
    def test_a_damaged_spine_is_told(self, view, damage):
        made = view.create_training_dataset(spine=pa.concat_tables([spine()] * 30_000))
        path = pathlib.Path(made.location, "spine.arrow")
        data = bytearray(path.read_bytes())
        if damage == "lost":
            path.unlink()
        elif damage == "shorter":
            with (
                pa.ipc.open_stream(bytes(data)) as stream,
                pa.ipc.new_stream(str(path), stream.schema) as writer,
            ):
                writer.write_batch(stream.read_next_batch())
        else:
            data[len(data) // 2] ^= 0x40
            path.write_bytes(data)
        with pytest.raises(hr.CorruptTable, match=r"spine\.arrow (cannot be read|is not as it was written)"):
            made.recompute().to_arrow()
        assert made.read().to_arrow().num_rows == 120_000

    def test_arrow_of_the_same_machine_is_mapped(self, view):
        made = view.create_training_dataset(format="arrow")
        before = pa.total_allocated_bytes()
        rows = made.read().to_arrow()
        assert pa.total_allocated_bytes() - before < rows.nbytes / 4
        assert rows.num_rows == ROWS

    def test_a_file_of_another_dataset_is_not_taken_for_it(self, view):
        first, second = (view.create_training_dataset(end=hour(n), format="arrow") for n in (10, 20))
        (path,) = pathlib.Path(first.location, "all").iterdir()
        (other,) = pathlib.Path(second.location, "all").iterdir()
        os.replace(other, path)
        with pytest.raises(hr.CorruptTable):
            first.read().to_arrow()

    def test_those_of_two_splits_are_not_taken_for_each_other(self, view):
        made = view.create_training_dataset(splits=dict.fromkeys("abcdefgh", 0.125), format="arrow")
        sizes = {}
        for path in pathlib.Path(made.location).glob("*/*"):
            sizes.setdefault(path.stat().st_size, []).append(path)
        one, other = max(sizes.values(), key=len)[:2]
        exchange(one, other)
        for read in (
            made.read().to_arrow,
            made.read().to_reader().read_all,
            made.read(one.parent.name).to_arrow,
        ):
            with pytest.raises(hr.CorruptTable, match="is not the file that was written there"):
                read()

    @pytest.mark.parametrize("form", FORMATS)
    def test_those_of_two_datasets_are_not_taken_for_each_other(self, view, weather, form):
        first = view.create_training_dataset(format=form)
        weather.insert([{"carrier": c, "seen": START, "temp": t} for c, t in (("rare", 5.0), ("usual", 6.0))])
        second = view.create_training_dataset(format=form)
        one, other = (next(pathlib.Path(made.location, "all").iterdir()) for made in (first, second))
        assert one.stat().st_size == other.stat().st_size
        exchange(one, other)
        for read in (first.read().to_arrow, second.read().to_reader().read_all):
            with pytest.raises(hr.CorruptTable, match=r"not the file that was written|not as it was written"):
                read()

    def test_another_byte_of_csv_is_told(self, view):
        made = view.create_training_dataset(format="csv")
        (path,) = pathlib.Path(made.location, "all").iterdir()
        path.write_bytes(path.read_bytes().replace(b"usual", b"ususl", 1))
        with pytest.raises(hr.CorruptTable, match="is not as it was written"):
            made.read().to_arrow()

    def test_deleting_removes_them(self, view):
        made = view.create_training_dataset()
        view.delete_training_dataset(1)
        assert not pathlib.Path(made.location).exists()
        for use in (lambda: made.read(), lambda: made.recompute(), lambda: view.get_training_dataset(1)):
            with pytest.raises(hr.NotFound, match="no training dataset 1 of delays@v1"):
                use()
        with pytest.raises(hr.NotFound):
            view.delete_training_dataset(1)

    def test_what_fails_leaves_nothing(self, view, tmp_path, target):
        made = view.create_training_dataset()
        folder = pathlib.Path(made.location).parent
        before = sorted(folder.iterdir())
        with pytest.raises(hr.InvalidArgument):
            view.create_training_dataset(splits={"train": 0.5, "test": 0.5}, stratify="none")
        with pytest.raises(hr.Unsupported):
            view.create_training_dataset(spine=spine(b=[b"\xff"] * 4), format="csv")
        assert sorted(folder.iterdir()) == before
        assert view.create_training_dataset().version == 2


class TestNeeded:
    """What a dataset needs is not deleted behind its back."""

    def test_a_view(self, store, view):
        made = view.create_training_dataset()
        with pytest.raises(hr.Conflict, match="delays@v1 has training datasets: 1"):
            store.delete_feature_view("delays", 1)
        assert made.read().to_arrow().num_rows == ROWS
        store.delete_feature_view("delays", 1, force=True)
        assert not pathlib.Path(made.location).exists()
        with pytest.raises(hr.NotFound):
            made.read()

    def test_a_group(self, store, view, flights, weather):
        made = view.create_training_dataset()
        with Unchanged(weather, hr.Conflict) as caught:
            store.delete_feature_group("weather", 1)
        assert "feature view delays@v1 and training dataset 1 of delays@v1" in caught.value.message
        store.delete_feature_group("weather", 1, force=True)
        assert made.read().to_arrow().num_rows == ROWS
        with pytest.raises(hr.NotFound, match="weather"):
            made.recompute()

    def test_a_group_that_was_made_again_is_another(self, store, view):
        made = view.create_training_dataset()
        store.delete_feature_group("weather", 1, force=True)
        again = store.create_feature_group("weather", version=1, primary_key=["carrier"], event_time="seen")
        again.insert([{"carrier": "rare", "seen": START, "temp": 1.0}])
        with pytest.raises(hr.NotFound, match="deleted meanwhile"):
            made.recompute()
        again.insert([{"carrier": "rare", "seen": START, "temp": 2.0}], mode="overwrite")
        assert len(again.vacuum(retention_hours=0, dry_run=False)) == 1
        assert made.read().to_arrow().num_rows == ROWS

    @pytest.mark.local_files
    def test_files_that_others_removed_are_told_before_the_first_row(self, view, weather):
        made = view.create_training_dataset()
        path = next(pathlib.Path(weather.location).glob("*.parquet"))
        weather.insert([{"carrier": "rare", "seen": START, "temp": 1.0}], mode="overwrite")
        path.unlink()
        with pytest.raises(hr.SnapshotNotFound, match="weather@v1: snapshot 0 is no longer whole"):
            made.recompute()
        assert made.read().to_arrow().num_rows == ROWS


class TestRefused:
    def test_an_unknown_split(self, view):
        made = view.create_training_dataset(splits={"train": 0.5, "test": 0.5})
        for use in (made.read, made.recompute):
            with pytest.raises(hr.NotFound, match="has no split 'trian'") as caught:
                use("trian")
            assert caught.value.hint == "it has train, test"

    def test_columns(self, view):
        made = view.create_training_dataset()
        for columns, error in (
            (["none"], hr.UnknownColumn),
            ([], hr.InvalidArgument),
            ("id", hr.InvalidArgument),
            (["id", "id"], hr.InvalidArgument),
            (5, hr.InvalidArgument),
            ([5], hr.InvalidArgument),
        ):
            with pytest.raises(error):
                made.read(columns=columns)

    def test_versions(self, view):
        view.create_training_dataset()
        for version in (0, -1, "1", True, 1.0):
            with pytest.raises(hr.InvalidArgument):
                view.get_training_dataset(version)
            with pytest.raises(hr.InvalidArgument):
                view.delete_training_dataset(version)
        with pytest.raises(hr.NotFound, match="no training dataset 2 of delays@v1") as caught:
            view.get_training_dataset(2)
        assert caught.value.hint == "delays@v1 has version 1"

    def test_a_view_without_event_time(self, store):
        group = store.create_feature_group("plain", primary_key=["id"])
        group.insert([{"id": 1, "x": 2}])
        view = store.create_feature_view("plain", group.select())
        with pytest.raises(hr.InvalidArgument, match="no event time"):
            view.create_training_dataset()
