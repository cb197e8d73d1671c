"""Runs statements in Spark, for a process that writes them as lines of JSON and reads a line for each.

A line asks for `statements`, which may name `views`: files that Spark reads by a format and options. Where `into` is
given, the rows of the last one are written as a Parquet file there, unless they take longer than `cancel_after` seconds;
where `insert` is given, into a feature group of Headrace; where `write` is, by that format of Spark; where `scan` is, its
plan is told, and what the one scan in it counted; where `stream` is, the files of a source go through a stream. The
answer has the `result`, and the `error` if there was one. Ends when the input ends.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import headrace_spark
import pyspark
from pyspark.sql import SparkSession

import headrace as hr
from spark.session import save, start


def main(folder: Path) -> None:
    # Whatever else writes to the output, the JVM above all, would come between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    session = start(folder, {"spark.jars": str(headrace_spark.jar(pyspark.__version__))})
    print(json.dumps({"version": session.version}), file=answers)
    for line in sys.stdin:
        result, error = None, None
        try:
            result = done(session, **json.loads(line))
        except Exception as failure:
            told = [line for line in str(failure).splitlines() if not line.startswith("\t")]
            error = "\n".join([type(failure).__name__, *told])
        print(json.dumps({"result": result, "error": error}), file=answers)
    session.stop()


def done(
    session: SparkSession,
    statements: list[str],
    views: dict[str, dict[str, Any]] | None = None,
    into: str | None = None,
    insert: dict[str, Any] | None = None,
    write: dict[str, Any] | None = None,
    scan: bool = False,
    stream: dict[str, Any] | None = None,
    cancel_after: float | None = None,
) -> Any:
    for name, view in (views or {}).items():
        reader = session.read.format(view["format"]).options(**view["options"])
        if view["schema"] is not None:
            reader = reader.schema(view["schema"])
        reader.load(view["paths"]).createOrReplaceTempView(name)
    last = statements.pop() if into or insert or write or scan else None
    for statement in statements:
        session.sql(statement)
    if into:
        timer = threading.Timer(cancel_after or threading.TIMEOUT_MAX, session.sparkContext.cancelAllJobs)
        timer.daemon = True
        timer.start()
        try:
            save(session, last, Path(into))
        finally:
            timer.cancel()
    if write:
        writer = session.sql(last).write.format(write["format"]).options(**write["options"])
        writer.saveAsTable(write["table"]) if write["table"] else writer.save()
    if scan:
        return scanned(session, last)
    if stream:
        streamed(session, **stream)
    return inserted(session, last, **insert) if insert else None


def scanned(session: SparkSession, query: str) -> dict[str, Any]:
    """Runs a query of one table: its plan, rows and files, and what the scan of the table, and all above it, counted."""
    frame = session.sql(query)
    rows = len(frame.collect())
    plan = frame._jdf.queryExecution().executedPlan()
    counts: dict[str, int] = {}
    told = plan
    while told is not None:
        metrics = told.metrics().iterator()
        while metrics.hasNext():
            metric = metrics.next()
            counts[metric._1()] = metric._2().value()
        told = None if told.children().isEmpty() else told.children().head()
    return {"plan": plan.toString(), "rows": rows, "files": frame.inputFiles(), "counts": counts}


def streamed(session: SparkSession, source: dict[str, Any], into: str) -> None:
    """Writes the files that are there into a folder, as a stream."""
    reader = session.readStream.format(source["format"]).options(**source["options"]).schema(source["schema"])
    rows = reader.load(*source["paths"]).writeStream.format("parquet")
    writing = (
        rows.option("checkpointLocation", f"{into}/checkpoint")
        .trigger(availableNow=True)
        .start(f"{into}/rows")
    )
    writing.awaitTermination()


def inserted(session: SparkSession, query: str, target: str, project: str, group: str, mode: str) -> int:
    """The rows of a query, put into a feature group: how many were new."""
    target = target if "://" in target else Path(target)
    with hr.connect(target, project=project) as store:
        return store.get_feature_group(group).insert(session.sql(query), mode=mode).rows_inserted


if __name__ == "__main__":
    main(Path(sys.argv[1]))
