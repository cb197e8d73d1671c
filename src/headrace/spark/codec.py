"""The row codec in PySpark's place for what it pickles."""

from __future__ import annotations

from typing import Any

from pyspark import SparkContext
from pyspark.rdd import RDD
from pyspark.serializers import AutoBatchedSerializer, BatchedSerializer, CPickleSerializer
from pyspark.sql import SparkSession

from headrace.errors import Unsupported
from headrace.rowcodec import stats
from headrace.spark import creation, frames
from headrace.spark.rows import Installed, Replaced, installed, jvm_rows, mark
from headrace.spark.serializer import RowSerializer

# Workers are kept apart by their variables: those that have it are started by the daemon of this package.
_MARK = "HEADRACE_ROWS"

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
        MissingDependency: the session has not the jar of headrace-spark.
    """
    context = _context(spark)
    jvm_rows(context).install(spark._jsparkSession)
    told = installed(context)
    if told is None:
        before = context._unbatched_serializer
        told = Installed(before if type(before) is CPickleSerializer else None)
        if told.serializer is not None:
            _serialize(context, RowSerializer())
        for each in _REPLACED:
            each.put()
        context.environment[_MARK] = "1"
        mark(context, told)
    told.sessions.add(spark._jsparkSession.sessionUUID())


def uninstall(spark: SparkSession) -> None:
    """Have PySpark pickle again, once the codec is installed in no session any more.

    RDDs that are there stay as they are, and can be read; frames that were planned keep their plans.

    Raises:
        Unsupported: as of `install`.
    """
    context = _context(spark)
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
    context.environment.pop(_MARK, None)
    if told.serializer is not None:
        _serialize(context, told.serializer)


def codec_stats() -> dict[str, int]:
    """What this process, the driver, has written and read as rows: as of `headrace.rowcodec.stats`."""
    return stats()


def _context(spark: SparkSession) -> SparkContext:
    context = getattr(spark, "_sc", None)
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
