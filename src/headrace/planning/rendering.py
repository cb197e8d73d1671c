"""What the statements of all engines have in common: which rows stay, in which order, and what draws them."""

from __future__ import annotations

from abc import abstractmethod

import pyarrow as pa

from headrace.model.duration import to_micros
from headrace.model.expression_sql import condition_sql, isnan_sql, text
from headrace.model.formula_spark_sql import spark_formula_sql
from headrace.model.formula_sql import formula_sql
from headrace.model.request import Share, Span
from headrace.model.resolved import Computed, Origin, Place, places_of
from headrace.model.types import stored_type
from headrace.planning.facts import Facts
from headrace.planning.parts import shares_of
from headrace.planning.plan import Lookup, Plan
from headrace.planning.side_sql import is_reduced


class Rendering:
    """A plan on its way to statements.

    Args:
        row, time: SQL for the number of a spine's row, and for the time of a row.
    """

    def __init__(self, plan: Plan, facts: Facts, row: str, time: str) -> None:
        self.plan = plan
        self.facts = facts
        self.lookups = {lookup.side: lookup for lookup in plan.lookups}
        self.ambiguous = tuple(i for i in self.lookups if is_reduced(self.lookups[i], facts))
        self._row = row
        self._time = time

    @abstractmethod
    def place(self, place: Place) -> str:
        """SQL for a column of a side."""

    @abstractmethod
    def matched(self, lookup: Lookup) -> str:
        """SQL for whether it has found a row that is not too old."""

    @abstractmethod
    def ambiguity(self, side: int) -> str:
        """SQL for whether the row found is one of several."""

    @abstractmethod
    def varchar(self, value: str) -> str:
        """SQL for a value as the engine writes it."""

    @abstractmethod
    def decimal_text(self, value: str, kind: pa.Decimal128Type) -> str:
        """SQL for a decimal as text: with all decimals, and no digit before them where there is room for none."""

    @abstractmethod
    def bits(self, value: str) -> str:
        """SQL for the bits of a double as a text of a whole number."""

    def value(self, origin: Origin) -> str:
        """SQL for a place, or for what is computed."""
        if isinstance(origin, Place):
            return self.place(origin)
        places, types = dict(origin.places), dict(origin.types)
        render = spark_formula_sql if self.facts.dialect == "spark" else formula_sql
        return render(origin.formula, lambda ref: self.place(places[ref]), types.__getitem__)

    def order(self, columns: list[str]) -> list[str]:
        """What the rows are in the order of; where it identifies a row, the other columns would change nothing."""
        order = ([self._time] if self.plan.timed else []) + [self.value(place) for place in self.keys()]
        if self.plan.spine is not None:
            return [*order, self._row]
        return order if 0 in self.facts.unique else [*order, *columns]

    def keys(self) -> list[Place]:
        """The primary key of the root, as far as the rows have it."""
        keys = [Place(0, key) for key in self.plan.resolved.root.definition.primary_key]
        return keys if self.plan.spine is None else [place for place in keys if self.plan.from_spine(place)]

    def part_columns(self) -> list[str]:
        """What tells to which part a row belongs."""
        for share in shares_of(self.plan.parts):
            return [f"{self._draw(share)} AS draw", f"{self._stratum(share)} AS stratum"]
        return [f"{self._time} AS time"] if self.plan.parts and self.plan.timed else []

    def span(self, span: Span) -> tuple[int | None, int | None]:
        start, end = (
            None if time is None else to_micros(time) * self.facts.scale for time in (span.start, span.end)
        )
        return start, end

    def _draw(self, share: Share) -> str:
        """A text that puts the rows in random order: of what identifies a row, each part with its length before it."""
        keys = self.keys()
        texts = [self._text(self.value(place), self.plan.resolved.type_of(place)) for place in keys]
        texts += [self.varchar(self._time)] if self.plan.timed else []
        if self.plan.spine is not None and not keys:
            texts.append(self.varchar(self._row))
        lengths = [self.varchar(f"length({t})") for t in texts]
        parts = [f"coalesce({n} || ':' || {t}, '-')" for n, t in zip(lengths, texts, strict=True)]
        return f"md5(concat({', '.join([text(f'{share.seed}/'), *parts])}))"

    def _stratum(self, share: Share) -> str:
        if share.stratify is None:
            return "true"
        output = next(o for o in self.plan.outputs if o.name == share.stratify)
        value = self.value(Place(0, output.name) if output.place is None else output.place)
        return self._text(value, output.type)

    def _text(self, value: str, kind: pa.DataType) -> str:
        """A text of the value, the same of every engine, and of values that are equal."""
        if pa.types.is_timestamp(kind):
            return self.varchar(self.micros(value))
        if pa.types.is_floating(kind):
            nan = isnan_sql(value, self.facts.dialect)
            bits = self.bits(f"coalesce(CAST({value} AS DOUBLE), 0)")
            return f"CASE WHEN {nan} THEN 'nan' WHEN {value} = 0 THEN '0' WHEN {value} IS NOT NULL THEN {bits} END"
        if pa.types.is_decimal(kind) and kind.scale > 0:
            return self.decimal_text(value, kind)
        return f"hex({value})" if stored_type(kind) == pa.binary() else self.varchar(value)

    @abstractmethod
    def micros(self, value: str) -> str:
        """SQL for the microseconds of a time since 1970."""

    def where(self) -> list[str]:
        """What drops rows of the result.

        A row that found several rows at once stays, to be refused: whether it would be dropped may hang on
        which of them the engine picked.
        """
        sure: list[str] = []
        found = [self.matched(x) for x in self.plan.lookups if x.how == "inner"]
        for bound in self.plan.filters:
            places = bound.places
            test = condition_sql(
                bound.condition,
                lambda ref, places=places: self.value(places[ref]),  # type: ignore[misc]
                self.facts.dialect,
            )
            looked_up = any(
                p.side in self.lookups and not self.plan.from_spine(p)
                for origin in places.values()
                for p in places_of(origin)
            )
            (found if looked_up else sure).append(test)
        if found and self.ambiguous:
            flags = " OR ".join(self.ambiguity(i) for i in self.ambiguous)
            found = [f"((({' AND '.join(found)}) IS TRUE) OR {flags})"]
        return sure + found

    def bounds(self, time: str) -> str:
        tests = []
        if self.plan.start is not None:
            tests.append(f"{time} >= {to_micros(self.plan.start) * self.facts.scale}")
        if self.plan.end is not None:
            tests.append(f"{time} < {to_micros(self.plan.end) * self.facts.scale}")
        return f" WHERE {' AND '.join(tests)}" if tests else ""


def needs_computing(plan: Plan) -> bool:
    """Whether a statement of it computes by formulas of users."""
    origins = [o.place for o in plan.outputs] + [o for f in plan.filters for o in f.places.values()]
    return any(isinstance(origin, Computed) for origin in origins)
