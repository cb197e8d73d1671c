"""DuckDB: its instances, and sessions on them."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import threading
import weakref
from collections import OrderedDict
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from headrace.engine.session import Instance, Session
from headrace.errors import InvalidArgument

if TYPE_CHECKING:
    from headrace.engine.lake import Lake
    from headrace.storage.places import Places

_KEPT_SEALED = 4


class Engine:
    """DuckDB with bounded memory; what does not fit is spilled to `spill`.

    Args:
        memory_limit: such as "4GB"; None leaves DuckDB's own, 80 % of
            the machine's. With several instances, that of each.
        threads: None is one a processor.
        keeps_files: bytes of object stores are kept within that memory.
        spill: a folder in one that is there; each instance makes one of that name and a number when it needs it.
        spill_limit: bytes that each instance may put there; None is what the disk has.
        instances: sessions are spread over so many: what one takes of memory and disk, those of another do not miss.
        seals: what users wrote is run in instances that read no other files and change no setting.
    """

    def __init__(
        self,
        *,
        memory_limit: str | None,
        threads: int | None,
        spill: Path,
        keeps_files: bool = False,
        spill_limit: int | None = None,
        instances: int = 1,
        seals: bool = False,
    ) -> None:
        self._config: dict[str, Any] = {
            "preserve_insertion_order": False,
            # What was read of S3 and its kin would be kept until the limit is reached: that is for whoever names one.
            "enable_external_file_cache": keeps_files,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        if memory_limit is not None:
            self._config["memory_limit"] = memory_limit
        if threads is not None:
            self._config["threads"] = threads
        self._spill = spill
        self._spill_limit = spill_limit
        self._numbers = itertools.count()
        self._most = instances
        self._seals = seals
        self._sealed: OrderedDict[frozenset[str], Instance] = OrderedDict()
        self._lock = threading.Lock()
        self._lake: Lake | None = None
        self._closed = False
        self._sessions: weakref.WeakValueDictionary[int, Session] = weakref.WeakValueDictionary()
        try:
            self._instances = [self._instance()]
            self._threads = int(self._instances[0].setting("threads"))
        except duckdb.Error as error:
            given = {"memory_limit": memory_limit, "threads": threads}
            named = " or ".join(f"{k}={v!r}" for k, v in given.items() if v is not None)
            raise InvalidArgument(f"{named or 'the configuration'} is refused: {error}") from None

    @property
    def threads(self) -> int:
        """Threads that all sessions share."""
        return self._threads

    def memory(self) -> tuple[int, int]:
        """Bytes that all instances hold in memory, and that they have spilled to disk."""
        with self._lock:
            self._check_open()
            sessions = [self._opened(instance) for instance in (*self._instances, *self._sealed.values())]
        held = spilled = 0
        for session in sessions:
            with contextlib.closing(session):
                (row,) = session.rows(
                    "SELECT sum(memory_usage_bytes)::BIGINT AS held, sum(temporary_storage_bytes)::BIGINT AS spilled "
                    "FROM duckdb_memory()"
                )
            held, spilled = held + row["held"], spilled + row["spilled"]
        return held, spilled

    def reach(self, places: Places) -> None:
        """Read files that are not of this machine, too, from now on."""
        with self._lock:
            if self._lake is not None or self._closed:
                return
            from headrace.engine.lake import Lake  # what it needs takes a while to load

            self._lake = Lake(places)
            for instance in self._instances:
                instance.reach(self._lake)

    def abandon(self) -> None:
        """Keep it until the process ends, which is a fork: without its threads, to end it brings the process down."""
        for kept in (self, *self._sessions.values()):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))

    @contextlib.contextmanager
    def session(self) -> Iterator[Session]:
        session = self.open()
        try:
            yield session
        finally:
            session.close()

    def open(self) -> Session:
        with self._lock:
            self._check_open()
            least = min(self._instances, key=lambda instance: instance.sessions)
            if least.sessions and len(self._instances) < self._most:
                least = self._instance()
                self._instances.append(least)
            return self._opened(least)

    def open_for_user(self, folders: Collection[str] = ()) -> Session:
        """A session for statements that a user wrote, which read the files of these folders.

        One that is sealed reads no others, whatever they say. To make one takes 20 ms, so those of the last few folders
        are kept; sessions leave nothing in them.
        """
        if not self._seals:
            return self.open()
        key = frozenset(folders)
        with self._lock:
            self._check_open()
            found = self._sealed.pop(key, None)
            if found is None:
                found = self._instance()
                found.seal(key)
            self._sealed[key] = found
            session = self._opened(found)
            for old in [key for key, instance in self._sealed.items() if not instance.sessions][
                :-_KEPT_SEALED
            ]:
                self._sealed.pop(old).close()
            return session

    def interrupt(self) -> None:
        """Stop what all sessions run."""
        for session in self._open_sessions():
            session.interrupt()

    def close(self) -> None:
        """Close all sessions, which must not be running, and the instances."""
        for session in self._open_sessions():
            session.close()
        # Let go of them, too: what still refers to DuckDB at the interpreter's end would keep it from ending well.
        with self._lock:
            self._closed = True
            for instance in (*self._instances, *self._sealed.values()):
                instance.close()
            self._instances.clear()
            self._sealed.clear()

    def _check_open(self) -> None:
        if self._closed:
            raise InvalidArgument("the store is closed", hint="connect again")

    def _instance(self) -> Instance:
        # DuckDB makes the folder of an instance when it needs it, and none above.
        spill = self._spill.with_name(f"{self._spill.name}-{next(self._numbers)}")
        made = Instance(self._config, spill, self._spill_limit)
        if self._lake is not None:
            made.reach(self._lake)
        return made

    def _opened(self, instance: Instance) -> Session:
        session = Session(instance)
        self._sessions[id(session)] = session
        return session

    def _open_sessions(self) -> list[Session]:
        found = [ref() for ref in self._sessions.valuerefs()]
        return [session for session in found if session is not None]
