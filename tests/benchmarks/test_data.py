"""What is made for a measurement is gone after it, also where it was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks import data

pytestmark = pytest.mark.slow

_HOLDS = """
import sys, time
from pathlib import Path
from benchmarks import data

with data.temporary("made-", Path(sys.argv[1])) as folder:
    (folder / "file").write_text("")
    print(folder, flush=True)
    time.sleep(60)
"""


def age(folder: Path) -> None:
    os.utime(folder, (time.time() - 1_000,) * 2)


def test_a_folder_of_who_was_killed_is_removed_by_who_comes_next(tmp_path: Path) -> None:
    held = subprocess.Popen([sys.executable, "-c", _HOLDS, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert held.stdout is not None
        folder = Path(held.stdout.readline().strip())
        age(folder)
        with data.temporary("made-", tmp_path) as own:
            assert own.is_dir()
            assert folder.is_dir(), "its process lives"
    finally:
        held.send_signal(signal.SIGKILL)
        held.wait()
    assert (folder / "file").exists()
    (tmp_path / "made-up").mkdir()  # new: it may not be held yet
    with data.temporary("made-", tmp_path) as own:
        assert sorted(tmp_path.iterdir()) == sorted([own, tmp_path / "made-up"])
    assert list(tmp_path.iterdir()) == [tmp_path / "made-up"]
