"""Results: lazy, and read as Arrow, pandas, Polars or a stream."""

from __future__ import annotations

import datetime as dt
import decimal
import subprocess
import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import headrace as hr
from conftest import fresh
from contract.helpers import TIME, at, frame, make_flights, make_weather, rows, values

SCHEMA = pa.schema(
    {
        "id": pa.int64(), "n": pa.int32(), "real": pa.float64(), "text": pa.string(), "flag": pa.bool_(),
        "day": pa.date32(), "time": TIME, "money": pa.decimal128(9, 2), "tags": pa.list_(pa.field("element", pa.string())),
    }
)  # fmt: skip
LEFT_OPEN = """
import atexit, sys

@atexit.register
def read_on():
    if sys.argv[3:] == ["read on"]:
        try:
            print(len(list(reader)), "batches more, and then an end")
        except hr.Cancelled as error:
            print(error.code)

import headrace as hr
store = hr.connect(sys.argv[1], project=sys.argv[2])
group = store.create_feature_group("long", primary_key=["id"])
group.insert([{"id": i} for i in range(50_000)])
reader = group.read().to_reader()
if sys.argv[3:] != ["not yet read"]:
    reader.read_next_batch()
"""
FIRST = (1, 7, 0.5, "a", True, dt.date(2024, 3, 1), at("10:00"), decimal.Decimal("1.50"), ["x", None])


@pytest.fixture
def mixed(store):
    group = store.create_feature_group("mixed", primary_key=["id"], schema=SCHEMA)
    group.insert(frame(SCHEMA, FIRST, (2, *[None] * 8)))
    return group


@pytest.fixture
def long(store):
    group = store.create_feature_group("long", primary_key=["id"])
    group.insert(
        pa.table({"id": pa.array(range(100_000), pa.int64()), "v": pa.array(range(100_000), pa.int32())})
    )
    return group


@pytest.fixture
def view(store):
    flights = make_flights(store, (1, "11:00", "JFK", 5.0), (2, "12:00", "LGA", 6.0))
    weather = make_weather(store, ("JFK", "10:00", 1.0), ("LGA", "10:00", 2.0))
    query = flights.select("delay", "origin", "flight_id").join(weather, on="origin")
    return store.create_feature_view("view", query, labels=["delay"])


class TestLazy:
    def test_making_one_runs_nothing(self, store):
        """Rows that cannot be told apart are found only when the join is run."""
        weather = make_weather(store, ("JFK", "10:00", 1.0), ("JFK", "10:00", 2.0))
        flights = make_flights(store, (1, "11:00", "JFK", 5.0))
        result = flights.join(weather, on="origin").read()
        assert result.schema.names == ["flight_id", "dep", "origin", "delay", "temp"]
        assert result.head(1).schema == result.schema
        for run in (
            result.to_arrow,
            result.to_pandas,
            result.to_polars,
            lambda: result.to_reader().read_all(),
        ):
            with pytest.raises(hr.AmbiguousRows):
                run()

    def test_each_call_executes_again(self, mixed):
        result = mixed.read()
        assert rows(result) == rows(result) == result.to_polars().to_dicts()

    def test_schema_is_told_before_and_kept(self, mixed):
        result = mixed.read()
        assert isinstance(result.schema, pa.Schema)
        assert result.schema == SCHEMA == result.to_arrow().schema == result.to_reader().schema

    def test_snapshots_are_fixed_when_it_is_made(self, mixed):
        result = mixed.read()
        snapshots = dict(result.snapshots)
        assert list(snapshots) == ["mixed@v1"]
        mixed.delete(filter=mixed["id"] == 1)
        assert dict(result.snapshots) == snapshots
        assert sorted(values(result, "id")) == [1, 2]
        assert mixed.read().snapshots["mixed@v1"] > snapshots["mixed@v1"]

    def test_of_a_view_names_every_group(self, view):
        assert set(view.training_data().snapshots) == {"flights@v1", "weather@v1"}

    def test_explain_is_text(self, view, mixed):
        assert "weather@v1" in view.training_data().explain()
        assert "mixed@v1" in mixed.read().explain()


