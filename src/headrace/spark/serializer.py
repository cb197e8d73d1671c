"""Rows as Spark's workers pass them on: as the row format where that carries them, else pickled as ever.

    list of rows ── RowSerializer.dumps ──> a pickle, which is a call of `loads` with the bytes of the rows
                                            or, of values that need pickle, what PySpark itself writes

So whatever reads PySpark's pickles reads these, and both may be in one stream.
"""

from __future__ import annotations

import struct
from typing import Any, Literal, NoReturn

from pyspark import SparkContext
from pyspark.serializers import CPickleSerializer, FramedSerializer

from headrace.errors import InternalError, InvalidArgument
from headrace.rowcodec.codec import dumps
from headrace.rowcodec.codec import loads as loads  # what pickles of rows call
from headrace.rowcodec.native import headrace_native, raised
from headrace.spark.counts import Lists, count, of_tasks

_HEAD = b"\x80\x03cheadrace.spark.serializer\nloads\nB"
_BEGIN = len(_HEAD) + 4
_TAIL = b"\x85R."
_LARGEST = (1 << 31) - 1 - _BEGIN - len(_TAIL)
# Fewer rows take longer than to pickle them, for their schema goes with them.
_FEW = 10
_LONGEST_PAUSE = 63
_LOOKS = 8
_PICKLE = CPickleSerializer()


def pickled(rows: bytes) -> bytes:
    """Bytes of rows as a pickle, which gives the list of them."""
    return b"".join((_HEAD, struct.pack("<I", len(rows)), rows, _TAIL))


def rows_in(pickle: bytes) -> memoryview | None:
    """The bytes of the rows within a pickle; None if others made it."""
    if pickle.startswith(_HEAD):
        return memoryview(pickle)[_BEGIN : -len(_TAIL)]
    return None


def _look(row: Any) -> tuple[type, ...]:
    """By what rows of one data set are told from those of another."""
    return (type(row), *map(type, row)) if type(row) is tuple else (type(row),)


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
        # Of lists that look like those that were refused, ever fewer are tried.
        self._untried = self._pause = 0
        self._refused: set[tuple[type, ...]] = set()

    @classmethod
    def plain(cls) -> RowSerializer:
        """Of rows that a JVM reads as it reads pickled ones: tuples or values, of what SQL has. Others are pickled."""
        made = cls()
        made._only = "plain"
        return made

    def dumps(self, obj: Any) -> bytes:
        """Raises: as PySpark's own; without leave to pickle, Unsupported."""
        if not self.allow_pickle or (type(obj) is list and len(obj) >= _FEW and self._is_tried(obj)):
            try:
                rows: bytes = headrace_native.dump_rows(obj, False, only=self._only)
            except headrace_native.RowError as error:
                if not self.allow_pickle:
                    dumps(obj, allow_pickle=False)  # raises, with the row, where it is for a value
                    raise raised(error) from error
                self._untried = self._pause = min(2 * self._pause + 1, _LONGEST_PAUSE)
                if len(self._refused) < _LOOKS:
                    self._refused.add(_look(obj[0]))
            else:
                if self._refused and _look(obj[0]) in self._refused:
                    self._untried = self._pause = 0
                    self._refused.clear()
                if len(rows) <= _LARGEST:
                    return pickled(rows)
        Lists.pickled += type(obj) is list
        done: bytes = _PICKLE.dumps(obj)
        return done

    def _is_tried(self, rows: list[Any]) -> bool:
        if self._untried == 0:
            return True
        # Rows that are never alike have many looks.
        if len(self._refused) < _LOOKS and _look(rows[0]) not in self._refused:
            return True
        self._untried -= 1
        return False

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

    def __reduce__(self) -> tuple[Any, ...]:
        # It goes to workers with their tasks.
        context = SparkContext._active_spark_context
        counts = None if context is None else of_tasks(context).aid
        return _made, (self.allow_pickle, self._only, counts)

    def _told(self) -> tuple[bool, str]:
        return self.allow_pickle, self._only

    def __repr__(self) -> str:
        return "RowSerializer()" if self.allow_pickle else "RowSerializer(allow_pickle=False)"


def _made(allow_pickle: bool, only: Literal["alike", "plain"], counts: int | None) -> RowSerializer:
    if counts is not None:
        count(counts)
    made = RowSerializer(allow_pickle=allow_pickle)
    made._only = only
    return made
