"""Workers of Spark that take rows for Python UDFs, and reply with them.

A worker is PySpark's own; of it, the reading of plain UDFs is replaced. Those whose rows come pickled, and all other
work, are as ever.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO
from zipimport import zipimporter

from pyspark import worker
from pyspark.serializers import CPickleSerializer
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
from headrace.spark.serializer import Pickles, RowSerializer, rows_in

# Of whose values a JVM makes the same, whether they come as rows or pickled.
_PLAIN = (BinaryType, BooleanType, DecimalType, DoubleType, FloatType, IntegralType, StringType)
_PICKLE = CPickleSerializer()
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
    exec(f"def run({given}): return [{result} for {names} in {rows}]", scope)
    run: Callable[..., list[Any]] = scope["run"]
    return run


def _plain(of: DataType) -> bool:
    return isinstance(of, _PLAIN) and not of.needConversion()


def _evaluate(
    udfs: list[Udf], rowwise: Callable[[int, Iterator[Any]], Iterator[Any]]
) -> Callable[[int, Iterator[bytes]], Iterator[bytes]]:
    """Args: `rowwise` is PySpark's way from the arguments of rows to their results."""
    plain = all(_plain(udf.gives) for udf in udfs)
    # Results that are not of their type are pickled: Spark makes null of them, or a text.
    rows = RowSerializer.plain()
    run: Callable[..., list[Any]] | None = None

    def results(frame: bytes) -> list[Any]:
        nonlocal run
        given = rows_in(frame)
        if given is None:
            return list(rowwise(0, iter(_PICKLE.loads(frame))))
        if not plain:
            return list(rowwise(0, iter(headrace_native.load_rows(given))))
        columns, _ = headrace_native.load_columns(given)
        if run is None:
            run = columnwise(udfs, len(columns))
        try:
            return run(*columns)
        except StopIteration as error:
            raised = error

            def again() -> None:
                raise raised

            fail_on_stopiteration(again)()
            raise

    def reply(frame: bytes) -> bytes:
        serializer = rows if plain and rows_in(frame) is not None else _PICKLE
        done: bytes = serializer.dumps(results(frame))
        return done

    return lambda _, frames: map(reply, frames)


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
            function = _evaluate(list(seen), function)
            deserializer = serializer = Pickles()
        return function, profiler, deserializer, serializer

    worker.read_udfs, worker.read_single_udf = udfs, single
    worker.wrap_udf, worker.fail_on_stopiteration = wrapped, guarded
    _keep_directories()


def _keep_directories() -> None:
    """Have Python read the directory of an archive again only where the archive has changed.

    PySpark has it forget, at each task, what is importable: the directories of pyspark.zip and of Spark's own jar are
    read anew, which takes a tenth of a second.
    """
    read = zipimporter.invalidate_caches
    seen = {
        importer.archive: _state(importer.archive)
        for importer in sys.path_importer_cache.values()
        if isinstance(importer, zipimporter)
    }

    def invalidate_caches(self: zipimporter) -> None:
        state = _state(self.archive)
        if state is None or seen.get(self.archive) != state:
            seen[self.archive] = state
            read(self)

    zipimporter.invalidate_caches = invalidate_caches  # type: ignore[method-assign]


def _state(archive: str) -> tuple[int, int] | None:
    try:
        found = os.stat(archive)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
