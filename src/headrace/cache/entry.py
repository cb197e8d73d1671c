"""What is known of a result that is kept."""

from __future__ import annotations

import dataclasses
import datetime as dt

from headrace.cache.period import Period
from headrace.model.kept_result import KeptResult
from headrace.planning.canonical import Canonical, Test


@dataclasses.dataclass(frozen=True)
class Entry:
    """A kept result.

    Args:
        id: names its file; no other has had it.
        key: of the plan; no two results have the same.
        family, tests, columns: of the plan that it is of, as in `headrace.planning.canonical.Canonical`; the file has
            the columns in this order, each once.
        project: in which it was asked for.
        groups: references of the feature groups that it was made of, the root first.
        rows, size_bytes, crc32: of the file.
        seconds: that it took to compute.
        ahead: it was computed before anybody asked.
        made: seconds since 1970.
        hits: how often it was given instead of being computed.
        until: when it ceases to be given; None where its tables tell that.
    """

    id: str
    key: str
    family: str
    tests: tuple[str, ...]
    columns: tuple[str, ...]
    project: str
    groups: tuple[str, ...]
    rows: int
    size_bytes: int
    crc32: int
    seconds: float
    ahead: bool
    made: float
    hits: int = 0
    until: Period | None = None

    @property
    def told(self) -> KeptResult:
        """What users are told of it."""
        made = dt.datetime.fromtimestamp(self.made, dt.UTC)
        return KeptResult(
            self.id, self.groups, self.rows, self.size_bytes, self.seconds, self.ahead, made, self.hits
        )

    def answers(self, asked: Canonical) -> bool:
        """Whether its rows are those of a plan, as they are."""
        return self.left_to_test(asked) == ()

    def left_to_test(self, asked: Canonical) -> tuple[Test, ...] | None:
        """What its rows must still be tested for to be those of a plan; None if it cannot give them."""
        if asked.family != self.family or not set(asked.columns) <= set(self.columns):
            return None
        left = asked.left_to_test(self.tests)
        if left is None:
            return None
        held = set(self.columns)
        for test in left:
            if test.columns is None or not set(test.columns.values()) <= held:
                return None
        return left
