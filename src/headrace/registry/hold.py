"""Names that are held by locks of the registry's database, for what has no locks of its own."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from sqlalchemy.engine import URL
from sqlalchemy.pool import NullPool

from headrace.registry.database import postgresql_engine, read_url, sqlite_file
from headrace.registry.failure import translated
from headrace.storage.failure import stored

# The session is idle as long as it holds, and waits for as long as others do, whatever the server's defaults. Older
# servers have not all of these.
_KEPT = """
SELECT set_config(name, '0', false) FROM pg_settings
WHERE name IN ('idle_session_timeout', 'statement_timeout', 'lock_timeout')"""


class RegistryHold:
    """Called with names, as `headrace.storage.base.Hold` is.

    Args:
        url: the registry's, which needs not be open. Raises InvalidArgument, Unsupported.
    """

    def __init__(self, url: str) -> None:
        self._url = read_url(url)

    def __call__(self, names: Iterable[str], *, alone: bool) -> AbstractContextManager[None]:
        """Within, nobody holds one of these `alone`, in any process; with it, nobody else holds it at all.

        Waits for the others. What a process holds ends with it.
        """
        return _held(self._url, names, alone)


@contextlib.contextmanager
def _held(url: URL, names: Iterable[str], alone: bool) -> Iterator[None]:
    # In order, so that no two wait for each other.
    wanted = sorted(set(names))
    if not wanted:
        yield
    elif url.get_backend_name() == "sqlite":
        # By one name of the database, which links may have several of.
        with _by_files(Path(f"{os.path.realpath(sqlite_file(url))}.held"), wanted, alone):
            yield
    else:
        with _by_session(url, wanted, alone):
            yield


@contextlib.contextmanager
def _by_files(folder: Path, names: list[str], alone: bool) -> Iterator[None]:
    """Whoever shares a SQLite file shares the folder that it is in."""
    with contextlib.ExitStack() as holds:
        for name in names:
            with stored(str(folder)):
                folder.mkdir(exist_ok=True)
                file = holds.enter_context((folder / f"{_number(name):016x}").open("ab"))
                fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
                # A process that was forked meanwhile has the file open, too, and would go on holding it.
                holds.callback(fcntl.flock, file, fcntl.LOCK_UN)
        yield


@contextlib.contextmanager
def _by_session(url: URL, names: list[str], alone: bool) -> Iterator[None]:
    """By a connection of its own, since it may be held for long."""
    engine = postgresql_engine(url, poolclass=NullPool)
    lock = "pg_advisory_lock" if alone else "pg_advisory_lock_shared"
    with contextlib.ExitStack() as session:
        with translated(url):
            connection = session.enter_context(engine.connect())
            connection.exec_driver_sql(_KEPT).close()
            for name in names:
                connection.exec_driver_sql(f"SELECT {lock}({_number(name) - (1 << 63)})")
        yield


def _number(name: str) -> int:
    """64 bits for a name, however long."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big")
