"""Gives every name in a query its place, and refuses what cannot be answered.

Runs on the client as a query is built and again where it is run, on the same code, so both say the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import pyarrow as pa

from headrace.errors import (
    InvalidArgument,
    KeyMismatch,
    Leakage,
    NameClash,
    SchemaMismatch,
    UnknownColumn,
)
from headrace.model.age import check_ages
from headrace.model.definition import Group, GroupDefinition
from headrace.model.expression import Condition, Ref, columns_of
from headrace.model.feed import FEED_FIELDS
from headrace.model.formula import Formula, Read, reads, replaced, type_of
from headrace.model.name import check_columns
from headrace.model.query import ENTITIES, Compute, Filter, Join, Limit, Query, Select
from headrace.model.resolved import Bound, Computed, Field, Origin, Place, Resolved, Side, unknown_column
from headrace.model.types import key_family


def resolve(query: Query, groups: Mapping[str, Group]) -> Resolved:
    """Resolve `query`; `groups` holds every group that it names, by reference.

    Raises:
        UnknownColumn, NameClash, KeyMismatch, Leakage, InvalidArgument, SchemaMismatch.
    """
    root, selected = _side(query, groups)
    fields = [Field(name, root.type_of(name), Place(0, name)) for name in selected or root.schema.names]
    state = Resolved((root,), tuple(fields))
    # Whether names are those of the result, and not of the group alone.
    of_result = False
    for step in query.steps:
        match step:
            case Join():
                state = _join(state, step, groups)
                of_result = True
            case Filter(condition=condition) if of_result:
                state = _filter(state, condition)
            case Select(columns=columns) if of_result:
                state = dataclasses.replace(state, fields=_select(state, columns))
            case Compute(name=name, formula=formula):
                state = dataclasses.replace(state, fields=_computed(state, name, formula))
                of_result = True
            case Limit(rows=rows):
                least = rows if state.limit is None else min(rows, state.limit)
                state = dataclasses.replace(state, limit=least)
    last = [isinstance(step, Limit) for step in query.steps]
    if any(last) and not all(last[last.index(True) :]):
        raise InvalidArgument(
            "limit must be the last step of a query", hint="select, filter and join before limit"
        )
    return state


def schema_of(group: Group) -> pa.Schema:
    """Raises SchemaMismatch for a group that has no schema yet."""
    if group.schema is None:
        raise SchemaMismatch(
            f"feature group {group.definition.ref} has no columns yet",
            hint="the first insert sets them; in Python, schema= declares them when it is created",
        )
    return group.schema


def features_of(definition: GroupDefinition, schema: pa.Schema) -> list[str]:
    """The columns that are neither key, time nor partition."""
    technical = {*definition.identity, definition.created_time, *definition.partition_by}
    return [name for name in schema.names if name not in technical]


def _side(query: Query, groups: Mapping[str, Group]) -> tuple[Side, list[str] | None]:
    """The group itself with the filters written before any join, and the columns selected there."""
    group = groups.get(query.source.group)
    if group is None:
        raise InvalidArgument("a query without a feature group needs rows to be sent with it")
    schema = schema_of(group)
    if query.source.since is not None:
        schema = pa.schema([*schema, *FEED_FIELDS])
    side = Side(group.definition, schema, query.source)
    selected: list[str] | None = None
    filters: list[Bound] = []
    for step in query.steps:
        if isinstance(step, Join | Compute):
            break
        if isinstance(step, Select):
            selected = None if step.columns is None else list(step.columns)
            _check_selected(f"feature group {group.definition.ref}", selected or [], schema.names)
        if isinstance(step, Filter):
            filters.append(_bind(step.condition, lambda ref: _place_in(side, 0, ref), side.type_of))
    return dataclasses.replace(side, filters=tuple(filters)), selected


def _place_in(side: Side, index: int, ref: Ref) -> Place:
    if ref.name not in side.schema.names or ref.group not in (None, side.definition.ref):
        wanted = f"{ref.group}.{ref.name}" if ref.group else ref.name
        raise unknown_column(f"feature group {side.definition.ref}", [wanted], side.schema.names)
    return Place(index, ref.name)


def _bind(
    condition: Condition, place: Callable[[Ref], Place], type_of: Callable[[str], pa.DataType]
) -> Bound:
    places = {ref: place(ref) for ref in columns_of(condition)}
    return Bound.of(condition, places, lambda ref: type_of(places[ref].column))


def _filter(state: Resolved, condition: Condition) -> Resolved:
    """Before any join, what reads stored columns alone chooses among the root's rows, as it does in front."""
    places = {ref: _place_in_result(state, ref) for ref in columns_of(condition)}
    bound = Bound.of(condition, places, lambda ref: state.type_of(places[ref]))
    if len(state.sides) == 1 and all(isinstance(place, Place) for place in places.values()):
        root = dataclasses.replace(state.root, filters=(*state.root.filters, bound))
        return dataclasses.replace(state, sides=(root,))
    return dataclasses.replace(state, filters=(*state.filters, bound))


