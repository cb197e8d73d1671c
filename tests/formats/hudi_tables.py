"""The Hudi tables of `testdata`, unpacked."""

from __future__ import annotations

import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent / "testdata" / "hudi"
TABLES = sorted(ROOT.glob("v*/*.zip"))
READ = [path for path in TABLES if path.stem != "merge_on_read"]


def named(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


def unpacked(archive: Path, folder: Path) -> Path:
    """The table's folder; what Spark read from it is beside it, in `expected`."""
    to = folder / archive.stem
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(to)
    return to / "table"


def timeline_of(table: Path) -> Path:
    folder = table / ".hoodie" / "timeline"
    return folder if folder.exists() else table / ".hoodie"
