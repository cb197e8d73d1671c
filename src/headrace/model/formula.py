"""What a computed column is made of, as data: written as SQL, but never run as it was written.

A small language with one meaning on every engine. Numbers are computed as 64-bit integers or as doubles; NaN, and what
has no answer, such as a division by zero, is null.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import msgspec
import pyarrow as pa

from headrace.errors import InvalidArgument
from headrace.model.expression import Ref, Value
from headrace.model.struct import know
from headrace.model.types import TIMESTAMP, is_string

Operation = Literal[
    "+",
    "-",
    "*",
    "/",
    "%",
    "=",
    "<>",
    "<",
    "<=",
    ">",
    ">=",
    "and",
    "or",
    "not",
    "negative",
    "is null",
    "in",
    "like",
]
Function = Literal[
    "abs", "round", "floor", "ceil", "sqrt", "ln", "log10", "exp", "power", "sign",
    "least", "greatest", "coalesce", "nullif",
    "lower", "upper", "trim", "length", "substr", "replace", "concat", "starts_with", "contains",
    "year", "month", "day", "hour", "minute", "second", "isodow", "dayofyear", "date_trunc", "epoch",
]  # fmt: skip
Target = Literal["bigint", "double", "text", "boolean", "date", "timestamp"]

_MOST_NODES = 1_000
_MOST_LEVELS = 100


class Operate(msgspec.Struct, frozen=True, tag_field="node", tag="operate"):
    operation: Operation
    operands: tuple[Formula, ...]


class Call(msgspec.Struct, frozen=True, tag_field="node", tag="call"):
    function: Function
    arguments: tuple[Formula, ...]


class Cast(msgspec.Struct, frozen=True, tag_field="node", tag="cast"):
    """`tried` gives null where there is no such value, and else an error."""

    operand: Formula
    target: Target
    tried: bool = False


class Case(msgspec.Struct, frozen=True, tag_field="node", tag="case"):
    """The value of the first condition that is true; null where none is and there is no `otherwise`."""

    branches: tuple[tuple[Formula, Formula], ...]
    otherwise: Formula | None = None


class Nothing(msgspec.Struct, frozen=True, tag_field="node", tag="nothing"):
    """Null."""


class Constant(msgspec.Struct, frozen=True, tag_field="node", tag="constant"):
    value: Value


class Read(msgspec.Struct, frozen=True, tag_field="node", tag="read"):
    column: Ref


Formula = Operate | Call | Cast | Case | Nothing | Constant | Read

know(Formula)


def below(node: Formula) -> tuple[Formula, ...]:
    """What a node is made of."""
    match node:
        case Operate(operands=parts) | Call(arguments=parts):
            return parts
        case Cast(operand=operand):
            return (operand,)
        case Case(branches=branches, otherwise=otherwise):
            parts = tuple(part for branch in branches for part in branch)
            return parts if otherwise is None else (*parts, otherwise)
    return ()


def _again(node: Formula) -> tuple[Formula, ...]:
    """What engines compute once more, to see whether the node has an answer: nested, it doubles with each level."""
    match node:
        case Operate(operation="/" | "%", operands=(_, divisor)):
            return (divisor,)
        case Call(function="sqrt" | "ln" | "log10" | "nullif", arguments=(of, *_)):
            return (of,)
        case Call(function="power", arguments=of):
            return of
        case Cast(operand=operand, target="double"):
            return (operand,)
        case Cast(operand=operand, target="date" | "timestamp"):
            return (operand, operand)
    return ()


def reads(formula: Formula) -> list[Ref]:
    """Every column that is read. Raises InvalidArgument for a formula that is too large to be walked."""
    found: list[Ref] = []
    level, nodes = [formula], 0
    for _ in range(_MOST_LEVELS):
        nodes += len(level)
        found += [node.column for node in level if isinstance(node, Read)]
        level = [part for node in level for part in (*below(node), *_again(node))]
        if not level:
            return list(dict.fromkeys(found))
        if nodes > _MOST_NODES:
            break
    raise InvalidArgument(
        f"a computed column is made of more than {_MOST_NODES} parts, or nested in more than {_MOST_LEVELS} levels"
    )


def replaced(formula: Formula, formulas: Mapping[Ref, Formula]) -> Formula:
    """The formula with others in the place of columns."""

    def walk(node: Formula) -> Formula:
        match node:
            case Read(column=ref):
                return formulas.get(ref, node)
            case Operate(operation=operation, operands=operands):
                return Operate(operation, tuple(map(walk, operands)))
            case Call(function=function, arguments=arguments):
                return Call(function, tuple(map(walk, arguments)))
            case Cast(operand=operand, target=target, tried=tried):
                return Cast(walk(operand), target, tried)
            case Case(branches=branches, otherwise=otherwise):
                return Case(
                    tuple((walk(test), walk(value)) for test, value in branches),
                    None if otherwise is None else walk(otherwise),
                )
        return node

    return walk(formula)


_Kind = Literal["integer", "double", "text", "boolean", "date", "timestamp", "null"]

TYPES: dict[_Kind, pa.DataType] = {
    "integer": pa.int64(),
    "double": pa.float64(),
    "text": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": TIMESTAMP,
}
_TARGETS: dict[Target, _Kind] = {
    "bigint": "integer",
    "double": "double",
    "text": "text",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
}
_LITERALS: dict[str, _Kind] = {
    "int": "integer",
    "float": "double",
    "decimal": "double",
    "str": "text",
    "bool": "boolean",
    "date": "date",
    "timestamp": "timestamp",
}
_TIMES = frozenset({"date", "timestamp"})
_PLAIN = frozenset({"integer", "double", "boolean"})
_PARTS = frozenset({"year", "month", "day", "hour", "minute", "second", "isodow", "dayofyear"})
TRUNCATIONS = frozenset({"year", "quarter", "month", "week", "day", "hour", "minute", "second"})
_DOUBLES = frozenset({"round", "floor", "ceil", "sqrt", "ln", "log10", "exp", "power"})
_COUNTS: dict[str, tuple[int, int]] = {
    "round": (1, 2), "power": (2, 2), "least": (2, 64), "greatest": (2, 64), "coalesce": (1, 64), "nullif": (2, 2),
    "substr": (2, 3), "replace": (3, 3), "concat": (1, 64), "starts_with": (2, 2), "contains": (2, 2),
    "date_trunc": (2, 2),
}  # fmt: skip


def type_of(formula: Formula, column: Callable[[Ref], pa.DataType]) -> pa.DataType:
    """The type of the values of a formula; `column` gives that of a column.

    Raises:
        InvalidArgument: it puts together what does not go together, or is null alone.
    """
    kind = _Typing(column).kind(formula)
    if kind == "null":
        raise InvalidArgument(
            "a computed column that is always null has no type", hint="cast(null as double)"
        )
    return TYPES[kind]


def target_of(value: Value) -> Target | None:
    """The type that engines must be told of a constant, for which they have a smaller or another one."""
    if value.type == "int":
        return "bigint" if -(1 << 63) <= int(value.text) < 1 << 63 else None
    return "double" if value.type == "decimal" else None


def kind_of(kind: pa.DataType) -> _Kind | None:
    """What a column's values are computed as; None for types that formulas do not read."""
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "double"
    if is_string(kind) or (pa.types.is_dictionary(kind) and is_string(kind.value_type)):
        return "text"
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_date(kind):
        return "date"
    if pa.types.is_timestamp(kind):
        return "timestamp"
    return "null" if pa.types.is_null(kind) else None


