"""Statistics of features, against numpy on the same values."""

from __future__ import annotations

import datetime as dt
import decimal

import numpy as np
import pyarrow as pa
import pytest

import headrace as hr
from contract.helpers import rows, values

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
ROWS = 5_000
NUMBERS = np.random.default_rng(1).normal(10, 3, ROWS)
TABLE = pa.table(
    {
        "id": range(ROWS),
        "x": pa.array(NUMBERS),
        "few": [i % 7 for i in range(ROWS)],
        "price": [decimal.Decimal(i % 1000) / 4 for i in range(ROWS)],
        "kind": [None if i % 10 == 0 else "abc"[i % 3] for i in range(ROWS)],
        "name": [f"name {i}" for i in range(ROWS)],
        "flag": [i % 4 == 0 for i in range(ROWS)],
        "at": [START + dt.timedelta(hours=i) for i in range(ROWS)],
        "day": [dt.date(2026, 1, 1) + dt.timedelta(days=i % 40) for i in range(ROWS)],
        "list": [[i] if i % 2 else None for i in range(ROWS)],
        "blob": [b"x"] * ROWS,
    }
)


@pytest.fixture
def group(store):
    made = store.create_feature_group("numbers", primary_key=["id"])
    made.insert(TABLE)
    return made


def told(group, column, **options):
    (row,) = rows(group.statistics([column], **options))
    return row


