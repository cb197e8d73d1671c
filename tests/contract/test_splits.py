"""Training data in parts: whole, apart, of the same snapshots, and drawn again by the same seed."""

from __future__ import annotations

import datetime as dt
from collections import Counter

import pyarrow as pa
import pytest

import headrace as hr
from contract.helpers import values

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
ROWS = 1000


def hour(number: int) -> dt.datetime:
    return START + dt.timedelta(hours=number)


@pytest.fixture
def flights(store):
    made = store.create_feature_group("flights", primary_key=["id"], event_time="dep")
    made.insert(
        pa.table(
            {
                "id": range(ROWS),
                "dep": [hour(i) for i in range(ROWS)],
                "carrier": ["rare" if i % 10 == 0 else "usual" for i in range(ROWS)],
                "delay": [float(i) for i in range(ROWS)],
            }
        )
    )
    return made


@pytest.fixture
def weather(store):
    made = store.create_feature_group("weather", primary_key=["carrier"], event_time="seen")
    made.insert([{"carrier": c, "seen": START, "temp": t} for c, t in (("rare", 1.0), ("usual", 2.0))])
    return made


@pytest.fixture(params=["plain", "joined"])
def view(store, flights, weather, request):
    query = flights.select("id", "dep", "carrier", "delay")
    if request.param == "joined":
        query = query.join(weather.select("temp"), on="carrier")
    return store.create_feature_view("delays", query, labels=["delay"])


def ids(result):
    return sorted(values(result, "id"))