class TestToArrow:
    def test_every_row_and_type(self, mixed):
        table = mixed.read().to_arrow()
        assert isinstance(table, pa.Table)
        assert table.sort_by("id") == frame(SCHEMA, FIRST, (2, *[None] * 8))

    def test_many_rows(self, long):
        table = long.read().to_arrow()
        assert sorted(table.column("id").to_pylist()) == list(range(100_000))


class TestToPandas:
    def test_has_arrow_types(self, mixed):
        made = mixed.read().to_pandas().sort_values("id", ignore_index=True)
        assert isinstance(made, pd.DataFrame)
        assert list(made.columns) == SCHEMA.names
        assert all(isinstance(kind, pd.ArrowDtype) for kind in made.dtypes)
        assert [kind.pyarrow_dtype for kind in made.dtypes] == SCHEMA.types
        assert made["money"][0] == decimal.Decimal("1.50")
        assert made["n"].isna().tolist() == [False, True]

    def test_numpy_nullable(self, mixed):
        made = mixed.read().to_pandas(dtype_backend="numpy_nullable")
        assert (made["n"].dtype, made["real"].dtype, made["flag"].dtype) == (
            pd.Int32Dtype(),
            pd.Float64Dtype(),
            pd.BooleanDtype(),
        )
        assert isinstance(made["text"].dtype, pd.StringDtype)

    def test_numpy(self, mixed, long):
        made = long.read().to_pandas(dtype_backend="numpy")
        assert (made["id"].dtype, made["v"].dtype) == ("int64", "int32")
        assert mixed.read().to_pandas(dtype_backend="numpy")["real"].dtype == "float64"

    def test_another_backend_is_refused(self, mixed):
        with pytest.raises(hr.InvalidArgument):
            mixed.read().to_pandas(dtype_backend="arrow")

    def test_to_df_is_feasts_name_for_it(self, mixed):
        pd.testing.assert_frame_equal(mixed.read().to_df(), mixed.read().to_pandas())


class TestToPolars:
    def test_every_row(self, mixed):
        made = mixed.read().to_polars()
        assert isinstance(made, pl.DataFrame)
        assert made.sort("id").row(0)[:6] == FIRST[:6]
        assert made.columns == SCHEMA.names


class TestStreams:
    def test_to_reader(self, long):
        reader = long.read().to_reader()
        assert isinstance(reader, pa.RecordBatchReader)
        sizes = [batch.num_rows for batch in reader]
        assert sum(sizes) == 100_000
        assert max(sizes) <= 16_384

    def test_batch_size(self, long):
        sizes = [batch.num_rows for batch in long.read().to_reader(batch_size=1000)]
        assert sum(sizes) == 100_000
        assert max(sizes) <= 1000
        for wrong in (0, -1, "many"):
            with pytest.raises(hr.InvalidArgument):
                long.read().to_reader(batch_size=wrong)

    def test_a_reader_may_be_let_go(self, long):
        for _ in range(3):
            reader = long.read().to_reader()
            reader.read_next_batch()
            reader.close()
        assert len(values(long.read(), "id")) == 100_000

    def test_several_at_once(self, long):
        readers = [long.read().to_reader(1000) for _ in range(3)]
        counts = [0, 0, 0]
        for batches in zip(*readers, strict=True):
            counts = [count + batch.num_rows for count, batch in zip(counts, batches, strict=True)]
        assert counts == [100_000] * 3

    def test_arrow_c_stream(self, mixed):
        result = mixed.read()
        assert pa.table(result).sort_by("id") == result.to_arrow().sort_by("id")
        assert pl.DataFrame(result).height == 2
        assert pa.RecordBatchReader.from_stream(result).schema == SCHEMA

    def test_a_result_is_a_frame(self, store, mixed):
        copy = store.create_feature_group("copy", primary_key=["id"])
        copy.insert(mixed.read())
        assert copy.read().to_arrow().sort_by("id") == mixed.read().to_arrow().sort_by("id")

    @pytest.mark.parametrize(
        ("how", "said"), [("not yet read", ""), ("begun", ""), ("read on", "CANCELLED\n")]
    )
    def test_one_left_open_when_the_program_ends(self, target, how, said):
        """It goes in silence; whoever reads on is told that there is more."""
        program = [sys.executable, "-c", LEFT_OPEN, str(target), fresh("project"), how]
        ran = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, said, "")


