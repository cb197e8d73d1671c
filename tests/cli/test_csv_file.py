"""CSV files: what is read of them, and what is refused."""

from __future__ import annotations

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


def test_a_number_too_large_for_its_column_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    stored = pa.schema({"x": pa.float64(), "y": pa.float32()})
    good = "x,y\n1.5,\n"
    for text in ("1e400", "-1e400", '" 1e400 "'):
        with pytest.raises(hr.BadData, match=r"'x', row 1: -?1e400 is too large for a double") as raised:
            read(path, f"{good}{text},1\n", stored)
        assert raised.value.details == {"file": str(path), "column": "x", "row": 1}
    with pytest.raises(hr.BadData, match="'y', row 1: 1e39 is too large for a float"):
        read(path, f"{good}inf,1e39\n", stored)
    with pytest.raises(hr.BadData, match="'x', row 1: 1e400 is too large for a double"):
        read(path, f"{good}1e400,1\n")
    with pytest.raises(hr.BadData, match="'x', row 3000001: 1e400 is too large"):
        read(path, good + "inf,1\n" * 3_000_000 + "1e400,1\n", stored)


def test_infinity_may_be_written(tmp_path: Path) -> None:
    texts = ["inf", "-inf", "Infinity", "-INFINITY", "+Inf", " inf ", "1e308", "1e-400", "nan", ""]
    for kind in (pa.float64(), pa.float32()):
        given = [text for text in texts if kind == pa.float64() or text != "1e308"]
        found = read(tmp_path / "a.csv", "x,y\n" + "".join(f"{t},1\n" for t in given), pa.schema({"x": kind}))
        infinite = [x for x in found["x"].to_pylist() if x is not None and math.isinf(x)]
        assert infinite == [math.inf, -math.inf, math.inf, -math.inf, math.inf, math.inf]


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('1,"a\n2,b\n3,c\n', 2),  # up to the end of the file
        ('1,"a"\n2,"b\n3,"c"\n4,"d"\n', 3),  # up to the next row's quote
        ('1,"a\nb"\n2,"c\n3,c\n', 4),
        ('1,"a\n2,"""b\n', 2),
        ('"1,a\n2,b\n', 2),  # too few columns
        ('1,"a\r\n2,b\r\n', 2),
        ('1,"a\n' + "2,b\n" * 3_000_000, 2),  # more than Arrow looks through
    ],
)
def test_a_quote_that_is_not_closed_is_refused(name: str, text: str, line: int, tmp_path: Path) -> None:
    with pytest.raises(hr.BadData, match=rf"{name}, line {line}: a quote is not closed") as raised:
        read(tmp_path / name, "id,t\n" + text)
    assert raised.value.details == {"file": str(tmp_path / name), "line": line}


def test_quotes_that_are_in_order(tmp_path: Path) -> None:
    texts = {
        '5" disk': '5" disk',
        '"a\nb"': "a\nb",
        '"a\r\n""b"""': 'a\r\n"b"',
        '"x, ""y"""': 'x, "y"',
        '"\n"': "\n",
        '""""': '"',
        '""': "",
        '"x"y': "xy",
    }
    text = "\ufefft,id\n" + "".join(f"{text},1\n" for text in texts)
    assert read(tmp_path / "a.csv", text)["t"].to_pylist() == list(texts.values())
    last = '\ufeff"id","t"\n1,2" of\n2,"a\n"'
    assert read(tmp_path / "a.csv", last)["t"].to_pylist() == ['2" of', "a\n"]


def test_texts_of_several_lines_cross_blocks(tmp_path: Path) -> None:
    text = "line\n" * 100
    rows = 30_000  # of half a kilobyte; a block is 8 MB
    found = read(tmp_path / "a.csv", "id,t\n" + f'7,"{text}"\n' * rows)
    assert found["id"].to_pylist() == [7] * rows
    assert found["t"].unique().to_pylist() == [text]


def test_names_that_are_no_names(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for stored in (None, pa.schema({"k": pa.int64()})):
        with pytest.raises(hr.NameClash, match=r"a\.csv names a column twice: 'k'"):
            read(path, "k,x,k\n1,2,3\n", stored)
    path.write_bytes(b"k\xff,x\n1,2\n")
    with pytest.raises(hr.BadData, match="the name of a column, or a text, is not UTF-8"):
        open_rows([str(path)], None, [])


def test_what_is_null_is_told_with_what_is_no_value(tmp_path: Path) -> None:
    kinds = {"id": pa.int64(), "day": pa.date32(), "at": pa.timestamp("us", "UTC")}
    for name, kind in kinds.items():
        with pytest.raises(hr.BadData, match=f"{name!r}, row 0: 'NA' is no") as raised:
            read(tmp_path / "a.csv", f"{name}\nNA\n", pa.schema({name: kind}))
        assert "an empty field is null, and nothing else is" in (raised.value.hint or "")
