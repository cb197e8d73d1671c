"""Which engine runs a read: what was asked for, and what the store was opened with."""

from __future__ import annotations

import dataclasses

from headrace.engine.spark_session import SparkEngine
from headrace.errors import Unsupported
from headrace.formats.streamed import StreamedSnapshot
from headrace.model.request import Engine, ReadRequest
from headrace.service.planned import Planned


@dataclasses.dataclass(frozen=True)
class SparkChoice:
    """A session of Spark, and from how many bytes of files on a read is its own; None leaves it to who asks."""

    engine: SparkEngine
    above: int | None


@dataclasses.dataclass(frozen=True)
class Choice:
    """An engine, and why it is the one."""

    engine: Engine
    why: str

    @property
    def shown(self) -> str:
        return f"{'Spark' if self.engine == 'spark' else 'DuckDB'}: {self.why}"


def chosen(spark: SparkChoice | None, request: ReadRequest, planned: Planned) -> Choice:
    """Raises Unsupported if Spark is asked for where it cannot be."""
    asked = request.point_in_time.engine
    if asked == "duckdb":
        return Choice("duckdb", "engine='duckdb'")
    if asked == "spark":
        check_on_spark(spark, planned)
    if spark is None:
        return Choice("duckdb", "the store was opened without Spark")
    if spark.above is None:
        why = "engine='spark'" if asked == "spark" else "no spark_above is set"
        return Choice("spark" if asked == "spark" else "duckdb", why)
    size = sum(_size(planned, side) for side in planned.snapshots)
    told = f"{size:,} bytes of files, and spark_above is {spark.above:,}"
    if asked == "spark":
        return Choice("spark", told if size > spark.above else "engine='spark'")
    if not planned.plan.lookups:
        return Choice("duckdb", "it joins nothing")
    if size <= spark.above:
        return Choice("duckdb", told)
    obstacle = _obstacle(planned)
    return Choice("spark", told) if obstacle is None else Choice("duckdb", obstacle)


def check_on_spark(spark: SparkChoice | None, planned: Planned) -> None:
    """Raises Unsupported for a read that Spark does not run."""
    session_of(spark)
    obstacle = _obstacle(planned)
    if obstacle is not None:
        raise Unsupported(f"Spark does not run this: {obstacle}", hint="leave engine= out")


def session_of(spark: SparkChoice | None) -> SparkEngine:
    if spark is None:
        raise Unsupported(
            "the store was opened without a session of Spark",
            hint="hr.connect(root, spark=headrace.spark.session(delta=True)); a service has none",
        )
    return spark.engine


def _obstacle(planned: Planned) -> str | None:
    """Why a read is not for Spark; None if it is."""
    plan = planned.plan
    if plan.latest or plan.feed:
        return "it is of the newest rows, or of what has changed"
    for side, snapshot in planned.snapshots.items():
        if isinstance(snapshot, StreamedSnapshot):
            return f"{plan.resolved.sides[side].definition.ref} is no table that Spark reads"
    return None


def _size(planned: Planned, side: int) -> int:
    files = planned.files(side)
    return (
        sum(size or 0 for size in files["size_bytes"].to_pylist())
        if "size_bytes" in files.column_names
        else 0
    )
