"""JSON files of one object a line: what is read of them, and what is refused."""

from __future__ import annotations

import datetime as dt
import gzip
import math
from pathlib import Path

import pyarrow as pa
import pytest

import headrace as hr
from headrace.cli.files import open_rows


def read(path: Path, text: str | bytes, stored: pa.Schema | None = None) -> pa.Table:
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if path.suffix.lower() == ".gz" else data)
    rows = open_rows([str(path)], stored, [])
    return pa.Table.from_batches(rows.batches(), rows.schema)


def test_a_date_is_no_part_of_a_time(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    stored = pa.schema({"id": pa.int64(), "day": pa.date32()})
    good = '{"id":1,"day":"2024-01-31"}\n{"id":2}\n{"id":3,"day":null}\n'
    day = dt.date(2024, 1, 31)
    assert read(path, good, stored)["day"].to_pylist() == [day, None, None]
    assert read(path, '{"day":null}\n', stored)["day"].to_pylist() == [None]
    for text in ("2024-01-31T17:00:00", "2024-01-31T23:00:00-05:00", "31.1.", ""):
        with pytest.raises(hr.BadData, match=f"'day', row 3: {text!r} is no date32") as raised:
            read(path, f'{good}{{"id":4,"day":"{text}"}}\n', stored)
        assert raised.value.details == {"file": str(path), "column": "day", "row": 3}
        assert raised.value.hint is not None
        assert "null" in raised.value.hint
    with pytest.raises(hr.BadData, match="'day', row 400000: '2024-01-31T17:00:00' is no date32"):
        read(path, '{"id":1,"day":"2024-01-31"}\n' * 400_000 + '{"day":"2024-01-31T17:00:00"}\n', stored)


@pytest.mark.parametrize("name", ["a.jsonl", "a.JSONL.GZ"])
def test_a_number_too_large_for_its_column_is_named(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    stored = pa.schema({"x": pa.float64(), "y": pa.float32(), "s": pa.string(), "i": pa.int8()})
    good = '{"x":1.5,"y":null,"s":"a"}\n\n{"x":1,"y":Infinity,"s":"b"}\n'
    rows = {
        '{"x":-1e400,"y":1,"s":"c"}': "'x', row 2: -1e400 is too large for a double",
        '{"x":1,"y":-1e39,"s":"c"}': "'y', row 2: -1e39 is too large for a float",
        '{"x":1,"y":1,"s":1.8e308}': "'s', row 2: 1.8e308 is no string",
        '{"x":1,"y":1,"i":1e400}': "'i', row 2: 1e400 is no int8",
        '{"x":1.8e308}': "'x', row 2: 1.8e308 is too large for a double",
        f'{{"x":{"9" * 400}}}': "'x', row 2: 9{400} is too large for a double",
    }
    for row, message in rows.items():
        with pytest.raises(hr.BadData, match=message) as raised:
            read(path, good + row + "\n", stored)
        assert raised.value.details == {"file": str(path), "column": message[1], "row": 2}
    with pytest.raises(hr.BadData, match="'y', row 400000: 1e39 is too large"):
        read(path, '{"x":1.25,"y":-Infinity,"s":"a"}\n' * 400_000 + '{"y":1e39}\n', stored)
    with pytest.raises(hr.BadData, match=r"'n', row 1: 1\.8e308 is too large for a double"):
        read(path, '{"n":{"p":[1.5,-Infinity]}}\n{"n":{"p":[1,1.8e308]}}\n')
    largest = '{"x":-1.7976931348623157e308,"y":3.4028235e38}\n'
    assert read(path, good + largest, stored)["y"].to_pylist() == [None, math.inf, 3.4028234663852886e38]


def test_names_that_are_no_names(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with pytest.raises(hr.NameClash, match=r"a\.jsonl: row 400000 names a column twice: 'k'"):
        read(path, '{"k":1,"text":"some text of a line"}\n' * 400_000 + '{"k":1,"x":2,"k":3}\n')
    for row in (b'{"k\xff":1}\n', b'{"k":{"\xff":1}}\n', b'{"k":[{"a":{"\xff":1}}]}\n'):
        path.write_bytes(row)
        with pytest.raises(hr.BadData, match="the name of a column, or a text, is not UTF-8"):
            open_rows([str(path)], None, [])


def test_what_is_nested_too_deep_is_refused(tmp_path: Path) -> None:
    with pytest.raises(hr.BadData, match="nested too deep"):
        read(tmp_path / "a.jsonl", '{"a":' * 3_000 + "1" + "}" * 3_000 + "\n")


def test_whole_numbers_are_not_rounded(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    stored = pa.schema({"x": pa.float64(), "s": pa.struct({"l": pa.list_(pa.float64())})})
    good = '{"x":1.5,"s":{"l":[1.5]}}\n'
    for text in ("9007199254740993", "-9223372036854775809"):
        for row, name in ((f'{{"x":{text}}}', "x"), (f'{{"s":{{"l":[1.5,{text}]}}}}', "s")):
            for kinds in (stored, None):
                with pytest.raises(hr.BadData, match=f"{name!r}, row 1: {text} is not exact as a") as raised:
                    read(path, f"{good}{row}\n", kinds)
                assert raised.value.details == {"file": str(path), "column": name, "row": 1}
    with pytest.raises(hr.BadData, match="'x', row 400000: 9007199254740993 is not exact"):
        read(path, '{"x":1.5,"text":"some text of a line"}\n' * 400_000 + '{"x":9007199254740993}\n')
    held = [
        "9007199254740992",
        "9223372036854775808",
        "9007199254740993.0",
        "1e300",
        "0.1",
        "Infinity",
        "NaN",
    ]
    found = read(path, "".join(f'{{"x":{text}}}\n' for text in held))
    assert str(found["x"].to_pylist()) == str([float(text) for text in held])
    whole = '{"x":9007199254740993}\n'
    assert read(path, whole)["x"].to_pylist() == [2**53 + 1]
    assert int(read(path, whole, pa.schema({"x": pa.decimal128(38, 0)}))["x"][0].as_py()) == 2**53 + 1


@pytest.mark.parametrize("rows", [0, 400_000])
def test_a_value_of_another_type_is_named(rows: int, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    stored = pa.schema(
        {"id": pa.int8(), "text": pa.string(), "at": pa.timestamp("us", "UTC"), "p": pa.decimal128(5, 2),
         "s": pa.struct({"a": pa.int8()})}
    )  # fmt: skip
    good = '{"id":1,"text":"some text","at":"2024-01-01","p":1.5,"s":{"a":1}}\n'
    bad = {
        '{"id":128}': "'id', row {}: 128 is no int8",
        '{"text":"a","id":"b"}': "'id', row {}: 'b' is no int8",
        '{"id":1,"text":7}': "'text', row {}: 7 is no string",
        '{"at":"noon"}': "'at', row {}: 'noon' is no timestamp",
        '{"p":"1.505"}': r"'p', row {}: '1.505' is no decimal128\(5, 2\)",
        '{"s":{"a":300}}': "'s', row {}: {'a': 300} is no struct<a: int8>",
    }
    for row, message in bad.items():
        match = message.replace("{}", str(rows + 1))
        with pytest.raises(hr.BadData, match=match) as raised:
            read(path, good * (rows + 1) + row + "\n", stored)
        assert raised.value.details == {
            "file": str(path),
            "column": message[1:].split("'")[0],
            "row": rows + 1,
        }
    with pytest.raises(hr.BadData, match=rf"row {rows + 1} is no JSON object: Expecting value"):
        read(path, good * (rows + 1) + '{"id":tru}\n', stored)
    with pytest.raises(hr.BadData, match=rf"row {rows + 1} is not UTF-8"):
        read(path, good.encode() * (rows + 1) + b'{"text":"\xff",}\n', stored)


def test_an_array_is_told_from_objects(tmp_path: Path) -> None:
    for text, message in (
        ('[{"id":1,"s":"a"},{"id":2,"s":"b"}]', " is an array of objects"),
        ('\ufeff \n[\n  {"id":1},\n  {"id":2}\n]\n', " is an array of objects"),
        ('{"id":1}\n[["id",2]]\n', ": row 1 is an array, not an object"),
        ('{"id":1},\n{"id":2}\n', ": row 0 is no JSON object: Extra data"),
    ):
        with pytest.raises(hr.BadData, match=rf"a\.json{message}") as raised:
            read(tmp_path / "a.json", text)
        assert "one object a line" in (raised.value.hint or "")


def test_a_column_may_first_appear_late(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lists, structs = pa.list_(pa.field("element", pa.int8())), pa.struct({"a": pa.float32()})
    kinds = {"id": pa.int64(), "x": pa.int8(), "day": pa.date32(), "at": pa.timestamp("us", "UTC")}
    stored = pa.schema({**kinds, "l": lists, "s": structs, "never": pa.string()})
    good = '{"id":1,"l":[],"s":{},"text":"some text of a line"}\n' * 400_000
    last = '{"x":1,"day":"2024-01-31","at":"2024-01-31T08:00:00.5Z","l":[1],"s":{"a":1},"id":2}\n'
    found = read(path, good + last, stored)
    assert {name: found.schema.field(name).type for name in kinds} == kinds
    assert found.drop("text").to_pylist()[-1] == {
        "id": 2, "x": 1, "day": dt.date(2024, 1, 31), "at": dt.datetime(2024, 1, 31, 8, microsecond=500_000, tzinfo=dt.UTC),
        "l": [1], "s": {"a": 1},
    }  # fmt: skip
    assert found["x"].null_count == found["day"].null_count == 400_000
    assert "never" not in found.column_names
    with pytest.raises(hr.BadData, match="'x', row 400000: 1 is the first value of a column"):
        read(path, good + last)
    with pytest.raises(hr.BadData, match=r"'l', row 400000: \[1\] is no list<item: null>"):
        read(path, good + '{"id":2,"l":[1]}\n')