class TestFigures:
    def test_a_row_a_feature_in_their_order(self, group):
        found = group.statistics()
        assert values(found, "feature") == TABLE.schema.names
        assert values(group.statistics(["x", "id"]), "feature") == ["x", "id"]
        assert found.to_arrow().schema == found.schema

    def test_numbers(self, group):
        row = told(group, "x")
        assert (row["count"], row["nulls"], row["nans"], row["type"]) == (ROWS, 0, 0, "double")
        assert (float(row["min"]), float(row["max"])) == (NUMBERS.min(), NUMBERS.max())
        assert row["mean"] == pytest.approx(NUMBERS.mean())
        assert row["stddev"] == pytest.approx(NUMBERS.std(ddof=1))
        assert row["distinct"] == pytest.approx(ROWS, rel=0.1)
        for name, part in (("p05", 5), ("p25", 25), ("p50", 50), ("p75", 75), ("p95", 95)):
            assert row[name] == pytest.approx(np.percentile(NUMBERS, part), rel=0.02)
        assert row["approximate"] == ["distinct", "p05", "p25", "p50", "p75", "p95"]

    def test_a_histogram_counts_every_value(self, group):
        bins = told(group, "x")["histogram"]
        expected, edges = np.histogram(NUMBERS, 20)
        assert [b["count"] for b in bins] == expected.tolist()
        assert [float(b["low"]) for b in bins] == pytest.approx(edges[:-1])
        assert float(bins[-1]["high"]) == NUMBERS.max()

    def test_few_values_are_counted_one_by_one(self, group):
        row = told(group, "few")
        assert row["distinct"] == 7
        assert "distinct" not in row["approximate"]
        assert [(b["low"], b["high"]) for b in row["histogram"]] == [(str(i), str(i)) for i in range(7)]
        assert sum(b["count"] for b in row["histogram"]) == ROWS

    def test_decimals(self, group):
        row = told(group, "price")
        assert (row["min"], row["max"]) == ("0.00", "249.75")
        assert row["mean"] == pytest.approx(124.875)
        assert row["distinct"] == pytest.approx(1000, rel=0.1)
        assert sum(b["count"] for b in row["histogram"]) == ROWS

    def test_texts(self, group):
        row = told(group, "kind")
        assert (row["count"], row["nulls"], row["distinct"]) == (ROWS * 9 // 10, ROWS // 10, 3)
        assert (row["min"], row["max"], row["mean"], row["p50"]) == ("a", "c", None, None)
        assert {b["low"]: b["count"] for b in row["histogram"]} == {"a": 1500, "b": 1500, "c": 1500}
        row = told(group, "name")
        assert (row["min"], row["max"], row["histogram"]) == ("name 0", "name 999", None)

    def test_truth(self, group):
        row = told(group, "flag")
        assert (row["min"], row["max"], row["distinct"]) == ("false", "true", 2)
        assert [(b["low"], b["count"]) for b in row["histogram"]] == [("false", 3750), ("true", 1250)]

    def test_times(self, group):
        row = told(group, "at")
        assert (row["min"], row["mean"]) == (START.isoformat(), None)
        assert dt.datetime.fromisoformat(row["max"]) == TABLE["at"][-1].as_py()
        assert sum(b["count"] for b in row["histogram"]) == ROWS
        assert row["histogram"][0]["low"] == START.isoformat()
        row = told(group, "day")
        assert (row["min"], row["max"], row["distinct"]) == ("2026-01-01", "2026-02-09", 40)

    def test_others_are_counted(self, group):
        row = told(group, "list")
        assert (row["count"], row["nulls"], row["distinct"], row["min"]) == (ROWS // 2, ROWS // 2, None, None)
        assert told(group, "blob")["count"] == ROWS


class TestNulls:
    @pytest.mark.parametrize(
        "values",
        [
            range(60),
            [float(i) for i in range(60)],
            [decimal.Decimal(i) / 4 for i in range(60)],
            [START + dt.timedelta(hours=i) for i in range(60)],
            [dt.date(2026, 1, 1) + dt.timedelta(days=i) for i in range(60)],
        ],
        ids=["integers", "floats", "decimals", "times", "dates"],
    )
    def test_are_in_no_bin(self, store, values):
        column = pa.concat_arrays([pa.array(values), pa.nulls(40, pa.array(values).type)])
        group = store.create_feature_group("gaps", primary_key=["id"])
        group.insert(pa.table({"id": range(100), "x": column}))
        row = told(group, "x")
        assert (row["count"], row["nulls"]) == (60, 40)
        assert [b["count"] for b in row["histogram"]] == [3] * 20


def test_no_more_values_differ_than_there_are(store):
    group = store.create_feature_group("many", primary_key=["id"])
    group.insert(
        pa.table(
            {"id": range(20_001), **{f"x{i}": np.random.default_rng(i).random(20_001) for i in range(8)}}
        )
    )
    assert all(row["distinct"] <= row["count"] for row in rows(group.statistics()))


class TestEdges:
    @pytest.mark.parametrize(
        ("column", "expected"),
        [
            (
                pa.array([float("nan"), None, 1.0, 2.0]),
                {"count": 3, "nulls": 1, "nans": 1, "min": "1.0", "max": "2.0", "mean": 1.5, "distinct": 3},
            ),
            (
                pa.array(
                    [float("nan"), -1.0, 1.0, 3.0]
                ),  # without nulls, DuckDB takes the file's word for it
                {"count": 4, "nulls": 0, "nans": 1, "min": "-1.0", "max": "3.0", "mean": 1.0, "distinct": 4},
            ),
            (
                pa.array([float("inf"), float("-inf"), 1.0, 3.0]),
                {"count": 4, "min": "-inf", "max": "inf", "mean": 2.0, "p50": 2.0},
            ),
            (pa.array([1e300, -1e300, 1.0, None]), {"mean": None, "stddev": None, "max": "1e+300"}),
            (pa.array([float("nan")] * 4), {"count": 4, "nans": 4, "min": None, "mean": None, "p50": None}),
            (pa.array([1.7e308, -1.7e308, 0.0, 0.0]), {"count": 4, "mean": None}),
            (pa.array([5, 5, 5, 5]), {"min": "5", "max": "5", "stddev": 0.0, "distinct": 1}),
            (
                pa.array([-(2**63), 2**63 - 1, 0, 0]),
                {"min": str(-(2**63)), "max": str(2**63 - 1), "distinct": 3},
            ),
            (
                pa.nulls(4, pa.int64()),
                {"count": 0, "nulls": 4, "distinct": 0, "mean": None, "histogram": None},
            ),
            (pa.nulls(4, pa.string()), {"count": 0, "nulls": 4, "min": None, "histogram": None}),
            (pa.array(["", "x" * 1000, "é", None]), {"count": 3, "min": "", "distinct": 3}),
            (
                pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31), None, None]),
                {"min": "0001-01-01", "max": "9999-12-31"},
            ),
        ],
    )
    def test_values(self, store, column, expected):
        group = store.create_feature_group("odd", primary_key=["id"])
        group.insert(pa.table({"id": range(4), "v": column}))
        row = told(group, "v")
        assert {key: row[key] for key in expected} == expected

    def test_a_long_text_is_cut(self, store):
        group = store.create_feature_group("odd", primary_key=["id"])
        group.insert(pa.table({"id": [1], "v": ["x" * 1000]}))
        assert len(told(group, "v")["max"]) == 100

    def test_no_rows(self, store):
        group = store.create_feature_group("none", primary_key=["id"], schema=pa.schema({"id": pa.int64()}))
        assert rows(group.statistics())[0]["count"] == 0
        bare = store.create_feature_group("bare", primary_key=["id"])
        with pytest.raises(hr.SchemaMismatch, match="has no columns yet"):
            bare.statistics()

    @pytest.mark.parametrize("name", ["two words", 'dou"ble', "it's", "a.b", "名前", "c0", "a0_count"])
    def test_names(self, store, name):
        group = store.create_feature_group("odd", primary_key=["id"])
        group.insert(pa.table({"id": [1, 2], name: [3, 4]}))
        assert told(group, name)["mean"] == 3.5

    def test_many_columns(self, store):
        group = store.create_feature_group("wide", primary_key=["c0"])
        group.insert(pa.table({f"c{i}": [i, i + 1] for i in range(150)}))
        assert values(group.statistics(), "mean") == [i + 0.5 for i in range(150)]


