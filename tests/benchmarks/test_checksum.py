"""The checksum tells different results apart, and nothing else."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from benchmarks.checksum import checksum

TABLE = pa.table({"k": [1, 2, 2, None], "name": ["a", "b", "b", None], "x": [0.5, None, None, 1.5]})
TIMES = [dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC), None]


def test_order_of_rows_and_columns_does_not_matter() -> None:
    turned = TABLE.take([3, 1, 0, 2]).select(["x", "name", "k"])
    assert checksum(turned) == checksum(TABLE)


def test_a_stream_counts_as_its_rows() -> None:
    assert checksum(TABLE.to_reader(max_chunksize=1)) == checksum(TABLE)


@pytest.mark.parametrize(
    "other",
    [
        TABLE.slice(1),
        pa.concat_tables([TABLE, TABLE.slice(0, 1)]),
        TABLE.set_column(0, "k", pa.array([1, 2, 1, None])),
        TABLE.set_column(0, "k", pa.array([1, 2, 2, 0])),
        TABLE.set_column(1, "name", pa.array(["b", "a", "b", None])),
        TABLE.rename_columns(["k", "named", "x"]),
    ],
    ids=["missing row", "repeated row", "other repetition", "value for null", "swapped values", "other name"],
)
def test_what_differs_is_told_apart(other: pa.Table) -> None:
    assert checksum(other) != checksum(TABLE)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Stockholm", None])
def test_unit_and_zone_of_a_time_do_not_matter(unit: str, zone: str | None) -> None:
    times = pa.array(TIMES, pa.timestamp("us", "UTC")).cast(pa.timestamp(unit, "UTC"))
    column = times.cast(pa.timestamp(unit, zone)) if zone else times.cast(pa.int64()).cast(pa.timestamp(unit))
    expected = checksum(pa.table({"t": pa.array(TIMES, pa.timestamp("us", "UTC"))}))
    assert checksum(pa.table({"t": column})) == expected


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.uint16()])
def test_width_of_an_integer_does_not_matter(kind: pa.DataType) -> None:
    assert checksum(TABLE.set_column(0, "k", TABLE["k"].cast(kind))) == checksum(TABLE)


@pytest.mark.parametrize(
    "kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
)
def test_encoding_of_a_string_does_not_matter(kind: pa.DataType) -> None:
    assert checksum(TABLE.set_column(1, "name", TABLE["name"].cast(kind))) == checksum(TABLE)
