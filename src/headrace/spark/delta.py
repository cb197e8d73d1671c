"""What sessions of Spark need for the tables of feature groups, which are Delta Lake's."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

EXTENSIONS, _EXTENSION = "spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension"
_CATALOG = "spark.sql.catalog.spark_catalog"
_PACKAGES, _EXCLUDES, _JARS = "spark.jars.packages", "spark.jars.excludes", "spark.jars"
_PATHS = ("spark.driver.extraClassPath", "spark.executor.extraClassPath")
# The releases that are tried with each line of Spark.
_RELEASES = {"3.5": "io.delta:delta-spark_2.12:3.3.2", "4.1": "io.delta:delta-spark_4.1_2.13:4.4.0"}
# Of no use without a Unity Catalog, and with Hadoop, Jackson and Log4j once more, beside those of Spark.
_NEEDLESS = "io.unitycatalog:*,io.delta:delta-kernel-*"


def with_delta(settings: Mapping[str, str], version: str, home: Path, *, fetch: bool) -> dict[str, str]:
    """The settings, with what reads Delta Lake's tables in the Spark of a version that lies at `home`.

    Its jars are those on Spark's class path, or in the folder `jars` of Python's environment. Else Spark is told to
    `fetch` the package from Maven Central as it starts; or nothing is changed. A catalog that is set stays.
    """
    told = dict(settings)
    release = _RELEASES.get(".".join(version.split(".")[:2]))
    if not _has_delta(told, home):
        own = sorted(glob.glob(f"{sys.prefix}/jars/delta-s*.jar"))
        if own:
            told[_JARS] = ",".join(filter(None, [told.get(_JARS), *own]))
        elif fetch and release is not None:
            told[_PACKAGES] = ",".join(filter(None, [told.get(_PACKAGES), release]))
            told[_EXCLUDES] = ",".join(filter(None, [told.get(_EXCLUDES), _NEEDLESS]))
        else:
            return told
    extensions = [name for name in told.get(EXTENSIONS, "").split(",") if name]
    if _EXTENSION not in extensions:
        told[EXTENSIONS] = ",".join([*extensions, _EXTENSION])
    told.setdefault(_CATALOG, "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    return told


def reads_delta(extensions: str) -> bool:
    """Whether a session with these extensions reads Delta Lake's tables."""
    return _EXTENSION in extensions.split(",")


def _has_delta(told: Mapping[str, str], home: Path) -> bool:
    return any("delta-spark" in name for name in (told.get(_PACKAGES, ""), *_jars(told, home)))


def _jars(told: Mapping[str, str], home: Path) -> Iterator[str]:
    yield from (path.name for path in (home / "jars").glob("*.jar"))
    yield from told.get(_JARS, "").split(",")
    for name in _PATHS:
        for entry in told.get(name, "").split(os.pathsep):
            yield from glob.glob(f"{entry}.jar" if entry.endswith("*") else entry)
