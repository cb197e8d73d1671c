"""What PySpark's objects are asked about the codec, and the part of it that runs in Spark's JVM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark import SparkContext

_MARK = "_headrace_rows"


def mark(context: SparkContext) -> None:
    setattr(context, _MARK, True)


def unmark(context: SparkContext) -> None:
    delattr(context, _MARK)


def is_installed(context: SparkContext) -> bool:
    return hasattr(context, _MARK)


def jvm_rows(context: SparkContext) -> Any:
    """The object PythonRows; or a package that has nothing, where the jar is not there."""
    return context._jvm.org.apache.spark.sql.headrace.PythonRows


class Replaced:
    """An attribute of a class of PySpark's, in whose place another one can stand.

    Args:
        make: makes it of the one that was there.
    """

    def __init__(self, owner: type, name: str, make: Callable[[Any], Any]) -> None:
        self._owner, self._name = owner, name
        self._before = owner.__dict__[name]
        self._made = make(self._before)

    def put(self) -> None:
        setattr(self._owner, self._name, self._made)

    def take_back(self) -> None:
        setattr(self._owner, self._name, self._before)
