"""Commits that outlive a power cut."""

from __future__ import annotations

import os

from headrace.formats.delta_entry import data_path
from headrace.formats.log_folder import LogFolder
from headrace.storage.files import sync


def sync_commit(folder: LogFolder, version: int) -> None:
    """Bring a commit down to the disk, its files before its entry; elsewhere than on this machine it is there to stay.

    The wheel leaves that to the system, which may take half a minute, while names that a vacuum removes are gone from
    the disk in seconds: rows of a compaction would be neither here nor there.

    Raises:
        OSError: the disk failed.
    """
    if not folder.files.is_local:
        return
    paths = [data_path(folder.table.uri, path) for path in folder.written(version)]
    for path in paths:
        sync(path)
    for within in sorted({place for path in paths for place in _folders(path, folder.table.uri)}):
        sync(within)
    folder.sync(version)


def _folders(path: str, table: str) -> list[str]:
    """The folder of a file, and those around it up to the table's, where they may be new, too."""
    found = [os.path.dirname(path)]
    while found[-1].startswith(f"{table}/"):
        found.append(os.path.dirname(found[-1]))
    return found
