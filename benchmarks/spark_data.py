"""Files for Spark to read, generated in a folder."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv as pa_csv

from benchmarks import data

NUMBERS = ("a", "b", "c", "d")
CSV_SCHEMA = "a BIGINT, b DOUBLE, text STRING, day DATE"
_LINKED_ROWS = 20_000_000
_LINKS = 10
"""At least."""
_GROUP_ROWS = 1_000_000
_FEW = 1_000
"""Values that a dictionary pays for."""

Block = Callable[[np.random.Generator, int], pa.Table]
"""So many rows, drawn by chance that does not change."""


def numbers(rows: int, folder: Path) -> Path:
    """Four columns of 64-bit integers, uncompressed and without dictionaries."""
    return _parquet(folder, f"numbers-{rows}", rows, _integers(len(NUMBERS), NUMBERS), "none")


def compressed(name: str, rows: int, folder: Path) -> Path:
    """The same with smaller values, by a codec, or `none`; `dictionary-snappy` has few values."""
    codec = name.removeprefix("dictionary-")
    few = codec != name
    block = _integers(len(NUMBERS), NUMBERS, _FEW if few else 1_000_000)
    return _parquet(folder, f"{name}-{rows}", rows, block, codec, few)


def linked(rows: int, folder: Path) -> Path:
    """A folder of hard links to one such file, which together have so many rows and take the room of one."""
    alone = min(_LINKED_ROWS, rows // _LINKS)
    file = numbers(alone, folder)

    def generate(made: Path) -> None:
        for number in range(rows // alone):
            (made / f"{number}.parquet").hardlink_to(file)

    return data.made(f"links-{rows}", generate, folder)


def wide(columns: int, rows: int, folder: Path) -> Path:
    names = tuple(f"c{i}" for i in range(columns))
    return _parquet(folder, f"wide-{rows}", rows, _integers(columns, names), "none", group=_GROUP_ROWS // 8)


def typed(name: str, rows: int, folder: Path) -> Path:
    """Columns of one kind of type, as Spark's own writer would compress them."""
    return _parquet(folder, f"{name}-{rows}", rows, _TYPES[name], "snappy", use_dictionary=True)


def csv(rows: int, folder: Path) -> Path:
    """An integer, a double, a text and a date."""
    return _csv(folder, f"csv-{rows}", rows, _line)


def numbers_csv(rows: int, folder: Path) -> Path:
    """Those of `numbers`."""
    return _csv(folder, f"numbers-csv-{rows}", rows, _integers(len(NUMBERS), NUMBERS))


def _csv(folder: Path, name: str, rows: int, block: Block) -> Path:
    def generate(made: Path) -> None:
        blocks = _blocks(rows, _GROUP_ROWS, block)
        first = next(blocks)
        with pa_csv.CSVWriter(made / "rows.csv", first.schema) as file:
            for table in itertools.chain([first], blocks):
                file.write_table(table)

    return data.made(name, generate, folder) / "rows.csv"


def _parquet(
    folder: Path,
    name: str,
    rows: int,
    block: Block,
    codec: str,
    use_dictionary: bool = False,
    group: int = _GROUP_ROWS,
) -> Path:
    def generate(made: Path) -> None:
        blocks = _blocks(rows, group, block)
        first = next(blocks)
        with pq.ParquetWriter(
            made / "rows.parquet", first.schema, compression=codec, use_dictionary=use_dictionary
        ) as file:
            for table in itertools.chain([first], blocks):
                file.write_table(table, row_group_size=group)

    return data.made(name, generate, folder) / "rows.parquet"


def _blocks(rows: int, size: int, block: Block) -> Iterator[pa.Table]:
    for number, start in enumerate(range(0, rows, size)):
        yield block(np.random.default_rng(number), min(size, rows - start))


def _integers(columns: int, names: tuple[str, ...], below: int = 2**40) -> Block:
    def block(random: np.random.Generator, rows: int) -> pa.Table:
        return pa.table([random.integers(0, below, rows) for _ in range(columns)], names=list(names))

    return block


def _line(random: np.random.Generator, rows: int) -> pa.Table:
    columns = {
        "a": random.integers(0, 2**40, rows),
        "b": random.integers(0, 10**9, rows) / 100,
        "text": _text(random, rows, 1_000_000),
        "day": _days(random, rows),
    }
    return pa.table(columns)


def _text(random: np.random.Generator, rows: int, below: int) -> pa.Array:
    return pc.binary_join_element_wise("name", pc.cast(random.integers(0, below, rows), pa.string()), "-")


def _days(random: np.random.Generator, rows: int) -> pa.Array:
    return pa.array(random.integers(7_000, 20_000, rows).astype("int32")).cast(pa.date32())


def _strings(random: np.random.Generator, rows: int) -> pa.Table:
    return pa.table({"a": _text(random, rows, 10_000_000), "b": _text(random, rows, _FEW)})


def _decimals(random: np.random.Generator, rows: int) -> pa.Table:
    columns = {}
    for name, kind in (
        ("small", pa.decimal128(9, 2)),
        ("middle", pa.decimal128(18, 2)),
        ("large", pa.decimal128(38, 6)),
    ):
        columns[name] = pa.array(random.integers(0, 10**6, rows)).cast(pa.decimal128(19, 0)).cast(kind)
    return pa.table(columns)


def _dates(random: np.random.Generator, rows: int) -> pa.Table:
    moments = pa.array(random.integers(0, 2 * 10**15, rows)).cast(pa.timestamp("us", "UTC"))
    return pa.table({"day": _days(random, rows), "moment": moments})


def _nested(random: np.random.Generator, rows: int) -> pa.Table:
    lengths = random.integers(1, 5, rows)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype("int32")
    lists = pa.ListArray.from_arrays(offsets, random.integers(0, 2**40, int(offsets[-1])))
    deep = pa.StructArray.from_arrays(
        [pa.array(random.integers(0, 2**40, rows)), _text(random, rows, _FEW)], names=["a", "b"]
    )
    return pa.table({"list": lists, "deep": deep})


_TYPES: dict[str, Block] = {"strings": _strings, "decimals": _decimals, "dates": _dates, "nested": _nested}