class TestHead:
    def test_is_a_result_of_the_first_rows(self, long, mixed):
        assert isinstance(long.read().head(), hr.Result)
        assert len(rows(long.read().head())) == 10
        assert len(rows(long.read().head(3))) == 3
        assert len(rows(mixed.read().head(50))) == 2
        assert len(rows(long.read().head(5).head(2))) == 2
        assert len(rows(long.read(limit=2).head(5))) == 2

    def test_of_a_spine_is_its_first_rows(self, view):
        schema = pa.schema(
            {"flight_id": pa.int64(), "dep": TIME, "origin": pa.string(), "delay": pa.float64()}
        )
        spine = frame(schema, *((n, "11:00", "JFK", 0.0) for n in (5, 3, 9, 1)))
        assert values(view.training_data(spine=spine).head(2), "flight_id") == [5, 3]

    @pytest.mark.parametrize("wrong", [-1, 1.5, "2"])
    def test_is_a_count(self, mixed, wrong):
        with pytest.raises(hr.InvalidArgument):
            mixed.read().head(wrong)


class TestXy:
    def test_one_label_is_one_column(self, view):
        features, label = view.training_data().xy()
        assert isinstance(features, pd.DataFrame)
        assert isinstance(label, pd.Series)
        assert list(features.columns) == ["origin", "flight_id", "temp"]
        assert label.name == "delay"
        assert all(isinstance(kind, pd.ArrowDtype) for kind in features.dtypes)
        assert sorted(zip(features["temp"], label, strict=True)) == [(1.0, 5.0), (2.0, 6.0)]

    def test_polars_and_arrow(self, view):
        features, label = view.training_data().xy(to="polars")
        assert isinstance(features, pl.DataFrame)
        assert isinstance(label, pl.Series)
        assert sorted(label) == [5.0, 6.0]
        features, label = view.training_data().xy(to="arrow")
        assert isinstance(features, pa.Table)
        assert isinstance(label, pa.ChunkedArray)
        with pytest.raises(hr.InvalidArgument):
            view.training_data().xy(to="numpy")

    def test_several_labels_are_a_frame(self, store, view):
        several = store.create_feature_view("two", view.query, labels=["temp", "delay"])
        features, labels = several.training_data().xy()
        assert list(features.columns) == ["origin", "flight_id"]
        assert isinstance(labels, pd.DataFrame)
        assert list(labels.columns) == ["temp", "delay"]
        assert isinstance(several.training_data().xy(to="polars")[1], pl.DataFrame)
        assert isinstance(several.training_data().xy(to="arrow")[1], pa.Table)

    def test_of_a_spine_is_the_views_features_in_its_order_and_nothing_else(self, view):
        schema = pa.schema(
            {
                "note": pa.string(),
                "flight_id": pa.int64(),
                "dep": TIME,
                "origin": pa.string(),
                "delay": pa.float64(),
            }
        )
        spine = frame(schema, ("x", 9, "11:00", "LGA", 0.5), ("y", 8, "11:00", "JFK", 0.25))
        features, label = view.training_data(spine=spine).xy(to="arrow")
        assert features.to_pylist() == [
            {"origin": "LGA", "flight_id": 9, "temp": 2.0},
            {"origin": "JFK", "flight_id": 8, "temp": 1.0},
        ]
        assert label.to_pylist() == [0.5, 0.25]

    def test_without_labels_is_refused(self, store, view, mixed):
        unlabelled = store.create_feature_view("unlabelled", view.query)
        for result in (unlabelled.training_data(), mixed.read(), view.batch_data()):
            with pytest.raises(hr.InvalidArgument, match="label"):
                result.xy()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_library_that_is_not_installed_is_named(store, monkeypatch, library):
    group = store.create_feature_group("g", primary_key=["id"])
    group.insert([{"id": 1}])
    result = group.read()
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(hr.MissingDependency) as caught:
        getattr(result, f"to_{library}")()
    assert caught.value.hint == f"pip install {library}"
