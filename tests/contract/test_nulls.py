"""Nulls beside texts in Parquet files that others wrote, of whose pages the statistics tell one text."""

from __future__ import annotations

import datetime as dt

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as hr
from conftest import fresh
from contract.cases import INSTANTS, TIME, Chooser, condition_on
from contract.driver import column_of, plain
from contract.helpers import values
from reference.condition import holds

pytestmark = pytest.mark.local_files
START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
NAMES = ["b", None, "b", None, "d", "d", None, None]
NULLS = [1, 3, 6, 7]


@pytest.fixture(params=["parquet", "delta"])
def theirs(request, store, tmp_path):
    """Pages of one row group: b's and nulls, d's and nulls."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    table = pa.table(
        {
            "id": range(8),
            "seen": pa.array([START] * 8, TIME),
            "name": NAMES,
            "data": [name and name.encode() for name in NAMES],
        }
    )
    pages = {"use_dictionary": False, "data_page_size": 1, "write_batch_size": 4}
    pq.write_table(table, folder / "a.parquet", **pages)
    if request.param == "delta":
        deltalake.convert_to_deltalake(str(folder))
    return store.register_feature_group(
        "theirs", str(folder), format=request.param, primary_key=["id"], event_time="seen"
    )


def ids(result: hr.Result) -> list[int]:
    return sorted(values(result, "id"))


@pytest.mark.parametrize("column", ["name", "data"])
class TestFilters:
    def test_nulls(self, theirs, column):
        found = theirs.read(filter=theirs[column].is_null())
        assert ids(found) == NULLS
        assert values(found, column) == [None] * 4
        assert ids(theirs.read(filter=~theirs[column].is_not_null())) == NULLS
        assert ids(theirs.read(filter=~~theirs[column].is_null())) == NULLS

    def test_values(self, theirs, column):
        assert ids(theirs.read(filter=theirs[column].is_not_null())) == [0, 2, 4, 5]

    def test_nulls_or_values(self, theirs, column):
        above = theirs[column] > ("c" if column == "name" else b"c")
        assert ids(theirs.read(filter=theirs[column].is_null() | above)) == [1, 3, 4, 5, 6, 7]
        assert ids(theirs.read(filter=~(theirs[column].is_not_null() & ~above))) == [1, 3, 4, 5, 6, 7]


class TestQueries:
    def test_computed_columns(self, theirs):
        query = theirs.with_columns(known="coalesce(name, 'c')", lost="name is null")
        assert ids(query.filter(query["known"] == "c").read()) == NULLS
        assert ids(query.filter(query["lost"] == True).read()) == NULLS  # noqa: E712

    def test_joins(self, store, theirs):
        ours = store.create_feature_group("ours", primary_key=["n"], event_time="at")
        ours.insert([{"n": n, "at": START, "id": n} for n in range(8)])
        lost = theirs.filter(theirs["name"].is_null())
        view = store.create_feature_view("root", lost.join(ours.select("at"), on={"id": "n"}))
        for result in (view.training_data(), view.create_training_dataset().read()):
            assert ids(result) == NULLS
        assert ids(ours.join(lost.select("data"), on="id", how="inner").read()) == NULLS
        query = ours.join(theirs.select("name"), on="id")
        assert ids(query.filter(query["name"].is_null()).read()) == NULLS

    @pytest.mark.parametrize(
        "sql",
        [
            "SELECT id FROM theirs WHERE name IS NULL",
            "SELECT id FROM theirs WHERE NOT (data IS NOT NULL)",
            "SELECT id FROM theirs WHERE name IS NOT DISTINCT FROM NULL",
            "SELECT id FROM theirs WHERE coalesce(name, 'c') = 'c'",
            "SELECT id FROM theirs WHERE ifnull(name || '', 'c') LIKE 'c%'",
            "SELECT id FROM theirs WHERE name IS DISTINCT FROM 'b' AND id NOT IN (4, 5)",
            "SELECT id FROM theirs WHERE (name < 'b' OR name IS NULL) IS TRUE",
            "SELECT id FROM (SELECT id, name IS NULL AS lost FROM theirs) WHERE lost",
            "WITH t(id, name) AS (SELECT id, coalesce(name, 'c') FROM theirs) SELECT id FROM t WHERE name = 'c'",
            "SELECT id FROM (SELECT id, data, NULL AS none FROM theirs) WHERE data IS NOT DISTINCT FROM none",
            "SELECT l.id FROM theirs l JOIN theirs r ON l.id = r.id WHERE r.name IS NULL",
            "SELECT max(id) AS id FROM theirs GROUP BY id HAVING max(name) IS NULL",
        ],
    )
    def test_sql(self, store, theirs, sql):
        assert ids(store.sql(sql)) == NULLS

    def test_names_in_sql(self, store, theirs):
        sql = "SELECT id IS NULL, coalesce(name, 'c'), coalesce(name, 'e') AS n, id FROM theirs WHERE id = 1"
        (row,) = store.sql(sql).to_arrow().to_pylist()
        assert row == {"(id IS NULL)": False, "COALESCE(\"name\", 'c')": "c", "n": "e", "id": 1}
        found = store.sql("SELECT coalesce(COLUMNS('name|data'), NULL), id FROM theirs").to_arrow()
        assert found.schema.names == ["name", "data", "id"]

    def test_deletes(self, theirs):
        if theirs.format == "delta":
            assert theirs.delete(filter=theirs["name"].is_null()).rows_deleted == 4
            assert ids(theirs.read()) == [0, 2, 4, 5]


TYPES = {
    "v": pa.string(),
    "w": pa.binary(),
    "n": pa.int64(),
    "x": pa.float64(),
    "b": pa.bool_(),
    "t": TIME,
}
VALUES = {
    "v": ["", "1", "11", "é"],
    "w": [b"", b"1", b"1" * 20],
    "n": [0, 1, 5],
    "x": [0.5, -1.5, float("nan")],
    "b": [True, False],
    "t": INSTANTS,
}
ENCODINGS = {
    "v": ["PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"],
    "w": ["PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"],
    "n": ["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"],
    "x": ["PLAIN", "BYTE_STREAM_SPLIT"],
    "b": ["PLAIN", "RLE"],
    "t": ["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"],
}


@st.composite
def files(draw: st.DrawFn):
    """Rows, how they are written, and conditions on them."""
    choose = Chooser(draw)
    columns: dict[str, list[object]] = {"id": list(range(choose.one([3, 12, 40])))}
    for name, there in VALUES.items():
        few = choose.some(there, 1, 2)
        alike = choose.one([1, 4, 20])  # rows one after the other
        columns[name] = [
            None if choose.rarely(3) else few[i // alike % len(few)] for i in range(len(columns["id"]))
        ]
    options = {
        "row_group_size": choose.one([1 << 20, 5]),
        "data_page_size": choose.one([1, 1 << 20]),
        "write_batch_size": choose.one([4, 1024]),
        "data_page_version": choose.one(["1.0", "2.0"]),
        "write_page_index": choose.rarely(4),
        "use_dictionary": choose.rarely(3),
    }
    if not options["use_dictionary"]:
        options["column_encoding"] = {name: choose.one(there) for name, there in ENCODINGS.items()}
    return pa.table(columns, pa.schema({"id": pa.int64()} | TYPES)), options, [
        condition_on(choose, TYPES) for _ in range(6)
    ]  # fmt: skip


@settings(max_examples=40)
@given(files())
def test_filters_of_any_encoding(embedded_store, tmp_path_factory, case):
    table, options, conditions = case
    folder = tmp_path_factory.mktemp("files")
    pq.write_table(table, folder / "a.parquet", **options)
    group = embedded_store.register_feature_group(
        fresh("theirs"), str(folder), format="parquet", primary_key=["id"]
    )
    for condition in conditions:
        expected = [row for row in table.to_pylist() if holds(condition, row)]
        found = group.read(filter=column_of(condition, group)).to_arrow().to_pylist()
        assert sorted(map(_told, found)) == sorted(map(_told, expected))


def _told(row: dict[str, object]) -> str:
    return repr([plain(value) for value in row.values()])
