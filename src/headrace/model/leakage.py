"""Whether the features of a view tell what its labels do."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.errors import InvalidArgument, Leakage
from headrace.model.resolved import Field, Place, Resolved, places_of


def check_labels(resolved: Resolved, labels: tuple[str, ...], min_age: int | None = None) -> None:
    """Check the labels of a feature view; `min_age` is the call's, which beats the joins'.

    Raises:
        UnknownColumn: a label that is no column of the query.
        Leakage: a label that is a feature too, or a feature from a join that ignores time.
    """
    label_places = {place: name for name in labels for place in places_of(resolved.field(name).place)}
    facts = {
        (resolved.sides[p.side].definition.name, p.column): (p, name) for p, name in label_places.items()
    }
    for field in resolved.fields:
        if field.name in labels:
            continue
        for place in places_of(field.place):
            _check_feature(resolved, field, place, label_places, facts, min_age)
    if len(set(labels)) == len(resolved.fields):
        raise InvalidArgument("a feature view needs at least one column that is no label")


def _check_feature(
    resolved: Resolved,
    field: Field,
    place: Place,
    labels: Mapping[Place, str],
    facts: Mapping[tuple[str, str], tuple[Place, str]],
    min_age: int | None,
) -> None:
    """Raises Leakage for a feature that tells, from this place, what a label does."""
    if place in labels:
        raise Leakage(
            f"feature {field.name!r} and label {labels[place]!r} come from the same column {place.column!r}",
            hint="leave the feature out, or make it a label, too",
            details={"label": labels[place], "column": field.name},
        )
    if place.side == 0:
        return
    side = resolved.sides[place.side]
    if side.definition.event_time is not None and side.point_in_time is False:
        raise Leakage(
            f"{field.name!r} comes from {side.definition.ref}, joined with point_in_time=False, and is no label",
            hint="such a join sees the future: only labels may come from it",
            details={"column": field.name},
        )
    fact = facts.get((side.definition.name, place.column))
    ages = (age for age in (min_age, side.min_age, side.definition.min_age) if age is not None)
    if fact and not next(ages, 0):
        raise Leakage(
            f"label {fact[1]!r} is also selected as feature {field.name!r}",
            hint="give that join a min_age above zero",
            details={"label": fact[1], "column": field.name},
        )
