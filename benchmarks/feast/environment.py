"""The virtual environment in which Feast runs: its locked versions are not Headrace's."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

_FOLDER = Path(__file__).parent.parent / ".venv-feast"
_REQUIREMENTS = Path(__file__).parent / "requirements.txt"


def feast_python() -> str:
    """The environment's interpreter. Takes the network the first time, and after each change."""
    python = _FOLDER / "bin" / "python"
    mark = _FOLDER / f"installed-{hashlib.sha256(_REQUIREMENTS.read_bytes()).hexdigest()[:12]}"
    if not mark.exists():
        shutil.rmtree(_FOLDER, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", _FOLDER], check=True)
        (_FOLDER / ".gitignore").write_text("*\n")
        command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--only-binary", ":all:"]
        trusting = os.environ | {"UV_SYSTEM_CERTS": "1"}  # the certificates that this machine trusts
        subprocess.run(
            [*command, "--python", python, "--requirement", _REQUIREMENTS], check=True, env=trusting
        )
        mark.touch()
    return str(python)
