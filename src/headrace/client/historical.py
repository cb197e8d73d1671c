"""Features for rows of entities, by Feast's names: a point-in-time join without a feature view.

Source: https://docs.feast.dev/getting-started/concepts/feature-retrieval.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from headrace.backend import Backend, Spine
from headrace.client.frame import Frame, to_spine
from headrace.client.options import EngineName, point_in_time
from headrace.client.result import Result, prepare
from headrace.errors import InvalidArgument, NameClash
from headrace.model.definition import Group, read_schema, write_schema
from headrace.model.name import parse_reference
from headrace.model.query import ENTITIES, Join, Query, Select, Source
from headrace.model.request import ReadRequest
from headrace.model.text import check_text

ENTITY_TIME = "event_timestamp"
_HINT = 'such as ["weather:temp", "plane_legs@v2:arr_delay"]'


def historical_features(
    backend: Backend,
    entity_df: Frame | str,
    features: Sequence[str],
    full_feature_names: bool,
    filter_by_created_timestamp: bool,
    event_time: str | None,
    engine: EngineName | None,
) -> Result:
    """See `FeatureStore.get_historical_features`."""
    wanted = _by_group(features)
    given, schema = _entities(backend, entity_df, engine)
    options = point_in_time(
        start=None,
        end=None,
        event_time=_entity_time(schema) if event_time is None else event_time,
        as_of=None,
        known_at="event_time" if filter_by_created_timestamp else None,
        max_age=None,
        min_age=None,
        engine=engine,
    )
    groups: dict[str, tuple[Group, list[str]]] = {}
    for name, columns in wanted.items():
        group = backend.get_group(*parse_reference(name))
        groups.setdefault(group.definition.ref, (group, []))[1].extend(columns)
    request = ReadRequest(
        kind="training",
        query=_query(schema, groups.values(), full_feature_names),
        point_in_time=options,
        spine_schema=write_schema(schema),
    )
    return prepare(backend, request, given)


def _entities(backend: Backend, given: Frame | str, engine: EngineName | None) -> tuple[Spine, pa.Schema]:
    if isinstance(given, str):
        given = prepare(
            backend, ReadRequest(kind="query", sql=check_text("entity_df", given)), None
        ).to_arrow()
    spine, schema = to_spine(given, engine)
    assert spine is not None
    assert schema is not None
    return spine, read_schema(schema)


def _by_group(features: Sequence[str]) -> dict[str, list[str]]:
    if isinstance(features, str) or not features:
        raise InvalidArgument(f"features={features!r} names no features", hint=_HINT)
    wanted: dict[str, list[str]] = {}
    for feature in features:
        group, colon, column = check_text("feature", feature).partition(":")
        if not (group and colon and column):
            raise InvalidArgument(f"feature {feature!r} names no group and column", hint=_HINT)
        wanted.setdefault(group, []).append(column)
    return wanted


def _entity_time(schema: pa.Schema) -> str:
    times: list[str] = [field.name for field in schema if pa.types.is_timestamp(field.type)]
    if ENTITY_TIME in schema.names:
        return ENTITY_TIME
    if len(times) == 1:
        return times[0]
    raise InvalidArgument(
        f"entity_df has no column {ENTITY_TIME!r}, and {len(times) or 'no'} other times",
        hint="name it with event_time="
        if times
        else f"add {ENTITY_TIME}, of when each row asks: the time of now will do where no group has times",
    )


def _query(spine: pa.Schema, groups: Iterable[tuple[Group, list[str]]], full_names: bool) -> Query:
    steps = []
    named = {name.casefold(): f"column {name!r} of entity_df" for name in spine.names}
    for group, columns in groups:
        name, ref = group.definition.name, group.definition.ref
        prefix = f"{name}__" if full_names else ""
        for column in columns:
            feature = f"{ref}:{column}"
            other = named.setdefault((prefix + column).casefold(), feature)
            if other != feature:
                raise NameClash(
                    f"{other} and {feature} are both named {prefix + column!r}",
                    hint="full_feature_names=True puts the group's name before each feature",
                    details={"columns": [prefix + column]},
                )
        steps.append(Join(Query(Source(ref), (Select(tuple(columns)),)), prefix=prefix))
    return Query(Source(ENTITIES), tuple(steps))
