"""Installs the wheels from dist/ into a new environment and runs the README's ten lines there."""

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
TEN_LINES = re.compile(r"^<!-- ten lines -->\n+```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    print("  $", *(os.fspath(word) for word in command), flush=True)
    subprocess.run(command, cwd=cwd, check=True)


def main() -> None:
    blocks = TEN_LINES.findall((ROOT / "README.md").read_text("utf-8"))
    if len(blocks) != 1:
        sys.exit(
            f"README.md has {len(blocks)} python blocks under a line '<!-- ten lines -->', and must have one"
        )
    wheels = list((ROOT / "dist").glob("headrace-*.whl"))
    if len(wheels) != 1:
        sys.exit(f"dist/ holds {len(wheels)} wheels of headrace, and must hold one: run make dist")

    uv = (sys.executable, "-m", "uv", "--quiet")
    with TemporaryDirectory(prefix="headrace-check-dist-") as temp:
        environment, folder = Path(temp, "environment"), Path(temp, "empty")
        python = environment / "bin" / "python"
        locked, program = Path(temp, "locked.txt"), Path(temp, "ten_lines.py")
        folder.mkdir()
        program.write_text(blocks[0], "utf-8")

        # Headrace and its native part are what is installed, and cannot be constraints of it.
        theirs = ("--no-emit-project", "--no-emit-package", "headrace-native")
        run(*uv, "export", "--frozen", "--no-hashes", *theirs, "--all-extras", "-o", locked)
        run(*uv, "venv", "--no-project", "--python", sys.executable, environment)
        wheel = f"headrace[pandas,hdfs] @ {wheels[0].as_uri()}"
        install = ("pip", "install", "--python", python, "--no-build", "--constraints", locked)
        run(*uv, *install, "--find-links", ROOT / "dist", wheel)
        # Isolated from PYTHONPATH and from this checkout: only what the wheel brought can be imported.
        run(python, "-I", program, cwd=folder)
        run(environment / "bin" / "headrace", "--help", cwd=folder)
        run(python, "-I", "-c", "from headrace_native import Tunnel", cwd=folder)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"check-dist: {error}")
