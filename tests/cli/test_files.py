"""Files of every kind, as rows in and out."""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import headrace as hr
from headrace.cli.files import open_rows, write_rows

TABLE = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int32()),
        "seen": pa.array(
            [dt.datetime(2013, 1, 1, h, microsecond=5, tzinfo=dt.UTC) for h in range(3)],
            pa.timestamp("us", "UTC"),
        ),
        "day": pa.array([dt.date(2013, 1, 1), None, dt.date(2013, 1, 3)]),
        "text": pa.array(["NA", "", None]),
        "ok": pa.array([True, None, False]),
        "x": pa.array([1, 2.5, None], pa.float64()),
    }
)
CSV = """id,seen,day,text,ok,x
1,2013-01-01T00:00:00.000005Z,2013-01-01,NA,true,1
2,2013-01-01T01:00:00.000005Z,,"",,2.5
3,2013-01-01T02:00:00.000005Z,2013-01-03,,false,
"""
JSONL = """{"id":1,"seen":"2013-01-01T00:00:00.000005Z","day":"2013-01-01","text":"NA","ok":true,"x":1}
{"id":2,"seen":"2013-01-01T01:00:00.000005Z","day":null,"text":"","ok":null,"x":2.5}
{"seen":"2013-01-01T02:00:00.000005Z","id":3,"day":"2013-01-03","ok":false}
"""


def stream_file(path: Path) -> None:
    with pa.ipc.new_stream(path, TABLE.schema) as stream:
        stream.write_table(TABLE)


def file_file(path: Path) -> None:
    with pa.ipc.new_file(path, TABLE.schema) as file:
        file.write_table(TABLE)


WRITERS: dict[str, Callable[[Path], object]] = {
    "a.parquet": lambda path: pa.parquet.write_table(TABLE, path),
    "a.feather": lambda path: pa.feather.write_feather(TABLE, path),
    "file.arrow": file_file,
    "stream.arrow": stream_file,
    "a.csv": lambda path: path.write_text(CSV),
    "a.CSV.gz": lambda path: path.write_bytes(gzip.compress(CSV.encode())),
    "a.jsonl": lambda path: path.write_text(JSONL),
    "a.ndjson.bz2": lambda path: path.write_bytes(bz2.compress(JSONL.encode())),
}


def read(*paths: Path, stored: pa.Schema | None = TABLE.schema) -> pa.Table:
    rows = open_rows([str(path) for path in paths], stored, ["seen"])
    return pa.Table.from_batches(rows.batches(), rows.schema)


@pytest.mark.parametrize("name", WRITERS)
def test_every_kind_of_file_gives_the_same_rows(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / name)
    found = read(tmp_path / name)
    if "csv" in name.lower():
        found = found.set_column(1, "seen", found["seen"].cast(pa.timestamp("us", "UTC")))
    assert found.select(TABLE.column_names) == TABLE


def test_a_time_of_a_new_group_is_read_as_one(tmp_path: Path) -> None:
    for name in ("a.csv", "a.jsonl"):
        WRITERS[name](tmp_path / name)
        assert pa.types.is_timestamp(read(tmp_path / name, stored=None).schema.field("seen").type)


def test_times_of_every_form_go_into_one_column(tmp_path: Path) -> None:
    texts = [
        "2013-01-01",
        "2013-01-01 10:00:00",
        "2013-01-01T10:00:00Z",
        "2013-01-01T12:00:00.000001+02:00",
        "",
    ]
    (tmp_path / "a.csv").write_text("id,seen\n" + "".join(f"{i},{t}\n" for i, t in enumerate(texts)))
    ten = dt.datetime(2013, 1, 1, 10, tzinfo=dt.UTC)
    expected = [ten.replace(hour=0), ten, ten, ten.replace(microsecond=1), None]
    assert read(tmp_path / "a.csv")["seen"].to_pylist() == expected
    (tmp_path / "b.csv").write_text("id,seen\n" + "1,2013-01-01\n" * 100_000 + "1,noon\n")
    with pytest.raises(hr.BadData, match="'seen', row 100000: 'noon'"):
        read(tmp_path / "b.csv")


@pytest.mark.parametrize("compression", ["", ".gz"])
def test_a_text_that_is_no_value_is_named(tmp_path: Path, compression: str) -> None:
    path = tmp_path / f"a.csv{compression}"
    opened = gzip.open if compression else open

    def refused(rows: str, stored: pa.Schema | None) -> hr.BadData:
        with opened(path, "wt") as file:
            file.write("day,id,price,on\n" + rows)
        with pytest.raises(hr.BadData) as raised:
            read(path, stored=stored)
        return raised.value

    price = pa.decimal128(9, 2)
    stored = pa.schema({"id": pa.int8(), "price": price, "on": pa.bool_(), "day": pa.date32()})
    good = "2024-01-31, 1 ,1.50,true\n"
    assert "'id', row 1: '300' is no int8" in refused(good + "2024-01-31,300,1.5,true\n", stored).message
    assert "'day', row 1: '31.1.' is no date32" in refused(good + "31.1.,1,1.5,true\n", stored).message
    assert "'on', row 2: 'maybe' is no bool" in refused(good * 2 + "2024-01-31,1,1.5,maybe\n", stored).message
    error = refused(good * 700_000 + "2024-01-31,1,dear,true\n", stored)
    assert "'price', row 700000: 'dear' is no decimal128(9, 2)" in error.message
    assert error.details == {"file": str(path), "column": "price", "row": 700_000}
    error = refused(good * 700_000 + "2024-01-31,1,dear,true\n", None)
    assert "'price', row 700000: 'dear' is no double" in error.message
    assert "CSV parse error: Row #3: Expected 4 columns, got 3" in refused(good + "1,2,3\n", stored).message


