"""What frames give to Python, by rows instead of pickles.

Each function makes of a method of PySpark's the one in its place.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspark
from pyspark.rdd import RDD
from pyspark.serializers import AutoBatchedSerializer
from pyspark.traceback_utils import SCCallSiteSync

from headrace.spark.rows import is_installed, jvm_rows
from headrace.spark.serializer import RowSerializer

try:
    from pyspark.sql.classic.dataframe import DataFrame as DataFrame
except ImportError:  # before Spark 4
    from pyspark.sql.dataframe import DataFrame as DataFrame
try:
    from pyspark.util import _load_from_socket, _local_iterator_from_socket
except ImportError:  # before Spark 4
    from pyspark.rdd import _load_from_socket, _local_iterator_from_socket

# One that says nothing of the size of its batches: RDDs are batched anew before they are zipped.
_SERIALIZER = AutoBatchedSerializer(RowSerializer())
# Whose functions are called by those of the user.
_FOLDERS = (str(Path(pyspark.__file__).parent), str(Path(__file__).parent))


class _CallSite(SCCallSiteSync):  # type: ignore[misc]
    """Names the jobs within by the line of the user's that asks for them, as PySpark does."""

    def __init__(self, context: Any) -> None:
        self._context = context
        frame = asked = sys._getframe(1)
        while frame.f_back is not None:
            if frame.f_code.co_filename.startswith(_FOLDERS):
                asked = frame
            frame = frame.f_back
        user = asked.f_back or asked
        self._call_site = f"{asked.f_code.co_name} at {user.f_code.co_filename}:{user.f_lineno}"


def _served(frame: Any, ask: Callable[[Any], Any]) -> Any:
    """Where a JVM serves the rows of a frame; None where PySpark has to ask for them."""
    context = frame.sparkSession.sparkContext
    if not is_installed(context):
        return None
    with _CallSite(context):
        return ask(jvm_rows(context))


def collected(before: Any) -> Any:
    """`DataFrame.collect`."""

    @functools.wraps(before)
    def collect(self: Any) -> Any:
        served = _served(self, lambda rows: rows.collect(self._jdf))
        if served is None:
            return before(self)
        return list(_load_from_socket(served, _SERIALIZER))

    return collect


def tailed(before: Any) -> Any:
    """`DataFrame.tail`."""

    @functools.wraps(before)
    def tail(self: Any, num: int) -> Any:
        served = _served(self, lambda rows: rows.tail(self._jdf, num))
        if served is None:
            return before(self, num)
        return list(_load_from_socket(served, _SERIALIZER))

    return tail


def iterated(before: Any) -> Any:
    """`DataFrame.toLocalIterator`."""

    @functools.wraps(before)
    def toLocalIterator(self: Any, prefetchPartitions: bool = False) -> Any:  # noqa: N802, N803
        served = _served(self, lambda rows: rows.iterate(self._jdf, prefetchPartitions))
        if served is None:
            return before(self, prefetchPartitions)
        return _local_iterator_from_socket(served, _SERIALIZER)

    return toLocalIterator


def distributed(before: Any) -> Any:
    """`DataFrame.rdd`, which is made once."""

    def rdd(self: Any) -> RDD[Any]:
        made = self.__dict__.get("_headrace_rdd")
        if made is None:
            served = _served(self, lambda rows: rows.rdd(self._jdf))
            if served is None:
                return before.__get__(self, DataFrame)
            made = self.__dict__["_headrace_rdd"] = RDD(served, self.sparkSession.sparkContext, _SERIALIZER)
        return made

    return property(rdd, doc=before.__doc__)
