"""The row codec in PySpark's place for what it pickles."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from typing import Any

from pyspark import SparkContext
from pyspark.rdd import RDD
from pyspark.serializers import AutoBatchedSerializer, BatchedSerializer, CPickleSerializer
from pyspark.sql import SparkSession

from headrace.errors import InvalidArgument, MissingDependency, Unsupported
from headrace.spark import counts, creation, frames
from headrace.spark.rows import Installed, Replaced, installed, jvm_rows, mark
from headrace.spark.serializer import RowSerializer

_REPLACED = [
    Replaced(frames.DataFrame, "collect", frames.collected),
    Replaced(frames.DataFrame, "tail", frames.tailed),
    Replaced(frames.DataFrame, "toLocalIterator", frames.iterated),
    Replaced(frames.DataFrame, "rdd", frames.distributed),
    Replaced(SparkSession, "_create_dataframe", creation.created),
    Replaced(RDD, "_to_java_object_rdd", creation.moved),
]


def install(spark: SparkSession) -> None:
    """Have rows go by the row codec wherever PySpark would pickle them, until `uninstall`.

    These are what RDDs pass on, what frames are made of and give (`createDataFrame`, `collect`, `tail`,
    `toLocalIterator`, `rdd`), and, in this session, the arguments and results of plain Python UDFs. Headrace must be
    installed where Spark's workers run. Installing twice does nothing more.

    Raises:
        Unsupported: the session is one of Spark Connect, which sends Arrow by itself.
        MissingDependency: the session has not the jar of headrace-spark, or its workers not Headrace.
        InvalidArgument: it is no session of Spark, or has been stopped.
    """
    context = _context(spark)
    if context._jsc is None:
        raise InvalidArgument("the session of Spark has been stopped", hint="start another one")
    rows = jvm_rows(context)
    told = installed(context)
    if told is None:
        _check_workers(context)
    accumulator = str(counts.of_tasks(context).aid)
    rows.install(spark._jsparkSession, accumulator)
    if told is None:
        before = context._unbatched_serializer
        told = Installed(before if type(before) is CPickleSerializer else None)
        if told.serializer is not None:
            _serialize(context, RowSerializer())
        for each in _REPLACED:
            each.put()
        # A new one each time: PySpark may go through the one that was there in another thread.
        context.environment = {**context.environment, counts.VARIABLE: accumulator}
        mark(context, told)
    told.sessions.add(spark._jsparkSession.sessionUUID())


def uninstall(spark: SparkSession) -> None:
    """Have PySpark pickle again, once the codec is installed in no session any more.

    RDDs that are there stay as they are, and can be read; frames that were planned keep their plans.

    Raises:
        Unsupported: as of `install`.
    """
    context = _context(spark)
    if context._jsc is None:
        return
    told = installed(context)
    session = spark._jsparkSession.sessionUUID()
    if told is None or session not in told.sessions:
        return
    told.sessions.remove(session)
    jvm_rows(context).uninstall(spark._jsparkSession, not told.sessions)
    if told.sessions:
        return
    mark(context, None)
    for each in _REPLACED:
        each.take_back()
    kept = context.environment.items()
    context.environment = {name: value for name, value in kept if name != counts.VARIABLE}
    if told.serializer is not None:
        _serialize(context, told.serializer)


def codec_stats() -> dict[str, dict[str, int]]:
    """What has gone as rows, of the `driver`, which is this process, and of its `workers`, in tasks that have ended.

    Of each: `rows_written`, `bytes_written`, `rows_read`, `bytes_read`; `rest_rows`, written beside their columns;
    `lists_pickled`, by a `RowSerializer`: of rows that are not alike, or too few; `compiled` and `reused`, layouts
    of columns; `machine_rows`, taken by machine code. Workers are those of the context that runs now.
    """
    return {"driver": counts.here(), "workers": counts.in_workers()}


def _check_workers(context: SparkContext) -> None:
    """A job of one task, but where the workers run the Python that this is."""
    python = context.pythonExec
    if context.master.startswith("local[") and shutil.which(python) == sys.executable:
        return
    needed = ["headrace", "headrace_native"]
    there = context.parallelize(needed, 1).map(find_spec).map(bool).collect()
    if not all(there):
        lacking = " and ".join(name for name, found in zip(needed, there, strict=True) if not found)
        raise MissingDependency(
            f"Spark's workers run {python}, which lacks {lacking}",
            hint=f"set PYSPARK_PYTHON before the session is made, to a Python that has them: here {sys.executable}",
        )


def _context(spark: SparkSession) -> SparkContext:
    context = getattr(spark, "_sc", None)
    if not hasattr(spark, "createDataFrame"):
        raise InvalidArgument(f"{type(spark).__name__} is no session of Spark", hint="give a SparkSession")
    if not isinstance(context, SparkContext):
        raise Unsupported(
            "a session of Spark Connect has no rows that PySpark pickles: it sends Arrow, and UDFs run at the server",
            hint="install it in a session with a driver of its own: headrace.spark.session()",
        )
    return context


def _serialize(context: SparkContext, serializer: Any) -> None:
    before = context.serializer
    context._unbatched_serializer = serializer
    if isinstance(before, AutoBatchedSerializer):
        context.serializer = AutoBatchedSerializer(serializer)
    else:
        context.serializer = BatchedSerializer(serializer, before.batchSize)