def test_times_may_be_missing_at_first(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,seen\n" + "1,\n" * 3_000_000 + "2,2013-01-01T10:00:00\n")
    assert read(tmp_path / "a.csv", stored=None)["seen"][-1].as_py() == dt.datetime(
        2013, 1, 1, 10, tzinfo=dt.UTC
    )


def test_a_column_that_a_file_lacks_is_not_made_up(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id\n1\n")
    (tmp_path / "a.jsonl").write_text('{"id": 1}\n')
    assert read(tmp_path / "a.csv").column_names == read(tmp_path / "a.jsonl").column_names == ["id"]


def test_the_total_is_known_where_files_tell(tmp_path: Path) -> None:
    for name in ("a.parquet", "a.csv"):
        WRITERS[name](tmp_path / name)
    parquet, csv = str(tmp_path / "a.parquet"), str(tmp_path / "a.csv")
    assert open_rows([parquet, parquet], None, []).total == 6
    assert open_rows([parquet, csv], TABLE.schema, ["seen"]).total is None


def test_files_must_go_together(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,x\n1,1\n")
    (tmp_path / "b.csv").write_text("x,id\n2.5,2\n")
    (tmp_path / "c.csv").write_text("id,x,y\n3,3,3\n")
    (tmp_path / "d.csv").write_text("id,x\n4,four\n")
    assert read(tmp_path / "a.csv", tmp_path / "b.csv", stored=None).to_pydict() == {
        "id": [1, 2],
        "x": [1.0, 2.5],
    }
    with pytest.raises(hr.SchemaMismatch, match=r"c\.csv has other columns than the files before it: y"):
        read(tmp_path / "a.csv", tmp_path / "c.csv", stored=None)
    with pytest.raises(
        hr.SchemaMismatch, match=r"d\.csv does not go with the files before it: .*int64 vs string"
    ):
        read(tmp_path / "a.csv", tmp_path / "d.csv", stored=None)


def test_a_column_is_named_once(tmp_path: Path) -> None:
    batch = pa.record_batch([pa.array([1]), pa.array([2])], names=["k", "k"])
    with pa.ipc.new_stream(tmp_path / "a.arrow", batch.schema) as stream:
        stream.write_batch(batch)
    with pytest.raises(hr.NameClash, match=r"a\.arrow names a column twice: 'k'") as raised:
        read(tmp_path / "a.arrow")
    assert raised.value.details == {"file": str(tmp_path / "a.arrow"), "columns": ["k"]}


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.jsonl", "a.arrow", "a.feather"])
def test_what_cannot_be_read_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(hr.NotFound, match=rf"cannot read .*{name}: No such file"):
        read(tmp_path / name)
    (tmp_path / name).write_bytes(b"")
    if name != "a.jsonl":  # that has no rows
        with pytest.raises(hr.BadData, match=rf"{name} cannot be read: "):
            read(tmp_path / name)
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    with pytest.raises(hr.BadData, match=rf"{name} cannot be read: "):
        read(tmp_path / name)


def test_a_json_file_without_rows_has_no_columns_either(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"")
    (tmp_path / "b.json").write_bytes(b"\n \n")
    (tmp_path / "c.jsonl").write_text(JSONL)
    assert read(tmp_path / "a.jsonl") == TABLE.schema.empty_table()
    assert read(tmp_path / "a.jsonl", stored=None).num_columns == 0
    for stored in (TABLE.schema, None):
        found = read(*(tmp_path / name for name in ("a.jsonl", "c.jsonl", "b.json")), stored=stored)
        assert found["id"].to_pylist() == [1, 2, 3]


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(hr.InvalidArgument, match=r"a\.xlsx: rows are read from \.parquet, \.csv"):
        read(tmp_path / "a.xlsx")
    with pytest.raises(hr.InvalidArgument, match=r"a\.xlsx: rows are written to \.parquet, \.csv"):
        write_rows(TABLE.to_reader(), str(tmp_path / "a.xlsx"), lambda rows: None)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "arrow"])
def test_what_is_written_reads_back(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"out.{suffix}"
    counted: list[int] = []
    write_rows(TABLE.to_reader(2), str(path), counted.append)
    assert read(path).cast(TABLE.schema) == TABLE
    assert counted == [2, 1]


def test_parquet_has_few_row_groups(tmp_path: Path) -> None:
    table = pa.table({"a": range(300_000)})
    write_rows(table.to_reader(10_000), str(tmp_path / "a.parquet"), lambda rows: None)
    metadata = pa.parquet.read_metadata(tmp_path / "a.parquet")
    assert (metadata.num_rows, metadata.num_row_groups) == (300_000, 3)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "arrow"])
def test_a_file_is_whole_or_what_it_was(suffix: str, tmp_path: Path) -> None:
    def broken():
        yield from TABLE.to_batches()
        raise hr.Unavailable("the service went away")

    path = tmp_path / f"out.{suffix}"
    path.write_text("what it was")
    with pytest.raises(hr.Unavailable):
        write_rows(pa.RecordBatchReader.from_batches(TABLE.schema, broken()), str(path), lambda rows: None)
    assert path.read_text() == "what it was"
    assert list(tmp_path.iterdir()) == [path]


def test_csv_cannot_hold_everything(tmp_path: Path) -> None:
    lists = pa.table({"id": [1], "points": [[1, 2]]})
    with pytest.raises(hr.Unsupported, match=r"cannot hold points: list"):
        write_rows(lists.to_reader(), str(tmp_path / "a.csv"), lambda rows: None)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_to(tmp_path: Path) -> None:
    with pytest.raises(hr.InvalidArgument, match=r"cannot write .*: No such file"):
        write_rows(TABLE.to_reader(), str(tmp_path / "missing" / "a.csv"), lambda rows: None)
