"""Columns of a feature group that change: new ones, and old ones in a wider type."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from headrace.errors import SchemaMismatch
from headrace.model.definition import GroupDefinition
from headrace.model.name import check_columns
from headrace.model.types import check_fields, extension, is_wider, stored_type
from headrace.service.ingest import Problem, refuse

_NO_WIDER = (
    "integers widen to more bits, to floats and decimals that hold them all; floats to double; decimals to more "
    "digits on both sides. Anything else is a new version of the group"
)


def evolved(definition: GroupDefinition, stored: pa.Schema, wanted: pa.Schema) -> pa.Schema:
    """The stored columns with those wanted: in the wider type where they are there already, at the end where not.

    Raises:
        SchemaMismatch: a type that cannot be stored, or that does not hold every value there is.
        InvalidName, NameClash.
    """
    check_columns(definition.ref, [*stored.names, *(n for n in wanted.names if n not in stored.names)])
    check_columns(definition.ref, wanted.names)
    check_fields(definition.ref, wanted)
    problems = list(_problems(definition, stored, wanted))
    if problems:
        raise refuse(definition.ref, problems)
    kinds = {field.name: stored_type(field.type) for field in wanted}
    kept = [field.with_type(kinds.pop(field.name, field.type)) for field in stored]
    return pa.schema([*kept, *(pa.field(name, kind) for name, kind in kinds.items())])


def widened(stored: pa.Schema, wanted: pa.Schema) -> bool:
    """Whether a stored column has another type in `wanted`, which has all of them."""
    return any(wanted.field(field.name).type != field.type for field in stored)


def _problems(definition: GroupDefinition, stored: pa.Schema, wanted: pa.Schema) -> Iterator[Problem]:
    for field in wanted:
        kind = None if extension(field) is not None else stored_type(field.type)
        if kind is None:
            yield Problem(
                SchemaMismatch, field.name, f"column {field.name!r} is {field.type}, which cannot be stored"
            )
            continue
        if field.name not in stored.names:
            continue
        there = stored.field(field.name).type
        if kind == there:
            continue
        if field.name in definition.partition_by:
            yield Problem(
                SchemaMismatch,
                field.name,
                f"column {field.name!r} stays {there}: the group is partitioned by it",
            )
        elif not is_wider(kind, there) or (
            field.name in definition.identity and not pa.types.is_integer(kind)
        ):
            yield Problem(
                SchemaMismatch,
                field.name,
                f"column {field.name!r} is {there}, which {kind} does not hold safely",
                hint=_NO_WIDER,
            )
