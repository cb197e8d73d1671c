"""Workers of Spark that take rows for Python UDFs, and reply with them.

A worker is PySpark's own; of it, the reading of plain UDFs is replaced. Those whose rows come pickled, and all other
work, are as ever.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from time import perf_counter
from types import TracebackType
from typing import Any, BinaryIO
from zipimport import zipimporter

from pyspark import util, worker
from pyspark.serializers import CPickleSerializer, FramedSerializer, NoOpSerializer
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    StringType,
)
from pyspark.util import fail_on_stopiteration

from headrace.rowcodec.native import headrace_native
from headrace.spark.counts import VARIABLE, Lists, count
from headrace.spark.serializer import RowSerializer, rows_in

# Of whose values a JVM makes the same, whether they come as rows or pickled.
_PLAIN = (BinaryType, BooleanType, DecimalType, DoubleType, FloatType, IntegralType, StringType)
_PICKLE = CPickleSerializer()
# Results of a reply: as many as PySpark has, and more where they are small and soon there.
_FEW, _MANY = 100, 1 << 14
_REPLY_BYTES, _REPLY_SECONDS = 1 << 18, 0.02
_UNGUARDED = "_headrace_unguarded"


class Udf:
    """A function of a user, and what of it is called."""

    def __init__(self, function: Callable[..., Any], gives: DataType) -> None:
        self.function = function
        self.gives = gives
        self.offsets: list[int] = []


def columnwise(udfs: list[Udf], columns: int) -> Callable[..., list[Any]]:
    """What makes of columns, as lists of equal length, the list of the results: tuples where there are several UDFs."""
    calls = ", ".join(
        f"f{n}({', '.join(f'a{offset}' for offset in udf.offsets)})" for n, udf in enumerate(udfs)
    )
    names = ", ".join(f"a{n}" for n in range(columns))
    result = calls if len(udfs) == 1 else f"({calls})"
    rows = "c0" if columns == 1 else f"zip({', '.join(f'c{n}' for n in range(columns))})"
    given = ", ".join(f"c{n}" for n in range(columns))
    scope: dict[str, Any] = {f"f{n}": udf.function for n, udf in enumerate(udfs)}
    made = f"def run({given}): return [{result} for {names} in {rows}]"
    exec(compile(made, __file__, "exec"), scope)
    run: Callable[..., list[Any]] = scope["run"]
    return run


def _plain(of: DataType) -> bool:
    return isinstance(of, _PLAIN) and not of.needConversion()


class _Calls:
    """UDFs called for rows, some at a time: few while they take long or give much, as those wait for them who read."""

    def __init__(self, udfs: list[Udf], rowwise: Callable[[int, Iterator[Any]], Iterator[Any]]) -> None:
        """Args: `rowwise` is PySpark's way from the arguments of rows to their results."""
        self._udfs, self._rowwise = udfs, rowwise
        # Results that are not of their type are pickled: Spark makes null of them, or a text.
        self._plain = all(_plain(udf.gives) for udf in udfs)
        self._serializer: FramedSerializer = RowSerializer.plain() if self._plain else _PICKLE
        self._run: Callable[..., list[Any]] | None = None
        self._rows = _FEW

    def replies(self, frame: bytes) -> Iterator[bytes]:
        """What is sent back for arguments."""
        rows = rows_in(frame)
        if rows is None:
            Lists.pickled += 1
            yield _PICKLE.dumps(list(self._rowwise(0, iter(_PICKLE.loads(frame)))))
            return
        if self._plain:
            columns, count = headrace_native.load_columns(rows)
        else:
            columns = [headrace_native.load_rows(rows)]
            count = len(columns[0])
        begin = 0
        while begin < count:
            end = min(count, begin + self._rows)
            started = perf_counter()
            some = columns if end - begin == count else [column[begin:end] for column in columns]
            reply: bytes = self._serializer.dumps(self._results(some))
            soon = perf_counter() - started < _REPLY_SECONDS
            yield reply
            if soon and len(reply) < _REPLY_BYTES:
                self._rows = min(2 * self._rows, _MANY)
            else:
                self._rows = max(self._rows // 2, _FEW)
            begin = end

    def _results(self, columns: list[list[Any]]) -> list[Any]:
        if not self._plain:
            return list(self._rowwise(0, iter(columns[0])))
        if self._run is None:
            self._run = columnwise(self._udfs, len(columns))
        try:
            return self._run(*columns)
        except StopIteration as error:
            raised = error

            def again() -> None:
                raise raised

            fail_on_stopiteration(again)()
            raise


def install() -> None:
    """Have this process, a worker or what workers are forked from, do so."""
    read_udfs, read_single = worker.read_udfs, worker.read_single_udf
    wrap, guard = worker.wrap_udf, worker.fail_on_stopiteration
    seen: list[Udf] = []

    def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
        made: Callable[..., Any] = guard(function)
        setattr(made, _UNGUARDED, function)
        return made

    def wrapped(function: Callable[..., Any], *rest: Any) -> Any:
        made = wrap(function, *rest)
        named = len(rest) > 1 and rest[1]
        call = made[1] if isinstance(made, tuple) else made
        seen.append(Udf(call if named else getattr(function, _UNGUARDED), rest[-1]))
        return made

    def single(*args: Any, **options: Any) -> Any:
        before = len(seen)
        made = read_single(*args, **options)
        for udf in seen[before:]:
            udf.offsets = list(made[0])
        return made

    def udfs(pickler: Any, stream: BinaryIO, kind: int, *rest: Any) -> Any:
        seen.clear()
        function, profiler, deserializer, serializer = read_udfs(pickler, stream, kind, *rest)
        if kind == worker.PythonEvalType.SQL_BATCHED_UDF and seen:
            # Functions that were planned to be pickled come to this daemon, too, where it was set.
            if counts := os.environ.get(VARIABLE):
                count(int(counts))
            calls = _Calls(list(seen), function)
            function = lambda _, frames: chain.from_iterable(map(calls.replies, frames))  # noqa: E731
            deserializer = serializer = NoOpSerializer()
        return function, profiler, deserializer, serializer

    simplify = util.try_simplify_traceback

    def simplified(traceback: TracebackType | None) -> TracebackType | None:
        found: TracebackType | None = simplify(_of_others(traceback))
        return found

    worker.read_udfs, worker.read_single_udf = udfs, single
    worker.wrap_udf, worker.fail_on_stopiteration = wrapped, guarded
    # PySpark 3.5 has it in the worker, 4.1 where it is made.
    worker.try_simplify_traceback = util.try_simplify_traceback = simplified
    _keep_directories()


def _of_others(traceback: TracebackType | None) -> TracebackType | None:
    """The calls of a traceback but for those of this module, which stand between PySpark's and the user's."""
    kept = []
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename != __file__:
            kept.append(traceback)
        traceback = traceback.tb_next
    made = None
    for each in reversed(kept):
        made = TracebackType(made, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return made


def _keep_directories() -> None:
    """Have Python read the directory of an archive again only where the archive has changed.

    PySpark has it forget, at each task, what is importable: the directories of pyspark.zip and of Spark's own jar are
    read anew, which takes a tenth of a second.
    """
    read = zipimporter.invalidate_caches
    seen = {
        (importer.archive, importer.prefix): _state(importer.archive)
        for importer in sys.path_importer_cache.values()
        if isinstance(importer, zipimporter)
    }

    def invalidate_caches(self: zipimporter) -> None:
        state = _state(self.archive)
        of = self.archive, self.prefix
        if state is None or seen.get(of) != state:
            seen[of] = state
            read(self)

    zipimporter.invalidate_caches = invalidate_caches  # type: ignore[method-assign]


def _state(archive: str) -> tuple[int, int] | None:
    try:
        found = os.stat(archive)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
