"""The example of the row codec runs in an empty folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "examples" / "rows" / "row_codec.py"


def test_example(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, str(EXAMPLE)], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "['id', 'origin', 'leaves', 'fare', 'stops']" in ran.stdout
    assert "[(1, 'a'), (2, 'b'), 'neither', (3, None)]" in ran.stdout
    assert "1015 rows written" in ran.stdout
