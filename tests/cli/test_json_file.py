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


def read(path: Path, text: str, stored: pa.Schema | None = None) -> pa.Table:
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
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


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_number_too_large_for_its_column_is_named(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    stored = pa.schema({"x": pa.float64(), "y": pa.float32(), "s": pa.string()})
    good = '{"x":1.5,"y":null,"s":"a"}\n\n{"x":1,"y":Infinity,"s":"b"}\n'
    rows = {
        '{"x":-1e400,"y":1,"s":"c"}': "'x', row 2: -1e400 is too large for a double",
        '{"x":1,"y":-1e39,"s":"c"}': "'y', row 2: -1e39 is too large for a float",
        '{"x":{"p":[1,2e999]}}': "'x', row 2: 2e999 is too large for a double",
        '{"x":1,"y":1,"s":1.8e308}': "'s', row 2: 1.8e308 is too large for a double",
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
