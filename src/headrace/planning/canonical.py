"""What a join computes, whatever its columns are called and in whatever order its parts were written.

Two plans with one canonical form give the same rows from the same snapshots. Columns are told by where they come from:
a column of the root, or one that a lookup finds, with all that decides what it finds. So a result also answers plans
that keep fewer of its rows and show fewer of its columns: a lookup that is no inner join drops and repeats no row, and
counts as nothing but the columns that it brings.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from headrace.model.expression import And, Compare, Condition, Ref, Value, columns_of
from headrace.model.expression_sql import condition_sql, identifier
from headrace.model.formula import Formula
from headrace.model.request import Share
from headrace.model.resolved import Bound, Computed, Origin, Place
from headrace.planning.plan import Lookup, Plan

Form = Any
"""What msgspec encodes: equal forms mean the same."""

_LOWER, _UPPER = (">", ">="), ("<", "<=")
_EXACT = 2**24
"""Up to here every column of numbers has each whole number; a larger literal is rounded to the column's type."""
_LONGEST_FORM = 500


@dataclasses.dataclass(frozen=True)
class Test:
    """What keeps a row of a result.

    Args:
        form: equal ones keep the same rows.
        columns: those that it reads, by name in `condition`; None where a result cannot be asked for it.
    """

    form: str
    condition: Condition | None = None
    columns: Mapping[Ref, str] | None = None


@dataclasses.dataclass(frozen=True)
class Canonical:
    """The canonical form of a plan.

    Args:
        family: of all plans that give rows of the same ones.
        tests: which of these it keeps.
        columns: for each output, where its values come from.
        limit: how many rows it gives of those, any of them.
    """

    family: str
    tests: tuple[Test, ...]
    columns: tuple[str, ...]
    limit: int | None

    @property
    def key(self) -> str:
        """Equal for plans that give the same rows, in columns that may be in another order, or under other names."""
        return hash_of([self.family, sorted({t.form for t in self.tests}), sorted(set(self.columns))])

    def left_to_test(self, held: Iterable[str]) -> tuple[Test, ...] | None:
        """What is still to be asked of rows that these tests have kept; None where they may lack rows that it keeps."""
        own = {test.form: test for test in self.tests}
        done = set(held)
        bounds = [bound for form in own if (bound := _bound(form)) is not None]
        for form in done - own.keys():
            other = _bound(form)
            if other is None or not any(bound.implies(other) for bound in bounds):
                return None
        return tuple(test for form, test in own.items() if form not in done)


def canonical(plan: Plan, table: Callable[[int], str]) -> Canonical:
    """The form of a plan that brings no rows of its own, is not of the time of its call, and reads no changes.

    Args:
        table: tells the table of a side and the content that it has in the snapshot that is read.
    """
    return _Forms(plan, table).canonical()


def rows_of(tests: Iterable[Test], columns: Mapping[str, str]) -> str:
    """SQL for what rows must be for all tests to keep them; `columns` are their names by where they come from."""
    told = []
    for test in tests:
        assert test.condition is not None
        assert test.columns is not None
        names = {ref: identifier(columns[form]) for ref, form in test.columns.items()}
        told.append(condition_sql(test.condition, names.__getitem__))
    return " AND ".join(told) or "true"


def hash_of(form: Form) -> str:
    """Short, and equal for equal forms alone."""
    return hashlib.sha256(_told(form).encode()).hexdigest()[:32]


