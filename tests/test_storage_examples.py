"""The examples of storages, each against a real one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from servers.lake import running_lake

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parent.parent / "examples" / "storage"


@pytest.mark.parametrize("kind", [path.stem for path in sorted(EXAMPLES.glob("*.py"))])
def test_example(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_REGISTRY", f"sqlite:///{tmp_path / 'registry.db'}")
    with running_lake(kind, tmp_path / "lake") as uri:
        ran = subprocess.run(
            [sys.executable, EXAMPLES / f"{kind}.py", uri.partition("://")[2]],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert ran.returncode == 0, ran.stderr
    assert "bolt" in ran.stdout
