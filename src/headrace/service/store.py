"""A store: one root of tables, its registry and its engine, shared by every project and caller."""

from __future__ import annotations

import contextlib
import threading
import weakref
from typing import Self

from headrace.cache.results import Results
from headrace.calls import Calls
from headrace.config import StoreConfig
from headrace.engine.duck import Engine
from headrace.engine.kept import Kept
from headrace.engine.key_index import KeyIndex
from headrace.errors import HeadraceError, Unavailable
from headrace.formats.delta import DeltaLog
from headrace.formats.external.connections import Connections
from headrace.formats.folder.arrow import ArrowFiles
from headrace.formats.folder.csv import CsvFiles
from headrace.formats.folder.parquet import ParquetFiles
from headrace.formats.folder.table import FolderTable
from headrace.formats.hudi import HudiTable
from headrace.formats.table import Table
from headrace.model.definition import GroupDefinition, read_schema
from headrace.model.name import check_name
from headrace.model.right import OWNER, Rights
from headrace.registry.hold import RegistryHold
from headrace.registry.registry import Registry
from headrace.service.asked import Asked
from headrace.service.binding import open_registry
from headrace.service.cache import Cache
from headrace.service.limits import UNLIMITED, Limits
from headrace.service.project import ProjectStore
from headrace.service.spark_choice import SparkChoice
from headrace.service.worker.pool import Workers
from headrace.storage.base import Storage
from headrace.storage.open import open_storage

_KEPT_PROJECTS = 64
_KEPT_TABLES = 256


class Store:
    """Opens the parts that `config` names. Close it after use; the end of the program closes it, too.

    Args:
        turns: queries that run at once, each with memory and disk of its own.
        limits: of each.
        workers: run what users write in SQL; without any it is run here.
        seals: what users write in SQL is run where it can reach nothing else.
        cache_bytes: what results of joins may take on this machine's disk; None keeps none.
        remembers: what is asked is written down, so that what will be can be computed ahead.
        spark: runs what is asked of Spark, or is large.
    """

    def __init__(
        self,
        config: StoreConfig,
        *,
        turns: int = 1,
        limits: Limits = UNLIMITED,
        workers: Workers | None = None,
        seals: bool = False,
        cache_bytes: int | None = None,
        remembers: bool = False,
        spark: SparkChoice | None = None,
    ) -> None:
        self.spark = spark
        self.calls = Calls()
        self.workers = workers
        self.storage = open_storage(config, RegistryHold(config.registry))
        try:
            self._registry = open_registry(config, self.storage)
        except BaseException:
            self.storage.close()
            raise
        with contextlib.suppress(HeadraceError):  # then the next one does it
            self.storage.work.settle(self._registry.address, self._registry.is_location, self.storage.remove)
        self.storage.work.sent_limit = limits.disk
        self.engine = Engine(
            memory_limit=config.memory_limit if limits.memory is None else f"{limits.memory}B",
            threads=config.threads,
            keeps_files=config.memory_limit is not None,
            spill=self.storage.work.spill,
            spill_limit=limits.disk,
            instances=turns,
            seals=seals,
        )
        self.keys = KeyIndex(self.engine)
        self.cache: Cache | None = None
        if cache_bytes is not None:
            try:
                results = Results(self.storage.work.results, cache_bytes)
                self.cache = Cache(results, Asked(self._registry.history) if remembers else None)
            except OSError as error:
                self._registry.close()
                self.storage.close()
                raise Unavailable(f"results cannot be kept in {self.storage.work.results}: {error}") from None
        self._tables: Kept[Table] = Kept(_KEPT_TABLES)
        self._projects: Kept[ProjectStore] = Kept(_KEPT_PROJECTS)
        self._connections = Connections()
        self._lock = threading.Lock()
        # Called as the program ends, too.
        self._ending = weakref.finalize(
            self,
            _close,
            self.calls,
            self.engine,
            workers,
            self._connections,
            self._registry,
            self.storage,
            self.cache,
        )

    def table(self, definition: GroupDefinition) -> Table:
        """That of a group; one object each, so that what it has read of itself is kept."""
        with self._lock:
            key = _key(definition)
            table = self._tables.get(key)
            if table is None:
                table = self._opened(definition)
                self._tables.put(key, table)
            table.started |= definition.started
            return table

    def _opened(self, definition: GroupDefinition) -> Table:
        if definition.external is not None:
            from headrace.formats.external.table import ExternalTable  # what it needs may not be installed

            return ExternalTable(definition.external, definition.ref, self._connections)
        folder = self.storage.folder(definition.location)
        if not folder.files.is_local:
            self.engine.reach(self.storage.places)
        given = None if definition.types_ipc is None else read_schema(definition.types_ipc)
        match definition.format:
            case "hudi":
                return HudiTable(folder)
            case "parquet":
                return FolderTable(folder, ParquetFiles(), given)
            case "csv":
                return FolderTable(folder, CsvFiles(), given)
            case "arrow":
                return FolderTable(folder, ArrowFiles(), given)
        return DeltaLog(folder)

    def forget(self, definition: GroupDefinition) -> None:
        self._tables.drop(_key(definition))

    def project(self, name: str, user: str | None = None) -> ProjectStore:
        """A project, for a user with what they are granted in it now; None may do everything."""
        check_name("project", name)
        rights = OWNER if user is None else Rights.of(user, self.registry.grants_of(name, user))
        found = self._projects.get((name, rights))
        if found is None:
            found = ProjectStore(self, name, rights)
            self._projects.put((name, rights), found)
        return found

    def projects(self, user: str | None) -> list[str]:
        """The names of the projects in which there is something that the user may see."""
        return self.registry.projects(user)

    @property
    def registry(self) -> Registry:
        self.calls.check()
        return self._registry

    def close(self) -> None:
        """Stop the reads under way, wait for them, and let go of everything."""
        self._ending()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _key(definition: GroupDefinition) -> tuple[object, ...]:
    """What tells a group's table from others: that of one place may be read in several ways."""
    return definition.location, definition.format, definition.types_ipc


def _close(
    calls: Calls,
    engine: Engine,
    workers: Workers | None,
    connections: Connections,
    registry: Registry,
    storage: Storage,
    cache: Cache | None,
) -> None:
    """Every part, even if another cannot be closed; in a fork none, for they are the parent's."""
    if calls.is_ours:
        with contextlib.ExitStack() as parts:
            parts.callback(storage.close)
            parts.callback(registry.close)
            parts.callback(connections.close)
            if workers is not None:
                parts.callback(workers.close)
            if calls.close(lambda: _interrupt(engine, workers)):
                engine.close()
                if cache is not None:
                    cache.close()
    else:
        engine.abandon()


def _interrupt(engine: Engine, workers: Workers | None) -> None:
    engine.interrupt()
    if workers is not None:
        workers.interrupt()
