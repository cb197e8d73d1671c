"""What is asked of workloads that run tiny: all systems run, and agree on what they read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.catalog import WORKLOADS
from benchmarks.fraud import STEPS

from spark.quick import java_options

ROOT = Path(__file__).parent.parent
SERVED = {
    "tcp",
    "tls",
    "small",
    "large",
    "small, slowly",
    "large, slowly",
    "tcp, mapped",
    "history, tcp",
    "read, tcp",
    # A PostgreSQL, too, is a service.
    "ADBC",
    "external group",
    "three formats",
    "read()",
    "sql()",
    "Flight SQL",
    "nobody asked",
    "computed",
    "first ask",
    "kept, sent",
    "kept, mapped",
    "kept, all read",
    "token",
    "certificate",
    # So is the JVM of a session of Spark.
    *WORKLOADS["spark-bridge"].systems,
    *WORKLOADS["spark-batches"].systems,
    *WORKLOADS["spark-parquet"].systems,
    *WORKLOADS["spark-faces"].systems,
    *WORKLOADS["spark-pit"].systems,
    *WORKLOADS["pyspark-udf"].systems,
    "materialise",
    "materialise, batched",
    "materialise, cold",
    "Headrace",
    "Headrace, Delta",
    "Headrace, Hudi",
    "Headrace, Arrow types",
    "Headrace, Parquet",
    "Headrace, Arrow",
    "Arrow",
    "pandas, Arrow types",
    "pandas, its own types",
    "Spark, Delta",
    "Spark, Hudi",
    "Spark, as rows",
    "Spark Connect",
    "Spark, Thrift",
    "Feast, remote",
    "ROAPI",
    "ROAPI, in memory",
    "cache off",
    "foreseen, sent",
    "foreseen, mapped",
    "read, Spark",
    "read, Spark, cold",
    *(f"{step}, {system}" for step in STEPS for system in ("Headrace", "Spark")),
    # And a JVM alone.
    *WORKLOADS["codec-jvm-read"].systems,
}
DIFFERENT = ("memory", "commits", "storage-large", "hudi-partition", "spark-pit", "fraud")
"""Their systems read different things."""
SECONDS = 800
_FEW = "-Dspark.sql.shuffle.partitions=2 -Dspark.databricks.delta.snapshotPartitions=1"
"""Spark's 200 and Delta's 50 take most of the time where there is hardly a row in each."""
_HUDI = Path(__file__).parent / "benchmarks" / "hudi"


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "benchmarks", *map(str, arguments)]


def environment() -> dict[str, str]:
    """A terminal that breaks no names in two, and JVMs that start soon."""
    quick = {"HEADRACE_BENCH_JAVA": f"{java_options('{prefix}')} {_FEW}", "HUDI_CONF_DIR": str(_HUDI)}
    return os.environ | {"COLUMNS": "200"} | quick


def bench(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments),
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )


def read_report(path: Path) -> dict[str, Any]:
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    report: dict[str, Any] = json.loads(path.read_text())
    return report


def check(report: dict[str, Any]) -> None:
    """Of a report as it was read from its file."""
    name = report["workload"]
    assert [case["name"] for case in report["cases"]] == list(WORKLOADS[name].systems)
    for case in report["cases"]:
        assert case["rows"] > 0
        assert case["wall"]["value"] > 0
        assert case["peak"] > case["service_peak"]
        assert (case["service_peak"] > 0) == (case["name"] in SERVED), (name, case["name"])
    if name not in DIFFERENT:
        first = [s for s in report["samples"] if s["number"] == 0]
        assert len({(s["rows"], s["checksum"]["value"]) for s in first}) == 1
    assert report["goals"] == []  # they are for the full size
    assert report["machine"]["versions"].keys() >= {"headrace", "duckdb", "pyarrow", "deltalake"}