class _Forms:
    def __init__(self, plan: Plan, table: Callable[[int], str]) -> None:
        self._plan = plan
        self._table = table
        self._lookups = {lookup.side: lookup for lookup in plan.lookups}
        self._sides: dict[int, str] = {}

    def canonical(self) -> Canonical:
        plan = self._plan
        inner = sorted(self._side(lookup.side) for lookup in plan.lookups if lookup.how == "inner")
        family: Form = [self._side(0), inner]
        tests = tuple(self._tests())
        columns = tuple(self._origin(o.place) for o in plan.outputs if o.place is not None)
        if plan.parts or plan.ordered:
            # Which rows are of a part, and their order, hang on all of these.
            family += [self._parts(), plan.ordered, sorted(t.form for t in tests), columns]
        return Canonical(hash_of(family), tests, columns, plan.limit)

    def _side(self, side: int) -> str:
        found = self._sides.get(side)
        if found is None:
            found = self._sides[side] = hash_of(
                self._root() if side == 0 else self._lookup(self._lookups[side])
            )
        return found

    def _root(self) -> Form:
        return ["root", self._declared(0)]

    def _lookup(self, lookup: Lookup) -> Form:
        filters = self._plan.resolved.sides[lookup.side].filters
        on = sorted([self._origin(left), key] for left, key in lookup.on)
        cut = lookup.cut if lookup.cut is None or isinstance(lookup.cut, str) else lookup.cut.isoformat()
        where = sorted({test.form for bound in filters for test in self._bound(bound, lookup.side)})
        ages = [lookup.max_age, lookup.min_age, cut]
        return ["lookup", self._declared(lookup.side), lookup.kind, on, lookup.how, ages, where]

    def _declared(self, side: int) -> Form:
        """The table, and what a group says of it that decides what is found there."""
        definition = self._plan.resolved.sides[side].definition
        told = [definition.primary_key, definition.event_time, definition.event_time_unit]
        return [self._table(side), *told, definition.created_time, definition.tie_breaker]

    def _origin(self, origin: Origin) -> str:
        if isinstance(origin, Computed):
            places = dict(origin.places)
            return hash_of(["computed", self._formula(origin.formula, places), str(origin.type)])
        own = self._plan.resolved.sides[origin.side].type_of(origin.column)
        return hash_of(["column", self._side(origin.side), origin.column, str(own)])

    def _formula(self, formula: Formula, places: Mapping[Ref, Place]) -> Form:
        return self._renamed(msgspec.to_builtins(formula), places)

    def _renamed(self, node: Form, places: Mapping[Ref, Origin]) -> Form:
        """The data of an expression, with where its columns come from in the place of their names."""
        if isinstance(node, dict):
            if node.get("node") == "column":
                return self._origin(places[msgspec.convert(node, Ref)])
            return {key: self._renamed(value, places) for key, value in node.items()}
        return [self._renamed(part, places) for part in node] if isinstance(node, list | tuple) else node

    def _tests(self) -> Iterable[Test]:
        plan = self._plan
        for bound in (*plan.resolved.root.filters, *plan.filters):
            yield from self._bound(bound, None)
        time = plan.resolved.root.definition.event_time
        for op, bounding in ((">=", plan.start), ("<", plan.end)):
            if bounding is None or time is None:
                continue
            place = Place(0, time)
            if pa.types.is_timestamp(plan.resolved.type_of(place)):
                condition = Compare(op, Ref(time), Value("timestamp", bounding.isoformat()))  # type: ignore[arg-type]
                yield self._test(condition, {Ref(time): place})
            else:
                yield Test(_told(["bound", op, bounding.isoformat()]))

    def _bound(self, bound: Bound, side: int | None) -> Iterable[Test]:
        """A test for each of what must all be true."""
        operands = bound.condition.operands if isinstance(bound.condition, And) else (bound.condition,)
        for operand in operands:
            if side is None:
                yield self._test(operand, bound.places)
            else:  # its columns are of the side, whose form is being made
                yield Test(_told(_sorted(msgspec.to_builtins(operand))))

    def _test(self, condition: Condition, places: Mapping[Ref, Origin]) -> Test:
        form = _told(_sorted(self._renamed(msgspec.to_builtins(condition), places)))
        form = form if len(form) <= _LONGEST_FORM else hash_of(form)
        return Test(form, condition, {ref: self._origin(places[ref]) for ref in columns_of(condition)})

    def _parts(self) -> Form:
        parts = msgspec.to_builtins(self._plan.parts)
        for share, told in zip(self._plan.parts, parts, strict=True):
            if isinstance(share, Share) and share.stratify is not None:
                place = next(o.place for o in self._plan.outputs if o.name == share.stratify)
                assert place is not None
                told["stratify"] = self._origin(place)
        return parts


def _sorted(node: Form) -> Form:
    """Conditions of which all, or any, must be true, and values of which one must be it, in one order."""
    if isinstance(node, dict):
        found = {key: _sorted(value) for key, value in node.items()}
        for key in ("operands", "values"):
            if key in found and node.get("node") in ("and", "or", "in"):
                found[key] = sorted(found[key], key=_told)
        return found
    return [_sorted(part) for part in node] if isinstance(node, list | tuple) else node


class _Bound(NamedTuple):
    """A test that keeps values of one column on one side of another value."""

    column: str
    op: str
    type: str
    value: Any

    def implies(self, other: _Bound) -> bool:
        """Whether rows that this one keeps are all kept by the other."""
        if (self.column, self.type) != (other.column, other.type):
            return False
        if self.type == "int" and max(abs(self.value), abs(other.value)) > _EXACT:
            return False
        for ops, is_closer in ((_LOWER, self.value > other.value), (_UPPER, self.value < other.value)):
            if self.op in ops and other.op in ops:
                strict_enough = self.op == other.op or other.op in (">=", "<=")
                return bool(is_closer or (self.value == other.value and strict_enough))
        return False


def _bound(form: str) -> _Bound | None:
    """The bound that a test is, if it is one."""
    if '"compare"' not in form:
        return None
    test = msgspec.json.decode(form)
    if not isinstance(test, dict) or test.get("node") != "compare" or test["op"] not in (*_LOWER, *_UPPER):
        return None
    right = test["right"]
    if not isinstance(right, dict) or right.get("type") not in _ORDERED:
        return None
    return _Bound(test["left"], test["op"], right["type"], _ORDERED[right["type"]](right["text"]))


def _instant(text: str) -> dt.datetime:
    time = dt.datetime.fromisoformat(text)
    return time if time.tzinfo is not None else time.replace(tzinfo=dt.UTC)


# Values of a type in their order. Of dates, years have four digits.
_ORDERED: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "date": str, "timestamp": _instant}


def _told(form: Form) -> str:
    return msgspec.json.encode(form, order="sorted").decode()
