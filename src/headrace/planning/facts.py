"""What is known of the data when the statements of a plan are written, and what to ask for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import pyarrow as pa

from headrace.model.expression_sql import Dialect, identifier
from headrace.planning.plan import Lookup, Plan


@dataclasses.dataclass(frozen=True)
class Facts:
    """What is known of the data.

    `relations` is SQL for the rows of each side's table; `unique` the sides with one row per identity.
    Times are compared in microseconds (`scale` 1) or nanoseconds (1000); those of the spine are `spine_scale` times
    as coarse.
    `dialect` is that of the engine. In Spark, times may need more than 64 bits (`wide`).
    """

    relations: Mapping[int, str]
    unique: frozenset[int] = frozenset()
    scale: int = 1
    spine_scale: int = 1
    dialect: Dialect = "duckdb"
    wide: bool = False

    @property
    def number(self) -> str:
        """Spark's type of the integers that times are compared as."""
        return "DECIMAL(38, 0)" if self.wide else "BIGINT"


def needs_nanos(plan: Plan) -> bool:
    """True if a table's times have digits below a microsecond."""
    return any(plan.resolved.sides[i].definition.event_time_unit == "ns" for i in plan.scans)


def needs_width(plan: Plan) -> bool:
    """True if a table's times are integers of its own, of which nobody knows how large they are."""
    for side in map(plan.resolved.sides.__getitem__, plan.scans):
        d = side.definition
        if any(pa.types.is_integer(side.type_of(time)) for time in (d.event_time, d.created_time) if time):
            return True
    return False


def unique_columns(plan: Plan, lookup: Lookup) -> tuple[str, ...]:
    """The columns that must identify a row for the lookup to need no reduction."""
    definition = plan.resolved.sides[lookup.side].definition
    return definition.identity if lookup.kind == "point in time" else definition.primary_key


def duplicates_query(relation: str, columns: tuple[str, ...]) -> str:
    """One row if any two rows of `relation` are equal in `columns`, else none."""
    names = ", ".join(map(identifier, columns))
    group = f"GROUP BY {names}" if columns else ""
    return f"SELECT 1 FROM {relation} {group} HAVING count(*) > 1 LIMIT 1"
