"""Installs the wheels from dist/ into a new environment of each Python named, and runs the README's ten lines there.

What only wheels of the native part can do, the vectors of the row codec show.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
TEN_LINES = re.compile(r"^<!-- ten lines -->\n+```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# The native part is there, and reads the objects of this Python where they lie.
IN_PLACE = "from headrace_native import Tunnel, row_stats; assert row_stats()['direct'] is True"
VECTORS = ("-m", "pytest", "-p", "no:cacheprovider", "-m", "slow", "tests/rowcodec/test_vectors.py")


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

    for interpreter in sys.argv[1:]:
        check(interpreter, wheels[0], blocks[0])


def check(interpreter: str, wheel: Path, ten_lines: str) -> None:
    """What was built works in an environment of this Python, where nothing is compiled."""
    uv = (sys.executable, "-m", "uv", "--quiet")
    with TemporaryDirectory(prefix="headrace-check-dist-") as temp:
        environment, folder = Path(temp, "environment"), Path(temp, "empty")
        python = environment / "bin" / "python"
        locked, program = Path(temp, "locked.txt"), Path(temp, "ten_lines.py")
        folder.mkdir()
        program.write_text(ten_lines, "utf-8")

        # Headrace and its native part are what is installed, and cannot be constraints of it.
        theirs = ("--no-emit-project", "--no-emit-package", "headrace-native")
        run(*uv, "export", "--frozen", "--no-hashes", *theirs, "--all-extras", "-o", locked)
        run(*uv, "venv", "--no-project", "--python", interpreter, environment)
        # Of a version that is built once more uv would take what it keeps of the one before.
        built = ("--refresh-package", "headrace", "--refresh-package", "headrace-native")
        install = ("pip", "install", "--python", python, "--no-build", *built, "--constraints", locked)
        ours = f"headrace[pandas,hdfs] @ {wheel.as_uri()}"
        native = f"headrace-native @ {native_wheel(wheel.parent, interpreter).as_uri()}"
        run(*uv, *install, ours, native, "hypothesis", "pytest", "pytest-xdist")
        # Isolated from PYTHONPATH and from this checkout: only what the wheel brought can be imported.
        run(python, "-I", program, cwd=folder)
        run(environment / "bin" / "headrace", "--help", cwd=folder)
        run(python, "-I", "-c", IN_PLACE, cwd=folder)
        run(python, "-I", *VECTORS)


def native_wheel(folder: Path, interpreter: str) -> Path:
    """That of the native part for this Python: by its path, since an index may have another of its name."""
    tag = "cp" + "".join(re.findall("[0-9]+", interpreter))
    wheels = list(folder.glob(f"headrace_native-*-{tag}-*.whl"))
    if len(wheels) != 1:
        sys.exit(
            f"dist/ holds {len(wheels)} wheels of headrace-native for {tag}, and must hold one: run make dist"
        )
    return wheels[0]


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"check-dist: {error}")
