"""The smoke suite, whole: all experiments of the papers run, tiny, their rows are right, and there is a page of them."""

from __future__ import annotations

import contextlib
import csv
import json
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from benchmarks.evaluation import suite
from benchmarks.evaluation.experiments import EXPERIMENTS

from benchmarks import data
from tiny import ROOT, SECONDS, bench, check, command, environment

pytestmark = pytest.mark.slow

STEPS = suite.load("smoke").steps
STOPS = {1: signal.SIGINT, 4: signal.SIGTERM, 10: signal.SIGINT, 18: signal.SIGTERM}
"""Steps after which it is stopped, and how."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("suite")


def suite_command(folder: Path) -> Sequence[object]:
    return "--suite", "smoke", "--out", folder, "--force"


def times(folder: Path) -> dict[str, int]:
    """When each step was done."""
    return {path.stem: path.stat().st_mtime_ns for path in folder.glob("smoke/*.json")}


def left() -> set[Path]:
    """Folders in memory that nobody holds."""
    found = set()
    for folder in data.MEMORY.glob("headrace-bench-*"):
        with contextlib.suppress(OSError), data.held(folder):
            found.add(folder)
    return found


@pytest.mark.parametrize("steps", STOPS)
def test_it_can_be_stopped(folder: Path, steps: int) -> None:
    before = left()
    running = subprocess.Popen(
        command(*suite_command(folder)),
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    deadline = time.monotonic() + SECONDS
    try:
        while len(times(folder)) < steps and running.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        running.send_signal(STOPS[steps])
        said, _ = running.communicate(timeout=120)
    assert len(times(folder)) >= steps, said
    assert running.returncode == 128 + STOPS[steps], said
    while time.monotonic() < deadline and left() - before:  # another's may be new, and not held yet
        time.sleep(0.1)
    assert not left() - before


def test_it_goes_on(folder: Path) -> None:
    before = times(folder)
    assert len(before) >= max(STOPS), "the tests before this one have begun it"
    done = bench(*suite_command(folder))
    assert done.returncode == 0, done.stdout + done.stderr
    after = times(folder)
    assert after.keys() == {step.name for step in STEPS}
    assert before.items() <= after.items()
    for step in STEPS:
        check(json.loads((folder / "smoke" / f"{step.name}.json").read_text()))


def test_its_page(folder: Path) -> None:
    page = folder / "smoke" / "page"
    text = (page / "index.html").read_text()
    assert "Not measured yet" not in text
    with (page / "rows.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sum(len(experiment.systems) for experiment in EXPERIMENTS)
    # A share of time is below nothing where what it is a share beyond took longer.
    assert all(float(row["median"]) > 0 for row in rows if row["unit"] != "%")
    assert all(float(row["median"]) < 100 for row in rows if row["unit"] == "%")
    for experiment in EXPERIMENTS:
        assert f'id="{experiment.slug}"' in text
        assert (page / f"{experiment.slug}.png").read_bytes().startswith(b"\x89PNG")
