"""Every workload, tiny: all systems run, and agree on what they read."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks.catalog import WORKLOADS
from benchmarks.workload import SIZES

ROOT = Path(__file__).parent.parent.parent
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
    "read, Spark",
    # And a JVM alone.
    *WORKLOADS["codec-jvm-read"].systems,
}
SHARES = [
    ["tpch-scan", "tpch-narrow", "tpch-decimals", "tpch-join", "wide"],
    ["memory", "lookup", "lookup-upserts", "lookup-busy", "pit"],
    ["dataset", "upsert", "statistics", "commits"],
    ["storage-10k", "storage-6m", "storage-large"],
    ["tunnel-10k", "tunnel-6m"],
    ["legacy-6m"],
    ["hudi-scan", "hudi-narrow", "hudi-listing", "hudi-partition"],
    ["taxi"],
    ["taxi-files", "taxi-dataset", "transfer", "conversion"],
    ["postgresql-scan", "pit-formats"],
    ["flight-sql-scan", "flight-sql-narrow", "flight-sql-small", "checks"],
    ["cache-join", "cache-sql", "cache-pit"],
    ["spark-parquet", "spark-csv", "spark-bridge"],
    ["spark-batches", "spark-faces", "spark-pit"],
    [
        "codec-encode",
        "codec-decode",
        "codec-wide",
        "codec-nested",
        "codec-unicode",
        "codec-nulls",
        "codec-row",
    ],
    ["codec-jvm-write", "codec-jvm-read", "codec-to-jvm", "codec-from-jvm"],
    ["pyspark-text-combination", "pyspark-udf"],
]
INSTALLS_FEAST = ["pit-feast"]
# Tiny, they are the ones that they stand for.
ALIKE = {
    "legacy-10k": "legacy-6m",
    "legacy-100k": "legacy-6m",
    "legacy-1m": "legacy-6m",
    "legacy-60m": "legacy-6m",
    "storage-100k": "storage-10k",
    "storage-1m": "storage-10k",
    "tunnel-100k": "tunnel-10k",
    "tunnel-1m": "tunnel-10k",
    "cache-large": "cache-join",
    "spark-dictionary-snappy": "spark-parquet",
    "spark-snappy": "spark-parquet",
    "spark-gzip": "spark-parquet",
    "spark-zstd": "spark-parquet",
    "spark-1-of-100": "spark-parquet",
    "spark-10-of-100": "spark-parquet",
    "spark-50-of-100": "spark-parquet",
    "spark-100-of-100": "spark-parquet",
    "spark-strings": "spark-parquet",
    "spark-decimals": "spark-parquet",
    "spark-dates": "spark-parquet",
    "spark-nested": "spark-parquet",
    "spark-csv-schema": "spark-csv",
    "pyspark-text-sort": "pyspark-text-combination",
    "pyspark-text-lookup": "pyspark-text-combination",
    "pyspark-text-filter": "pyspark-text-combination",
    "pyspark-cached-sort": "pyspark-text-combination",
    "pyspark-cached-lookup": "pyspark-text-combination",
    "pyspark-cached-filter": "pyspark-text-combination",
    "pyspark-cached-combination": "pyspark-text-combination",
    "pyspark-map": "pyspark-text-combination",
    "pyspark-group": "pyspark-text-combination",
    "pyspark-joins": "pyspark-text-combination",
    "pyspark-window": "pyspark-text-combination",
    "pyspark-collect": "pyspark-udf",
    "pyspark-create": "pyspark-udf",
}
_SECONDS = 800


def bench(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *map(str, arguments)]
    wide = os.environ | {"COLUMNS": "200"}  # a narrow terminal breaks the longest names in two
    return subprocess.run(
        command, cwd=ROOT, env=wide, capture_output=True, text=True, check=False, timeout=_SECONDS
    )


def read_report(path: Path) -> dict[str, Any]:
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    report: dict[str, Any] = json.loads(path.read_text())
    return report


@pytest.mark.slow
@pytest.mark.parametrize("names", [*SHARES, INSTALLS_FEAST], ids=" ".join)
def test_systems_run_and_agree(names: list[str], tmp_path: Path) -> None:
    done = bench(*names, "--size", "smoke", "--runs", 1, "--out", tmp_path, "--force")
    assert done.returncode == 0, done.stdout + done.stderr
    reports = {report["workload"]: report for report in map(read_report, tmp_path.glob("*.json"))}
    assert reports.keys() == set(names)
    for name, report in reports.items():
        assert [case["name"] for case in report["cases"]] == list(WORKLOADS[name].systems)
        for case in report["cases"]:
            assert case["rows"] > 0
            assert case["wall"]["value"] > 0
            assert case["name"] in done.stdout
            assert case["peak"] > case["service_peak"]
            assert (case["service_peak"] > 0) == (case["name"] in SERVED)
        if name not in (
            "memory",
            "commits",
            "storage-large",
            "hudi-partition",
            "spark-pit",
        ):  # whose systems read different things
            first = [s for s in report["samples"] if s["number"] == 0]
            assert len({(s["rows"], s["checksum"]["value"]) for s in first}) == 1
        assert report["goals"] == []  # they are for the full size
        assert report["machine"]["versions"].keys() >= {"headrace", "duckdb", "pyarrow", "deltalake"}


def test_every_workload_is_tried() -> None:
    tried = {name for names in [*SHARES, INSTALLS_FEAST] for name in names}
    assert tried | ALIKE.keys() == WORKLOADS.keys()
    for name, other in ALIKE.items():
        assert other in tried
        assert WORKLOADS[name].systems == WORKLOADS[other].systems
        assert WORKLOADS[name].sizes["smoke"] == WORKLOADS[other].sizes["smoke"]


def test_the_list_names_every_workload_and_its_goals() -> None:
    done = bench("--list")
    assert done.returncode == 0
    for name, workload in WORKLOADS.items():
        assert name in done.stdout
        assert set(workload.sizes) == set(SIZES)
    assert "embedded ÷ in-process ≤ 1.15" in done.stdout


@pytest.mark.parametrize("arguments", [["nothing"], ["pit", "--size", "huge"], ["pit", "--size", "-1"]])
def test_unknown_names_are_a_usage_error(arguments: list[str]) -> None:
    done = bench(*arguments)
    assert done.returncode == 2
    assert "tpch-scan" in done.stdout


@pytest.mark.slow
def test_a_size_may_be_a_number(tmp_path: Path) -> None:
    done = bench("tpch-scan", "--size", "0.02", "--runs", 1, "--out", tmp_path, "--force")
    assert done.returncode == 0, done.stdout + done.stderr
    (report,) = map(read_report, tmp_path.glob("tpch-scan-0.02-*.json"))
    assert (report["size"], report["scale"], report["goals"]) == ("0.02", 0.02, [])


@pytest.mark.slow
def test_the_share_of_pickle_is_told() -> None:
    command = [
        sys.executable,
        "-m",
        "benchmarks.share",
        "pyspark-cached-sort",
        "--scale",
        "0.01",
        "--runs",
        "2",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=_SECONDS)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        f"pyspark-cached-sort at 0.01, {line}, pickle" for line in ("3.5", "4.1")
    ]
    shares = [float(found) for line in lines for found in re.findall(r"(?:wall|CPU) (\d\.\d+)", line)]
    assert len(shares) == 4
    assert all(0 < found < 1 for found in shares)


@pytest.mark.parametrize("arguments", [["--suite", "nothing"], ["--report"], ["pit", "--suite", "smoke"]])
def test_a_suite_is_one_that_there_is_and_goes_without_workloads(arguments: list[str]) -> None:
    done = bench(*arguments)
    assert done.returncode == 2
    assert "suites are full, laptop, smoke" in done.stdout
