"""A disk that is full: what was there stays and can be read, and once there is room the same write goes through."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from integration.full_disk import UPKEEP, WRITES

TESTS = Path(__file__).parents[1]
PAGES = 24
ON_A_SMALL_DISK = 'mount -t tmpfs -o size=24m tmpfs "$1" && exec "$2" -m integration.full_disk "$1" "$3"'


@pytest.mark.slow
def test_every_write_with_more_and_more_room(tmp_path: Path) -> None:
    """The disk is mounted in a namespace of the program's own, and goes with it."""
    alone = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*alone, "mount", "-t", "tmpfs", "tmpfs", tmp_path], capture_output=True).returncode:
        pytest.skip("this system lets nobody mount a disk in a namespace")
    ran = subprocess.run(
        [*alone, "sh", "-c", ON_A_SMALL_DISK, "sh", tmp_path, sys.executable, str(PAGES)],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"PYTHONPATH": str(TESTS)},
    )
    assert ran.returncode == 0, ran.stderr[-5000:]
    told = json.loads(ran.stdout)
    joins = [became for _, name, _, became in told if name == "join"]
    assert len(joins) == PAGES
    assert (joins[0], joins[-1], {*joins}) == ("not kept", "kept", {"not kept", "kept"}), joins
    for way in ("embedded", "remote"):
        for name in (*WRITES, *UPKEEP):
            became = [said for a, b, _, said in told if (a, b) == (way, name)]
            assert len(became) == (PAGES if name in WRITES else len(range(0, PAGES, 5)))
            assert set(became) == {"refused", "written"}, (way, name, became)
            assert (became[0], became[-1]) == ("refused", "written"), (way, name, became)
