"""Every example of a table that others wrote, on one that Spark made."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from formats.hudi_tables import ROOT as HUDI
from formats.hudi_tables import unpacked

EXAMPLES = Path(__file__).parent.parent / "examples" / "formats"


def test_hudi(tmp_path: Path) -> None:
    table = unpacked(HUDI / "v9" / "partitioned.zip", tmp_path)
    command = [sys.executable, str(EXAMPLES / "hudi.py"), str(table)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "(1 of 3 files)" in ran.stdout
    assert "30 rows at first" in ran.stdout
