"""As much of Hadoop's RPC as shows which answer is for which call."""

from __future__ import annotations

from collections.abc import Iterator

_CALL_ID_OF_REQUEST = 3
_CALL_ID_OF_REPLY = 1


class Frames:
    """Cuts a stream of bytes into its frames, each with the length that it begins with.

    Before the first may come a preamble: a client's begins with "hrpc", the version and two bytes more.
    """

    def __init__(self, preamble: int) -> None:
        self._preamble = preamble
        self._rest = b""

    def add(self, more: bytes) -> Iterator[bytes]:
        self._rest += more
        while (length := self._next()) is not None and length <= len(self._rest):
            frame, self._rest = self._rest[:length], self._rest[length:]
            self._preamble = 0
            yield frame

    def _next(self) -> int | None:
        start = self._preamble
        if len(self._rest) < start + 4:
            return None
        return start + 4 + int.from_bytes(self._rest[start : start + 4])


def call_of_request(frame: bytes) -> int:
    number = _field(frame, _CALL_ID_OF_REQUEST)
    return (number >> 1) ^ -(number & 1)  # zigzag


def call_of_reply(frame: bytes) -> int:
    return _field(frame, _CALL_ID_OF_REPLY)


def _field(frame: bytes, wanted: int) -> int:
    """A number of the header, which is the first message of a frame."""
    at = 0 if frame[:4] != b"hrpc" else 7
    length, at = _varint(frame, at + 4)
    end = at + length
    while at < end:
        tag, at = _varint(frame, at)
        value, at = _varint(frame, at)
        if tag & 7 == 2:
            at += value
        elif tag >> 3 == wanted:
            return value
    raise ValueError(f"no field {wanted} in the header of {frame!r}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at
