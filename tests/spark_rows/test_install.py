"""Installing, and taking it back."""

from __future__ import annotations

import os
import sys
from typing import Any

import headrace.spark
from spark_rows.program import succeed


def test_uninstall_leaves_what_was(spark: Any) -> None:
    from headrace.spark.frames import DataFrame

    headrace.spark.uninstall(spark)
    names = ("collect", "tail", "toLocalIterator", "rdd")
    before = [DataFrame.__dict__[name] for name in names]
    serializers = repr(spark.sparkContext.serializer), repr(spark.sparkContext._unbatched_serializer)
    strategies = spark._jsparkSession.experimental().extraStrategies().size()
    for _ in range(2):
        headrace.spark.install(spark)
        headrace.spark.install(spark)
        assert "RowSerializer" in repr(spark.sparkContext.serializer)
        headrace.spark.uninstall(spark)
        headrace.spark.uninstall(spark)
    assert [DataFrame.__dict__[name] for name in names] == before
    assert (
        repr(spark.sparkContext.serializer),
        repr(spark.sparkContext._unbatched_serializer),
    ) == serializers
    assert spark._jsparkSession.experimental().extraStrategies().size() == strategies
    assert (
        spark.sparkContext._jvm.org.apache.spark.SparkEnv.get().conf().get("spark.python.daemon.module", "")
        == ""
    )


def test_jobs_of_other_threads_go_on(spark: Any) -> None:
    context = spark.sparkContext
    before = context.environment
    headrace.spark.install(spark)
    assert context.environment is not before  # which PySpark may be going through
    installed = context.environment
    headrace.spark.uninstall(spark)
    assert context.environment is not installed
    assert context.environment == before


def test_a_serializer_of_the_users_stays(spark: Any) -> None:
    from pyspark.serializers import BatchedSerializer, MarshalSerializer

    context = spark.sparkContext
    before = context._unbatched_serializer, context.serializer
    try:
        context._unbatched_serializer = MarshalSerializer()
        context.serializer = BatchedSerializer(context._unbatched_serializer, 10)
        headrace.spark.install(spark)
        assert isinstance(context._unbatched_serializer, MarshalSerializer)
        headrace.spark.uninstall(spark)
        assert isinstance(context._unbatched_serializer, MarshalSerializer)
    finally:
        context._unbatched_serializer, context.serializer = before


def test_sessions_by_themselves(spark: Any) -> None:
    from headrace.spark.rows import is_installed

    other = spark.newSession()

    def strategies(session: Any) -> int:
        size: int = session._jsparkSession.experimental().extraStrategies().size()
        return size

    headrace.spark.install(spark)
    headrace.spark.install(other)
    assert (strategies(spark), strategies(other)) == (1, 1)
    headrace.spark.uninstall(spark)
    assert (strategies(spark), strategies(other)) == (0, 1)
    assert is_installed(spark.sparkContext)
    assert len(other.range(10).collect()) == 10
    headrace.spark.uninstall(spark)
    headrace.spark.uninstall(other)
    assert (strategies(spark), strategies(other)) == (0, 0)
    assert not is_installed(spark.sparkContext)
    headrace.spark.install(spark)
    headrace.spark.uninstall(spark.newSession())
    assert strategies(spark) == 1
    headrace.spark.uninstall(spark)
    assert not is_installed(spark.sparkContext)


def test_without_the_jar() -> None:
    program = """
        import headrace as hr, headrace.spark
        from pyspark.sql import SparkSession

        spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
        try:
            headrace.spark.install(spark)
        except hr.MissingDependency as error:
            assert "jar" in str(error)
            assert len(spark.range(3).collect()) == 3
        else:
            raise AssertionError("installed without its jar")
        spark.stop()
    """
    succeed(program)


