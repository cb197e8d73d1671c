"""The jars of Headrace's data source for Spark, one for each line of Spark that it is built for."""

from __future__ import annotations

from pathlib import Path

_JARS = Path(__file__).parent / "jars"


def jar(version: str) -> Path | None:
    """The jar for a version of Spark, such as `3.5.9`; None if there is none for it."""
    line = ".".join(version.split(".")[:2])
    found = _JARS / f"headrace-spark-{line}.jar"
    return found if found.exists() else None


def lines() -> list[str]:
    """The lines of Spark that there are jars for: `["3.5", "4.1"]`."""
    return sorted(path.stem.removeprefix("headrace-spark-") for path in _JARS.glob("headrace-spark-*.jar"))
