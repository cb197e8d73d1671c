"""What Spark raises, as errors of ours: by the classes of what failed, never by text."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from headrace.errors import (
    Cancelled,
    CorruptTable,
    HeadraceError,
    InternalError,
    InvalidArgument,
    LimitExceeded,
    MissingDependency,
    Unavailable,
    Unsupported,
)

_MOST_CAUSES = 20
_MOST_TOLD = 500
_RANGE = "a value is out of range: {}"
_FILES = "a file of a table cannot be read: {}"
_CALENDAR = (
    "a table has days before 1582-10-15 or times before 1900, which this session of Spark does not read until you set "
    "spark.sql.parquet.datetimeRebaseModeInRead and spark.sql.parquet.int96RebaseModeInRead to CORRECTED: {}"
)
_MEMORY = "Spark needs more memory than it may have: {}"

# By the names of classes of the JVM, without their packages. The innermost that is here tells most.
_CLASSES: dict[str, tuple[type[HeadraceError], str]] = {
    "OutOfMemoryError": (LimitExceeded, _MEMORY),
    "SparkOutOfMemoryError": (LimitExceeded, _MEMORY),
    "ArithmeticException": (InvalidArgument, _RANGE),
    "SparkArithmeticException": (InvalidArgument, _RANGE),
    "SparkDateTimeException": (InvalidArgument, _RANGE),
    "DateTimeException": (InvalidArgument, _RANGE),
    "SparkNumberFormatException": (InvalidArgument, _RANGE),
    "NumberFormatException": (InvalidArgument, _RANGE),
    "FileNotFoundException": (CorruptTable, _FILES),
    "SparkFileNotFoundException": (CorruptTable, _FILES),
    "DeltaFileNotFoundException": (CorruptTable, _FILES),
    "ParquetDecodingException": (CorruptTable, _FILES),
    "AccessControlException": (Unavailable, "Spark may not read a table: {}"),
    "ConnectException": (Unavailable, "Spark does not reach where a table lies: {}"),
    "UnknownHostException": (Unavailable, "Spark does not reach where a table lies: {}"),
    "SchemaColumnConvertNotSupportedException": (
        Unsupported,
        "a file has a column in a type that Spark does not read: {}",
    ),
    "SparkUpgradeException": (Unsupported, _CALENDAR),
    "SparkUnsupportedOperationException": (Unsupported, "Spark cannot do this: {}"),
    "DeltaUnsupportedTableFeatureException": (
        Unsupported,
        "this version of Delta in Spark cannot read a table: {}",
    ),
    "UnsupportedFileSystemException": (Unsupported, "Spark has no file system for where a table lies: {}"),
    "IllegalStateException": (Unavailable, "the session of Spark cannot be used: {}"),
    "ClassNotFoundException": (MissingDependency, "Spark lacks what a table needs: {}"),
    "SparkClassNotFoundException": (MissingDependency, "Spark lacks what a table needs: {}"),
}
_HINTS: dict[type[HeadraceError], str] = {
    MissingDependency: "take a session of headrace.spark.session(delta=True), or give yours the jars of Delta Lake",
    LimitExceeded: "give its executors more memory, or more partitions: spark.sql.shuffle.partitions",
}


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Turns Spark's errors into ours."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError, ConnectionError, EOFError) as error:
        raise translate(error) from error


def translate(error: Exception) -> HeadraceError:
    """Spark's error as one of ours; what Spark said of it is shortened."""
    for name, said in reversed(_causes(error)):
        found = _CLASSES.get(name)
        if found is not None:
            kind, told = found
            return kind(told.format(_short(said)), hint=_HINTS.get(kind))
    if _is_gone(error):
        return Unavailable("the session of Spark has ended", hint="make another, and connect with it")
    for name, said in reversed(_causes(error)):
        if name in ("InterruptedException", "SparkJobCancelled"):
            return Cancelled(f"Spark has cancelled the query: {_short(said)}")
    told = next((said for _, said in reversed(_causes(error)) if said), str(error))
    return InternalError(f"Spark could not run the query: {_short(told)}")


def _causes(error: Exception) -> list[tuple[str, str]]:
    """Class and message of each failure in the JVM, from the outermost in; of Spark Connect what it tells of them."""
    found: list[tuple[str, str]] = [(type(error).__name__, str(error))]
    origin = getattr(error, "_origin", None)
    java = getattr(error, "java_exception", None) or getattr(origin, "java_exception", None)
    if java is None:
        java = getattr(error, "_cause", None)
    with contextlib.suppress(Exception):  # what is told over a connection that is gone
        if java is None and origin is not None and hasattr(origin, "getCause"):
            java = origin
        while java is not None and len(found) < _MOST_CAUSES:
            name = str(java.getClass().getSimpleName())
            found.append((name, str(java.getMessage() or "")))
            java = java.getCause()
    return found


def _is_gone(error: Exception) -> bool:
    from py4j.protocol import Py4JNetworkError

    return isinstance(error, Py4JNetworkError | ConnectionError | EOFError)


def _short(said: str) -> str:
    """The first line of what Spark says, whose others tell where in its code."""
    first = next((line.strip() for line in said.splitlines() if line.strip()), "")
    return first[:_MOST_TOLD]
