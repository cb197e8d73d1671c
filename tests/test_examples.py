"""Every example, and every program in the README, runs in an empty folder; together they show every public name."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import headrace as hr

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
README = (ROOT / "README.md").read_text("utf-8")
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
CLASSES = [
    hr.FeatureStore,
    hr.FeatureGroup,
    hr.Query,
    hr.FeatureView,
    hr.TrainingDataset,
    hr.Result,
    hr.Column,
]


def run(program: str) -> str:
    # A folder with a short name: a Unix socket's path may have no more than about 100 characters.
    with tempfile.TemporaryDirectory(prefix="headrace-") as folder:
        ran = subprocess.run(
            [sys.executable, "-c", program],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def _named(path: Path) -> Any:
    # The command line starts a process for each command.
    marks = [pytest.mark.slow] if path.stem == "command_line" else []
    return pytest.param(path, id=path.stem, marks=marks)


@pytest.mark.parametrize("example", [_named(path) for path in EXAMPLES])
def test_example(example: Path) -> None:
    run(example.read_text("utf-8"))


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_readme(number: int) -> None:
    said = run(PROGRAMS[number])
    if number == 0:
        (shown,) = re.findall(r"^```text\n(   id .*?)^```$", README, re.MULTILINE | re.DOTALL)
        assert said == shown


def test_the_readme_marks_its_ten_lines() -> None:
    assert README.count("<!-- ten lines -->\n```python\n") == 1


def public_names() -> list[str]:
    """`hr.connect`, `.insert`, …: errors aside, which a program meets by accident."""
    errors = {name for name in hr.__all__ if isinstance(getattr(hr, name), type)}
    errors = {name for name in errors if issubclass(getattr(hr, name), hr.HeadraceError)}
    functions = {f"hr.{name}" for name in hr.__all__ if name not in errors}
    methods = {f".{name}" for kind in CLASSES for name in vars(kind) if not name.startswith("_")}
    return sorted(functions | methods)


@pytest.mark.parametrize("name", public_names())
def test_every_public_name_is_in_an_example(name: str) -> None:
    shown = "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "examples").rglob("*.py")))
    assert re.search(rf"{re.escape(name)}\b", shown)
