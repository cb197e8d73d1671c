"""A project of a store: what is asked of it, and who answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from headrace.backend import Spine
from headrace.cache.results import Results
from headrace.calls import counted
from headrace.errors import (
    HeadraceError,
    InvalidArgument,
    NotFound,
    Unsupported,
)
from headrace.formats.delta_write import WriteId
from headrace.model.dataset import DatasetDefinition
from headrace.model.definition import (
    Commit,
    Group,
    GroupDefinition,
    ViewDefinition,
)
from headrace.model.detail import TableDetail
from headrace.model.expression import Condition
from headrace.model.kept_result import CacheStatistics, KeptResult
from headrace.model.leakage import check_labels
from headrace.model.name import check_name, parse_reference
from headrace.model.query import Filter, Query, Source, groups_of
from headrace.model.request import Prepared, ReadRequest
from headrace.model.resolve import resolve
from headrace.model.right import OWNER, Grant, Rights, check_grant, check_granted, is_enough
from headrace.model.search import mentions, told_texts
from headrace.model.token import NewToken, Token
from headrace.model.write_key import adding, deleting, inserting, restoring
from headrace.protocol import HealthInfo, InsertMode, QueryInfo
from headrace.service.cached import CachedReads, CachedRows
from headrace.service.dataset_reading import RecomputedRows, StoredRows
from headrace.service.dataset_writing import DatasetWriting
from headrace.service.datasets import Datasets
from headrace.service.definitions import Definitions
from headrace.service.groups import NOT_TOLD, Groups
from headrace.service.health import Look
from headrace.service.kept_rows import KeptRows
from headrace.service.reading import Reader
from headrace.service.running import Running
from headrace.service.spark_running import SparkRunning
from headrace.service.sql_reading import SqlReader
from headrace.service.sql_rows import SqlRows
from headrace.service.statistics import StatisticsReader, StatisticsRows
from headrace.service.upkeep import compact, detail, vacuum
from headrace.service.worker.sql import WorkerRows, WorkerSql
from headrace.service.writing import Writer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.service.store import Store

Rows = (
    Running
    | SparkRunning
    | KeptRows
    | CachedRows
    | StoredRows
    | RecomputedRows
    | StatisticsRows
    | SqlRows
    | WorkerRows
)
"""What a read gives when it is run."""


@counted
class ProjectStore:
    """One project of a store, for one caller; a `headrace.backend.Backend`."""

    def __init__(self, store: Store, project: str, rights: Rights = OWNER) -> None:
        self._store = store
        self._project = project
        self._user = rights.user or None
        self.definitions = Definitions(store.registry, project, rights)
        self.calls = store.calls
        self._groups = Groups(store, project, self.definitions)
        self._reader = Reader(store.calls, store.engine, store.keys, self._groups, self.get_view, store.spark)
        self.sql = (
            SqlReader(self._reader_of)
            if store.workers is None
            else WorkerSql(store.workers, store.calls, project, self._user, self._reader.is_newest)
        )
        self.cached = (
            None if store.cache is None else CachedReads(store.cache, self._reader_of, self.sql, project)
        )
        self._statistics = StatisticsReader(self._reader, store.storage.work.statistics)
        self._datasets = Datasets(
            project, self.definitions, store.registry.address, store.storage, self._reader
        )

    def create_group(self, definition: GroupDefinition, schema: pa.Schema | None) -> Group:
        return self._groups.create(definition, schema)

    def register_group(self, definition: GroupDefinition) -> Group:
        return self._groups.register(definition)

    def get_group(self, name: str, version: int | None) -> Group:
        return self._groups.get(name, version)

    def list_groups(self, name: str | None, tags: dict[str, str], search: str | None) -> list[Group]:
        return self._groups.matching(name, tags, search)

    def delete_group(self, name: str, version: int, force: bool) -> None:
        self._groups.delete(name, version, force)

    def set_group_tags(self, name: str, version: int, tags: dict[str, str | None]) -> Group:
        return self._groups.set_tags(name, version, tags)

    def insert(
        self,
        ref: str,
        rows: pa.RecordBatchReader,
        mode: InsertMode,
        condition: Condition | None,
        idempotency_key: str,
    ) -> Commit:
        write_id = self._write_id(idempotency_key, inserting(mode, condition is not None))
        if condition is not None:
            if mode != "overwrite":
                raise InvalidArgument(f"a filter limits what is overwritten, and mode is {mode!r}")
            self._check_condition(ref, condition)
        return self._write(ref, lambda writer: writer.insert(rows, mode, condition, write_id))

    def outcome(self, ref: str, idempotency_key: str, call: str) -> Commit | None:
        definition, log = self._groups.written(ref)
        with self._groups.used([definition]):
            return log.committed(self._write_id(idempotency_key, call))

    def delete_rows(
        self, ref: str, keys: pa.Table | None, condition: Condition | None, idempotency_key: str
    ) -> Commit:
        write_id = self._write_id(idempotency_key, deleting(condition is None))
        if condition is not None:
            self._check_condition(ref, condition)
        return self._write(ref, lambda writer: writer.delete(keys, condition, write_id))

    def add_features(self, ref: str, wanted: pa.Schema, idempotency_key: str) -> Commit:
        write_id = self._write_id(idempotency_key, adding(wanted))
        return self._write(ref, lambda writer: writer.add_features(wanted, write_id))

    def _check_condition(self, ref: str, condition: Condition) -> None:
        """As a query on the group, so that a filter changes what it would show, and is refused where it shows none."""
        resolve(Query(Source(ref), (Filter(condition),)), {ref: self._groups.fitting(ref)})

    def restore(self, ref: str, snapshot: int, idempotency_key: str) -> Commit:
        write_id = self._write_id(idempotency_key, restoring(snapshot))
        definition, _ = self._groups.written(ref)
        with self._store.storage.held([definition.location]):  # against a vacuum, for which its files are old
            return self._write(ref, lambda writer: writer.restore(snapshot, write_id))

    def compact(self, ref: str, zorder: tuple[str, ...]) -> Commit:
        definition, log = self._groups.written(ref)
        held, location = self._store.storage.held, definition.location
        with self._groups.used([definition]), held([location]), held([f"{location}/_delta_log"], alone=True):
            return compact(definition, log, zorder, self._user)

    def vacuum(self, ref: str, retention_hours: int, dry_run: bool) -> list[str]:
        self.definitions.require("admin", "vacuum feature groups")
        definition, log = self._groups.written(ref)
        held = [] if dry_run else [definition.location]
        with self._groups.used([definition]), self._store.storage.held(held, alone=True):
            return vacuum(definition, log, retention_hours, dry_run, self._datasets.pinned(definition))

    def detail(self, ref: str) -> TableDetail:
        definition, table = self._groups.table(*parse_reference(ref))
        with self._groups.used([definition]):
            return detail(table)

    def history(self, ref: str, limit: int | None) -> list[Commit]:
        if limit is not None and limit < 0:
            raise InvalidArgument(f"limit={limit} is negative")
        definition, table = self._groups.table(*parse_reference(ref))
        with self._groups.used([definition]):
            return table.history(limit)

    def create_view(self, definition: ViewDefinition) -> ViewDefinition:
        check_name("feature view", definition.name)
        groups = {ref: self._groups.fitting(ref) for ref in groups_of(definition.query)}
        check_labels(resolve(definition.query, groups), definition.labels)
        return self.definitions.create_view(definition)

    def get_view(self, name: str, version: int | None) -> ViewDefinition:
        return self.definitions.get_view(name, version)

    def list_views(self, name: str | None, tags: dict[str, str], search: str | None) -> list[ViewDefinition]:
        found = self.definitions.list_views(name, tags)
        return [v for v in found if mentions(search, told_texts(v.name, v.description, v.tags))]

    def delete_view(self, name: str, version: int, force: bool) -> None:
        for dataset in self.definitions.delete_view(name, version, force):
            self._store.storage.remove(dataset.location)

    def start_dataset(self, asked: DatasetDefinition) -> DatasetWriting:
        view = self.get_view(*parse_reference(asked.name))
        self.definitions.require("writer", f"make training datasets of {view.ref}")
        return self._datasets.start(asked, view)

    def make_dataset(self, writing: DatasetWriting, spine: pa.Table | None) -> DatasetDefinition:
        return self._datasets.make(writing, spine)

    def create_dataset(self, asked: DatasetDefinition, spine: pa.Table | None) -> DatasetDefinition:
        try:
            if spine is not None:
                spine.validate(full=True)  # what is stored is read for ever
        except pa.ArrowException as error:
            raise InvalidArgument(f"the spine cannot be read: {error}") from None
        return self.make_dataset(self.start_dataset(asked), spine)

    def get_dataset(self, view: str, version: int | None) -> DatasetDefinition:
        return self._datasets.get(view, version)

    def list_datasets(self, view: str) -> list[DatasetDefinition]:
        return self._datasets.of_view(view)

    def delete_dataset(self, view: str, version: int) -> None:
        self._datasets.delete(view, version)

    def prepare(self, request: ReadRequest, gone: Callable[[], bool] = lambda: False) -> Prepared:
        cached = self._cached(request)
        if cached is not None:
            return cached.prepared(request, cached.prepare(request, gone))
        reads = self._reads(request)
        # What SQL means may take long to understand.
        return self.sql.prepare(request, gone) if reads is self.sql else reads.prepare(request)

    def parts(self, prepared: Prepared) -> int:
        cached = self._cached(prepared.request)
        return (self._reads(prepared.request) if cached is None else cached).parts(prepared)

    def is_small(self, prepared: Prepared) -> bool:
        """Whether it is a look-up of a few rows, which need not wait for what takes long."""
        reads = self._reads(prepared.request)
        return isinstance(reads, Reader) and reads.is_small(prepared)

    def run(self, prepared: Prepared, spine: Spine | None, part: int = 0, parts: int = 1) -> Rows:
        cached = self._cached(prepared.request)
        if cached is not None and spine is None:
            return cached.run(prepared, part, parts)
        return self._reads(prepared.request).run(prepared, spine, part, parts)

    def check_spine(self, prepared: Prepared, spine: pa.Schema) -> None:
        """Raises what `run` would raise with rows of these columns, before any are taken in."""
        reads = self._reads(prepared.request)
        if not isinstance(reads, Reader):
            raise InvalidArgument("the read takes no rows of the caller's")
        reads.check_spine(prepared.request, spine)

    def sql_parameters(self, sql: str) -> list[str]:
        """The names of the parameters of a query: numbers from 1 on, or what stands after each `$`."""
        return self.sql.parameters(sql)

    def stream(self, prepared: Prepared, spine: Spine | None) -> pa.RecordBatchReader:
        return self.run(prepared, spine).reader()

    def read(self, prepared: Prepared, spine: Spine | None) -> pa.Table:
        return self.run(prepared, spine).table()

    def frame(self, prepared: Prepared, spine: Spine | None) -> DataFrame:
        reads = self._reads(prepared.request)
        if not isinstance(reads, Reader):
            raise Unsupported(
                "only reads of feature groups and views are planned onto Spark",
                hint="give Spark to_arrow() of the result",
            )
        return reads.frame(prepared.request, spine)

    def explain(self, request: ReadRequest) -> str:
        told = self._reads(request).explain(request)
        cached = self._cached(request)
        return told if cached is None else f"{told}\n{cached.told(cached.prepare(request))}"

    def list_grants(self) -> list[Grant]:
        return self.definitions.list_grants()

    def add_grant(self, grant: Grant) -> Grant:
        check_grant(grant)
        if self.is_admin and grant.group is not None and grant.columns:
            check_granted(grant, [group.schema for group in self._groups.matching(grant.group, {})])
        return self.definitions.add_grant(grant)

    def remove_grant(self, user: str, group: str | None) -> None:
        self.definitions.remove_grant(user, group)

    def create_token(self, user: str | None, lifetime_us: int, description: str) -> NewToken:
        return self.definitions.create_token(user, lifetime_us, description)

    def list_tokens(self) -> list[Token]:
        return self.definitions.list_tokens()

    def revoke_token(self, token_id: str) -> None:
        self.definitions.revoke_token(token_id)

    @property
    def is_admin(self) -> bool:
        """Whether the caller may see and stop what others have it do."""
        return is_enough(self.definitions.rights.role, "admin")

    def list_queries(self) -> list[QueryInfo]:
        return []

    def cancel_query(self, query_id: str) -> None:
        raise NotFound(f"there is no query {query_id!r}: only a service keeps a list of them")

    def list_results(self) -> list[KeptResult]:
        return [self._shown(entry.told) for entry in self._results("see").entries(self._project)]

    def cache_statistics(self) -> CacheStatistics:
        return self._results("see").statistics()

    def clear_results(self) -> int:
        results = self._results("let go of")
        return results.remove(results.entries(self._project))

    def _shown(self, kept: KeptResult) -> KeptResult:
        """Without the names of groups of other projects that the caller does not see."""
        return msgspec.structs.replace(kept, groups=tuple(map(self._shown_group, kept.groups)))

    def _shown_group(self, ref: str) -> str:
        project, dot, name = ref.rpartition(".")
        try:
            if dot and self._user is not None:
                self._reader_of(project).reference(name)
        except HeadraceError:
            return NOT_TOLD
        return ref

    def _results(self, what: str) -> Results:
        self.definitions.require("admin", f"{what} what is kept of reads")
        if self._store.cache is None:
            raise Unsupported(
                "no results of joins are kept here", hint="a service keeps them: headrace serve --cache 20GB"
            )
        return self._store.cache.results

    def health(self) -> HealthInfo:
        problems = Look(self._store).problems()
        return HealthInfo(not problems, tuple(problems))

    def close(self) -> None:
        """The store is closed by who opened it."""

    def _reads(self, request: ReadRequest) -> Reader | Datasets | StatisticsReader | SqlReader | WorkerSql:
        if request.stored is not None:
            return self._datasets
        if request.sql is not None:
            return self.sql
        return self._statistics if request.statistics else self._reader

    def _cached(self, request: ReadRequest) -> CachedReads | None:
        """What gives the results that are kept, for reads of which some are."""
        is_one = self._reads(request) in (self._reader, self.sql)
        return self.cached if is_one else None

    def _reader_of(self, project: str | None) -> Reader:
        """The reads of any project, for the same caller."""
        if project is None or project == self._project:
            return self._reader
        return self._store.project(project, self._user)._reader

    def _write(self, ref: str, act: Callable[[Writer], Commit]) -> Commit:
        definition, log = self._groups.written(ref)
        try:
            commit = act(Writer(definition, log, self._store.engine, self._store.storage.work))
            self._groups.keep_in_mind(definition, log)
            return commit
        finally:
            deleted = self._groups.deleted([definition])
            if deleted is not None:
                self._groups.remove(definition)  # the write may have made the folder anew
                raise deleted

    def _write_id(self, idempotency_key: str, call: str) -> WriteId:
        if not isinstance(idempotency_key, str) or not 0 < len(idempotency_key) <= 512:
            raise InvalidArgument(f"idempotency_key {idempotency_key!r} must be text of 1 to 512 characters")
        return WriteId(idempotency_key, call, self._user)
