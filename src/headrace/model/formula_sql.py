"""Formulas as DuckDB SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from headrace.model.expression import Ref
from headrace.model.expression_sql import isnan_sql, isnull_sql, literal, text, unforeseen_sql
from headrace.model.formula import (
    Call,
    Case,
    Cast,
    Constant,
    Formula,
    Nothing,
    Operate,
    Read,
    Target,
    kind_of,
    target_of,
    type_of,
)
from headrace.model.formula_form import FORMS, REFUSED
from headrace.model.formula_text import LONGEST_MADE, is_no_longer, is_short, joined, together
from headrace.model.types import TIMESTAMP

_TARGETS: dict[Target, str] = {
    "bigint": "BIGINT",
    "double": "DOUBLE",
    "text": "VARCHAR",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMPTZ",
}
_RESULTS = {
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.string(): "VARCHAR",
    pa.bool_(): "BOOLEAN",
    pa.date32(): "DATE",
    TIMESTAMP: "TIMESTAMPTZ",
}
_READ_AS = {"integer": "BIGINT", "double": "DOUBLE", "text": "VARCHAR", "timestamp": "TIMESTAMPTZ"}
# Where a function has no answer DuckDB raises an error, and other engines say NaN.
_GUARDS = {"sqrt": ">= 0", "ln": "> 0", "log10": "> 0"}
_FIRST, _LAST = "0001-01-01", "9999-12-31 23:59:59.999999"
_BEFORE, _AFTER = "0001-12-31 (BC) 23:59:59.999999", "10000-01-01"


def formula_sql(formula: Formula, column: Callable[[Ref], str], kind: Callable[[Ref], pa.DataType]) -> str:
    """The formula as an SQL expression of the type that `type_of` tells; `column` gives the SQL of each column."""

    def is_text(node: Formula) -> bool:
        return not isinstance(node, Nothing) and type_of(node, kind) == pa.string()

    def sql(node: Formula) -> str:
        match node:
            case Nothing():
                return "NULL"
            case Constant(value=value):
                wanted = target_of(value)
                return literal(value) if wanted is None else f"CAST({literal(value)} AS {_TARGETS[wanted]})"
            case Read(column=ref):
                found = kind_of(kind(ref))
                target = _READ_AS.get(str(found))
                read = f"CAST({column(ref)} AS {target})" if target else column(ref)
                return _without_nan(read) if found == "double" else read
            case Cast(operand=operand, target=target, tried=tried):
                given = sql(operand)
                if target in FORMS and is_text(operand):
                    given = _only(given, target)
                made = f"{'TRY_CAST' if tried else 'CAST'}({given} AS {_TARGETS[target]})"
                match target:
                    case "double":
                        return _without_nan(made)
                    case "date" | "timestamp":
                        return _in_calendar(made, _TARGETS[target], tried)
                return made
            case Case(branches=branches, otherwise=otherwise):
                whens = " ".join(f"WHEN {sql(test)} THEN {sql(value)}" for test, value in branches)
                return f"CASE {whens}{'' if otherwise is None else f' ELSE {sql(otherwise)}'} END"
            case Operate(operation=operation, operands=operands):
                return operate(operation, [sql(operand) for operand in operands])
            case Call(function=function, arguments=arguments):
                return call(function, arguments)
        raise TypeError(f"{node!r} is no formula")

    def operate(operation: str, operands: list[str]) -> str:
        match operation:
            case "not":
                return f"(NOT {operands[0]})"
            case "negative":
                return f"(- {operands[0]})"
            case "is null":
                return isnull_sql(operands[0])
            case "in":
                return f"({operands[0]} IN ({', '.join(operands[1:])}))"
            case "/":
                return f"(CAST({operands[0]} AS DOUBLE) / nullif(CAST({operands[1]} AS DOUBLE), 0))"
            case "%":
                return f"({operands[0]} % nullif({operands[1]}, 0))"
        return f"({f' {operation.upper()} '.join(operands)})"

    def concat(arguments: tuple[Formula, ...]) -> str:
        given = [sql(argument) for argument in arguments]
        if is_short(arguments):
            return together(given)
        parts = [f"_p.p{i}" for i in range(len(given))]
        size = " + ".join(f"strlen({part})" for part in parts)
        longest = f"greatest({', '.join(f'strlen({part})' for part in parts)})"
        return _bounded(dict(zip(parts, given, strict=True)), together(parts), size, longest)

    def call(function: str, arguments: tuple[Formula, ...]) -> str:
        if function == "concat":  # whose parts are others than its arguments
            return concat(tuple(joined(arguments)))
        given = [sql(argument) for argument in arguments]
        if function in _GUARDS:
            value = f"CAST({given[0]} AS DOUBLE)"
            return f"CASE WHEN {value} {_GUARDS[function]} THEN {function}({value}) END"
        match function:
            case "year" | "month" | "day" | "hour" | "minute" | "second" | "isodow" | "dayofyear":
                return f"CAST(date_part('{function}', CAST({given[0]} AS TIMESTAMPTZ)) AS BIGINT)"
            case "date_trunc":
                assert isinstance(arguments[0], Constant)
                unit = text(arguments[0].value.text)
                return f"date_trunc({unit}, CAST({given[1]} AS TIMESTAMPTZ))"
            case "epoch":
                return f"(epoch_us(CAST({given[0]} AS TIMESTAMPTZ)) / 1000000.0::DOUBLE)"
            case "round" | "floor" | "ceil":
                places = [f"CAST({g} AS INTEGER)" for g in given[1:]]
                # Nothing is added: the sum with -0.0, which other engines do not make, is 0.0.
                return f"({function}({', '.join([f'CAST({given[0]} AS DOUBLE)', *places])}) + 0.0::DOUBLE)"
            case "exp" | "power":
                made = f"{function}({', '.join(f'CAST({g} AS DOUBLE)' for g in given)})"
                return _without_nan(made) if function == "power" else made
            case "sign":
                return f"CAST(sign({given[0]}) AS BIGINT)"
            case "length":
                return f"CAST(length({given[0]}) AS BIGINT)"
            case "replace":
                if is_no_longer(*arguments[:0:-1]):
                    return f"replace({', '.join(given)})"
                found = "(strlen(_p.p0) - strlen(replace(_p.p0, _p.p1, ''))) // greatest(strlen(_p.p1), 1)"
                size = f"strlen(_p.p0) + {found} * (strlen(_p.p2) - strlen(_p.p1))"
                parts = ["_p.p0", "_p.p1", "_p.p2"]
                made = f"replace({', '.join(parts)})"
                return _bounded(dict(zip(parts, given, strict=True)), made, size, "strlen(_p.p0)")
            case "coalesce":
                given = [
                    value if isinstance(argument, Constant | Nothing) else unforeseen_sql(value)
                    for argument, value in zip(arguments, given, strict=True)
                ]
        return f"{function}({', '.join(given)})"

    result = type_of(formula, kind)
    computed = f"CAST({sql(formula)} AS {_RESULTS[result]})"
    return _without_nan(computed) if pa.types.is_floating(result) else computed


def _only(value: str, target: str) -> str:
    """A text that is a value of the target; another becomes one that none is."""
    test = f"regexp_matches(_p.p0, {text(FORMS[target])})"
    made = f"CASE WHEN {test} THEN _p.p0 WHEN _p.p0 IS NOT NULL THEN {text(REFUSED[target])} || _p.p0 END"
    return f"list_transform([{{p0: {value}}}], lambda _p: {made})[1]"


def _bounded(given: Mapping[str, str], made: str, size: str, longest: str) -> str:
    """A text that is made of others, or an error where it would be too long: doubled again and again, a few letters
    fill all memory within one batch of rows, where nothing counts it and nothing interrupts it.

    Args:
        given: SQL for each of the parts, by the name that it has in the others. Each stands there once, since what
            stands in a statement twice at each level makes that too long as well.
        size: of the text that is made; where it is no longer than the `longest` part, it may be as long as that.
    """
    parts = ", ".join(f"{name.removeprefix('_p.')}: {part}" for name, part in given.items())
    failing = f"CAST(CAST('a computed text of ' || ({size}) || ' bytes is too long' AS BIGINT) AS VARCHAR)"
    test = f"coalesce({size}, 0) <= greatest({LONGEST_MADE}, {longest})"
    return f"list_transform([{{{parts}}}], lambda _p: CASE WHEN {test} THEN {made} ELSE {failing} END)[1]"


def _in_calendar(value: str, target: str, tried: bool) -> str:
    """A time of the years 1 to 9999, which are all that files and other engines have; else null, or an error."""
    if tried:
        before, after = f"{target} '{_BEFORE}'", f"{target} '{_AFTER}'"
        return f"nullif(nullif(greatest(least({value}, {after}), {before}), {after}), {before})"
    first, last = f"{target} '{_FIRST}'", f"{target} '{_LAST}'"
    failing = f"CAST('not in the years 1 to 9999: ' || CAST({value} AS VARCHAR) AS {target})"
    return f"CASE WHEN {value} BETWEEN {first} AND {last} THEN {value} ELSE {failing} END"


def _without_nan(value: str) -> str:
    """Null in the place of NaN, which compares with nothing, and is sorted otherwise by every engine."""
    return f"CASE WHEN NOT {isnan_sql(value)} THEN {value} END"