def test_workers_without_headrace() -> None:
    program = """
        import os, sys

        import headrace as hr, headrace.spark, headrace_spark, pyspark
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.argv[1]
        builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        spark = builder.config("spark.jars", headrace_spark.jar(pyspark.__version__)).getOrCreate()
        try:
            headrace.spark.install(spark)
        except hr.MissingDependency as error:
            assert sys.argv[1] in str(error) and sys.executable in error.hint, (error, error.hint)
            assert spark.sparkContext.parallelize(range(9)).map(lambda n: n + 1).sum() == 45
        else:
            raise AssertionError("installed where workers have no Headrace")
        spark.stop()
    """
    succeed(program, os.path.realpath(sys.executable))


def test_what_is_no_session_or_has_ended() -> None:
    program = """
        import headrace as hr, headrace.spark

        spark = headrace.spark.session(master="local[1]", config={"spark.ui.enabled": "false"})
        headrace.spark.install(spark)
        for other in (None, spark.sparkContext):
            try:
                headrace.spark.install(other)
            except hr.InvalidArgument as error:
                assert type(other).__name__ in str(error)
            else:
                raise AssertionError("installed in " + repr(other))
        spark.stop()
        headrace.spark.uninstall(spark)
        try:
            headrace.spark.install(spark)
        except hr.InvalidArgument as error:
            assert "stopped" in str(error)
        else:
            raise AssertionError("installed in a session that was stopped")
        again = headrace.spark.session(master="local[1]", config={"spark.ui.enabled": "false"})
        headrace.spark.install(again)
        assert again.sparkContext.parallelize([(n, str(n)) for n in range(100)]).map(lambda row: row[0]).sum() == 4950
        assert headrace.spark.codec_stats()["driver"]["rows_written"] > 50
        again.stop()
    """
    succeed(program)


def test_jobs_are_named_by_the_line_that_asks(spark: Any, both: Any) -> None:
    context = spark.sparkContext
    frame = spark.range(100).cache()

    def names() -> list[str]:
        context.setJobGroup("named", "named")
        asked = [
            frame.collect,
            lambda: frame.tail(3),
            lambda: list(frame.toLocalIterator()),
            lambda: frame.take(2),
        ]
        for ask in asked:
            ask()
        tracker = context.statusTracker()
        found = set()
        for job in tracker.getJobIdsForGroup("named"):
            for stage in tracker.getJobInfo(job).stageIds:
                found.add(tracker.getStageInfo(stage).name)
        context._jsc.clearJobGroup()
        return sorted(found)

    assert any("collect at" in name and __file__ in name for name in both(names))


def test_stats_count_rows(rows: Any) -> None:
    before = headrace.spark.codec_stats()["driver"]
    rows.range(1000).collect()
    after = headrace.spark.codec_stats()["driver"]
    assert after["rows_read"] - before["rows_read"] == 1000
    assert after["bytes_read"] > before["bytes_read"]


def test_stats_count_what_workers_do(rows: Any) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    def did(job: Any) -> dict[str, int]:
        before = headrace.spark.codec_stats()["workers"]
        job()
        after = headrace.spark.codec_stats()["workers"]
        return {name: count - before[name] for name, count in after.items()}

    pairs = rows.sparkContext.parallelize([(n, str(n)) for n in range(4_000)], 2)
    shuffled = did(lambda: pairs.map(lambda row: row).partitionBy(2).count())
    # Read from the driver and after the shuffle; lists begin at one row, which is pickled.
    assert shuffled["rows_read"] > 7_000
    assert shuffled["rows_written"] > 3_500
    sets = rows.sparkContext.parallelize([(n, {n}) for n in range(4_000)], 2)
    assert did(lambda: sets.map(lambda row: row).partitionBy(2).count())["lists_pickled"] > 10
    plus = F.udf(lambda n: n + 1, "long")
    called = did(lambda: rows.range(5_000).select(plus("id").alias("n")).agg(F.sum("n")).collect())
    assert (called["rows_read"], called["rows_written"], called["lists_pickled"]) == (5_000, 5_000, 0)
    maps = F.udf(lambda m: m["a"], "long")
    pickled = did(
        lambda: rows.range(500).select(F.create_map(F.lit("a"), "id").alias("m")).select(maps("m")).collect()
    )
    assert pickled["rows_read"] == 0
