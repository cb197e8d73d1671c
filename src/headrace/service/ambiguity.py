"""What to say where a row has found several of a group at once, between which nothing decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.errors import AmbiguousRows
from headrace.model.definition import GroupDefinition
from headrace.planning.plan import Plan


def ambiguous_rows(plan: Plan, side: int, examples: Sequence[Mapping[str, Any]]) -> AmbiguousRows:
    """The error to raise; `examples` are the keys of some such rows."""
    definition = plan.resolved.sides[side].definition
    lookup = next((x for x in plan.lookups if x.side == side), None)
    shown = "; ".join(", ".join(f"{k}={v!r}" for k, v in row.items()) for row in examples)
    timeless = lookup is not None and lookup.kind == "plain" and definition.event_time is not None
    what = "key and event time" if definition.event_time and not timeless else "key"
    return AmbiguousRows(
        f"{definition.ref} has several different rows for the same {what}"
        + (f", such as {shown}" if shown else ""),
        hint=_way_out(definition, timeless),
        details={"feature_group": definition.ref, "examples": [str(e) for e in examples]},
    )


def _way_out(definition: GroupDefinition, timeless: bool) -> str:
    """What to do where several rows of a group are found for one."""
    if timeless:
        return "the join takes no account of time, so leave point_in_time=False out or filter the group first"
    if definition.format != "delta":
        return "declare created_time or tie_breaker when it is registered, or filter the group first"
    return "declare created_time or tie_breaker, or insert with mode='upsert'"
