"""The files by which Feast is told where all is. Runs where Headrace is not installed."""

from __future__ import annotations

from pathlib import Path

_CONFIG = """
project: benchmarks
provider: local
registry: {folder}/registry.db
offline_store: {offline_store}
online_store: null
entity_key_serialization_version: 3
"""


def write_config(folder: Path, name: str, offline_store: str) -> Path:
    """A file of a folder, beside whose registry it is.

    Args:
        offline_store: as YAML.
    """
    path = folder / name
    path.write_text(_CONFIG.format(folder=folder, offline_store=offline_store))
    return path