def _computed(state: Resolved, name: str, formula: Formula) -> tuple[Field, ...]:
    """The columns with one that is computed at the end."""
    check_columns("the query", [name])
    if name.casefold() in [field.name.casefold() for field in state.fields]:
        raise NameClash(
            f"the query already has {name!r}", hint="name it otherwise", details={"columns": [name]}
        )
    origins = {ref: _place_in_result(state, ref) for ref in reads(formula)}
    inner = {ref: origin for ref, origin in origins.items() if isinstance(origin, Computed)}
    # By side and column, so that what was computed before can be put in, whatever its columns were called.
    formulas: dict[Ref, Formula] = {ref: origin.formula for ref, origin in inner.items()}
    places: dict[Ref, Place] = {}
    for ref, origin in origins.items():
        if isinstance(origin, Place):
            formulas[ref] = Read(_named(origin))
            places[_named(origin)] = origin
        else:
            places |= dict(origin.places)
    whole = replaced(formula, formulas)
    reads(whole)  # which is refused where it has grown too large
    types = {ref: state.type_of(place) for ref, place in places.items()}
    try:
        kind = type_of(whole, types.__getitem__)
    except InvalidArgument as error:
        raise InvalidArgument(f"column {name!r}: {error.message}", hint=error.hint) from None
    origin = Computed(whole, tuple(places.items()), tuple(types.items()), kind)
    return (*state.fields, Field(name, kind, origin))


def _named(place: Place) -> Ref:
    return Ref(place.column, str(place.side))


def _place_in_result(state: Resolved, ref: Ref) -> Origin:
    where = "entity_df" if state.root.source.group == ENTITIES else "the query"
    if ref.group is None:
        for field in state.fields:
            if field.name == ref.name:
                return field.place
        if ref.name in state.root.schema.names:
            return Place(0, ref.name)
        raise unknown_column(where, [ref.name], [f.name for f in state.fields])
    sides = [i for i, side in enumerate(state.sides) if side.definition.ref == ref.group]
    if len(sides) > 1:
        raise InvalidArgument(
            f"{ref.group} is in the query {len(sides)} times, so {ref.name!r} of it is ambiguous",
            hint='name the column of the result: query["prefix_column"]',
        )
    if not sides:
        raise unknown_column(where, [f"{ref.group}.{ref.name}"], [f.name for f in state.fields])
    return _place_in(state.sides[sides[0]], sides[0], ref)


def _select(state: Resolved, columns: tuple[str, ...] | None) -> tuple[Field, ...]:
    known = {f.name: f for f in state.fields}
    for name in state.root.schema.names:
        known.setdefault(name, Field(name, state.root.type_of(name), Place(0, name)))
    chosen = list(known) if columns is None else list(columns)
    _check_selected("the query", chosen, list(known))
    return tuple(known[name] for name in chosen)


def _check_selected(where: str, columns: list[str], known: list[str]) -> None:
    missing = [name for name in columns if name not in known]
    if missing:
        raise unknown_column(where, missing, known)
    folded = [name.casefold() for name in columns]
    twice = sorted({name for name in columns if folded.count(name.casefold()) > 1})
    if twice:
        raise NameClash(
            f"{where}: selected twice, also by case alone: {', '.join(map(repr, twice))}",
            hint="name the columns that are wanted; a join's prefix keeps its own apart",
            details={"columns": twice},
        )


