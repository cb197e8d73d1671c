"""The smoke suite, whole: all experiments of the papers run, tiny, their rows are right, and there is a page of them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from benchmarks.evaluation import suite
from benchmarks.evaluation.experiments import EXPERIMENTS

from tiny import bench, check

pytestmark = pytest.mark.slow


def test_smoke(tmp_path: Path) -> None:
    steps = suite.load("smoke").steps
    done = bench("--suite", "smoke", "--out", tmp_path, "--force")
    assert done.returncode == 0, done.stdout + done.stderr
    for step in steps:
        check(json.loads((tmp_path / "smoke" / f"{step.name}.json").read_text()))
    page = tmp_path / "smoke" / "page"
    assert "Not measured yet" not in (page / "index.html").read_text()
    with (page / "rows.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sum(len(experiment.systems) for experiment in EXPERIMENTS)
    assert all(float(row["median"]) > 0 for row in rows)
    for experiment in EXPERIMENTS:
        assert (page / f"{experiment.slug}.png").read_bytes().startswith(b"\x89PNG")
    # What is done is not done again.
    again = bench("--suite", "smoke", "--out", tmp_path, "--force")
    assert again.returncode == 0
    assert "rounds" not in again.stdout
