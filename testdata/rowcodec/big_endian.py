"""Streams of this codec, turned to the other byte order: numbers in buffers, and what the schema says of them."""

from __future__ import annotations

import io
import struct

import pyarrow as pa


def turned(data: bytes) -> bytes:
    """Args: `data` is one segment without compression."""
    with pa.ipc.open_stream(data) as stream:
        schema = stream.schema
    out = bytearray(data)
    source = io.BytesIO(data)
    while True:
        _, size = struct.unpack("<Ii", source.read(8))
        if size == 0:
            return bytes(out)
        at = source.tell()
        message = _Table.root(memoryview(out)[at : at + size])
        source.seek(size, io.SEEK_CUR)
        body = source.tell()
        source.seek(message.long(3), io.SEEK_CUR)
        head = message.table(2)
        match message.byte(1):
            case 1:
                place = head.place(0)
                assert place is not None, "the byte order is not written"
                struct.pack_into("<h", head.view, place, 1)
            case 2:
                kind = _dictionaries(schema)[head.long(0)]
                _turn(out, body, head.table(1), [kind])
            case 3:
                _turn(out, body, head, list(schema.types))


class _Table:
    def __init__(self, view: memoryview, position: int) -> None:
        self.view = view
        self.position = position
        self.layout = position - struct.unpack_from("<i", view, position)[0]

    @classmethod
    def root(cls, view: memoryview) -> _Table:
        return cls(view, struct.unpack_from("<I", view)[0])

    def place(self, slot: int) -> int | None:
        (size,) = struct.unpack_from("<H", self.view, self.layout)
        if 4 + 2 * slot >= size:
            return None
        (offset,) = struct.unpack_from("<H", self.view, self.layout + 4 + 2 * slot)
        return self.position + offset if offset else None

    def byte(self, slot: int) -> int:
        place = self.place(slot)
        return 0 if place is None else self.view[place]

    def long(self, slot: int) -> int:
        place = self.place(slot)
        return 0 if place is None else int(struct.unpack_from("<q", self.view, place)[0])

    def target(self, slot: int) -> int:
        place = self.place(slot)
        assert place is not None, "a table lacks an offset"
        return int(place + struct.unpack_from("<I", self.view, place)[0])

    def table(self, slot: int) -> _Table:
        return _Table(self.view, self.target(slot))

    def pairs(self, slot: int) -> list[tuple[int, int]]:
        start = self.target(slot)
        (length,) = struct.unpack_from("<I", self.view, start)
        return [struct.unpack_from("<qq", self.view, start + 4 + 16 * n) for n in range(length)]


def _dictionaries(schema: pa.Schema) -> list[pa.DataType]:
    """The types of the values, by the ids that this codec gives."""
    found: list[pa.DataType] = []

    def gather(kind: pa.DataType) -> None:
        if pa.types.is_dictionary(kind):
            found.append(kind.value_type)
        elif isinstance(kind, pa.MapType):
            gather(kind.key_type)
            gather(kind.item_type)
        else:
            for n in range(kind.num_fields):
                gather(kind.field(n).type)

    for kind in schema.types:
        gather(kind)
    return found


def _turn(out: bytearray, body: int, batch: _Table, kinds: list[pa.DataType]) -> None:
    widths = [width for kind in kinds for width in _widths(kind)]
    places = batch.pairs(2)
    assert len(widths) == len(places), "a batch has other buffers than its schema"
    for width, (offset, length) in zip(widths, places, strict=True):
        start = body + offset
        for at in range(start, start + length, width):
            out[at : at + width] = out[at : at + width][::-1]


def _widths(kind: pa.DataType) -> list[int]:
    """Of each buffer, the bytes of a number in it."""
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if pa.types.is_null(kind):
        return []
    if pa.types.is_dictionary(kind):
        return [1, kind.index_type.bit_width // 8]
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return [1, 4, 1]
    if pa.types.is_boolean(kind) or pa.types.is_fixed_size_binary(kind):
        return [1, 1]
    if isinstance(kind, pa.MapType):
        return [1, 4, 1, *_widths(kind.key_type), *_widths(kind.item_type)]
    if pa.types.is_list(kind):
        return [1, 4, *_widths(kind.value_type)]
    if pa.types.is_struct(kind):
        return [1, *(width for n in range(kind.num_fields) for width in _widths(kind.field(n).type))]
    return [1, kind.bit_width // 8]
