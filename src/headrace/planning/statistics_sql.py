"""What is told of the values of each column, as DuckDB statements over its rows.

Two passes: the first counts, and finds the range, so that the second can put values into bins of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

import pyarrow as pa

from headrace.model.duration import from_micros
from headrace.model.expression_sql import identifier
from headrace.model.types import is_string

QUANTILES = {"p05": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95}
STATISTICS = pa.schema(
    [
        ("feature", pa.string()),
        ("type", pa.string()),
        ("count", pa.int64()),
        ("nulls", pa.int64()),
        ("nans", pa.int64()),
        ("distinct", pa.int64()),
        ("min", pa.string()),
        ("max", pa.string()),
        ("mean", pa.float64()),
        ("stddev", pa.float64()),
        *((name, pa.float64()) for name in QUANTILES),
        (
            "histogram",
            pa.list_(pa.struct([("low", pa.string()), ("high", pa.string()), ("count", pa.int64())])),
        ),
        ("approximate", pa.list_(pa.string())),
    ]
)
"""A row a feature. `approximate` names those of its figures that are not exact."""

_Kind = Literal["number", "time", "text", "boolean", "other"]
_BINS = 20
_FEW = 20
_COUNTED = 1_000
_SHOWN_TEXT = 100
# Of larger numbers the square is beyond what a double holds.
_LARGE = 1e150


class ColumnStatistics:
    """The statements for one column, and what their answers tell.

    Args:
        number: of the column, which names what the statements select for it.
    """

    def __init__(self, number: int, field: pa.Field) -> None:
        self._prefix = f"a{number}_"
        self._name = field.name
        self._type = field.type
        self._column = identifier(field.name)
        self._kind = _kind(field.type)
        self._label: Callable[[float], str] = repr

    def first(self) -> list[str]:
        """What the first statement selects."""
        column, real = self._column, pa.types.is_floating(self._type)
        told = {"count": f"count({column})"}
        if self._kind != "other":
            ordered = f" FILTER (WHERE NOT {self._is_nan()})" if real else ""
            told["distinct"] = f"approx_count_distinct({column})"
            told |= {"min": f"min({column}){ordered}", "max": f"max({column}){ordered}"}
        if real:
            told["nans"] = f"count(*) FILTER (WHERE {self._is_nan()})"
        if self._kind in ("number", "time"):
            value, finite = self._value(), self._finite()
            told |= {"low": f"min({value}){finite}", "high": f"max({value}){finite}"}
        if self._kind == "number":
            value = self._value()
            near = f" FILTER (WHERE isfinite({value}) AND abs({value}) < {_LARGE!r})"
            told |= {"mean": f"avg({value}){near}", "stddev": f"stddev_samp({value}){near}"}
            wanted = ", ".join(map(repr, QUANTILES.values()))
            told["quantiles"] = f"approx_quantile({value}, [{wanted}]){self._finite()}"
        return [f"{sql} AS {self._prefix}{name}" for name, sql in told.items()]

    def second(self, first: Mapping[str, Any]) -> list[str]:
        """What the second statement selects, once it is known what the first one found."""
        told = self._of(first)
        few = told.get("distinct", _COUNTED + 1)
        selected = {}
        if few <= _COUNTED:
            selected["exactly"] = f"count(DISTINCT {self._column})"
        if few <= _FEW or (self._kind == "text" and few <= _COUNTED):
            selected["values"] = f"histogram({self._column})"
        elif self._kind in ("number", "time") and told["low"] is not None:
            width = (told["high"] - told["low"]) / _BINS
            if 0 < width < math.inf:
                place = f"floor(({self._value()} - {told['low']!r}) / {width!r})"
                # `least` leaves nulls out, and would put them into the last bin.
                there = self._finite() or f" FILTER (WHERE {self._column} IS NOT NULL)"
                selected["bins"] = f"histogram(least({_BINS - 1}, {place})::TINYINT){there}"
        return [f"{sql} AS {self._prefix}{name}" for name, sql in selected.items()]

    def row(self, rows: int, first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
        """The row of the result."""
        told = self._of(first) | self._of(second)
        exact = told.get("exactly")
        approximate = ["distinct"] if exact is None and "distinct" in told else []
        if told.get("quantiles") is not None:
            approximate += QUANTILES
        large = any(abs(told.get(side) or 0) >= _LARGE for side in ("low", "high"))
        return {
            "feature": self._name,
            "type": str(self._type),
            "count": told["count"],
            "nulls": rows - told["count"],
            "nans": told.get("nans"),
            "distinct": min(told["distinct"], told["count"]) if "distinct" in approximate else exact,
            "min": _shown(told.get("min")),
            "max": _shown(told.get("max")),
            "mean": None if large else told.get("mean"),
            "stddev": None if large else told.get("stddev"),
            **dict(zip(QUANTILES, told.get("quantiles") or [None] * len(QUANTILES), strict=True)),
            "histogram": self._histogram(told),
            "approximate": approximate,
        }

    def _of(self, row: Mapping[str, Any]) -> dict[str, Any]:
        prefix = self._prefix
        return {name.removeprefix(prefix): v for name, v in row.items() if name.startswith(prefix)}

    def _value(self) -> str:
        """The value as a number."""
        if self._kind == "number":
            return f"{self._column}::DOUBLE"
        return f"epoch_us({self._column}{'::TIMESTAMP' if pa.types.is_date(self._type) else ''})"

    def _is_nan(self) -> str:
        # DuckDB believes statistics of data files, which leave NaN out, wherever it can foresee a value.
        return f"isnan({self._column} + 0 * random())"

    def _finite(self) -> str:
        return f" FILTER (WHERE isfinite({self._column}))" if pa.types.is_floating(self._type) else ""

    def _histogram(self, told: Mapping[str, Any]) -> list[dict[str, Any]] | None:
        if told.get("values") is not None:
            counts = [(value, count) for value, count in told["values"] if value is not None]
            if len(counts) > _FEW:
                counts = sorted(counts, key=lambda pair: (-pair[1], pair[0]))[:_FEW]
            return [{"low": _shown(v), "high": _shown(v), "count": count} for v, count in counts]
        if told.get("bins") is None:
            return None
        binned, low = dict(told["bins"]), told["low"]
        width = (told["high"] - low) / _BINS
        edges = [low + width * i for i in range(_BINS)] + [told["high"]]
        return [
            {"low": self._edge(edges[i]), "high": self._edge(edges[i + 1]), "count": binned.get(i, 0)}
            for i in range(_BINS)
        ]

    def _edge(self, value: float) -> str:
        return repr(value) if self._kind == "number" else from_micros(round(value)).isoformat()


def _kind(kind: pa.DataType) -> _Kind:
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return "time"
    if is_string(kind):
        return "text"
    return "boolean" if pa.types.is_boolean(kind) else "other"


def _shown(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    text = value.isoformat() if hasattr(value, "isoformat") else str(value)
    return text if len(text) <= _SHOWN_TEXT else f"{text[: _SHOWN_TEXT - 1]}…"
