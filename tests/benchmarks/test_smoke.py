"""Every workload, tiny: all systems run, and agree on what they read."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.catalog import WORKLOADS
from benchmarks.evaluation import suite
from benchmarks.spark import BATCHES, WIDTHS
from benchmarks.spark_faces import CODECS
from benchmarks.workload import SIZES

from tiny import ROOT, SECONDS, bench, check, read_report

# Those that no experiment of a paper has: what these have is run by the smoke suite.
SHARES = [
    ["tpch-scan", "pit"],
]
FOR_SOAK = [
    ["tpch-join", "wide"],
    ["memory", "lookup", "lookup-upserts", "lookup-busy"],
    ["dataset", "upsert", "statistics", "commits"],
    ["codec-nested", "codec-row"],
    ["storage-10k", "storage-6m", "storage-large"],
    ["tunnel-10k", "tunnel-6m"],
    ["hudi-scan", "hudi-listing", "hudi-partition"],
    ["postgresql-scan", "pit-formats"],
    ["flight-sql-scan", "flight-sql-small", "checks"],
    ["cache-sql", "cache-pit"],
    ["spark-faces-csv", "spark-faces-batches-1024", "spark-faces-10-of-100"],
    ["spark-pit"],
    ["pyspark-udf"],
    ["pit-feast"],
]
IN_SUITE = {step.workload for step in suite.load("smoke").steps}
# Tiny, they are the ones that they stand for.
ALIKE = {
    "legacy-100k": "legacy-10k",
    "legacy-1m": "legacy-10k",
    "legacy-6m": "legacy-10k",
    "legacy-60m": "legacy-10k",
    "tpch-narrow": "tpch-scan",
    "tpch-decimals": "tpch-scan",
    "hudi-narrow": "hudi-scan",
    "flight-sql-narrow": "flight-sql-scan",
    "codec-wide": "codec-nested",
    "codec-unicode": "codec-nested",
    "codec-nulls": "codec-nested",
    "storage-100k": "storage-10k",
    "storage-1m": "storage-10k",
    "tunnel-100k": "tunnel-10k",
    "tunnel-1m": "tunnel-10k",
    "cache-large": "cache-join",
    "spark-dictionary-snappy": "spark-parquet",
    "spark-links": "spark-parquet",
    "spark-snappy": "spark-parquet",
    "spark-gzip": "spark-parquet",
    "spark-zstd": "spark-parquet",
    "spark-10-of-100": "spark-parquet",
    "spark-50-of-100": "spark-parquet",
    "spark-100-of-100": "spark-parquet",
    "spark-strings": "spark-parquet",
    "spark-decimals": "spark-parquet",
    "spark-dates": "spark-parquet",
    "spark-nested": "spark-parquet",
    "spark-csv": "spark-csv-numbers",
    "spark-csv-schema": "spark-csv-numbers",
    **dict.fromkeys((f"spark-faces-{name}" for name in CODECS), "spark-faces"),
    **dict.fromkeys((f"spark-faces-batches-{size}" for size in BATCHES[1:]), "spark-faces-batches-1024"),
    **dict.fromkeys(
        (f"spark-faces-{width}-of-100" for width in WIDTHS if width != 10), "spark-faces-10-of-100"
    ),
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "names", [*SHARES, *(pytest.param(names, marks=pytest.mark.soak) for names in FOR_SOAK)], ids=" ".join
)
def test_systems_run_and_agree(names: list[str], tmp_path: Path) -> None:
    done = bench(*names, "--size", "smoke", "--runs", 1, "--out", tmp_path, "--force")
    assert done.returncode == 0, done.stdout + done.stderr
    reports = {report["workload"]: report for report in map(read_report, tmp_path.glob("*.json"))}
    assert reports.keys() == set(names)
    for name, report in reports.items():
        check(report)
        assert all(system in done.stdout for system in WORKLOADS[name].systems)


def test_every_workload_is_tried() -> None:
    tried = {name for names in SHARES + FOR_SOAK for name in names} | IN_SUITE
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


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nothing"], "no workload nothing"),
        (["nothing"], "tpch-scan"),
        (["pit", "--size", "huge"], "huge is no size"),
        (["pit", "--size", "-1"], "-1 is no size"),
    ],
)
def test_unknown_names_are_a_usage_error(arguments: list[str], told: str) -> None:
    done = bench(*arguments)
    assert done.returncode == 2
    assert told in done.stdout


@pytest.mark.slow
@pytest.mark.soak
def test_a_size_may_be_a_number(tmp_path: Path) -> None:
    done = bench("tpch-scan", "--size", "0.02", "--runs", 1, "--out", tmp_path, "--force")
    assert done.returncode == 0, done.stdout + done.stderr
    (report,) = map(read_report, tmp_path.glob("tpch-scan-0.02-*.json"))
    assert (report["size"], report["scale"], report["goals"]) == ("0.02", 0.02, [])


@pytest.mark.slow
@pytest.mark.soak
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
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        f"pyspark-cached-sort at 0.01, {line}, pickle" for line in ("3.5", "4.1")
    ]
    shares = [float(found) for line in lines for found in re.findall(r"(?:wall|CPU) (\d\.\d+)", line)]
    assert len(shares) == 4
    assert all(0 < found < 1 for found in shares)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--suite", "nothing"], "there are full, laptop, smoke"),
        (["--report"], "--suite with full, laptop, smoke"),
        (["pit", "--suite", "smoke"], "has its own workloads, sizes and rounds"),
    ],
)
def test_a_suite_is_one_that_there_is_and_goes_without_workloads(arguments: list[str], told: str) -> None:
    done = bench(*arguments)
    assert done.returncode == 2
    assert told in done.stdout
