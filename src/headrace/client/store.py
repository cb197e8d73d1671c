"""The way in for users: one project of a store, embedded or remote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import msgspec
import pyarrow as pa

from headrace.client.feature_group import FeatureGroup
from headrace.client.feature_view import FeatureView
from headrace.client.query import Query, check_names
from headrace.client.warning import warn
from headrace.errors import AlreadyExists, DefinitionMismatch, InvalidArgument, NotFound
from headrace.model.definition import EventTimeUnit, GroupDefinition, ViewDefinition
from headrace.model.duration import Duration, format_duration, parse_max_age, parse_min_age
from headrace.model.name import check_name, check_tags
from headrace.model.text import check_text
from headrace.protocol import Backend


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
        definition = _definition(
            name,
            version=0 if version is None else _version(version),
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
        group = FeatureGroup(self._backend, self._backend.create_group(definition, _schema(schema)))
        if schema is not None:
            group._warn_of_dates()
        _warn_of_versions("feature group", name, version, group.version)
        return group

    def get_feature_group(self, name: str, version: int | None = None) -> FeatureGroup:
        """The newest version if None. Raises NotFound."""
        check_name("feature group", name)
        return FeatureGroup(self._backend, self._backend.get_group(name, _maybe_version(version)))

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
        wanted = _definition(
            name,
            version=_version(version),
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
            group = FeatureGroup(self._backend, self._backend.get_group(name, _maybe_version(version)))
        except NotFound:
            try:
                made = FeatureGroup(self._backend, self._backend.create_group(wanted, _schema(schema)))
            except AlreadyExists:
                group = FeatureGroup(self._backend, self._backend.get_group(name, _maybe_version(version)))
            else:
                if schema is not None:
                    made._warn_of_dates()
                return made
        _check_same(group._group.definition, wanted)
        return group

    def list_feature_groups(
        self, *, name: str | None = None, tags: Mapping[str, str] | None = None
    ) -> list[FeatureGroup]:
        """Every version, by name; `name` is a glob such as "weather*", and all `tags` must match."""
        return [
            FeatureGroup(self._backend, g) for g in self._backend.list_groups(_glob(name), check_tags(tags))
        ]

    def delete_feature_group(self, name: str, version: int, *, force: bool = False) -> None:
        """Delete the group and its rows, for good. Raises NotFound; Conflict if a feature view needs it."""
        check_name("feature group", name)
        self._backend.delete_group(name, _version(version), force)

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
        number = 0 if version is None else _version(version)
        definition = _view_definition(name, query, labels, number, description, tags)
        view = FeatureView(self._backend, self._backend.create_view(definition))
        _warn_of_versions("feature view", name, version, view.version)
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
        wanted = _view_definition(name, query, labels, _version(version), description, tags)
        try:
            found = self._backend.get_view(name, version)
        except NotFound:
            try:
                return FeatureView(self._backend, self._backend.create_view(wanted))
            except AlreadyExists:
                found = self._backend.get_view(name, version)
        differing = [what for what in ("query", "labels") if getattr(found, what) != getattr(wanted, what)]
        if differing:
            raise DefinitionMismatch(
                f"feature view {found.ref} is declared otherwise: {' and '.join(differing)} differ",
                hint="use get_feature_view, or another version",
                details={"differing": differing},
            )
        return FeatureView(self._backend, found)

    def get_feature_view(self, name: str, version: int | None = None) -> FeatureView:
        """The newest version if None. Raises NotFound."""
        check_name("feature view", name)
        return FeatureView(self._backend, self._backend.get_view(name, _maybe_version(version)))

    def list_feature_views(
        self, *, name: str | None = None, tags: Mapping[str, str] | None = None
    ) -> list[FeatureView]:
        """Every version, by name; `name` is a glob, and all `tags` must match."""
        return [
            FeatureView(self._backend, v) for v in self._backend.list_views(_glob(name), check_tags(tags))
        ]

    def delete_feature_view(self, name: str, version: int) -> None:
        """Raises NotFound."""
        check_name("feature view", name)
        self._backend.delete_view(name, _version(version))

    def close(self) -> None:
        """Let go of the store; results not yet run can no longer be."""
        self._backend.close()

    def __repr__(self) -> str:
        return f"FeatureStore({self._target}, project={self._project!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _definition(
    name: str,
    *,
    version: int,
    primary_key: Sequence[str],
    event_time: str | None,
    created_time: str | None,
    partition_by: Sequence[str],
    ttl: Duration | None,
    min_age: Duration | None,
    tie_breaker: str | None,
    event_time_unit: EventTimeUnit | None,
    change_feed: bool,
    description: str,
    tags: Mapping[str, str] | None,
) -> GroupDefinition:
    for what, columns in (("primary_key", primary_key), ("partition_by", partition_by)):
        if isinstance(columns, str):
            raise InvalidArgument(
                f"{what} takes several names, not {columns!r}", hint=f"write {what}=[{columns!r}]"
            )
    for what, column in (
        ("event_time", event_time),
        ("created_time", created_time),
        ("tie_breaker", tie_breaker),
    ):
        if column is not None:
            check_text(what, column)
    return GroupDefinition(
        name=check_name("feature group", name),
        version=version,
        primary_key=check_names(primary_key),
        event_time=event_time,
        created_time=created_time,
        partition_by=check_names(partition_by),
        ttl=parse_max_age("ttl", ttl),
        min_age=parse_min_age(min_age),
        tie_breaker=tie_breaker,
        event_time_unit=event_time_unit,
        change_feed=change_feed,
        description=check_text("description", description),
        tags=check_tags(tags),
    )


def _view_definition(
    name: str,
    query: Query | FeatureGroup,
    labels: Sequence[str],
    version: int,
    description: str,
    tags: Mapping[str, str] | None,
) -> ViewDefinition:
    if isinstance(labels, str):
        raise InvalidArgument(f"labels takes several names, not {labels!r}", hint="put the name into a list")
    if isinstance(query, FeatureGroup):
        query = query.select()
    if not isinstance(query, Query):
        raise InvalidArgument(
            f"a feature view names a query, and a {type(query).__name__} is none",
            hint='such as group.select("column").join(other)',
        )
    return ViewDefinition(
        name=check_name("feature view", name),
        version=version,
        query=query._model,
        labels=check_names(labels),
        description=check_text("description", description),
        tags=check_tags(tags),
    )


def _shown(field: str, value: Any) -> Any:
    return format_duration(value) if field in ("ttl", "min_age") and value is not None else value


def _schema(schema: object) -> pa.Schema | None:
    if not isinstance(schema, pa.Schema | None):
        raise InvalidArgument(
            f"schema is a pyarrow.Schema, not a {type(schema).__name__}",
            hint='such as pa.schema({"id": pa.int64()})',
        )
    return schema


def _glob(name: object) -> str | None:
    return None if name is None else check_text("name", name)


def _warn_of_versions(noun: str, name: str, asked: int | None, made: int) -> None:
    if asked is None and made > 1:
        warn(f"{noun} {name} was there: this is version {made}, which its name alone now means")


def _version(version: object) -> int:
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise InvalidArgument(f"version={version!r} is refused: versions are whole numbers from 1")
    return version


def _maybe_version(version: object) -> int | None:
    """None stands for the newest."""
    return None if version is None else _version(version)


def _check_same(found: GroupDefinition, wanted: GroupDefinition) -> None:
    ignored = {"description", "tags", "location", "started"}
    differing = {
        field: {
            "declared": _shown(field, getattr(found, field)),
            "wanted": _shown(field, getattr(wanted, field)),
        }
        for field in msgspec.structs.asdict(wanted)
        if field not in ignored and getattr(found, field) != getattr(wanted, field)
    }
    if differing:
        told = "; ".join(f"{k} is {v['declared']!r}, not {v['wanted']!r}" for k, v in differing.items())
        raise DefinitionMismatch(
            f"feature group {found.ref} is declared otherwise: {told}",
            hint="use get_feature_group, or another version",
            details={"differing": differing},
        )