def _join(state: Resolved, join: Join, groups: Mapping[str, Group]) -> Resolved:
    if any(isinstance(step, Join | Limit | Compute) for step in join.right.steps):
        raise InvalidArgument(
            f"{join.right.source.group} cannot be joined with a join, limit or computed column of its own inside",
            hint="join each group to the root, one after the other, and compute after that",
        )
    if join.right.source.group == ENTITIES or join.right.source.since is not None:
        raise InvalidArgument("rows that are sent, and the changes of a table, can be a query's root alone")
    side, selected = _side(join.right, groups)
    definition, ref = side.definition, side.definition.ref
    if join.how not in ("left", "inner"):
        raise InvalidArgument(f"join with {ref}: how={join.how!r} is refused", hint='use "left" or "inner"')
    check_ages(f"join with {ref}", "max_age", join.max_age, join.min_age)
    if join.point_in_time and definition.event_time is None:
        raise InvalidArgument(f"join with {ref}: it has no event time, so it cannot be joined point in time")
    index = len(state.sides)
    side = dataclasses.replace(
        side,
        filters=tuple(
            dataclasses.replace(
                f,
                places={r: Place(index, p.column) for r, p in f.places.items() if isinstance(p, Place)},
            )
            for f in side.filters
        ),
        on=_keys(state, join, side),
        how=join.how,
        max_age=join.max_age,
        min_age=join.min_age,
        point_in_time=join.point_in_time,
    )
    itself = side.compares_times and definition.name == state.root.definition.name
    if itself and join.min_age is None and definition.min_age is None:
        raise Leakage(
            f"{ref} is joined to itself: each row would find itself, label included",
            hint='give min_age, such as "1us" for strictly earlier rows ("0s" allows the row itself)',
        )
    chosen = features_of(definition, side.schema) if selected is None else selected
    added = [Field(join.prefix + name, side.type_of(name), Place(index, name)) for name in chosen]
    taken = {f.name.casefold() for f in state.fields}
    clash = []
    for field in added:
        if field.name.casefold() in taken:
            clash.append(field.name)
        taken.add(field.name.casefold())
    if clash:
        raise NameClash(
            f"join with {ref}: the query already has {', '.join(map(repr, clash))}",
            hint="give the join a prefix",
            details={"columns": clash},
        )
    return dataclasses.replace(state, sides=(*state.sides, side), fields=(*state.fields, *added))


def _keys(state: Resolved, join: Join, side: Side) -> tuple[tuple[Place, str], ...]:
    ref, key = side.definition.ref, side.definition.primary_key
    pairs = join.on if join.on is not None else tuple((name, name) for name in key)
    right = [name for _, name in pairs]
    if sorted(right) != sorted(key):
        raise KeyMismatch(
            f"join with {ref}: on names {right}, its primary key is {list(key)}",
            hint="name each column of its primary key once: on=[…] or on={left: right}",
            details={"on": right, "primary_key": list(key)},
        )
    keys = []
    for left, name in pairs:
        try:
            place = _place_in_result(state, Ref(left))
        except UnknownColumn as error:
            sent = state.root.source.group == ENTITIES
            way_out = "rename the column" if sent else f'name the column that holds it: on={{"…": {name!r}}}'
            raise UnknownColumn(
                f"join with {ref}, whose primary key is {list(key)}: {error.message}",
                hint=f"{way_out}; {error.hint}",
                details=error.details,
            ) from None
        if isinstance(place, Computed):
            raise KeyMismatch(
                f"join with {ref}: {left!r} is computed",
                hint="store the column, or join before it is computed",
            )
        if name in side.schema.names:  # others may have dropped it, which is said where the query is run
            check_key_types(f"join with {ref}", left, state.type_of(place), name, side.type_of(name))
        keys.append((place, name))
    return tuple(keys)


def check_key_types(
    where: str, left: str, left_type: pa.DataType, right: str, right_type: pa.DataType
) -> None:
    """Raises KeyMismatch unless both are of one family; a column of nulls alone matches nothing."""
    if pa.types.is_null(left_type):
        return
    family = key_family(left_type)
    if family is None or family != key_family(right_type):
        raise KeyMismatch(
            f"{where}: {left!r} is {left_type} and {right!r} is {right_type}",
            hint="cast one of them; a pandas integer column with gaps is float until .astype('Int64')",
            details={"left": [left, str(left_type)], "right": [right, str(right_type)]},
        )
