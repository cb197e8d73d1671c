"""What PySpark's objects are asked about the codec, and the part of it that runs in Spark's JVM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from py4j.java_gateway import JavaClass
from pyspark import SparkContext

from headrace.errors import MissingDependency

_MARK = "_headrace_rows"


class Installed:
    """What a context is told while it has the codec.

    Args:
        serializer: the one that stood in the codec's place; None where the user's own stays.
    """

    def __init__(self, serializer: Any) -> None:
        self.serializer = serializer
        # By Spark's own word for each.
        self.sessions: set[str] = set()


def installed(context: SparkContext) -> Installed | None:
    return getattr(context, _MARK, None)


def is_installed(context: SparkContext) -> bool:
    return installed(context) is not None


def mark(context: SparkContext, told: Installed | None) -> None:
    setattr(context, _MARK, told)


def jvm_rows(context: SparkContext) -> Any:
    """The object PythonRows. Raises MissingDependency."""
    found = context._jvm.org.apache.spark.sql.headrace.PythonRows
    if not isinstance(found, JavaClass):
        raise MissingDependency(
            "the session of Spark lacks the jar of headrace-spark",
            hint="make it with headrace.spark.session(), or name headrace_spark.jar(pyspark.__version__) in spark.jars",
        )
    return found


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
