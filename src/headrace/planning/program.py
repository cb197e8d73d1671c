"""What a plan becomes: statements of an engine, whose rows are those of the result."""

from __future__ import annotations

import dataclasses

from headrace.model.resolved import Computed, Place, places_of
from headrace.planning.parts import shares_of
from headrace.planning.plan import Plan

SPINE = "__headrace_spine"
SPINE_ROW = "__headrace_row"
SPINE_TIME = "__headrace_time"


@dataclasses.dataclass(frozen=True)
class Program:
    """`stages` are run in order, then `query` is streamed.

    Its columns are: the spine's row number if there is a spine; one for each of `outputs` (positions in the
    plan's outputs); one boolean for each of `ambiguous` (sides), true where the row found is one of several; the
    number of its part, where the plan has several.
    """

    stages: tuple[str, ...]
    query: str
    outputs: tuple[int, ...]
    ambiguous: tuple[int, ...]


def spine_columns(plan: Plan) -> list[str]:
    """The spine's columns that the engine must see: keys, and what filters and computed columns read."""
    places = [left for lookup in plan.lookups for left, _ in lookup.on]
    origins = [origin for bound in plan.filters for origin in bound.places.values()]
    origins += [output.place for output in plan.outputs if isinstance(output.place, Computed)]
    places += [place for origin in origins for place in places_of(origin)]
    if plan.parts or plan.ordered:
        strata = [share.stratify for share in shares_of(plan.parts) if share.stratify is not None]
        places += [Place(0, name) for name in (*plan.resolved.root.definition.primary_key, *strata)]
    return list(dict.fromkeys(p.column for p in places if plan.from_spine(p)))
