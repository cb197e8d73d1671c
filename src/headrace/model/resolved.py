"""A query with every name in its place: groups as its sides, and where the columns of the result come from."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import pyarrow as pa

from headrace.errors import InvalidArgument, UnknownColumn
from headrace.model.coerce import coerce
from headrace.model.definition import GroupDefinition
from headrace.model.expression import Condition, Ref
from headrace.model.formula import Formula, type_of
from headrace.model.query import How, Source
from headrace.model.types import decoded_type


@dataclasses.dataclass(frozen=True)
class Place:
    """A column of one side of the query; side 0 is the root."""

    side: int
    column: str


@dataclasses.dataclass(frozen=True)
class Computed:
    """A column that is computed from others; `places` is of every column that the formula reads."""

    formula: Formula
    places: tuple[tuple[Ref, Place], ...]
    types: tuple[tuple[Ref, pa.DataType], ...]
    type: pa.DataType


Origin = Place | Computed


def places_of(origin: Origin) -> tuple[Place, ...]:
    """Where the values of a column come from."""
    return (origin,) if isinstance(origin, Place) else tuple(place for _, place in origin.places)


@dataclasses.dataclass(frozen=True)
class Field:
    """One column of the result and where it comes from."""

    name: str
    type: pa.DataType
    place: Origin


@dataclasses.dataclass(frozen=True)
class Bound:
    """A condition, and the place of every column that it reads.

    `condition` is `given` fitted to the types of the columns.
    """

    condition: Condition
    places: Mapping[Ref, Origin]
    given: Condition
    types: Mapping[Ref, pa.DataType]

    @classmethod
    def of(
        cls, given: Condition, places: Mapping[Ref, Origin], type_of: Callable[[Ref], pa.DataType]
    ) -> Bound:
        types = {ref: type_of(ref) for ref in places}
        return cls(coerce(given, types.__getitem__), places, given, types)


@dataclasses.dataclass(frozen=True)
class Side:
    """One group of the query as it is used there.

    `filters` choose the rows that take part. `on` pairs a place on the left with a key column here; the root
    has none. Ages are microseconds as the join gave them; None inherits from the group.
    """

    definition: GroupDefinition
    schema: pa.Schema
    source: Source
    filters: tuple[Bound, ...] = ()
    on: tuple[tuple[Place, str], ...] = ()
    how: How = "left"
    max_age: int | None = None
    min_age: int | None = None
    point_in_time: bool | None = None

    def type_of(self, column: str) -> pa.DataType:
        return self.schema.field(column).type

    @property
    def compares_times(self) -> bool:
        """True if this side can take part in a point-in-time join."""
        return self.definition.event_time is not None and self.point_in_time is not False


@dataclasses.dataclass(frozen=True)
class Resolved:
    """A query with every name in its place. `filters` drop rows of the result."""

    sides: tuple[Side, ...]
    fields: tuple[Field, ...]
    filters: tuple[Bound, ...] = ()
    limit: int | None = None

    @property
    def root(self) -> Side:
        return self.sides[0]

    def field(self, name: str) -> Field:
        for field in self.fields:
            if field.name == name:
                return field
        raise unknown_column("the query", [name], [f.name for f in self.fields])

    def type_of(self, place: Origin) -> pa.DataType:
        if isinstance(place, Computed):
            return place.type
        return self.sides[place.side].type_of(place.column)


def refit(resolved: Resolved, given: pa.Schema) -> Resolved:
    """What is computed and filtered, fitted to the columns of a spine where these stand for the root's.

    Raises:
        InvalidArgument: a column is of another kind than what it is compared or computed with.
    """
    kinds = {
        Place(0, field.name): decoded_type(field.type) for field in given if not pa.types.is_null(field.type)
    }

    def computed(origin: Computed) -> Computed:
        places = dict(origin.places)
        types = {ref: kinds.get(places[ref], kind) for ref, kind in origin.types}
        kind = type_of(origin.formula, types.__getitem__)
        return dataclasses.replace(origin, types=tuple(types.items()), type=kind)

    fields = []
    for field in resolved.fields:
        if isinstance(field.place, Computed):
            try:
                place = computed(field.place)
            except InvalidArgument as error:
                raise InvalidArgument(
                    f"column {field.name!r}, of the spine's columns: {error.message}", hint=error.hint
                ) from None
            field = dataclasses.replace(field, place=place, type=place.type)
        fields.append(field)
    filters = []
    for bound in resolved.filters:
        places = {ref: computed(p) if isinstance(p, Computed) else p for ref, p in bound.places.items()}
        types = {
            ref: p.type if isinstance(p, Computed) else kinds.get(p, bound.types[ref])
            for ref, p in places.items()
        }
        filters.append(Bound.of(bound.given, places, types.__getitem__))
    return dataclasses.replace(resolved, fields=tuple(fields), filters=tuple(filters))


def unknown_column(where: str, missing: list[str], known: list[str]) -> UnknownColumn:
    return UnknownColumn(
        f"{where} has no column {', '.join(map(repr, missing))}",
        hint=f"it has {', '.join(known[:20])}{', …' if len(known) > 20 else ''}",
        details={"columns": missing},
    )
