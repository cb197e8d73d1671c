"""The examples that need Spark run in an empty folder, with each."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from spark.spark import PROFILES, environment

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = sorted((ROOT / "examples" / "spark").glob("*.py"))


@pytest.mark.slow
@pytest.mark.newest_line
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example: Path, profile: str, tmp_path: Path) -> None:
    python = ROOT / ".spark" / profile / "bin" / "python"
    ran = subprocess.run(
        [python, example],
        cwd=tmp_path,
        env=environment(profile),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
