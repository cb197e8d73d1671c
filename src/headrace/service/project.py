"""A project of a store: what is asked of it, and who answers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from headrace.backend import Spine
from headrace.cache.results import Results
from headrace.calls import counted
from headrace.errors import (
    CorruptTable,
    HeadraceError,
    InvalidArgument,
    NotFound,
    OutcomeUnknown,
    PermissionDenied,
    Unsupported,
)
from headrace.formats.delta import DeltaLog
from headrace.formats.delta_write import WriteId
from headrace.formats.table import Table
from headrace.model.dataset import DatasetDefinition
from headrace.model.definition import (
    Commit,
    Group,
    GroupDefinition,
    ViewDefinition,
    check_definition,
    read_schema,
    write_schema,
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
from headrace.service.adoption import adopted, check_fits
from headrace.service.cached import CachedReads, CachedRows
from headrace.service.dataset_reading import RecomputedRows, StoredRows
from headrace.service.dataset_writing import DatasetWriting
from headrace.service.datasets import Datasets
from headrace.service.definitions import Definitions
from headrace.service.health import Look
from headrace.service.ingest import declared_schema
from headrace.service.kept_rows import KeptRows
from headrace.service.narrowed import NarrowedTable
from headrace.service.reading import Reader
from headrace.service.running import Running
from headrace.service.spark_running import SparkRunning
from headrace.service.sql_reading import SqlReader, SqlRows
from headrace.service.statistics import StatisticsReader, StatisticsRows
from headrace.service.upkeep import compact, detail, vacuum
from headrace.service.worker.sql import WorkerRows, WorkerSql
from headrace.service.writing import Writer
from headrace.storage.base import new_location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.service.store import Store

_NOT_TOLD = "…"
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
        self._reader = Reader(store.calls, store.engine, store.keys, self._table, self.get_view, store.spark)
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
        check_definition(definition)
        self.definitions.require("writer", f"make feature group {definition.name}")
        stored = None if schema is None else declared_schema(definition, schema)
        location = new_location(self._project, definition.name)
        definition = msgspec.structs.replace(
            definition,
            location=location,
            started=stored is not None,
            adopted=False,
            format="delta",
            external=None,
        )
        try:
            if stored is not None:
                # Before its group, so that nobody finds a group without the schema that it was declared with.
                table = self._store.table(definition)
                assert isinstance(table, DeltaLog)
                table.writer.create(stored, definition.partition_by, definition.change_feed)
            made = self.definitions.create_group(definition)
        except OutcomeUnknown:
            raise
        except HeadraceError:
            self._remove(definition)
            raise
        return self._with_schema(made)

    def register_group(self, definition: GroupDefinition) -> Group:
        check_definition(definition)
        self.definitions.require("admin", "register tables of others")
        if definition.external is None:
            location = self._store.storage.given_location(definition.location)
        else:  # which names it, and is no place
            location = new_location(self._project, definition.name)
        definition = msgspec.structs.replace(definition, location=location)
        definition = adopted(definition, self._store.table(definition))
        made = self.definitions.create_group(definition)
        if definition.external is not None:  # its table names the group, and had no version of it yet
            self._store.forget(definition)
        return self._with_schema(made)

    def get_group(self, name: str, version: int | None) -> Group:
        return self._with_schema(self.definitions.get_group(name, version))

    def list_groups(self, name: str | None, tags: dict[str, str], search: str | None) -> list[Group]:
        found = map(self._listed, self.definitions.list_groups(name, tags))
        return [group for group in found if group is not None and mentions(search, _texts(group))]

    def delete_group(self, name: str, version: int, force: bool) -> None:
        self._remove(self.definitions.delete_group(name, version, force))

    def set_group_tags(self, name: str, version: int, tags: dict[str, str | None]) -> Group:
        return self._with_schema(self.definitions.set_group_tags(name, version, tags))

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
        definition, log = self._written(ref)
        with self._reader.told([definition]):
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
        resolve(Query(Source(ref), (Filter(condition),)), {ref: self._fitting(ref)})

    def restore(self, ref: str, snapshot: int, idempotency_key: str) -> Commit:
        write_id = self._write_id(idempotency_key, restoring(snapshot))
        definition, _ = self._written(ref)
        with self._store.storage.held([definition.location]):  # against a vacuum, for which its files are old
            return self._write(ref, lambda writer: writer.restore(snapshot, write_id))

    def compact(self, ref: str, zorder: tuple[str, ...]) -> Commit:
        definition, log = self._written(ref)
        held, location = self._store.storage.held, definition.location
        with self._reader.told([definition]), held([location]), held([f"{location}/_delta_log"], alone=True):
            return compact(definition, log, zorder, self._user)

    def vacuum(self, ref: str, retention_hours: int, dry_run: bool) -> list[str]:
        self.definitions.require("admin", "vacuum feature groups")
        definition, log = self._written(ref)
        held = [] if dry_run else [definition.location]
        with self._reader.told([definition]), self._store.storage.held(held, alone=True):
            return vacuum(definition, log, retention_hours, dry_run, self._datasets.pinned(definition))

    def detail(self, ref: str) -> TableDetail:
        definition, table = self._table(*parse_reference(ref))
        with self._reader.told([definition]):
            return detail(table)

    def history(self, ref: str, limit: int | None) -> list[Commit]:
        if limit is not None and limit < 0:
            raise InvalidArgument(f"limit={limit} is negative")
        definition, table = self._table(*parse_reference(ref))
        with self._reader.told([definition]):
            return table.history(limit)

    def create_view(self, definition: ViewDefinition) -> ViewDefinition:
        check_name("feature view", definition.name)
        groups = {ref: self._fitting(ref) for ref in groups_of(definition.query)}
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
            listed = map(self._listed, self.definitions.list_groups(grant.group, {}))
            check_granted(grant, [None if group is None else group.schema for group in listed])
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
            return _NOT_TOLD
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

    def _table(self, name: str, version: int | None) -> tuple[GroupDefinition, Table]:
        definition = self.definitions.get_group(name, version)
        return definition, self._seen(definition)

    def _seen(self, definition: GroupDefinition) -> Table:
        """The group's table, with the columns that the caller sees."""
        table, columns = self._store.table(definition), self.definitions.rights.columns_of(definition.name)
        return table if columns is None else NarrowedTable(table, columns | {*definition.declared})

    def _written(self, ref: str) -> tuple[GroupDefinition, DeltaLog]:
        """A group that is written to, and its table. Raises Unsupported, PermissionDenied."""
        definition, table = self._table(*parse_reference(ref))
        self.definitions.require("writer", f"write to feature group {definition.name}", definition.name)
        if not isinstance(table, DeltaLog):
            raise Unsupported(
                f"{definition.ref} is a {table.label}, which is read and not written",
                hint="write to it with what made it, or insert its rows into a feature group of Headrace",
            )
        return definition, table

    def _with_schema(self, definition: GroupDefinition) -> Group:
        table = self._seen(definition)
        with self._reader.told([definition]):
            newest = table.newest()
        self._keep_in_mind(definition, table)
        if newest is None:
            return Group(self._told(definition, table), None)
        if definition.adopted:  # its owners may have set it since
            definition = msgspec.structs.replace(definition, change_feed=newest.keeps_changes)
        return Group(self._told(definition, table), newest.schema)

    def _fitting(self, ref: str) -> Group:
        """The group, to be used. Raises SchemaMismatch if its table no longer does for it."""
        group = self.get_group(*parse_reference(ref))
        if group.schema is not None:
            check_fits(group.definition, group.schema, group.definition.location)
        return group

    def _listed(self, definition: GroupDefinition) -> Group | None:
        """The group, without a schema if its table cannot be read: a broken one hides no others.

        None if it was deleted meanwhile.
        """
        try:
            return self._with_schema(definition)
        except NotFound:
            if definition.external is not None:  # its table, which is for its database to say
                return Group(self._told(definition, None), None)
            return None
        except (CorruptTable, PermissionDenied, Unsupported):
            return Group(self._told(definition, self._store.table(definition)), None)
        except HeadraceError:
            # That of others may be in a storage that cannot be reached from here, or not as it was.
            if not definition.adopted:
                raise
            return Group(self._told(definition, None), None)

    def _told(self, definition: GroupDefinition, table: Table | None) -> GroupDefinition:
        """The definition with where its table lies in full; without the table, as far as it tells by itself.

        Who sees some columns alone is told of no others.
        """
        shown = definition.location if table is None else table.table.shown
        external, types = definition.external, definition.types_ipc
        columns = self.definitions.rights.columns_of(definition.name)
        if external is not None:
            shown = external.shown
        if columns is not None:
            if external is not None and external.query is not None:
                external = msgspec.structs.replace(external, query=_NOT_TOLD)
            if types is not None:
                seen = columns | {*definition.declared}
                types = write_schema(pa.schema([f for f in read_schema(types) if f.name in seen]))
        return msgspec.structs.replace(definition, location=shown, external=external, types_ipc=types)

    def _remove(self, definition: GroupDefinition) -> None:
        self._store.forget(definition)
        if not definition.adopted:
            self._store.storage.remove(definition.location)

    def _write(self, ref: str, act: Callable[[Writer], Commit]) -> Commit:
        definition, log = self._written(ref)
        try:
            commit = act(Writer(definition, log, self._store.engine, self._store.storage.work))
            self._keep_in_mind(definition, log)
            return commit
        finally:
            deleted = self._reader.deleted([definition])
            if deleted is not None:
                self._remove(definition)  # the write may have made the folder anew
                raise deleted

    def _write_id(self, idempotency_key: str, call: str) -> WriteId:
        if not isinstance(idempotency_key, str) or not 0 < len(idempotency_key) <= 512:
            raise InvalidArgument(f"idempotency_key {idempotency_key!r} must be text of 1 to 512 characters")
        return WriteId(idempotency_key, call, self._user)

    def _keep_in_mind(self, definition: GroupDefinition, table: Table) -> None:
        """That the group has a table now; where that fails, whoever meets it next does it."""
        if table.started and not definition.started:
            with contextlib.suppress(HeadraceError):
                self.definitions.start_group(definition)


def _texts(group: Group) -> list[str]:
    told = group.definition
    columns = () if group.schema is None else group.schema.names
    return [*told_texts(told.name, told.description, told.tags), *columns]
