"""Every workload, tiny: all systems run, and agree on what they read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks.catalog import WORKLOADS
from benchmarks.workload import SIZES

ROOT = Path(__file__).parent.parent.parent
NEEDS_NETWORK = {"pit-feast"}  # an environment of its own, half a gigabyte


def bench(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n in NEEDS_NETWORK else []) for n in WORKLOADS]
)
def test_a_workload_runs_and_its_systems_agree(name: str, tmp_path: Path) -> None:
    done = bench(name, "--size", "smoke", "--runs", 1, "--out", tmp_path, "--force")
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = tmp_path.glob("*.json")
    report: dict[str, Any] = json.loads(path.read_text())
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")

    assert [case["name"] for case in report["cases"]] == list(WORKLOADS[name].systems)
    for case in report["cases"]:
        assert case["rows"] > 0
        assert case["wall"]["value"] > 0
        assert case["name"] in done.stdout
        assert case["peak"] > case["service_peak"]
    if name != "memory":
        first = [s for s in report["samples"] if s["number"] == 0]
        assert len({(s["rows"], s["checksum"]["value"]) for s in first}) == 1
    assert report["goals"] == []  # they are for the full size
    assert report["machine"]["versions"].keys() >= {"headrace", "duckdb", "pyarrow", "deltalake"}


def test_services_are_measured_beside_their_clients(tmp_path: Path) -> None:
    done = bench("tpch-join", "--size", "smoke", "--runs", 1, "--out", tmp_path, "--force")
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = tmp_path.glob("*.json")
    served = {case["name"]: case["service_peak"] > 0 for case in json.loads(path.read_text())["cases"]}
    assert served == {"in-process": False, "embedded": False, "tcp": True, "tls": True}


def test_the_list_names_every_workload_and_its_goals() -> None:
    done = bench("--list")
    assert done.returncode == 0
    for name, workload in WORKLOADS.items():
        assert name in done.stdout
        assert set(workload.sizes) == set(SIZES)
    assert "embedded ÷ in-process ≤ 1.15" in done.stdout


@pytest.mark.parametrize("arguments", [["nothing"], ["pit", "--size", "huge"]])
def test_unknown_names_are_a_usage_error(arguments: list[str]) -> None:
    done = bench(*arguments)
    assert done.returncode == 2
    assert "tpch-scan" in done.stdout
