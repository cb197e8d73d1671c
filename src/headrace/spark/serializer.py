"""Rows as Spark's workers pass them on: as the row format where that carries them, else pickled as ever.

    list of rows ── RowSerializer.dumps ──> a pickle, which is a call of `loads` with the bytes of the rows
                                            or, of values that need pickle, what PySpark itself writes

So whatever reads PySpark's pickles reads these, and both may be in one stream.
"""

from __future__ import annotations

import struct
from typing import Any, Literal, NoReturn

from pyspark.serializers import CPickleSerializer, FramedSerializer

from headrace.errors import InternalError, InvalidArgument
from headrace.rowcodec.codec import loads as loads  # what pickles of rows call
from headrace.rowcodec.native import headrace_native, raised

_HEAD = b"\x80\x03cheadrace.spark.serializer\nloads\nB"
_BEGIN = len(_HEAD) + 4
_TAIL = b"\x85R."
_LARGEST = (1 << 31) - 1 - _BEGIN - len(_TAIL)
# Fewer rows take longer than to pickle them, for their schema goes with them.
_FEW = 8
_LONGEST_PAUSE = 63
_PICKLE = CPickleSerializer()


def pickled(rows: bytes) -> bytes:
    """Bytes of rows as a pickle, which gives the list of them."""
    return b"".join((_HEAD, struct.pack("<I", len(rows)), rows, _TAIL))


def rows_in(pickle: bytes) -> memoryview | None:
    """The bytes of the rows within a pickle; None if others made it."""
    if pickle.startswith(_HEAD):
        return memoryview(pickle)[_BEGIN : -len(_TAIL)]
    return None


def failed(what: str) -> NoReturn:
    """What stands in a stream whose rest could not be written."""
    raise InternalError(f"rows of a frame could not be written: {what}")


class RowSerializer(FramedSerializer):  # type: ignore[misc]
    """What `SparkContext(serializer=...)` takes: lists of rows in the row format, all else as PySpark pickles it.

    Rows are tuples, lists, dicts, `Row`s, or values, of what `docs/row-format.md` has columns for.

    Args:
        allow_pickle: pickle what is no list of rows alike, and rows that need it. Else that is an error.
    """

    def __init__(self, *, allow_pickle: bool = True) -> None:
        self.allow_pickle = allow_pickle
        self._only: Literal["alike", "plain"] = "alike"
        # Where lists are refused one after the other, ever fewer are tried.
        self._untried = self._pause = 0

    @classmethod
    def plain(cls) -> RowSerializer:
        """Of rows that a JVM reads as it reads pickled ones: tuples or values, of what SQL has. Others are pickled."""
        made = cls()
        made._only = "plain"
        return made

    def dumps(self, obj: Any) -> bytes:
        """Raises: as PySpark's own; without leave to pickle, Unsupported."""
        if self._untried > 0 and self.allow_pickle:
            self._untried -= 1
        elif not self.allow_pickle or (type(obj) is list and len(obj) >= _FEW):
            try:
                rows: bytes = headrace_native.dump_rows(obj, False, only=self._only)
            except headrace_native.RowError as error:
                if not self.allow_pickle:
                    raise raised(error) from error
                self._untried = self._pause = min(2 * self._pause + 1, _LONGEST_PAUSE)
            else:
                self._pause = 0
                if len(rows) <= _LARGEST:
                    return pickled(rows)
        done: bytes = _PICKLE.dumps(obj)
        return done

    def loads(self, obj: bytes) -> Any:
        """Raises InvalidArgument: it is pickled, and must not be."""
        rows = rows_in(obj)
        if rows is not None:
            return loads(rows)
        if not self.allow_pickle:
            raise InvalidArgument(
                "what Spark passes on is pickled, and this serializer reads rows alone",
                hint="RowSerializer(allow_pickle=True)",
            )
        return _PICKLE.loads(obj)

    def __eq__(self, other: object) -> bool:
        """PySpark asks whether what one writes is what another one reads."""
        return type(other) is type(self) and other._told() == self._told()

    def __hash__(self) -> int:
        return hash(self._told())

    def _told(self) -> tuple[bool, str]:
        return self.allow_pickle, self._only

    def __repr__(self) -> str:
        return "RowSerializer()" if self.allow_pickle else "RowSerializer(allow_pickle=False)"
