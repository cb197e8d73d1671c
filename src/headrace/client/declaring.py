"""What users declare, checked and in the form that is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from headrace.client.feature_group import FeatureGroup
from headrace.client.query import Query, check_names
from headrace.client.warning import warn
from headrace.errors import DefinitionMismatch, InvalidArgument
from headrace.model.choice import EventTimeUnit
from headrace.model.definition import GroupDefinition, ViewDefinition
from headrace.model.duration import Duration, format_duration, parse_max_age, parse_min_age
from headrace.model.name import check_name, check_tags
from headrace.model.text import check_text


def group_definition(
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
        if isinstance(columns, str) or not isinstance(columns, Sequence):
            raise InvalidArgument(
                f"{what} takes several names, not {columns!r}",
                hint=f"write {what}=[{columns!r}]" if isinstance(columns, str) else "give a list of names",
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


def view_definition(
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


def check_schema(schema: object) -> pa.Schema | None:
    if not isinstance(schema, pa.Schema | None):
        raise InvalidArgument(
            f"schema is a pyarrow.Schema, not a {type(schema).__name__}",
            hint='such as pa.schema({"id": pa.int64()})',
        )
    return schema


def check_glob(name: object) -> str | None:
    return None if name is None else check_text("name", name)


def check_search(words: object) -> str | None:
    return None if words is None else check_text("search", words, hint='such as "wind speed"')


def warn_of_versions(noun: str, name: str, asked: int | None, made: int) -> None:
    if asked is None and made > 1:
        warn(f"{noun} {name} was there: this is version {made}, which its name alone now means")


def check_version(version: object) -> int:
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise InvalidArgument(f"version={version!r} is refused: versions are whole numbers from 1")
    return version


def maybe_version(version: object) -> int | None:
    """None stands for the newest."""
    return None if version is None else check_version(version)


def check_same(found: GroupDefinition, wanted: GroupDefinition) -> None:
    ignored = {"description", "tags", "location", "started", "adopted"}
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


def check_same_view(found: ViewDefinition, wanted: ViewDefinition) -> None:
    differing = [what for what in ("query", "labels") if getattr(found, what) != getattr(wanted, what)]
    if not differing:
        return
    told = []
    if "labels" in differing:
        told.append(f"its labels are {list(found.labels)}, not {list(wanted.labels)}")
    if "query" in differing:
        told.append("its query is another")
    raise DefinitionMismatch(
        f"feature view {found.ref} is declared otherwise: {', and '.join(told)}",
        hint=f"get_feature_view gives the one that is there; version={found.version + 1} makes another",
        details={"differing": differing},
    )