class _Typing:
    def __init__(self, column: Callable[[Ref], pa.DataType]) -> None:
        self._column = column

    def kind(self, node: Formula) -> _Kind:
        match node:
            case Nothing():
                return "null"
            case Constant(value=value):
                if value.type not in _LITERALS:
                    raise InvalidArgument(f"a formula has no literals of type {value.type}")
                return _LITERALS[value.type]
            case Read(column=ref):
                found = kind_of(self._column(ref))
                if found is None:
                    raise InvalidArgument(
                        f"column {ref.name!r} is {self._column(ref)}, with which nothing is computed"
                    )
                return found
            case Cast(operand=operand, target=target):
                found, wanted = self.kind(operand), _TARGETS[target]
                if (found in _TIMES and wanted in _PLAIN) or (found in _PLAIN and wanted in _TIMES):
                    raise InvalidArgument(
                        f"cast does not make {wanted} of {found}", hint=_conversion(found, wanted)
                    )
                return wanted
            case Case(branches=branches, otherwise=otherwise):
                if not branches:
                    raise InvalidArgument("case needs a when")
                for test, _ in branches:
                    self._want("when", test, "boolean")
                values = [value for _, value in branches]
                return self._common("case", [*values, *([] if otherwise is None else [otherwise])])
            case Operate(operation=operation, operands=operands):
                return self._operation(operation, operands)
            case Call(function=function, arguments=arguments):
                return self._call(function, arguments)
        raise TypeError(f"{node!r} is no formula")

    def _operation(self, operation: Operation, operands: tuple[Formula, ...]) -> _Kind:
        wanted = {"not": 1, "negative": 1, "is null": 1}.get(operation)
        if wanted is None and operation in ("and", "or", "in"):
            wanted = max(2, len(operands))
        if len(operands) != (wanted or 2):
            raise InvalidArgument(f"{operation!r} does not take {len(operands)} operands")
        match operation:
            case "+" | "-" | "*" | "%" | "negative":
                return self._number(operation, operands)
            case "/":
                self._number(operation, operands)
                return "double"
            case "and" | "or" | "not":
                for operand in operands:
                    self._want(operation, operand, "boolean")
            case "like":
                for operand in operands:
                    self._want(operation, operand, "text")
            case "is null":
                self.kind(operands[0])
            case _:
                self._common(operation, list(operands))
        return "boolean"

    def _call(self, function: Function, arguments: tuple[Formula, ...]) -> _Kind:
        least, most = _COUNTS.get(function, (1, 1))
        if not least <= len(arguments) <= most:
            told = least if least == most else f"{least} to {most}"
            raise InvalidArgument(f"{function} takes {told} arguments, not {len(arguments)}")
        if function in _DOUBLES:
            self._number(function, arguments[:1])
            if function == "round":
                for places in arguments[1:]:
                    self._want(function, places, "integer")
            elif function == "power":
                self._number(function, arguments)
            return "double"
        if function in _PARTS:
            self._want(function, arguments[0], "timestamp", "date")
            return "integer"
        match function:
            case "abs":
                return self._number(function, arguments)
            case "sign":
                self._number(function, arguments)
                return "integer"
            case "least" | "greatest" | "coalesce" | "nullif":
                return self._common(function, list(arguments))
            case "length":
                self._want(function, arguments[0], "text")
                return "integer"
            case "substr":
                self._want(function, arguments[0], "text")
                for argument in arguments[1:]:
                    self._want(function, argument, "integer")
                return "text"
            case "date_trunc":
                unit = arguments[0]
                if not isinstance(unit, Constant) or unit.value.text not in TRUNCATIONS:
                    raise InvalidArgument(
                        f"date_trunc takes one of {', '.join(sorted(TRUNCATIONS))}, and a time"
                    )
                self._want(function, arguments[1], "timestamp", "date")
                return "timestamp"
            case "epoch":
                self._want(function, arguments[0], "timestamp", "date")
                return "double"
            case "starts_with" | "contains":
                for argument in arguments:
                    self._want(function, argument, "text")
                return "boolean"
            case _:  # texts of texts
                for argument in arguments:
                    self._want(function, argument, "text")
                return "text"

    def _number(self, what: str, operands: tuple[Formula, ...]) -> _Kind:
        kinds = [self._want(what, operand, "integer", "double") for operand in operands]
        return "double" if "double" in kinds else "integer"

    def _want(self, what: str, node: Formula, *kinds: _Kind) -> _Kind:
        found = self.kind(node)
        if found == "null":
            return kinds[0]
        if found not in kinds:
            raise InvalidArgument(
                f"{what} takes {' or '.join(kinds)}, not {found}", hint=_conversion(found, kinds[0])
            )
        return found

    def _common(self, what: str, nodes: list[Formula]) -> _Kind:
        kinds = {self.kind(node) for node in nodes} - {"null"}
        if kinds == {"integer", "double"}:
            return "double"
        if kinds == {"date", "timestamp"}:
            return "timestamp"
        if len(kinds) > 1:
            told = sorted(kinds)
            raise InvalidArgument(
                f"{what} puts {' and '.join(told)} together", hint=_conversion(told[0], told[-1])
            )
        return kinds.pop() if kinds else "null"


def _conversion(found: _Kind, wanted: _Kind) -> str:
    """What a user can write where one kind stands and another is wanted."""
    if {found, wanted} in ({"date", "text"}, {"text", "timestamp"}):
        return "write a constant as timestamp '2026-01-01 06:00:00'; cast(… as timestamp) converts a column"
    if found in _TIMES and wanted in ("integer", "double"):
        return "epoch(…) gives the seconds of a time, so epoch(a) - epoch(b) is a difference"
    return "cast(… as …) converts: bigint, double, varchar, boolean, date, timestamp"
