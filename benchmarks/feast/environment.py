"""The virtual environment in which Feast runs: its locked versions are not Headrace's."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

_FOLDER = Path(__file__).parent.parent / ".venv-feast"
_REQUIREMENTS = Path(__file__).parent / "requirements.txt"


def feast_python() -> str:
    """The environment's interpreter. Takes a minute and the network the first time, and after each change."""
    python = _FOLDER / "bin" / "python"
    mark = _FOLDER / f"installed-{hashlib.sha256(_REQUIREMENTS.read_bytes()).hexdigest()[:12]}"
    if not mark.exists():
        shutil.rmtree(_FOLDER, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", _FOLDER], check=True)
        (_FOLDER / ".gitignore").write_text("*\n")
        options = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
        subprocess.run([python, "-m", "pip", "install", *options, "--requirement", _REQUIREMENTS], check=True)
        mark.touch()
    return str(python)
