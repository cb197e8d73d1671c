"""Formulas as Spark SQL."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from headrace.errors import Unsupported
from headrace.model.expression import Ref
from headrace.model.formula import Formula


def spark_formula_sql(formula: Formula, column: Callable[[Ref], str], kind: Callable[[Ref], pa.DataType]) -> str:
    raise Unsupported("computed columns on Spark")
