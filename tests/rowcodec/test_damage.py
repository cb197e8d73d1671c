"""Bytes that were damaged, or made up, raise an error: never a crash, never something else."""

from __future__ import annotations

import dataclasses
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from headrace import rowcodec
from headrace.errors import BadData, HeadraceError, Unsupported

pytestmark = pytest.mark.slow

VECTORS = Path(__file__).parents[2] / "testdata" / "rowcodec"
SECONDS = 8
END = b"\xff\xff\xff\xff\0\0\0\0"


def read(data: bytes) -> None:
    try:
        rows = rowcodec.loads(data)
    except (BadData, Unsupported):
        return
    # What was made is whole: all of it can be looked at.
    assert isinstance(repr(rows[:100]), str)


def seeds() -> list[bytes]:
    paths = sorted(VECTORS.rglob("*.arrows"))
    return [path.read_bytes() for path in paths if path.stat().st_size < 20_000]


def test_every_cut() -> None:
    for data in seeds():
        for end in range(0, len(data), max(1, len(data) // 200)):
            if not data[:end].endswith(END):  # of what has more behind its end
                with pytest.raises((BadData, Unsupported)):
                    rowcodec.loads(data[:end])


def test_every_byte() -> None:
    """Each byte of small streams, by turns, as it could be: zero, all ones, and one bit off."""
    small = [data for data in seeds() if len(data) < 1500]
    for data in small:
        for n in range(len(data)):
            for value in (0, 0xFF, data[n] ^ 0x80, data[n] ^ 1):
                if value != data[n]:
                    read(data[:n] + bytes([value]) + data[n + 1 :])


def test_anything_for_some_seconds() -> None:
    rng = random.Random(20131)
    given, end = seeds(), time.monotonic() + SECONDS
    while time.monotonic() < end:
        data = bytearray(rng.choice(given))
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(data))
            match rng.randrange(5):
                case 0:
                    data[at] = rng.randrange(256)
                case 1:
                    edge = rng.choice([0, 1, -1, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), len(data)])
                    data[at : at + 8] = (edge % 2**64).to_bytes(8, "little")
                case 2:
                    del data[at : at + rng.randint(1, 16)]
                case 3:
                    data[at:at] = rng.randbytes(rng.randint(1, 16))
                case 4:
                    other = rng.choice(given)
                    data[at:at] = other[: rng.randrange(len(other))]
            if not data:
                break
        read(bytes(data))


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff" * 7, b"\xff" * 8, b"\xff" * 100])
def test_no_stream(data: bytes) -> None:
    with pytest.raises(BadData):
        rowcodec.loads(data)


DICTIONARY = pa.DictionaryArray.from_arrays(
    pa.array([0, 1], pa.int32()), pa.array([b"T", b"[\0"], pa.binary())
)


@pytest.mark.parametrize("told", ["rest", "variant", "bytearray"])
def test_dictionary_of_what_none_can_hold(told: str) -> None:
    field = pa.field("told", DICTIONARY.type, metadata={"headrace.py": told})
    schema = pa.schema([pa.field("n", pa.int64()), field], metadata={"headrace.rows": "1"})
    batch = pa.record_batch([pa.array([1, 2]), DICTIONARY], schema=schema)
    for read_it in both_ways(batch):
        with pytest.raises((BadData, Unsupported), match=r"dictionary|is not binary"):
            read_it()


def both_ways(batch: pa.RecordBatch) -> list[Callable[[], list[Any]]]:
    """As bytes, and where it is."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return [lambda: rowcodec.loads(sink.getvalue()), lambda: rowcodec.from_batch(batch)]


def test_columns_of_one_name_that_a_dict_would_lose() -> None:
    pair = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])
    for batch in (
        pa.record_batch([pa.array([1]), pa.array([2])], ["a", "a"]),
        pa.record_batch([pair], ["pair"]),
    ):
        for read_it in both_ways(batch):
            with pytest.raises(Unsupported, match='two columns are named "a"'):
                read_it()


def test_key_of_a_dict_that_has_no_hash() -> None:
    field = pa.field("d", pa.binary(), metadata={"headrace.py": "variant"})
    schema = pa.schema([field], metadata={"headrace.rows": "1"})
    for key in (b"[\x00", b"{\x00", b"(\x01a\x00"):
        values = pa.array([b"{\x01" + key + b"N"], pa.binary())
        for read_it in both_ways(pa.record_batch([values], schema=schema)):
            with pytest.raises(BadData, match="key of a dict has no hash"):
                read_it()


@dataclasses.dataclass(frozen=True)
class Meddler:
    """Runs code when it becomes a key."""

    value: int
    meddle: ClassVar[Callable[[], object]] = staticmethod(lambda: None)

    def __hash__(self) -> int:
        Meddler.meddle()
        return 1


@pytest.mark.parametrize(
    "view", [lambda data: data, lambda data: memoryview(data).toreadonly()], ids=["bytes", "view"]
)
def test_bytes_that_change_while_they_are_read(view: Callable[[bytearray], Any]) -> None:
    rows = [({Meddler(n): "key"}, f"text {n}") for n in range(1000)]
    given = bytearray(rowcodec.dumps(rows, dictionaries=False))

    def change() -> None:
        for place in range(1000, len(given)):  # one by one, as its length is held
            given[place] = 0x7F

    Meddler.meddle = staticmethod(change)
    try:
        found = rowcodec.loads(view(given))
    finally:
        Meddler.meddle = staticmethod(lambda: None)
    assert given[-8:] == b"\x7f" * 8
    assert found == rows


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_no_rows_of_a_batch_of_many(codec: str) -> None:
    """pyarrow writes all of the offsets."""
    batch = pa.record_batch([pa.array([[n] for n in range(1000)])], ["list"])
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch.slice(0, 0))
        writer.write_batch(batch)
    assert rowcodec.loads(sink.getvalue()) == batch.to_pylist()


def test_time_that_is_beyond_in_its_zone() -> None:
    times = pa.array([253_402_300_799_000_000], pa.timestamp("us", "Asia/Tokyo"))
    with pytest.raises(Unsupported, match="row 0, column 'at': a time is beyond those of Python"):
        rowcodec.from_batch(pa.record_batch([times], ["at"]))


def test_nanoseconds_tell_row_and_column() -> None:
    times = pa.array([1_000, 1_001], pa.timestamp("ns"))
    for read_it in both_ways(pa.record_batch([pa.array([1, 2]), times], ["n", "at"])):
        with pytest.raises(
            Unsupported, match=r"row 1, column 'at': .*cast the column to microseconds"
        ) as found:
            read_it()
        assert found.value.details["row"] == 1
        assert found.value.details["column"] == "at"


def test_row_of_a_later_batch_that_is_pickled() -> None:
    rows: list[Any] = [(n, n) for n in range(40_000)]
    rows[30_000] = (1, {2})
    with pytest.raises(Unsupported, match="row 30000: a value is pickled") as found:
        rowcodec.loads(rowcodec.dumps(rows))
    assert "can run any code" in str(found.value.hint)


def test_file_of_arrow() -> None:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, pa.schema([("n", pa.int64())])):
        pass
    with pytest.raises(Unsupported, match="a file of Arrow's, not a stream"):
        rowcodec.loads(sink.getvalue())


def test_error_tells_where() -> None:
    data = rowcodec.dumps([(1, "a")])
    with pytest.raises(BadData, match=r"at byte \d+") as found:
        rowcodec.loads(data[:-8])
    assert found.value.details["offset"] == len(data) - 8
    assert isinstance(found.value, HeadraceError)
