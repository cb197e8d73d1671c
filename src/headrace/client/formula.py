"""From SQL that a user writes to a formula: what it may say is listed here, and nothing else gets through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, get_args

import sqlglot
from sqlglot import expressions as exp

from headrace.errors import SqlRejected, UnknownColumn
from headrace.model.expression import Ref, Value
from headrace.model.formula import (
    Call,
    Case,
    Cast,
    Constant,
    Formula,
    Function,
    Nothing,
    Operate,
    Operation,
    Read,
    Target,
)
from headrace.model.text import check_text

_LONGEST = 10_000
_OPERATIONS: dict[type[exp.Expression], Operation] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.EQ: "=", exp.NEQ: "<>",
    exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.And: "and", exp.Or: "or",
}  # fmt: skip
_FUNCTIONS: dict[type[exp.Expression], Function] = {
    exp.Abs: "abs", exp.Round: "round", exp.Floor: "floor", exp.Ceil: "ceil", exp.Sqrt: "sqrt", exp.Ln: "ln",
    exp.Exp: "exp", exp.Pow: "power", exp.Sign: "sign", exp.Least: "least", exp.Greatest: "greatest",
    exp.Coalesce: "coalesce", exp.Nullif: "nullif", exp.Lower: "lower", exp.Upper: "upper", exp.Trim: "trim",
    exp.Length: "length", exp.Substring: "substr", exp.Replace: "replace", exp.Concat: "concat",
    exp.DPipe: "concat", exp.StartsWith: "starts_with", exp.Contains: "contains", exp.Year: "year",
    exp.Month: "month", exp.Day: "day", exp.Hour: "hour", exp.Minute: "minute", exp.Second: "second",
    exp.DayOfYear: "dayofyear", exp.DayOfWeekIso: "isodow",
}  # fmt: skip
# The order of the arguments of a function, where it is another than that in which the parser keeps them.
_ARGUMENTS = ("this", "expression", "expressions", "start", "length", "decimals", "replacement")
_BY_NAME: dict[str, Function] = {name: name for name in get_args(Function)}
_TARGETS: dict[str, Target] = {
    "TINYINT": "bigint", "SMALLINT": "bigint", "INT": "bigint", "BIGINT": "bigint", "FLOAT": "double",
    "DOUBLE": "double", "TEXT": "text", "VARCHAR": "text", "BOOLEAN": "boolean", "DATE": "date",
    "TIMESTAMP": "timestamp", "TIMESTAMPNTZ": "timestamp", "TIMESTAMPTZ": "timestamp",
}  # fmt: skip
# What is asked for most of what is not there, and what gives the same.
_INSTEAD: dict[type[exp.Expression], str] = {
    exp.Log: "ln(…) is the natural logarithm, log10(…) that to base 10",
    exp.DayOfWeek: "isodow(…) is 1 on Mondays and 7 on Sundays",
    exp.DateDiff: "(epoch(a) - epoch(b)) / 86400 is the difference in days",
    exp.TimestampDiff: "(epoch(a) - epoch(b)) / 86400 is the difference in days",
}
# What the parser says of how a function treats nulls and types, which is said here once for all engines.
_IGNORED = frozenset({"typed", "safe", "ignore_nulls", "coalesce", "quoted", "is_string", "_type"})


def parse_formula(name: str, sql: object, columns: Sequence[str]) -> Formula:
    """The formula that a user wrote as SQL over `columns`; `name` is that of the column to be computed.

    Raises:
        SqlRejected: it cannot be read, or says what no formula does. UnknownColumn.
    """
    text = check_text(name, sql, hint='a formula, such as "temp * 9 / 5 + 32"')
    if len(text) > _LONGEST:
        raise SqlRejected(f"column {name!r}: a formula has at most {_LONGEST} characters")
    if not text.strip():
        raise SqlRejected(f"column {name!r}: the formula is empty")
    try:
        parsed = sqlglot.parse_one(text, read="duckdb")
    except (sqlglot.ParseError, sqlglot.TokenError, RecursionError) as error:
        raise SqlRejected(f"column {name!r}: {text[:200]!r} cannot be read: {_where(error)}") from None
    try:
        return _Reading(name, columns).formula(parsed)
    except RecursionError:
        raise SqlRejected(f"column {name!r}: the formula is nested too deeply") from None


def _where(error: Exception) -> str:
    """Where the parser gave up, in our words: its own speak of its classes."""
    if isinstance(error, sqlglot.ParseError) and error.errors:
        near = (error.errors[0].get("highlight") or "").strip()
        after = (error.errors[0].get("start_context") or "").strip()
        return f"stopped at {near!r}, after {after[-40:]!r}" if after else f"stopped at {near!r}"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return "a quote or a comment is not closed"


class _Reading:
    def __init__(self, name: str, columns: Sequence[str]) -> None:
        self._name = name
        self._columns = columns

    def formula(self, node: Any) -> Formula:
        if not isinstance(node, exp.Expression):
            raise self._refused(node)
        kind = type(node)
        if kind in _OPERATIONS:
            self._only(node, "this", "expression")
            return Operate(_OPERATIONS[kind], (self.formula(node.this), self.formula(node.expression)))
        if kind in _FUNCTIONS:
            self._only(node, *_ARGUMENTS)
            return Call(_FUNCTIONS[kind], tuple(map(self.formula, self._arguments(node))))
        handler = _HANDLERS.get(kind)
        if handler is None:
            raise self._refused(node)
        return handler(self, node)

    def column(self, node: exp.Column) -> Formula:
        self._only(node, "this")
        name = node.name
        if name in self._columns:
            return Read(Ref(name))
        alike = [column for column in self._columns if column.casefold() == name.casefold()]
        if len(alike) == 1 and not node.this.args.get("quoted"):
            return Read(Ref(alike[0]))
        raise UnknownColumn(
            f"column {self._name!r}: there is no column {name!r}",
            hint=f"there is {', '.join(self._columns[:20])}",
        )

    def literal(self, node: exp.Literal) -> Formula:
        if node.is_string:
            return Constant(Value("str", node.this))
        whole = node.this.isdigit()
        if whole and int(node.this) >= 1 << 63:
            raise self._refused(node)
        return Constant(
            Value("int", str(int(node.this))) if whole else Value("float", repr(float(node.this)))
        )

    def cast(self, node: exp.Cast) -> Formula:
        self._only(node, "this", "to")
        target = _TARGETS.get(node.to.this.name) if isinstance(node.to, exp.DataType) else None
        if target is None or node.to.expressions:
            raise self._refused(node, f"a cast to {node.to.sql('duckdb')}")
        return Cast(self.formula(node.this), target, isinstance(node, exp.TryCast))

    def case(self, node: exp.Case) -> Formula:
        self._only(node, "this", "ifs", "default")
        branches = []
        for branch in node.args["ifs"]:
            test = self.formula(branch.this)
            if node.this is not None:
                test = Operate("=", (self.formula(node.this), test))
            branches.append((test, self.formula(branch.args["true"])))
        default = node.args.get("default")
        return Case(tuple(branches), None if default is None else self.formula(default))

    def choice(self, node: exp.If) -> Formula:
        self._only(node, "this", "true", "false")
        otherwise = node.args.get("false")
        return Case(
            ((self.formula(node.this), self.formula(node.args["true"])),),
            None if otherwise is None else self.formula(otherwise),
        )

    def like(self, node: exp.Like) -> Formula:
        self._only(node, "this", "expression", "negate")
        found = Operate("like", (self.formula(node.this), self.formula(node.expression)))
        return Operate("not", (found,)) if node.args.get("negate") else found

    def between(self, node: exp.Between) -> Formula:
        self._only(node, "this", "low", "high")
        value = self.formula(node.this)
        low, high = self.formula(node.args["low"]), self.formula(node.args["high"])
        return Operate("and", (Operate(">=", (value, low)), Operate("<=", (value, high))))

    def member(self, node: exp.In) -> Formula:
        self._only(node, "this", "expressions")
        return Operate("in", (self.formula(node.this), *map(self.formula, node.expressions)))

    def being(self, node: exp.Is) -> Formula:
        self._only(node, "this", "expression")
        if not isinstance(node.expression, exp.Null):
            raise self._refused(node)
        return Operate("is null", (self.formula(node.this),))

    def named(self, node: exp.Anonymous) -> Formula:
        self._only(node, "this", "expressions")
        function = _BY_NAME.get(str(node.this).lower())
        if function is None:
            raise self._refused(node, f"the function {node.this}")
        return Call(function, tuple(map(self.formula, node.expressions)))

    def extract(self, node: exp.Extract) -> Formula:
        self._only(node, "this", "expression")
        function = _BY_NAME.get(node.this.name.lower())
        if function is None:
            raise self._refused(node, f"extract({node.this.name})")
        return Call(function, (self.formula(node.expression),))

    def truncated(self, node: exp.TimestampTrunc) -> Formula:
        self._only(node, "this", "unit")
        unit = Constant(Value("str", node.args["unit"].name.lower()))
        return Call("date_trunc", (unit, self.formula(node.this)))

    def logarithm(self, node: exp.Log) -> Formula:
        self._only(node, "this", "expression")
        if node.args.get("expression") is None:
            raise self._refused(node, "log, which means another logarithm in every language,")
        if node.this.name != "10":
            raise self._refused(node, "a logarithm to another base than 10 and e")
        return Call("log10", (self.formula(node.expression),))

    def seconds(self, node: exp.Expression) -> Formula:
        self._only(node, "this")
        return Call("epoch", (self.formula(node.this),))

    def _arguments(self, node: exp.Expression) -> list[Any]:
        found: list[Any] = []
        for name in _ARGUMENTS:
            given = node.args.get(name)
            found += given if isinstance(given, list) else [] if given is None else [given]
        return found

    def _only(self, node: exp.Expression, *known: str) -> None:
        """What a node says beside these would be lost."""
        for name, value in node.args.items():
            if name not in known and name not in _IGNORED and value not in (None, False, []):
                raise self._refused(node)

    def _refused(self, node: Any, what: str | None = None) -> SqlRejected:
        told = what or (node.sql("duckdb")[:100] if isinstance(node, exp.Expression) else repr(node))
        return SqlRejected(
            f"column {self._name!r}: {told} has no place in a formula",
            hint=_INSTEAD.get(type(node))
            or f"there are + - * / %, comparisons, and or not, in, like, is null, case, cast, {', '.join(_BY_NAME)}",
        )


def _negated(reading: _Reading, node: exp.Neg) -> Formula:
    return Operate("negative", (reading.formula(node.this),))


_HANDLERS: dict[type[exp.Expression], Callable[[_Reading, Any], Formula]] = {
    exp.Column: _Reading.column,
    exp.Literal: _Reading.literal,
    exp.Boolean: lambda _, node: Constant(Value("bool", "true" if node.this else "false")),
    exp.Null: lambda _, __: Nothing(),
    exp.Paren: lambda reading, node: reading.formula(node.this),
    exp.Neg: _negated,
    exp.Not: lambda reading, node: Operate("not", (reading.formula(node.this),)),
    exp.Cast: _Reading.cast,
    exp.TryCast: _Reading.cast,
    exp.Case: _Reading.case,
    exp.If: _Reading.choice,
    exp.Like: _Reading.like,
    exp.Between: _Reading.between,
    exp.In: _Reading.member,
    exp.Is: _Reading.being,
    exp.Anonymous: _Reading.named,
    exp.Extract: _Reading.extract,
    exp.TimestampTrunc: _Reading.truncated,
    exp.DateTrunc: _Reading.truncated,
    exp.Log: _Reading.logarithm,
    exp.TimeToUnix: _Reading.seconds,
}
