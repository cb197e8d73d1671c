"""The demo's own folder: marked, so that only what a demo made is ever removed."""

from __future__ import annotations

import shutil
from pathlib import Path

from headrace.errors import InvalidArgument

_MARK = ".headrace-demo"


def clear_folder(root: Path) -> None:
    """Make `root` an empty folder that bears the demo's mark.

    Raises:
        InvalidArgument: there is something that no demo made; nothing is removed then.
    """
    if root.is_symlink() or (root.exists() and not _is_ours(root)):
        raise InvalidArgument(
            f"{root} is not empty and no earlier demo made it, so it is left alone",
            hint="give the demo another folder: headrace demo --root DIR",
        )
    try:
        if root.exists():
            # The mark goes last: a run interrupted here leaves a folder that the next one may clear.
            for entry in root.iterdir():
                if entry.name != _MARK:
                    shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        root.mkdir(parents=True, exist_ok=True)
        (root / _MARK).write_text("Made by headrace demo, which clears this folder at its next run.\n")
    except OSError as error:
        raise InvalidArgument(f"cannot make the folder {root}: {error}") from None


def _is_ours(root: Path) -> bool:
    return root.is_dir() and ((root / _MARK).is_file() or not any(root.iterdir()))
