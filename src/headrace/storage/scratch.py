"""What a running process puts down beside the tables, and what those that were killed have left of it."""

from __future__ import annotations

import fcntl
import shutil
import uuid
from pathlib import Path

_PREFIX = "scratch-"
_HELD = "held"


class Scratch:
    """A folder of its own, removed by `close`, or by the next who opens one beside it.

    It is held by a lock on a file in it, which ends with the process, however that ends. A process number would
    not do: in containers each start has the same.
    """

    def __init__(self, parent: Path) -> None:
        parent.mkdir(parents=True, exist_ok=True)
        with (parent / "scratch.lock").open("ab") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            for left in parent.glob(f"{_PREFIX}*"):
                if _is_left(left):
                    shutil.rmtree(left, ignore_errors=True)
            self.path = parent / f"{_PREFIX}{uuid.uuid4().hex[:12]}"
            # Rows of tables elsewhere, which others of this machine may have no keys for, are in it.
            self.path.mkdir(mode=0o700)
            self._held = (self.path / _HELD).open("ab")
            fcntl.flock(self._held, fcntl.LOCK_EX)

    def new_path(self, suffix: str = "") -> Path:
        """A path in it that nothing has had."""
        return self.path / f"{uuid.uuid4().hex}{suffix}"

    def close(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        self._held.close()


def _is_left(folder: Path) -> bool:
    try:
        with (folder / _HELD).open("ab") as held:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