class TestDrawn:
    @pytest.mark.parametrize("size", [0.2, 0.25, 0.5, 0.001])
    def test_the_parts_are_all_rows_once_and_of_the_size(self, view, size):
        train, test = view.train_test_split(test_size=size)
        assert sorted(ids(train) + ids(test)) == list(range(ROWS))
        assert len(ids(test)) == round(ROWS * size)

    def test_three_parts(self, view):
        parts = view.train_validation_test_split(validation_size=0.15, test_size=0.25, seed=3)
        assert [len(ids(part)) for part in parts] == [600, 150, 250]
        assert sorted(row for part in parts for row in ids(part)) == list(range(ROWS))

    def test_the_same_seed_draws_the_same_rows(self, view):
        drawn = [ids(view.train_test_split(test_size=0.2, seed=seed)[1]) for seed in (7, 7, 8)]
        assert drawn[0] == drawn[1] != drawn[2]

    def test_each_call_of_a_result_gives_the_same_rows(self, view):
        _, test = view.train_test_split(test_size=0.2)
        assert ids(test) == ids(test) == sorted(test.to_polars()["id"].to_list())
        assert sorted(test.to_reader(batch_size=10).read_all()["id"].to_pylist()) == ids(test)

    def test_rows_are_mixed(self, view):
        _, test = view.train_test_split(test_size=0.2)
        quarters = Counter(row * 4 // ROWS for row in ids(test))
        assert all(30 < quarters[q] < 70 for q in range(4))

    def test_stratified(self, view):
        parts = view.train_validation_test_split(validation_size=0.1, test_size=0.2, stratify="carrier")
        counts = [Counter(values(part, "carrier")) for part in parts]
        assert counts == [
            {"rare": 70, "usual": 630},
            {"rare": 10, "usual": 90},
            {"rare": 20, "usual": 180},
        ]

    @pytest.mark.parametrize("each", [1, 3])
    def test_strata_of_few_rows(self, store, view, each):
        """Shares hold over all of them, and each has its own as far as it has rows."""
        group = store.create_feature_group("small", primary_key=["id"], event_time="at")
        rows = [{"id": i, "at": hour(i // 7), "kind": i // each} for i in range(600)]
        group.insert(rows)
        small = store.create_feature_view("small", group.select())
        parts = small.train_validation_test_split(
            validation_size=0.25, test_size=0.25, stratify="kind", seed=2
        )
        kinds = [Counter(values(part, "kind")) for part in parts]
        for counts, share in zip(kinds, (0.5, 0.25, 0.25), strict=True):
            assert abs(counts.total() - 600 * share) < 60
            assert all(abs(counts[kind] - each * share) < 1 for kind in range(600 // each))
        assert sum(kinds, Counter()) == Counter(row["kind"] for row in rows)

    def test_of_the_same_snapshots(self, view, flights):
        train, test = view.train_test_split(test_size=0.2)
        before = ids(test)
        flights.insert([{"id": ROWS, "dep": hour(ROWS), "carrier": "rare", "delay": 0.0}])
        assert train.snapshots == test.snapshots
        assert train.snapshots["flights@v1"] == 0
        assert ids(test) == before
        assert sorted(ids(train) + before) == list(range(ROWS))

    def test_options_choose_the_rows_first(self, view):
        train, test = view.train_test_split(hour(100), hour(200), test_size=0.1)
        assert sorted(ids(train) + ids(test)) == list(range(100, 200))
        assert len(ids(test)) == 10

    def test_features_and_labels(self, view):
        for part in view.train_test_split(test_size=0.2):
            x, y = part.xy(to="arrow")
            assert x["id"].cast(pa.float64()).equals(y)

    def test_it_says_what_it_draws(self, view):
        train, _ = view.train_test_split(test_size=0.2, seed=9, stratify="carrier")
        assert "of the rows of each carrier, drawn by seed 9, from 0% to 80%" in train.explain()

    def test_in_stages(self, store, flights, weather):
        query = flights.select("id", "delay")
        for number in range(6):
            query = query.join(weather.select("temp"), on="carrier", prefix=f"w{number}_")
        train, test = store.create_feature_view("wide", query).train_test_split(test_size=0.2)
        assert sorted(ids(train) + ids(test)) == list(range(ROWS))


class TestSpine:
    def spine(self, rows=100, **columns):
        made = {
            "id": range(rows),
            "dep": [hour(5)] * rows,
            "carrier": ["usual"] * rows,
            "delay": [1.0] * rows,
        }
        return pa.table(made | columns)

    def test_parts_keep_its_order(self, view):
        spine = self.spine(id=[99 - i for i in range(100)], number=pa.array(range(100)))
        train, test = view.train_test_split(spine=spine, test_size=0.3, seed=1)
        numbers = values(train, "number"), values(test, "number")
        assert [sorted(n) for n in numbers] == list(numbers)
        assert [len(n) for n in numbers] == [70, 30]
        assert sorted(numbers[0] + numbers[1]) == list(range(100))

    def test_rows_that_repeat_are_all_there(self, view):
        spine = self.spine(10, id=[5] * 10, number=pa.array(range(10)))
        train, test = view.train_test_split(spine=spine, test_size=0.3)
        assert sorted(values(train, "number") + values(test, "number")) == list(range(10))

    def test_without_keys(self, store, flights, weather):
        query = flights.select("carrier", "delay").join(weather.select("temp"), on="carrier")
        view = store.create_feature_view("keyless", query)
        spine = self.spine(number=pa.array(range(100))).drop_columns("id")
        train, test = view.train_test_split(spine=spine, test_size=0.2)
        drawn = values(test, "number")
        assert sorted(values(train, "number") + drawn) == list(range(100))
        assert drawn != list(range(80, 100))

    def test_stratified_by_a_column_of_its_own(self, view):
        spine = self.spine(kind=["a", "b"] * 50)
        _, test = view.train_test_split(spine=spine, test_size=0.2, stratify="kind")
        assert Counter(values(test, "kind")) == {"a": 10, "b": 10}


class TestByTime:
    def test_two_parts(self, view):
        train, test = view.train_test_split(test_start=hour(800))
        assert (ids(train), ids(test)) == (list(range(800)), list(range(800, ROWS)))

    def test_three_parts_within_bounds(self, view):
        parts = view.train_validation_test_split(
            hour(10), hour(90), validation_start=hour(50), test_start=hour(70).isoformat()
        )
        assert [ids(part) for part in parts] == [
            list(range(10, 50)), list(range(50, 70)), list(range(70, 90)),
        ]  # fmt: skip

    def test_of_the_same_snapshots(self, view, flights):
        train, test = view.train_test_split(test_start=hour(800))
        flights.delete(filter=flights["id"] > 0)
        assert len(ids(train)) + len(ids(test)) == ROWS

    def test_a_spine(self, view):
        spine = pa.table(
            {"id": [1, 2, 3], "dep": [hour(3), hour(1), hour(2)], "carrier": ["rare"] * 3, "delay": [0.0] * 3}
        )
        train, test = view.train_test_split(spine=spine, test_start=hour(2))
        assert (ids(train), ids(test)) == ([2], [1, 3])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "takes test_size, or test_start; it was given none"),
        ({"test_size": 0.2, "test_start": START}, "given test_size and test_start"),
        ({"test_size": 0}, "test_size=0 is refused"),
        ({"test_size": 1.0}, "test_size=1.0 is refused"),
        ({"test_size": "0.2"}, "is refused"),
        ({"test_size": True}, "is refused"),
        ({"test_size": 0.2, "seed": 1.5}, "seed=1.5"),
        ({"test_size": 0.2, "event_time": "nope"}, "names the time of a spine, and none is given"),
        ({"test_start": START, "seed": 3}, "draws nothing"),
        ({"test_start": START, "stratify": "carrier"}, "draws nothing"),
        ({"test_start": hour(5), "start": hour(5)}, "start=.* is not before test_start="),
        ({"test_start": hour(5), "end": hour(5)}, "test_start=.* is not before end="),
        ({"test_start": "soon"}, "test_start"),
    ],
)
def test_arguments_that_are_none(view, options, said):
    with pytest.raises(hr.InvalidArgument, match=said):
        view.train_test_split(**options)


def test_three_parts_that_are_none(view):
    with pytest.raises(hr.InvalidArgument, match="leave nothing to train with"):
        view.train_validation_test_split(validation_size=0.5, test_size=0.5)
    with pytest.raises(hr.InvalidArgument, match="given test_size"):
        view.train_validation_test_split(test_size=0.5)
    with pytest.raises(hr.InvalidArgument, match="is not before test_start"):
        view.train_validation_test_split(validation_start=hour(3), test_start=hour(2))


def test_a_column_that_is_not_there(view):
    with pytest.raises(hr.UnknownColumn, match="stratify: the result has no column 'carier'"):
        view.train_test_split(test_size=0.2, stratify="carier")


def test_a_column_whose_values_are_no_strata(store):
    group = store.create_feature_group("listed", primary_key=["id"], event_time="at")
    group.insert([{"id": i, "at": hour(i), "tags": [i]} for i in range(8)])
    view = store.create_feature_view("listed", group.select())
    with pytest.raises(hr.InvalidArgument, match=r"stratify: 'tags' is list.* whose values are no strata"):
        view.train_test_split(test_size=0.5, stratify="tags")


def test_a_view_with_a_limit(store, flights):
    view = store.create_feature_view("some", flights.select("id", "delay").limit(10))
    with pytest.raises(hr.InvalidArgument, match="rows with a limit cannot be split"):
        view.train_test_split(test_size=0.2)