class TestSnapshots:
    def test_of_the_newest_and_of_others(self, group):
        group.insert(
            pa.table({name: TABLE[name].slice(0, 10) for name in TABLE.schema.names}), mode="overwrite"
        )
        assert told(group, "id")["count"] == 10
        assert told(group, "id", snapshot=0)["count"] == ROWS
        assert group.statistics(snapshot=0).snapshots == {"numbers@v1": 0}
        with pytest.raises(hr.SnapshotNotFound):
            group.statistics(snapshot=7)

    def test_they_are_kept(self, group):
        first = rows(group.statistics(["x"]))
        both = rows(group.statistics(["id", "x"]))
        assert both[1] == first[0]  # a quantile computed again would differ somewhere
        assert rows(group.statistics()) == rows(group.statistics())

    def test_after_a_new_column(self, group):
        group.statistics().to_arrow()
        group.add_features({"new": pa.int64()})
        assert told(group, "new")["nulls"] == ROWS
        assert told(group, "new", snapshot=0)["nulls"] == ROWS

    def test_a_table_set_back_is_told_anew(self, store, group):
        group.statistics().to_arrow()
        store.delete_feature_group("numbers", 1)
        again = store.create_feature_group("numbers", version=1, primary_key=["id"])
        again.insert(pa.table({"id": [1]}))
        assert told(again, "id")["count"] == 1


class TestAsResult:
    def test_frames(self, group):
        result = group.statistics(["x", "kind"])
        assert result.to_pandas()["feature"].tolist() == ["x", "kind"]
        assert result.to_polars().height == 2
        assert result.head(1).to_arrow().num_rows == 1
        assert result.to_reader().read_all().num_rows == 2
        assert "numbers@v1 at snapshot 0" in result.explain()

    def test_refused(self, group):
        with pytest.raises(hr.UnknownColumn):
            group.statistics(["none"])
        with pytest.raises(hr.InvalidArgument):
            group.statistics("x")
        with pytest.raises(hr.InvalidArgument):
            group.statistics([])
        with pytest.raises(hr.InvalidArgument, match="no labels"):
            group.statistics().xy()
