"""Notes of folders that are in their place before anybody knows of them, for what a killed process leaves of these."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote, unquote


class Notes:
    """A file for each, whose name is the location, held by a lock until the process ends, however it does.

    In it stands who is to know of the location: nobody else can say that it is not known.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextlib.contextmanager
    def of(self, location: str, knower: str) -> Iterator[None]:
        """Within, the location is noted; after an error it stays so, for `settle`."""
        self._folder.mkdir(parents=True, exist_ok=True)
        note = self._folder / quote(location, safe="")
        with note.open("ab") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            held.write(knower.encode())
            held.flush()
            yield
            with contextlib.suppress(OSError):  # a note too many does no harm
                note.unlink()

    def settle(self, knower: str, is_known: Callable[[str], bool], remove: Callable[[str], bool]) -> None:
        """Remove what was noted by processes that are gone, where who is to know of it does not.

        Args:
            remove: False where it could not be removed now: it stays noted.
        """
        for note in self._folder.glob("*"):
            with note.open("a+b") as held:
                try:
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    continue
                held.seek(0)
                noted, location = held.read().decode(), unquote(note.name)
                if noted == knower and not is_known(location) and not remove(location):
                    continue
                if noted in (knower, ""):  # an empty one was not finished, and nothing moved
                    note.unlink(missing_ok=True)
