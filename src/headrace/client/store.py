"""The way in for users: one project of a store, embedded or remote."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Self, get_args

import msgspec
import pyarrow as pa

from headrace.backend import Backend
from headrace.client.cache import Cache
from headrace.client.declaring import (
    check_glob,
    check_same,
    check_same_view,
    check_schema,
    check_search,
    check_version,
    group_definition,
    maybe_version,
    view_definition,
    warn_of_versions,
)
from headrace.client.feature_group import FeatureGroup
from headrace.client.feature_view import FeatureView
from headrace.client.frame import Frame
from headrace.client.grants import Grants
from headrace.client.historical import historical_features
from headrace.client.options import EngineName
from headrace.client.queries import Queries
from headrace.client.query import Query
from headrace.client.result import Result, prepare
from headrace.client.tokens import Tokens
from headrace.errors import AlreadyExists, InvalidArgument, NotFound
from headrace.model.choice import DriverName, EventTimeUnit, GroupFormat
from headrace.model.definition import write_schema
from headrace.model.duration import Duration, parse_duration
from headrace.model.external import ExternalSource, check_source
from headrace.model.name import check_name, check_tags
from headrace.model.parameters import to_parameters
from headrace.model.request import ReadRequest
from headrace.model.text import check_text
from headrace.protocol import HealthInfo


class FeatureStore:
    """One project. Usable as a context manager, which closes it."""

    def __init__(self, backend: Backend, target: str, project: str) -> None:
        self._backend = backend
        self._target = target
        self._project = project

    @property
    def project(self) -> str:
        """The namespace of its feature groups and views."""
        return self._project

    @property
    def service_version(self) -> str:
        """The version of Headrace that answers: the service's, or embedded this package's."""
        return self._backend.service_version

    @property
    def grants(self) -> Grants:
        """Who may do what in the project."""
        return Grants(self._backend)

    @property
    def tokens(self) -> Tokens:
        """Tokens by which users of the store's services say who they are."""
        return Tokens(self._backend)

    @property
    def queries(self) -> Queries:
        """What the service does now."""
        return Queries(self._backend)

    @property
    def cache(self) -> Cache:
        """The results of joins that the service keeps."""
        return Cache(self._backend)

    def health(self) -> HealthInfo:
        """Whether the store can do its work now: its registry and its storage answer, and a service takes queries.

        What keeps a service from it is told to admins of the project alone.
        """
        return self._backend.health()

    def create_feature_group(
        self,
        name: str,
        *,
        primary_key: Sequence[str],
        event_time: str | None = None,
        created_time: str | None = None,
        partition_by: Sequence[str] = (),
        ttl: Duration | None = None,
        min_age: Duration | None = None,
        tie_breaker: str | None = None,
        event_time_unit: EventTimeUnit | None = None,
        schema: pa.Schema | None = None,
        version: int | None = None,
        change_feed: bool = True,
        description: str = "",
        tags: Mapping[str, str] | None = None,
    ) -> FeatureGroup:
        """Declare a feature group; without a schema, the first insert sets it.

        Args:
            primary_key: columns that name the entity; empty for a group with one history in all.
            event_time: from when on a row is true. With the primary key it identifies a row.
            created_time: when a row was recorded; filled at insert where a frame lacks it.
            partition_by: columns by which the files are laid out.
            ttl: the age beyond which a row is not used in joins; one of exactly this age is.
            min_age: the age below which a row is not yet used in joins; one of exactly this age is.
            tie_breaker: decides between rows alike in key, event time and created time: the largest wins.
            event_time_unit: of an integer event time.
            schema: the columns; without it, the first insert sets them.
            description, tags: for people, and to list by.
            version: None is the next free one, with a warning where that is not the first.
            change_feed: keep what each commit changed.

        Raises:
            AlreadyExists, InvalidName, InvalidArgument, SchemaMismatch.
        """
        definition = group_definition(
            name,
            version=0 if version is None else check_version(version),
            primary_key=primary_key,
            event_time=event_time,
            created_time=created_time,
            partition_by=partition_by,
            ttl=ttl,
            min_age=min_age,
            tie_breaker=tie_breaker,
            event_time_unit=event_time_unit,
            change_feed=change_feed,
            description=description,
            tags=tags,
        )
        group = FeatureGroup(self._backend, self._backend.create_group(definition, check_schema(schema)))
        if schema is not None:
            group._warn_of_dates()
        warn_of_versions("feature group", name, version, group.version)
        return group

    def register_feature_group(
        self,
        name: str,
        location: str | os.PathLike[str],
        *,
        format: GroupFormat,  # noqa: A002
        primary_key: Sequence[str],
        event_time: str | None = None,
        created_time: str | None = None,
        ttl: Duration | None = None,
        min_age: Duration | None = None,
        tie_breaker: str | None = None,
        event_time_unit: EventTimeUnit | None = None,
        schema: pa.Schema | None = None,
        version: int | None = None,
        description: str = "",
        tags: Mapping[str, str] | None = None,
    ) -> FeatureGroup:
        """Make a feature group of a table that others wrote, and may go on writing. It stays where it is.

        Deleting the group leaves the table as it is. For the other arguments see `create_feature_group`.

        Args:
            location: the folder of the table, or of one file: an absolute path on the machine that holds the store, or
                a URI, which alone is taken by a store that is in a storage itself.
            format: of the table: "delta", or, to be read alone, "hudi", or "parquet", "csv" or "arrow" of a folder of
                such files, or of one.
            schema: types of columns that such files do not tell well, as CSV does of numbers with leading zeros; the
                others are found out.

        Raises:
            NotFound: no table is there. Unsupported: it has what is not read, which is named.
            SchemaMismatch: columns that are not there, or have a type that does not do for their part.
            AlreadyExists, InvalidName, InvalidArgument.
        """
        if format not in get_args(GroupFormat):
            raise InvalidArgument(
                f"format={format!r} is refused", hint=f"use {' or '.join(get_args(GroupFormat))}"
            )
        definition = group_definition(
            name,
            version=0 if version is None else check_version(version),
            primary_key=primary_key,
            event_time=event_time,
            created_time=created_time,
            partition_by=(),
            ttl=ttl,
            min_age=min_age,
            tie_breaker=tie_breaker,
            event_time_unit=event_time_unit,
            change_feed=False,
            description=description,
            tags=tags,
        )
        definition = msgspec.structs.replace(
            definition,
            format=format,
            location=check_text(
                "location", os.fspath(location) if isinstance(location, os.PathLike) else location
            ),
            types_ipc=None if schema is None else write_schema(check_schema(schema)),
        )
        group = FeatureGroup(self._backend, self._backend.register_group(definition))
        group._warn_of_dates()
        warn_of_versions("feature group", name, version, group.version)
        return group

    def create_external_feature_group(
        self,
        name: str,
        *,
        driver: DriverName,
        uri: str,
        table: str | None = None,
        query: str | None = None,
        freshness: Duration | None = None,
        primary_key: Sequence[str],
        event_time: str | None = None,
        created_time: str | None = None,
        ttl: Duration | None = None,
        min_age: Duration | None = None,
        tie_breaker: str | None = None,
        event_time_unit: EventTimeUnit | None = None,
        version: int | None = None,
        description: str = "",
        tags: Mapping[str, str] | None = None,
    ) -> FeatureGroup:
        """Make a feature group of a table, or a query, of another database, where it stays.

        Its rows are read through ADBC when they are asked for, as they are then; columns and filters are passed on to
        the database. Deleting the group leaves the table as it is. For the other arguments see `create_feature_group`.

        Args:
            driver: "postgresql", "sqlite", "snowflake" or "bigquery".
            uri: where the database's URI is found by whoever runs a query, embedded or the service: "env:NAME", or
                "file:/path" of a file that holds it. For SQLite the path of the database itself.
            table: such as "public.planes", spelt as the database has it.
            query: in the database's own SQL. Everybody who sees the group sees it.
            freshness: the age up to which a service with a cache may give rows that it read before; without it, none.

        Raises:
            NotFound: there is no such table, variable or file. Unauthenticated, PermissionDenied: the database refuses.
            Unavailable: it does not answer. MissingDependency: its driver is not installed.
            SchemaMismatch, AlreadyExists, InvalidName, InvalidArgument.
        """
        definition = group_definition(
            name,
            version=0 if version is None else check_version(version),
            primary_key=primary_key,
            event_time=event_time,
            created_time=created_time,
            partition_by=(),
            ttl=ttl,
            min_age=min_age,
            tie_breaker=tie_breaker,
            event_time_unit=event_time_unit,
            change_feed=False,
            description=description,
            tags=tags,
        )
        fresh = None if freshness is None else parse_duration("freshness", freshness)
        source = ExternalSource(driver=driver, uri=uri, table=table, query=query, freshness=fresh)
        check_source(source)
        definition = msgspec.structs.replace(definition, format="external", external=source)
        group = FeatureGroup(self._backend, self._backend.register_group(definition))
        group._warn_of_dates()
        warn_of_versions("feature group", name, version, group.version)
        return group

    def get_feature_group(self, name: str, version: int | None = None) -> FeatureGroup:
        """The newest version if None. Raises NotFound."""
        check_name("feature group", name)
        return FeatureGroup(self._backend, self._backend.get_group(name, maybe_version(version)))

    def get_or_create_feature_group(
        self,
        name: str,
        *,
        version: int = 1,
        primary_key: Sequence[str],
        event_time: str | None = None,
        created_time: str | None = None,
        partition_by: Sequence[str] = (),
        ttl: Duration | None = None,
        min_age: Duration | None = None,
        tie_breaker: str | None = None,
        event_time_unit: EventTimeUnit | None = None,
        schema: pa.Schema | None = None,
        change_feed: bool = True,
        description: str = "",
        tags: Mapping[str, str] | None = None,
    ) -> FeatureGroup:
        """The group, made if there is none. Description, tags and schema count only when it is made.

        Raises:
            DefinitionMismatch: it is there, and declared otherwise.
        """
        wanted = group_definition(
            name,
            version=check_version(version),
            primary_key=primary_key,
            event_time=event_time,
            created_time=created_time,
            partition_by=partition_by,
            ttl=ttl,
            min_age=min_age,
            tie_breaker=tie_breaker,
            event_time_unit=event_time_unit,
            change_feed=change_feed,
            description=description,
            tags=tags,
        )
        try:
            group = FeatureGroup(self._backend, self._backend.get_group(name, maybe_version(version)))
        except NotFound:
            try:
                made = FeatureGroup(self._backend, self._backend.create_group(wanted, check_schema(schema)))
            except AlreadyExists:
                group = FeatureGroup(self._backend, self._backend.get_group(name, maybe_version(version)))
            else:
                if schema is not None:
                    made._warn_of_dates()
                return made
        check_same(group._group.definition, wanted)
        return group

    def list_feature_groups(
        self,
        *,
        name: str | None = None,
        tags: Mapping[str, str] | None = None,
        search: str | None = None,
    ) -> list[FeatureGroup]:
        """Every version, by name.

        Args:
            name: a glob, such as "weather*".
            tags: all of them must match.
            search: words; each must stand in the name, the description, a tag or a column, in whatever case.
        """
        found = self._backend.list_groups(check_glob(name), check_tags(tags), check_search(search))
        return [FeatureGroup(self._backend, group) for group in found]

    def delete_feature_group(self, name: str, version: int, *, force: bool = False) -> None:
        """Delete the group and its rows, for good. Of a registered group the table stays.

        Args:
            force: also where feature views or training datasets need it, which then fail.

        Raises:
            NotFound; Conflict: a feature view or a training dataset needs it; PermissionDenied.
        """
        check_name("feature group", name)
        self._backend.delete_group(name, check_version(version), force)

    def create_feature_view(
        self,
        name: str,
        query: Query | FeatureGroup,
        *,
        labels: Sequence[str] = (),
        version: int | None = None,
        description: str = "",
        tags: Mapping[str, str] | None = None,
    ) -> FeatureView:
        """Name a query, and say which of its columns are labels.

        Raises:
            AlreadyExists, InvalidName, UnknownColumn; Leakage: a label that would also be a feature, or a
            feature from a join that ignores time.
        """
        number = 0 if version is None else check_version(version)
        definition = view_definition(name, query, labels, number, description, tags)
        view = FeatureView(self._backend, self._backend.create_view(definition))
        warn_of_versions("feature view", name, version, view.version)
        return view

    def get_or_create_feature_view(
        self,
        name: str,
        query: Query | FeatureGroup,
        *,
        version: int = 1,
        labels: Sequence[str] = (),
        description: str = "",
        tags: Mapping[str, str] | None = None,
    ) -> FeatureView:
        """The view, made if there is none. Description and tags count only when it is made.

        Raises:
            DefinitionMismatch: it is there, with another query or other labels.
        """
        wanted = view_definition(name, query, labels, check_version(version), description, tags)
        try:
            found = self._backend.get_view(name, version)
        except NotFound:
            try:
                return FeatureView(self._backend, self._backend.create_view(wanted))
            except AlreadyExists:
                found = self._backend.get_view(name, version)
        check_same_view(found, wanted)
        return FeatureView(self._backend, found)

    def get_feature_view(self, name: str, version: int | None = None) -> FeatureView:
        """The newest version if None. Raises NotFound."""
        check_name("feature view", name)
        return FeatureView(self._backend, self._backend.get_view(name, maybe_version(version)))

    def list_feature_views(
        self,
        *,
        name: str | None = None,
        tags: Mapping[str, str] | None = None,
        search: str | None = None,
    ) -> list[FeatureView]:
        """Every version, by name.

        Args:
            name: a glob, such as "delay*".
            tags: all of them must match.
            search: words; each must stand in the name, the description or a tag, in whatever case.
        """
        found = self._backend.list_views(check_glob(name), check_tags(tags), check_search(search))
        return [FeatureView(self._backend, view) for view in found]

    def delete_feature_view(self, name: str, version: int, *, force: bool = False) -> None:
        """Delete the view, with `force` its training datasets, too. Raises NotFound; Conflict if it has any."""
        check_name("feature view", name)
        self._backend.delete_view(name, check_version(version), force)

    def get_historical_features(
        self,
        entity_df: Frame | str,
        features: Sequence[str],
        full_feature_names: bool = False,
        *,
        filter_by_created_timestamp: bool = False,
        event_time: str | None = None,
        engine: EngineName | None = None,
    ) -> Result:
        """Features for each row of `entity_df`, as known at its time; names and meaning are Feast's.

        Args:
            entity_df: the rows, with the primary keys of the groups; each gives one row, in the same order. Or a query
                in DuckDB's SQL that gives them, over the project's groups: `flights`, or `"flights@v1"`.
            features: such as `["weather:temp", "plane_legs@v2:arr_delay"]`.
            full_feature_names: name the columns `weather__temp`, not `temp`.
            filter_by_created_timestamp: use only what had been recorded (`created_time`) by each row's time.
            event_time: the time of the rows; None is `event_timestamp`, else the only timestamp.
            engine: "duckdb", "spark", or "auto", which is what None means: see `headrace.connect`.

        Raises:
            NotFound, UnknownColumn, NameClash, KeyMismatch, InvalidArgument; SqlRejected: a query that does more than
            read groups.
        """
        return historical_features(
            self._backend,
            entity_df,
            features,
            full_feature_names,
            filter_by_created_timestamp,
            event_time,
            engine,
        )

    def sql(self, query: str, params: Sequence[object] | Mapping[str, object] | None = None) -> Result:
        """The rows of a query in DuckDB's SQL over feature groups and views: `flights`, or `shop."orders@v1"`.

        `AT (VERSION => 12)` after a group is an older snapshot, `AT (TIMESTAMP => '2026-11-02')` also one of a view,
        whose rows are those of its training data. It may read these and compute; files, settings, the clock and the
        network it does not reach.

        Args:
            params: values for the `?` of the query, in their order, or for its `$name`, by name.

        Raises:
            SqlRejected: what has no place in a query. NotFound: a table is no feature group or view.
            InvalidArgument: parameters that the query has not, or that are no values.
        """
        request = ReadRequest(kind="query", sql=check_text("query", query), parameters=to_parameters(params))
        return prepare(self._backend, request, None)

    def close(self) -> None:
        """Let go of the store; results not yet run can no longer be."""
        self._backend.close()

    def __repr__(self) -> str:
        return f"FeatureStore({self._target}, project={self._project!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
