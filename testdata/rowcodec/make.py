"""Makes the vectors in this folder: `.venv/bin/python testdata/rowcodec/make.py`.

<name>.json             rows, as text.py tells them
<name>.arrows           the same as bytes
big_endian/<name>.arrows  the same in the other byte order
malformed.json          {name: kind of the error}, of malformed/<name>.arrows
row.arrows              rows of pyspark's Row, of which row.json tells the dicts
jvm/<name>.arrows       written on the JVM: spark-plugin/src/test/java/headrace/spark/rows/RowWriterTest.java
"""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path
from typing import Any

import big_endian
import pyarrow as pa
from cases import COMPRESSED, ROWS
from text import write_rows

from headrace import rowcodec

HERE = Path(__file__).parent
TURNED = (
    "tuples", "ints", "dictionary", "dates", "datetimes", "zones", "timedeltas", "decimals", "uuids", "bools",
    "numpy", "nested", "maps", "rest", "variants",
)  # fmt: skip


def main() -> None:
    for folder in ("big_endian", "malformed"):
        (HERE / folder).mkdir(exist_ok=True)
    for name, rows in ROWS.items():
        (HERE / f"{name}.json").write_text(write_rows(rows))
        data = one_by_one(rows) if name == "segments" else rowcodec.dumps(rows, allow_pickle=False)
        (HERE / f"{name}.arrows").write_bytes(data)
    for codec in COMPRESSED:
        data = rowcodec.dumps(ROWS["dictionary"], compression=codec)
        (HERE / f"dictionary.{codec}.arrows").write_bytes(data)
    for name in TURNED:
        data = big_endian.turned((HERE / f"{name}.arrows").read_bytes())
        (HERE / "big_endian" / f"{name}.arrows").write_bytes(data)
    kinds = {}
    for name, (kind, data) in malformed().items():
        kinds[name] = kind
        (HERE / "malformed" / f"{name}.arrows").write_bytes(data)
    (HERE / "malformed.json").write_text(json.dumps(kinds, indent=1) + "\n")
    row()


def one_by_one(rows: list[Any]) -> bytes:
    """As who does not know the rows that follow has to write them."""
    with io.BytesIO() as file, rowcodec.Encoder(file, allow_pickle=False) as encoder:
        for row in rows:
            encoder.append(row)
        encoder.close()
        return file.getvalue()


def row() -> None:
    (batch,) = rowcodec.to_batches(ROWS["dicts"])
    batch = batch.replace_schema_metadata({"headrace.rows": "1", "headrace.py": "row"})
    with pa.OSFile(str(HERE / "row.arrows"), "wb") as file, pa.ipc.new_stream(file, batch.schema) as stream:
        stream.write(batch)
    (HERE / "row.json").write_text((HERE / "dicts.json").read_text())


def malformed() -> dict[str, tuple[str, bytes]]:
    tuples, texts = rowcodec.dumps(ROWS["tuples"]), rowcodec.dumps([("abc",), ("def",)], dictionaries=False)
    dictionary = rowcodec.dumps(ROWS["dictionary"])
    ends = struct.pack("<iii", 0, 3, 6)
    (pickled,) = [rowcodec.dumps([({1},)])]
    found = {
        "cut_in_frame": ("damaged", tuples[:6]),
        "cut_in_schema": ("damaged", tuples[:100]),
        "cut_in_body": ("damaged", tuples[:-12]),
        "without_end": ("damaged", tuples[:-8]),
        "no_schema": ("damaged", tuples[-8:]),
        "no_arrow": ("damaged", b"PAR1" + tuples[4:]),
        "more_after_end": ("damaged", tuples + b"\0"),
        "offset_beyond_bytes": ("damaged", texts.replace(ends, struct.pack("<iii", 0, 3, 1 << 20))),
        "offset_falls": ("damaged", texts.replace(ends, struct.pack("<iii", 0, 7, 6))),
        "offset_below_zero": ("damaged", texts.replace(ends, struct.pack("<iii", 0, -3, 6))),
        "text_not_utf8": ("damaged", texts.replace(b"abcdef", b"a\xffcdef")),
        "index_beyond_dictionary": ("damaged", dictionary.replace(bytes([0, 1, 2, 0, 1, 2]), bytes([0, 1, 9, 0, 1, 2]), 1)),
        "later_version": ("unsupported", tuples.replace(_version(b"1"), _version(b"2"))),
        "pickled": ("refused", pickled),
        "variant_of_unknown_kind": ("damaged", _variant(b"?")),
        "variant_too_short": ("damaged", _variant(b"d\0\0")),
        "variant_too_long": ("damaged", _variant(b"NN")),
        "variant_of_too_many": ("damaged", _variant(b"[\xff\xff\xff\xff\x0f")),
        "variant_too_deep": ("damaged", _variant(b"[\x01" * 100 + b"N")),
        "variant_of_unknown_class": ("refused", _variant(b"R\x0anamedtuple\x0bno_module:A\x00")),
        "rest_of_dictionary": ("damaged", _told("rest", pa.array([b"N", b"T"], pa.binary()).dictionary_encode())),
        "variants_of_dictionary": ("unsupported", _told("variant", pa.array([b"N"], pa.binary()).dictionary_encode())),
        "union": ("unsupported", _foreign(pa.UnionArray.from_dense(
            pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([1])]))),
        "time_of_day": ("unsupported", _foreign(pa.array([1], pa.time64("us")))),
        "nanoseconds": ("unsupported", _foreign(pa.array([1], pa.timestamp("ns")))),
        "date_beyond_python": ("unsupported", _foreign(pa.array([10_000_000], pa.int32()).view(pa.date32()))),
    }  # fmt: skip
    for name, (_, data) in found.items():
        assert data not in (tuples, texts, dictionary), f"{name} is not malformed"
    return found


def _version(number: bytes) -> bytes:
    return struct.pack("<I", 1) + number + b"\0"


def _variant(value: bytes) -> bytes:
    return _told("variant", pa.array([value], pa.binary()))


def _told(told: str, values: pa.Array) -> bytes:
    field = pa.field("_1", values.type, metadata={"headrace.py": told})
    schema = pa.schema([field], metadata={"headrace.rows": "1", "headrace.py": "tuple"})
    return _stream(pa.record_batch([values], schema=schema))


def _foreign(array: pa.Array) -> bytes:
    return _stream(pa.record_batch([array], names=["a"]))


def _stream(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write(batch)
    return sink.getvalue().to_pybytes()


if __name__ == "__main__":
    main()
