"""Serializers, each in the fastest form that it documents: rows to pieces of bytes, and back."""

from __future__ import annotations

import dataclasses
import functools
import pickle
from collections.abc import Callable
from typing import Any

import pyarrow as pa

_FIELDS = "abcdefghi"


@dataclasses.dataclass(frozen=True)
class Codec:
    encode: Callable[[list[Any]], list[bytes]]
    decode: Callable[[list[bytes]], list[Any]]


Make = Callable[[], Codec]


def each(dumps: Callable[[Any], bytes], loads: Callable[[bytes], Any]) -> Codec:
    """A piece for each row."""
    return Codec(lambda rows: [dumps(row) for row in rows], lambda pieces: [loads(piece) for piece in pieces])


def lists(count: int, dumps: Callable[[Any], bytes], loads: Callable[[bytes], Any]) -> Codec:
    """A piece for so many rows."""
    return Codec(
        lambda rows: [dumps(rows[at : at + count]) for at in range(0, len(rows), count)],
        lambda pieces: [row for piece in pieces for row in loads(piece)],
    )


def pickled(count: int) -> Codec:
    dumps = functools.partial(pickle.dumps, protocol=5)
    return each(dumps, pickle.loads) if count == 1 else lists(count, dumps, pickle.loads)


def headrace(dictionaries: bool) -> Codec:
    from headrace_native import dump_rows, load_rows

    from headrace import rowcodec

    if dictionaries:
        return Codec(lambda rows: [rowcodec.dumps(rows)], lambda pieces: rowcodec.loads(pieces[0]))
    return Codec(lambda rows: [dump_rows(rows, dictionaries=False)], lambda pieces: load_rows(pieces[0]))


def headrace_single() -> Codec:
    from headrace import rowcodec

    return each(lambda row: rowcodec.dumps([row]), lambda piece: rowcodec.loads(piece)[0])


def msgspec() -> Codec:
    from msgspec.msgpack import Decoder, Encoder

    row = tuple[int, str, str, str, str, int, str, float, str]
    return each(Encoder().encode, Decoder(row).decode)


def msgspec_lists() -> Codec:
    from msgspec.msgpack import Decoder, Encoder

    row = tuple[int, str, str, str, str, int, str, float, str]
    return lists(100, Encoder().encode, Decoder(list[row]).decode)


def ormsgpack() -> Codec:
    from ormsgpack import packb, unpackb

    return each(packb, lambda piece: tuple(unpackb(piece)))


def msgpack() -> Codec:
    from msgpack import Packer, unpackb

    return each(Packer().pack, lambda piece: unpackb(piece, use_list=False))


def protobuf() -> Codec:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="part.proto", syntax="proto3")
    message = file.message_type.add(name="Part")
    types = [
        kinds.TYPE_INT32,
        *[kinds.TYPE_STRING] * 4,
        kinds.TYPE_INT32,
        kinds.TYPE_STRING,
        kinds.TYPE_DOUBLE,
    ]
    for number, (name, kind) in enumerate(zip(_FIELDS, [*types, kinds.TYPE_STRING], strict=True), 1):
        message.field.add(name=name, number=number, type=kind, label=kinds.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    part = message_factory.GetMessageClass(pool.FindMessageTypeByName("Part"))

    def dumps(row: Any) -> bytes:
        a, b, c, d, e, f, g, h, i = row
        return part(a=a, b=b, c=c, d=d, e=e, f=f, g=g, h=h, i=i).SerializeToString()

    def loads(piece: bytes) -> Any:
        m = part.FromString(piece)
        return (m.a, m.b, m.c, m.d, m.e, m.f, m.g, m.h, m.i)

    return each(dumps, loads)


def bson() -> Codec:
    from bson import decode, encode

    return each(
        lambda row: encode(dict(zip(_FIELDS, row, strict=True))), lambda piece: tuple(decode(piece).values())
    )


def fory() -> Codec:
    import pyfory

    coder = pyfory.Fory(xlang=False, ref=False)
    return each(coder.dumps, coder.loads)


def pyarrow() -> Codec:
    """`from_pylist` and `to_pylist`, and a stream for 10,000 rows."""
    types = [pa.int64(), *[pa.string()] * 4, pa.int64(), pa.string(), pa.float64(), pa.string()]
    schema = pa.schema(list(zip(_FIELDS, types, strict=True)))

    def dumps(rows: list[Any]) -> bytes:
        batch = pa.RecordBatch.from_pylist([dict(zip(_FIELDS, row, strict=True)) for row in rows], schema)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as stream:
            stream.write_batch(batch)
        return sink.getvalue().to_pybytes()

    def loads(piece: bytes) -> list[Any]:
        return [tuple(row.values()) for row in pa.ipc.open_stream(piece).read_all().to_pylist()]

    return lists(10_000, dumps, loads)
