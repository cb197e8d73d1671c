"""Formulas as Spark SQL, of the same meaning as `formula_sql`: under ANSI rules, in a session whose zone is UTC."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from headrace.errors import Unsupported
from headrace.model.expression import Ref, to_value
from headrace.model.expression_sql import isnull_sql, like_sql, literal, text
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
    "text": "STRING",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP_LTZ",
}
_RESULTS = {
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.string(): "STRING",
    pa.bool_(): "BOOLEAN",
    pa.date32(): "DATE",
    TIMESTAMP: "TIMESTAMP_LTZ",
}
_READ_AS = {"integer": "BIGINT", "double": "DOUBLE", "text": "STRING", "timestamp": "TIMESTAMP_LTZ"}
_GUARDS = {"sqrt": ">= 0", "ln": "> 0", "log10": "> 0"}
_PARTS = {name: name for name in ("year", "month", "day", "hour", "minute", "second", "dayofyear")}
_NAN = "CAST('NaN' AS DOUBLE)"
_WHOLE = 1 << 53
"""From here on every double is a whole number."""
_SPACES = (
    "\u0020\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
)


def spark_formula_sql(
    formula: Formula, column: Callable[[Ref], str], kind: Callable[[Ref], pa.DataType]
) -> str:
    """The formula as an SQL expression of the type that `type_of` tells; `column` gives the SQL of each column.

    Raises:
        Unsupported: of what it says there is no equal in Spark.
    """

    def is_a(node: Formula, wanted: pa.DataType) -> bool:
        return not isinstance(node, Nothing) and type_of(node, kind) == wanted

    def sql(node: Formula) -> str:
        match node:
            case Nothing():
                return "NULL"
            case Constant(value=value):
                given, wanted = literal(value, "spark"), target_of(value)
                return given if wanted is None else f"CAST({given} AS {_TARGETS[wanted]})"
            case Read(column=ref):
                found = kind_of(kind(ref))
                target = _READ_AS.get(str(found))
                read = f"CAST({column(ref)} AS {target})" if target else column(ref)
                return _without_nan(read) if found == "double" else read
            case Cast(operand=operand, target=target, tried=tried):
                return cast(operand, target, "try_cast" if tried else "CAST")
            case Case(branches=branches, otherwise=otherwise):
                whens = " ".join(f"WHEN {sql(test)} THEN {sql(value)}" for test, value in branches)
                return f"CASE {whens}{'' if otherwise is None else f' ELSE {sql(otherwise)}'} END"
            case Operate(operation=operation, operands=operands):
                return operate(operation, [sql(operand) for operand in operands])
            case Call(function=function, arguments=arguments):
                return call(function, arguments)
        raise TypeError(f"{node!r} is no formula")

    def cast(operand: Formula, target: Target, how: str) -> str:
        value, wanted = sql(operand), _TARGETS[target]
        if is_a(operand, pa.string()) and target in FORMS:
            value = _only(value, target)
            match target:
                case "bigint":
                    return f"{how}(round({how}({value} AS DECIMAL(38, 19)), 0) AS BIGINT)"
                case "double":
                    return _without_nan(f"{how}({value} AS DOUBLE)")
                case "boolean":
                    return f"{how}({value} AS BOOLEAN)"
                case "date" | "timestamp":
                    return _in_calendar(f"{how}({value} AS {wanted})", wanted, how == "try_cast")
        if target == "bigint" and is_a(operand, pa.float64()):
            return f"{how}(rint({value}) AS BIGINT)"
        if target == "text" and is_a(operand, pa.float64()):
            raise Unsupported(
                "Spark writes a double as another text than DuckDB does",
                hint="cast it to bigint first, or take engine='duckdb'",
            )
        if target == "text" and is_a(operand, TIMESTAMP):
            return f"concat(CAST({value} AS STRING), '+00')"
        made = f"{how}({value} AS {wanted})"
        return _without_nan(made) if target == "double" else made

    def operate(operation: str, operands: list[str]) -> str:
        match operation:
            case "not":
                return f"(NOT {operands[0]})"
            case "negative":
                return f"(- {operands[0]})"
            case "is null":
                return isnull_sql(operands[0], "spark")
            case "in":
                return f"({operands[0]} IN ({', '.join(operands[1:])}))"
            case "like":
                return like_sql(operands[0], operands[1], "spark")
            case "/":
                return f"(CAST({operands[0]} AS DOUBLE) / nullif(CAST({operands[1]} AS DOUBLE), 0D))"
            case "%":
                return f"({operands[0]} % nullif({operands[1]}, 0))"
        return f"({f' {operation.upper()} '.join(operands)})"

    def call(function: str, arguments: tuple[Formula, ...]) -> str:
        if function == "concat":  # whose parts are others than its arguments
            return concat(tuple(joined(arguments)))
        given = [sql(argument) for argument in arguments]
        if function in _GUARDS:
            value = f"CAST({given[0]} AS DOUBLE)"
            return f"CASE WHEN {value} {_GUARDS[function]} THEN {function}({value}) END"
        if function in _PARTS:
            return f"CAST({function}(CAST({given[0]} AS TIMESTAMP_LTZ)) AS BIGINT)"
        match function:
            case "isodow":
                return f"CAST(weekday(CAST({given[0]} AS TIMESTAMP_LTZ)) + 1 AS BIGINT)"
            case "date_trunc":
                return f"date_trunc({given[0]}, CAST({given[1]} AS TIMESTAMP_LTZ))"
            case "epoch":
                return f"(CAST(unix_micros(CAST({given[0]} AS TIMESTAMP_LTZ)) AS DOUBLE) / 1000000D)"
            case "round":
                return rounded(given)
            case "floor" | "ceil":
                near = f"if(abs(_p.p0) < {_WHOLE}, CAST({function}(_p.p0) AS DOUBLE), _p.p0)"
                return _once({"p0": f"CAST({given[0]} AS DOUBLE)"}, near)
            case "exp" | "power":
                made = f"{function}({', '.join(f'CAST({g} AS DOUBLE)' for g in given)})"
                return _without_nan(made) if function == "power" else made
            case "sign":
                return f"CAST(nanvl(signum(CAST({given[0]} AS DOUBLE)), 0D) AS BIGINT)"
            case "length":
                return f"CAST(length({given[0]}) AS BIGINT)"
            case "trim":
                return f"trim(BOTH '{_SPACES}' FROM {given[0]})"
            case "starts_with":
                return f"startswith({', '.join(given)})"
            case "substr":
                return substring(arguments, given)
            case "replace":
                return replace(arguments, given)
        return f"{function}({', '.join(given)})"

    def rounded(given: list[str]) -> str:
        """The one farther from 0, as DuckDB has it: of the number as it is, not as it is written."""
        value = f"CAST({given[0]} AS DOUBLE)"
        if len(given) == 1:
            return f"round({value})"
        parts = {"p0": value, "p1": f"CAST({given[1]} AS INT)"}
        scale = "power(10D, CAST(abs(_p.p1) AS DOUBLE))"
        finer = f"round(_p.p0 * {scale}) / {scale}"
        coarser = f"round(_p.p0 / {scale}) * {scale}"
        made = f"if(_p.p1 < 0, {coarser}, {finer})"
        lost = "if(_p.p1 < 0 AND abs(_p.p0) < double('inf'), 0D, _p.p0 + 0D)"
        return _once(parts, f"if(isnan({made}) OR abs({made}) = double('inf'), {lost}, {made})")

    def substring(arguments: Sequence[Formula], given: list[str]) -> str:
        for place, least in zip(arguments[1:], (1, 0), strict=False):
            if not isinstance(place, Constant) or int(place.value.text) < least:
                raise Unsupported(
                    "substr on Spark starts at a number from 1, and takes a number of letters",
                    hint="write these as numbers, or take engine='duckdb'",
                )
        return f"substr({', '.join([given[0], *(f'CAST({g} AS INT)' for g in given[1:])])})"

    def concat(arguments: tuple[Formula, ...]) -> str:
        given = [sql(argument) for argument in arguments]
        if is_short(arguments):
            return together(given)
        parts = {f"p{i}": g for i, g in enumerate(given)}
        sizes = [f"octet_length(_p.{name})" for name in parts]
        longest = f"greatest({', '.join(sizes)}, 0)"
        return _bounded(parts, together([f"_p.{name}" for name in parts]), " + ".join(sizes), longest)

    def replace(arguments: tuple[Formula, ...], given: list[str]) -> str:
        if is_no_longer(*arguments[:0:-1]):
            return f"replace({', '.join(given)})"
        one = "octet_length(_p.p1)"
        found = f"(octet_length(_p.p0) - octet_length(replace(_p.p0, _p.p1, ''))) div greatest({one}, 1)"
        size = f"octet_length(_p.p0) + {found} * (octet_length(_p.p2) - {one})"
        parts = {f"p{i}": g for i, g in enumerate(given)}
        return _bounded(parts, "replace(_p.p0, _p.p1, _p.p2)", size, "octet_length(_p.p0)")

    result = type_of(formula, kind)
    computed = f"CAST({sql(formula)} AS {_RESULTS[result]})"
    return _without_nan(computed) if pa.types.is_floating(result) else computed


def _once(parts: Mapping[str, str], made: str) -> str:
    """What is made of parts that stand in it several times, and are computed once: `_p.p0` and so on."""
    named = ", ".join(f"'{name}', {part}" for name, part in parts.items())
    return f"transform(array(named_struct({named})), _p -> {made})[0]"


def _bounded(parts: Mapping[str, str], made: str, size: str, longest: str) -> str:
    """A text that is made of others, or an error where it would be too long. See `formula_sql`."""
    failing = f"CAST(CAST(concat('a computed text of ', {size}, ' bytes is too long') AS BIGINT) AS STRING)"
    test = f"coalesce({size}, 0) <= greatest({LONGEST_MADE}, {longest})"
    return _once(parts, f"CASE WHEN {test} THEN {made} ELSE {failing} END")


def _only(value: str, target: str) -> str:
    """A text that is a value of the target; another becomes one that none is."""
    test = f"_p.p0 RLIKE {text(FORMS[target], 'spark')}"
    other = f"concat('{REFUSED[target]}', _p.p0)"
    return _once({"p0": value}, f"CASE WHEN {test} THEN _p.p0 WHEN _p.p0 IS NOT NULL THEN {other} END")


def _in_calendar(value: str, target: str, tried: bool) -> str:
    """A time of the years 1 to 9999, which are all that files and other engines have; else null, or an error."""
    ends = [dt.date.min, dt.date.max] if target == "DATE" else [dt.datetime.min, dt.datetime.max]
    first, last = (literal(to_value(end), "spark") for end in ends)
    failing = f"CAST(concat('not in the years 1 to 9999: ', CAST(_p.p0 AS STRING)) AS {target})"
    rest = "" if tried else f" WHEN _p.p0 IS NOT NULL THEN {failing}"
    test = f"_p.p0 BETWEEN {first} AND {last}"
    return _once({"p0": value}, f"CASE WHEN {test} THEN _p.p0{rest} END")


def _without_nan(value: str) -> str:
    """Null in the place of NaN, which for Spark is equal to itself."""
    return f"nullif({value}, {_NAN})"
