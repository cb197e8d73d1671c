"""CSV files: what is read of them, and what is refused."""

from __future__ import annotations

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
        ('1,"a, b"\n2,"b, ', 3),  # a file that was cut off
        ('1,"a, b"\n2,"', 3),
        ('1,"a, b"\n2,"b, ""', 3),
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


def test_a_number_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    with pytest.raises(hr.BadData, match="line 3: a quote is not closed"):
        read(tmp_path / "a.csv", 'id,n\n1,2\n2,"5', pa.schema({"id": pa.int64(), "n": pa.int64()}))


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.CSV.GZ"])
def test_the_last_line_may_lack_its_end(name: str, tmp_path: Path) -> None:
    for last in ('1,"a",', '1,"a",\n', "1,a,", "1,a,\r\n"):
        found = read(tmp_path / name, f'i,s,u\n0,"","x"\n{last}')
        assert found["u"].to_pylist() == ["x", None]
    assert read(tmp_path / name, "i,s").to_pydict() == {"i": [], "s": []}


def test_hexadecimal_digits_are_no_number(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for text in ("0xFF", " 0Xff ", '"0x1"'):
        for kind in (pa.int8(), pa.int64(), pa.float64()):
            with pytest.raises(hr.BadData, match=rf"'x', row 1: '.*0[xX].*' is no {kind}") as raised:
                read(path, f"x,s\n1,0xA\n{text},b\n", pa.schema({"x": kind, "s": pa.string()}))
            assert raised.value.details == {"file": str(path), "column": "x", "row": 1}
    with pytest.raises(hr.BadData, match="'x', row 1: '0xFFFFFFFFFFFFFFFF' is no int64") as raised:
        read(path, "x\n1\n0xFFFFFFFFFFFFFFFF\n")
    assert "write digits only" in (raised.value.hint or "")
    assert read(path, "x\n0xFF\n", pa.schema({"x": pa.string()}))["x"].to_pylist() == ["0xFF"]


def test_whole_numbers_are_not_rounded(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for text in ("9007199254740993", "-9007199254740993", "+9223372036854775809", "0" * 50 + "9" * 20):
        for kind in (pa.float64(), pa.float32()):
            with pytest.raises(hr.BadData, match=r"'x', row 2: .*\d is not exact as a") as raised:
                read(path, f"x\n1.5\n1\n{text}\n", pa.schema({"x": kind}))
            assert raised.value.details == {"file": str(path), "column": "x", "row": 2}
    with pytest.raises(hr.BadData, match="'x', row 0: 9007199254740993 is not exact as a double") as raised:
        read(path, "x\n9007199254740993\n1.5\n")
    assert "declare the column as decimal" in (raised.value.hint or "")
    with pytest.raises(hr.BadData, match="'x', row 3000000: 9007199254740993 is not exact"):
        read(path, "x\n" + "1.5\n" * 3_000_000 + "9007199254740993\n")
    held = [
        "9007199254740992",
        "9223372036854775808",
        "9007199254740993.0",
        "1e300",
        "0.1",
        "1.10",
        "inf",
        "nan",
    ]
    assert str(read(path, "x\n" + "\n".join(held))["x"].to_pylist()) == str([float(text) for text in held])
    whole = "x\n9007199254740993\n9223372036854775807\n"
    assert read(path, whole)["x"].to_pylist() == [2**53 + 1, 2**63 - 1]
    decimals = read(path, whole, pa.schema({"x": pa.decimal128(38, 0)}))["x"].to_pylist()
    assert [int(x) for x in decimals] == [2**53 + 1, 2**63 - 1]


def test_a_text_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    for stored in (None, pa.schema({"s": pa.string()}), pa.schema({"s": pa.timestamp("us", "UTC")})):
        with pytest.raises(hr.BadData, match=r"'s', row 1: b'caf\\xe9' is not UTF-8") as raised:
            read(tmp_path / "a.csv", b"i,s\n1,2024-01-01\n2,caf\xe9\n", stored)
        assert raised.value.details == {"file": str(tmp_path / "a.csv"), "column": "s", "row": 1}


def test_a_value_after_a_block_of_none_is_refused(tmp_path: Path) -> None:
    text = "i,s\n" + "1,\n" * 3_000_000 + "2,a\n"
    with pytest.raises(hr.BadData, match="'s', row 3000000: 'a' is the first value"):
        read(tmp_path / "a.csv", text)
    assert read(tmp_path / "a.csv", text, pa.schema({"s": pa.string()}))["s"][-1].as_py() == "a"


def test_a_file_of_which_not_all_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n" + "1\n" * 20_000_000)
    batches = open_rows([str(tmp_path / "a.csv")], None, []).batches()
    assert next(batches)["x"][0].as_py() == 1
    batches.close()
