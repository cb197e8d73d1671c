"""A feature group as the list of its rows after each write."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable
from typing import Any, Literal

from reference.condition import Row

UNLIMITED = "unlimited"
Age = dt.timedelta | Literal["unlimited"] | None


@dataclasses.dataclass
class Table:
    """`states[0]` is the empty table; each write adds one more."""

    name: str
    columns: list[str]
    key: list[str]
    event_time: str | None = None
    created_time: str | None = None
    partition_by: list[str] = dataclasses.field(default_factory=list)
    tie_breaker: str | None = None
    ttl: Age = None
    min_age: dt.timedelta | None = None
    states: list[list[Row]] = dataclasses.field(default_factory=lambda: [[]], repr=False)

    @property
    def rows(self) -> list[Row]:
        return self.states[-1]

    @property
    def features(self) -> list[str]:
        """What a join adds if nothing is selected."""
        technical = {*self.key, self.event_time, self.created_time, *self.partition_by}
        return [column for column in self.columns if column not in technical]

    def identity(self, row: Row) -> tuple[Any, ...]:
        columns = [*self.key, self.event_time] if self.event_time else self.key
        return tuple(row[column] for column in columns)

    def write(self, mode: str, rows: list[Row]) -> None:
        match mode:
            case "append":
                kept = self.rows
            case "upsert":
                replaced = [self.identity(row) for row in rows]
                kept = [row for row in self.rows if self.identity(row) not in replaced]
            case "overwrite":
                kept = []
            case _:
                raise ValueError(mode)
        self.states.append([*kept, *rows])

    def delete(self, doomed: Callable[[Row], bool]) -> int:
        """Drop the rows for which `doomed` is true; gives how many there were."""
        kept = [row for row in self.rows if not doomed(row)]
        dropped = len(self.rows) - len(kept)
        self.states.append(kept)
        return dropped
