"""What processes have written and read as rows: this one, and workers in their tasks, as an accumulator of Spark's."""

from __future__ import annotations

from typing import Any

from pyspark import SparkContext
from pyspark.accumulators import AccumulatorParam, _accumulatorRegistry

from headrace.rowcodec.native import headrace_native

# Workers of Spark are kept apart by their variables: those that have this one are started for rows, and counted there.
VARIABLE = "HEADRACE_ROWS"
_NAMES = (
    "rows_written", "bytes_written", "rows_read", "bytes_read", "rest_rows", "compiled", "reused", "machine_rows",
)  # fmt: skip
_OF_CONTEXT = "_headrace_counts"


class Lists:
    """Of this process.

    Attributes:
        pickled: how many were, because they are no rows alike, or too few.
    """

    pickled = 0


class _Sum(AccumulatorParam):  # type: ignore[misc]
    def zero(self, value: dict[str, int]) -> dict[str, int]:
        return {}

    def addInPlace(self, value1: dict[str, int], value2: dict[str, int]) -> dict[str, int]:  # noqa: N802
        return {name: value1.get(name, 0) + value2.get(name, 0) for name in {**value1, **value2}}


class _OfTask:
    """What a worker sends of a task at its end, in the place of an accumulator."""

    def __init__(self) -> None:
        self._begin = here()

    @property
    def _value(self) -> dict[str, int]:
        return {name: count - self._begin[name] for name, count in here().items()}


def here() -> dict[str, int]:
    counts = headrace_native.row_stats()
    return {name: counts[name] for name in _NAMES} | {"lists_pickled": Lists.pickled}


def of_tasks(context: SparkContext) -> Any:
    """The accumulator of a context's tasks."""
    found = getattr(context, _OF_CONTEXT, None)
    if found is None:
        found = context.accumulator({}, _Sum())
        setattr(context, _OF_CONTEXT, found)
    return found


def in_workers() -> dict[str, int]:
    """Of the tasks that have ended, of the context that runs."""
    context = SparkContext._active_spark_context
    found = getattr(context, _OF_CONTEXT, None)
    return dict.fromkeys(here(), 0) | (found.value if found is not None else {})


def count(accumulator: int) -> None:
    """Have the task that now begins be counted."""
    _accumulatorRegistry.setdefault(accumulator, _OfTask())
