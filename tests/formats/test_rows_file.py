"""Files of rows: what is written comes back as it was, and damage is told."""

from __future__ import annotations

import os
import random
from collections import Counter
from decimal import Decimal
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import hypothesis
import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import strategies as st

from headrace.errors import CorruptTable, Unsupported
from headrace.formats.rows_file import RowsFiles, check_storable, write_file
from headrace.model.stored_file import StoredFile
from headrace.storage.files import LocalFiles
from integration.child import Child

FORMATS = ["parquet", "arrow", "csv"]
YEAR_1, YEAR_9999 = -62_135_596_800, 253_402_300_799
EXAMPLES = hypothesis.settings.default.max_examples


def whole(bits: int, signed: bool = True) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else st.integers(0, 2**bits - 1)


def times(unit: str) -> st.SearchStrategy[int]:
    """Of the years that all formats keep."""
    per = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    first, last = (-(2**62), 2**62) if unit == "ns" else (YEAR_1 * per, YEAR_9999 * per)
    return st.integers(first, last)


def digits(kind: pa.DataType) -> st.SearchStrategy[Decimal]:
    most = 10**kind.precision - 1
    return st.integers(-most, most).map(lambda n: Decimal(f"{n}E{-kind.scale}"))


TEXTS = st.one_of(
    st.sampled_from(["", " ", '"', '""', ",", "\n", "\r\n", "null", "NULL", "NaN", "N/A", "true", "0", "\0"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)
VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.null(): st.none(),
    pa.bool_(): st.booleans(),
    **{getattr(pa, f"int{bits}")(): whole(bits) for bits in (8, 16, 32, 64)},
    **{getattr(pa, f"uint{bits}")(): whole(bits, signed=False) for bits in (8, 16, 32, 64)},
    pa.float32(): st.floats(width=32),
    pa.float64(): st.floats(),
    pa.string(): TEXTS,
    pa.large_string(): TEXTS,
    pa.date32(): st.integers(YEAR_1 // 86_400, YEAR_9999 // 86_400),
    pa.date64(): st.integers(YEAR_1 // 86_400, YEAR_9999 // 86_400).map(lambda day: day * 86_400_000),
    pa.time32("s"): st.integers(0, 86_399),
    pa.time32("ms"): st.integers(0, 86_399_999),
    pa.time64("us"): st.integers(0, 86_399_999_999),
    pa.time64("ns"): st.integers(0, 86_399_999_999_999),
    **{pa.timestamp(unit): times(unit) for unit in ("s", "ms", "us", "ns")},
    pa.timestamp("us", "UTC"): times("us"),
    pa.timestamp("ms", "America/New_York"): st.integers(-(10**12), 4 * 10**12),
    **{pa.duration(unit): whole(63) for unit in ("s", "ms", "us", "ns")},
    **{kind: digits(kind) for kind in (pa.decimal128(1, 0), pa.decimal128(9, 9), pa.decimal128(38, 5))},
}
NESTED: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.binary(): st.binary(max_size=8),
    pa.binary(3): st.binary(min_size=3, max_size=3),
    pa.float16(): st.floats(width=16),
    pa.list_(pa.string()): st.lists(st.none() | TEXTS, max_size=3),
    pa.list_(pa.int8(), 2): st.lists(whole(8), min_size=2, max_size=2),
    pa.struct([("a", pa.int8()), ("b", pa.list_(pa.string()))]): st.fixed_dictionaries(
        {"a": st.none() | whole(8), "b": st.none() | st.lists(TEXTS, max_size=2)}
    ),
    pa.map_(pa.string(), pa.int8()): st.dictionaries(TEXTS, whole(8), max_size=2).map(
        lambda d: list(d.items())
    ),
}
NAMES = st.one_of(
    st.sampled_from(["a", "a.b", "a.b.c", "", " ", '"', ",", "\n", "名前", "*", "[0]"]),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=5),
)


def column(draw: st.DrawFn, kind: pa.DataType, values: st.SearchStrategy[Any], rows: int) -> pa.Array:
    return pa.array(draw(st.lists(st.none() | values, min_size=rows, max_size=rows)), kind)


@st.composite
def tables(draw: st.DrawFn, form: str) -> pa.Table:
    kinds = VALUES if form == "csv" else VALUES | NESTED
    names = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    rows = draw(st.integers(0, 12))
    chosen = [draw(st.sampled_from(sorted(kinds, key=str))) for _ in names]
    columns = [column(draw, kind, kinds[kind], rows) for kind in chosen]
    fields = [
        pa.field(name, kind, nullable=kind == pa.null() or made.null_count > 0 or draw(st.booleans()))
        for name, kind, made in zip(names, chosen, columns, strict=True)
    ]
    return pa.table(columns, schema=pa.schema(fields))


def told(table: pa.Table) -> list[list[str]]:
    """The values of each column, where NaN is itself and 0.0 is not -0.0."""
    columns = []
    for made in table.columns:
        if pa.types.is_temporal(made.type):
            made = made.cast(pa.int64() if made.type.bit_width == 64 else pa.int32())
        columns.append([repr(value) for value in made.to_pylist()])
    return columns


def write(folder: Path, form: Any, tables: list[pa.Table]) -> list[StoredFile]:
    files = []
    for number, table in enumerate(tables):
        files.append(write_file(form, folder / f"{number}.{form}", table, mark=f"file {number}"))
    return files


@pytest.mark.parametrize("form", FORMATS)
@hypothesis.settings(max_examples=max(EXAMPLES // 2, 50))
@hypothesis.given(data=st.data())
def test_they_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, form: Any, data: st.DataObject
) -> None:
    table = data.draw(tables(form))
    check_storable(form, table.schema)
    cuts = sorted(data.draw(st.lists(st.integers(0, table.num_rows), max_size=2)))
    parts = [table.slice(a, b - a) for a, b in zip([0, *cuts], [*cuts, table.num_rows], strict=True)]
    folder = tmp_path_factory.mktemp("rows", numbered=True)
    files = write(folder, form, parts)
    some = st.lists(st.sampled_from(table.column_names), min_size=1, unique=True)
    columns = data.draw(st.none() | some)
    size = data.draw(st.integers(1, 1000))
    read = RowsFiles(LocalFiles(), form, files, table.schema, columns)
    expected = table if columns is None else table.select(columns)
    assert read.schema == expected.schema
    for found in (read.table(), pa.Table.from_batches(read.batches(size), read.schema)):
        assert found.schema == expected.schema
        assert told(found) == told(expected)


@pytest.mark.parametrize("form", FORMATS)
def test_many_rows(tmp_path: Path, form: Any) -> None:
    """In several row groups, and blocks."""
    ids = pa.array(range(400_000), pa.int64())
    table = pa.table(
        {"id": ids, "text": pc.binary_join_element_wise("some text\n\"'", ids.cast("string"), " ")}
    )
    files = write(tmp_path, form, [table, table.slice(0, 10)])
    read = RowsFiles(LocalFiles(), form, files, table.schema, None)
    assert read.table().equals(pa.concat_tables([table, table.slice(0, 10)]))
    assert pa.Table.from_batches(read.batches()).equals(read.table())
    assert max(batch.nbytes for batch in read.batches(1 << 20)) < 2 << 20
    only = RowsFiles(LocalFiles(), form, files, table.schema, ["text"])
    assert only.table().equals(read.table().select(["text"]))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("megabytes", [15, 33])
def test_long_values(tmp_path: Path, form: Any, megabytes: int) -> None:
    long = 'a "word"\n' * ((megabytes << 20) // 10)
    table = pa.table({"id": range(2000), "text": ["first"] * 1990 + [long, None, ""] + ["last"] * 7})
    read = RowsFiles(LocalFiles(), form, write(tmp_path, form, [table]), table.schema, None)
    assert read.table().equals(table)
    assert pa.Table.from_batches(read.batches()).equals(table)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.date32(), YEAR_9999 // 86_400 + 1),
        (pa.date32(), YEAR_1 // 86_400 - 500),
        (pa.timestamp("s"), YEAR_9999 + 1),
        (pa.timestamp("us", "UTC"), -(2**63) + 1),
        (pa.timestamp("s"), 10**15),
    ],
)
def test_times_that_csv_does_not_keep(tmp_path: Path, kind: pa.DataType, value: int) -> None:
    table = pa.table({"x": [1, 2, 3], "at": pa.array([None, value, 0], kind)})
    check_storable("csv", table.schema)
    with pytest.raises(Unsupported, match=r"column 'at' holds a .* of which a csv file") as caught:
        write_file("csv", tmp_path / "x.csv", table, mark="x")
    assert caught.value.hint == "use format='parquet' or format='arrow'"
    assert not (tmp_path / "x.csv").exists()
    for form in ("parquet", "arrow"):
        assert (
            RowsFiles(LocalFiles(), form, write(tmp_path, form, [table]), table.schema, None)
            .table()
            .equals(table)
        )


@pytest.mark.parametrize("kind", [pa.decimal128(10, -2), pa.month_day_nano_interval()])
def test_types_that_parquet_does_not_keep(kind: pa.DataType) -> None:
    with pytest.raises(Unsupported, match="which a parquet file does not keep"):
        check_storable("parquet", pa.schema([("c", kind)]))


@pytest.mark.parametrize(
    "kind",
    [
        pa.decimal128(10, -2),
        pa.decimal256(10, 2),
        pa.timestamp("us", "Nope/Zone"),
        pa.timestamp("s", "+99:00"),
        pa.float16(),
        pa.binary(),
    ],
    ids=str,
)
def test_types_that_csv_does_not_keep(kind: pa.DataType) -> None:
    with pytest.raises(Unsupported, match="which a csv file does not keep"):
        check_storable("csv", pa.schema([("c", kind)]))


ROWS = pa.table(
    {
        "id": pa.array(range(300), pa.int64()),
        "text": [None if i % 7 == 0 else f'text "{i}"\n' for i in range(300)],
        "value": [i / 3 for i in range(300)],
        "day": pa.array(range(300), pa.date32()),
        "flag": [i % 3 == 0 for i in range(300)],
    }
)
DEEP = ROWS.append_column("list", pa.array([[str(i)] * (i % 3) for i in range(300)])).append_column(
    "struct", pa.array([{"a": i, "b": str(i)} for i in range(300)])
)


def of(form: str) -> pa.Table:
    return ROWS if form == "csv" else DEEP


def use(form: Any, files: list[StoredFile], schema: pa.Schema, streamed: bool) -> pa.Table | None:
    """The rows, looked at one by one; None if they are told to be damaged."""
    try:
        read = RowsFiles(LocalFiles(), form, files, schema, None)
        found = pa.Table.from_batches(read.batches(), schema) if streamed else read.table()
    except CorruptTable:
        return None
    assert found.schema == schema
    assert found.num_rows == sum(file.rows for file in files)
    for name in found.column_names:
        if not pa.types.is_temporal(found.schema.field(name).type):  # days that no calendar has
            found.column(name).to_pylist()
    return found.filter(pc.is_valid(found.column("id"))).slice(3)


def flip(line: Connection, form: str, folder: Path, place: str, times: int) -> dict[str, int]:
    """Reads a file with some bytes changed, over and over; tells how often it was taken for damaged."""
    table, chance = of(form), random.Random(f"{form} {place}")
    (file,) = write(folder, form, [table])
    good = Path(file.path).read_bytes()
    places = {
        "head": range(min(100, len(good))),
        "tail": range(max(0, len(good) - 2000), len(good)),
        "anywhere": range(len(good)),
    }
    seen = Counter()
    expected = use(form, [file], table.schema, False)
    for number in range(times):
        bad = bytearray(good)
        start = chance.choice(places[place])
        for i in range(start, min(start + chance.choice([1, 1, 4]), len(bad))):
            bad[i] = chance.choice([0, 0xFF, bad[i] ^ 1 << chance.randrange(8), chance.randrange(256)])
        Path(file.path).write_bytes(bad)
        found = use(form, [file], table.schema, number % 2 == 0)
        seen["damaged" if found is None else "same" if found.equals(expected) else "other"] += 1
    return dict(seen)


def shorten(line: Connection, folder: Path) -> str:
    """Reads a Parquet file that loses its end after the first rows."""
    chance = random.Random(0)
    table = pa.table({"id": range(400_000), "value": [chance.random() for _ in range(400_000)]})
    (file,) = write(folder, "parquet", [table])
    batches = RowsFiles(LocalFiles(), "parquet", [file], table.schema, None).batches()
    next(batches)
    os.truncate(file.path, 1000)
    try:
        return f"{sum(batch.num_rows for batch in batches)} rows"
    except CorruptTable:
        return "damaged"


class TestDamaged:
    """It is told, or not to be seen, and never ends the process."""

    @pytest.mark.parametrize("form", FORMATS)
    @pytest.mark.parametrize("place", ["head", "tail", "anywhere"])
    def test_changed_bytes(self, tmp_path: Path, form: str, place: str) -> None:
        child = Child(flip, form, tmp_path, place, 400)
        seen = child.hear()
        child.join()
        assert sum(seen.values()) == 400
        if (form, place) != ("arrow", "head"):  # its schema is at its end once more
            assert seen["damaged"] > 50
        if form == "parquet":
            assert seen.get("other", 0) < 5, "its pages bear checksums"
        if form == "csv":
            assert "other" not in seen

    @pytest.mark.parametrize("form", FORMATS)
    @pytest.mark.parametrize("streamed", [False, True])
    @pytest.mark.parametrize("change", [-1, -200, 1, 5000, None])
    def test_another_size(self, tmp_path: Path, form: Any, streamed: bool, change: int | None) -> None:
        first, file = write(tmp_path, form, [of(form).slice(0, 5), of(form)])
        good = Path(file.path).read_bytes()
        bad = b"" if change is None else good[:change] if change < 0 else good + good[:change]
        Path(file.path).write_bytes(bad)
        read = RowsFiles(LocalFiles(), form, [first, file], of(form).schema, None)
        with pytest.raises(CorruptTable, match=rf"1\.{form} was written with {len(good)} bytes, and now has"):
            list(read.batches()) if streamed else read.table()

    def test_parquet_that_grows_shorter_while_it_is_read(self, tmp_path: Path) -> None:
        child = Child(shorten, tmp_path)
        assert child.hear() == "damaged"
        child.join()

    @pytest.mark.parametrize("form", FORMATS)
    @pytest.mark.parametrize("streamed", [False, True])
    def test_lost(self, tmp_path: Path, form: Any, streamed: bool) -> None:
        files = write(tmp_path, form, [of(form), of(form)])
        Path(files[1].path).unlink()
        read = RowsFiles(LocalFiles(), form, files, of(form).schema, None)
        with pytest.raises(CorruptTable, match="is lost: it is not there"):
            list(read.batches()) if streamed else read.table()

    @pytest.mark.parametrize("form", FORMATS)
    @pytest.mark.parametrize("there", [*FORMATS, "zeros"])
    @pytest.mark.parametrize("streamed", [False, True])
    def test_something_else_of_the_same_size(
        self, tmp_path: Path, form: Any, there: Any, streamed: bool
    ) -> None:
        """Another format, or the same of other columns, or of fewer rows."""
        (file,) = write(tmp_path, form, [ROWS])
        other = ROWS.slice(0, 40).rename_columns(["id", "b", "c", "d", "e"])
        if there != "zeros":
            write_file(there, tmp_path / "other", other, mark=file.mark)
            held = (tmp_path / "other").read_bytes()
        else:
            held = b""
        Path(file.path).write_bytes(held.ljust(file.size_bytes, b"\0"))
        assert use(form, [file], ROWS.schema, streamed) is None
        Path(file.path).write_bytes(held)
        fitting = msgspec.structs.replace(file, size_bytes=len(held))
        assert use(form, [fitting], ROWS.schema, streamed) is None

    @pytest.mark.parametrize("form", FORMATS)
    @pytest.mark.parametrize("streamed", [False, True])
    def test_another_file_of_the_same_size(self, tmp_path: Path, form: Any, streamed: bool) -> None:
        one, other = write(tmp_path, form, [ROWS, ROWS.set_column(0, "id", ROWS["id"][::-1])])
        Path(one.path).write_bytes(Path(other.path).read_bytes())
        read = RowsFiles(
            LocalFiles(), form, [msgspec.structs.replace(one, size_bytes=other.size_bytes)], ROWS.schema, None
        )
        told = "is not as it was written" if form == "csv" else "is not the file that was written there"
        with pytest.raises(CorruptTable, match=told):
            list(read.batches()) if streamed else read.table()

    @pytest.mark.parametrize("form", FORMATS)
    @pytest.mark.parametrize("streamed", [False, True])
    def test_fewer_rows(self, tmp_path: Path, form: Any, streamed: bool) -> None:
        (file,) = write(tmp_path, form, [ROWS.slice(0, 299)])
        more = msgspec.structs.replace(file, rows=300)
        read = RowsFiles(LocalFiles(), form, [more], ROWS.schema, None)
        with pytest.raises(CorruptTable, match="was written with 300 rows, and now has 299"):
            list(read.batches()) if streamed else read.table()
