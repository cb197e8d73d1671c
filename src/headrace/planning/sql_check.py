"""What a query that a user wrote as SQL may say: it is read by DuckDB's own parser, and checked against these lists."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from typing import Any

from headrace.errors import SqlRejected

_EXPRESSIONS = """
CONSTANT COLUMN_REF COMPARISON CONJUNCTION OPERATOR FUNCTION CASE CAST TYPE BETWEEN STAR SUBQUERY WINDOW"""
_NODES = """
SELECT_NODE SET_OPERATION_NODE BASE_TABLE SUBQUERY JOIN EMPTY EXPRESSION_LIST ORDER_MODIFIER LIMIT_MODIFIER
DISTINCT_MODIFIER ORDER_DEFAULT ASCENDING DESCENDING"""
# None of them reads a file, a setting or the environment, changes anything, or differs from call to call.
_FUNCTIONS = """
+ - * / // % ** ^ || ~~ !~~ ~~* !~~* abs acos asin atan atan2 cbrt ceil ceiling cos cot degrees even exp factorial
floor gcd greatest isfinite isinf isnan lcm least ln log log10 log2 mod pi pow power radians round sign sin sqrt tan
trunc xor concat concat_ws contains ends_with format hash hex instr left length len lower lpad ltrim md5 ord prefix
regexp_extract regexp_full_match regexp_matches regexp_replace repeat replace reverse right rpad rtrim sha256
split_part starts_with strip_accents strlen strpos substr substring suffix trim unhex unicode upper
date_add date_diff date_part date_sub date_trunc datediff datepart datetrunc day dayname dayofmonth dayofweek
dayofyear decade epoch epoch_ms epoch_ns epoch_us era hour isodow isoyear last_day make_date make_time make_timestamp
microsecond millisecond minute month monthname quarter second strftime strptime time_bucket timezone
to_days to_hours to_microseconds to_milliseconds to_minutes to_months to_seconds to_timestamp to_years try_strptime
week weekday weekofyear year yearweek
any_value approx_count_distinct approx_quantile arg_max arg_min avg bit_and bit_or bit_xor bool_and bool_or corr
count count_star covar_pop covar_samp entropy first geomean kurtosis last list array_agg max max_by median min
min_by mode product quantile_cont quantile_disc regr_slope regr_intercept skewness stddev stddev_pop stddev_samp
string_agg group_concat listagg sum var_pop var_samp variance
row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value
list_value list_extract list_element list_contains list_distinct list_sort list_aggregate array_length unnest
struct_pack struct_extract map map_keys map_values element_at row
coalesce ifnull nullif if typeof"""
_KNOWN_EXPRESSIONS = frozenset(_EXPRESSIONS.split())
_KNOWN_NODES = frozenset(_NODES.split())
_KNOWN_FUNCTIONS = frozenset(_FUNCTIONS.split())
_SOME = ["sum", "count", "min", "max", "date_trunc", "coalesce", "and about 200 more"]
_MOST_PARTS = 10_000


@dataclasses.dataclass(frozen=True)
class CheckedQuery:
    """A query that says nothing that none may say.

    Args:
        tree: what DuckDB's `json_deserialize_sql` takes. Every table in it bears the name that `shown_as` gives, those
            that the query defines itself, too: so none can be taken for a file, or for a table of the engine's own.
        tables: those that the query does not define itself, by the names that it gives them.
    """

    tree: Mapping[str, Any]
    tables: tuple[str, ...]


def shown_as(table: str) -> str:
    """The name by which a checked query asks for a table; the engine folds the case of ASCII letters alone."""
    return f"__headrace_{table.encode().lower().hex()}"


def check_query(parsed: dict[str, Any]) -> CheckedQuery:
    """Check a query, and name its tables anew.

    Args:
        parsed: what DuckDB's `json_serialize_sql` gives; it is changed.

    Raises:
        SqlRejected: it is not one query, or says what none may say.
    """
    if parsed.get("error"):
        raise SqlRejected(f"the query cannot be read: {parsed.get('error_message', 'no reason was given')}")
    statements = parsed.get("statements", ())
    if len(statements) != 1:
        raise SqlRejected(f"{len(statements)} statements were given, and one query is expected")
    check = _Check()
    check.walk(statements[0].get("node"))
    return CheckedQuery(parsed, tuple(dict.fromkeys(check.tables)))


class _Check:
    def __init__(self) -> None:
        self.tables: list[str] = []

    def walk(self, root: object) -> None:
        """Each part with the names of the queries that are defined where it stands."""
        left: list[tuple[object, frozenset[str]]] = [(root, frozenset())]
        parts = 0
        while left:
            part, defined = left.pop()
            parts += 1
            if parts > _MOST_PARTS:
                raise SqlRejected(f"the query has more than {_MOST_PARTS} parts")
            if isinstance(part, list):
                left += [(item, defined) for item in part]
            elif isinstance(part, dict):
                queries = (part.get("cte_map") or {}).get("map") or ()
                for query in queries:
                    left.append((query["value"], defined))
                    query["key"] = shown_as(query["key"])
                    defined |= {query["key"]}
                self._check(part, defined)
                left += [(value, defined) for key, value in part.items() if key != "cte_map"]

    def _check(self, part: dict[str, Any], defined: frozenset[str]) -> None:
        if "class" in part:
            self._expression(part)
        elif "type" in part and isinstance(part["type"], str):
            self._node(part, defined)

    def _expression(self, part: Mapping[str, Any]) -> None:
        kind = part["class"]
        if kind not in _KNOWN_EXPRESSIONS:
            raise SqlRejected(f"{str(kind).lower().replace('_', ' ')} has no place in a query")
        if kind in ("FUNCTION", "WINDOW"):
            name = str(part.get("function_name"))
            if name.lower() not in _KNOWN_FUNCTIONS or part.get("qualified_name", {}).get("path") != [name]:
                raise SqlRejected(
                    f"the function {name} has no place in a query",
                    hint=f"there is {', '.join(difflib.get_close_matches(name, _KNOWN_FUNCTIONS) or _SOME)}",
                )

    def _node(self, part: dict[str, Any], defined: frozenset[str]) -> None:
        kind = part["type"]
        if kind not in _KNOWN_NODES:
            raise SqlRejected(
                f"{str(kind).lower().replace('_', ' ')} has no place in a query",
                hint="a query reads feature groups, its own subqueries and common table expressions alone",
            )
        if part.get("sample") is not None:
            raise SqlRejected("a sample is another one each time", hint="leave tablesample out")
        if kind == "BASE_TABLE":
            path = part.get("qualified_name", {}).get("path")
            if part.get("at_clause") is not None or path != [part.get("table_name")]:
                raise SqlRejected(
                    f"{'.'.join(map(str, path or ()))} is no feature group",
                    hint='name feature groups alone: flights, or "flights@v1"',
                )
            name = str(part["table_name"])
            shown = shown_as(name)
            if shown not in defined:
                self.tables.append(name)
            part["alias"] = part.get("alias") or name
            part["table_name"] = shown
            part["qualified_name"] = {"path": [shown]}
